"""Which ends of intervals may be shown: none in a tail of fewer than k rows.

Counted are the rows of the classes, which are those that a release shows: where a row is suppressed, the rows beyond an
end become fewer, so that hiding one outlier never shows the next one. As these rows are among those of the input, a
shown end has at least as many rows of the input at or beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Integers
from anonymize.spec import FEWEST
from anonymize.table import Table


@dataclass(frozen=True)
class Window:
    """The lowest and the highest code that may be the end of an interval. None may where they cross."""

    low: int
    high: int

    @property
    def empty(self) -> bool:
        """Whether no end may be shown."""
        return self.low > self.high


@dataclass(frozen=True)
class Tails:
    """Whom the rows of a table are about (rows,), None where each is about somebody else; and how many of them have to
    be at or beyond an end. `counts` (rows,): how many rows each stands for; None: itself alone."""

    units: Codes | None
    least: int
    counts: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, table: Table) -> Tails:
        """Those of a table."""
        return replace(cls.of_k(table.largest_k), units=table.units, counts=table.counts)

    @classmethod
    def of_k(cls, largest_k: int | None) -> Tails:
        """Those of rows each of which is about somebody else, where so large a k is required."""
        return cls(None, FEWEST if largest_k is None else largest_k)

    def window(self, codes: Codes, rows: NDArray[np.uint32], count: int) -> Window:
        """The window of the codes (rows,) of a column of which some rows are shown; codes from `count` on are no
        numbers."""
        present = codes[rows]
        lowest, highest = (present, present) if self.units is None else _extremes(present, self.units[rows], count)
        weights = None if self.counts is None else self.counts[rows]
        return self.of_counts(_counts(lowest, count, weights), _counts(highest, count, weights))

    def of_counts(self, lowest: NDArray[np.int64], highest: NDArray[np.int64]) -> Window:
        """The window of a column by how many individuals have each code (count,) as their lowest, and as their
        highest."""
        below, above = np.cumsum(lowest), np.cumsum(highest[::-1])[::-1]
        return Window(int(np.searchsorted(below, self.least)), int(np.count_nonzero(above >= self.least)) - 1)


def _counts(codes: Integers, count: int, weights: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return np.bincount(codes, weights, minlength=count + 1)[:count].astype(np.int64)


def _extremes(codes: Codes, units: Codes, count: int) -> tuple[Integers, Integers]:
    """The lowest and the highest code of each individual of some rows; `count` for one who has none."""
    present = codes < count
    lowest = np.full(int(units.max(initial=0)) + 1, count, np.int64)
    highest = np.full(len(lowest), -1, np.int64)
    np.minimum.at(lowest, units[present], codes[present].astype(np.int64))
    np.maximum.at(highest, units[present], codes[present].astype(np.int64))
    highest[highest < 0] = count
    return lowest, highest
