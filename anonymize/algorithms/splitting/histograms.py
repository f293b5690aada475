"""Classes of which only counts are known: for each attribute by itself, how many rows have each code.

Rules that look at one attribute at a time (`CutRule.BY_COUNTS`) cut such classes as they cut rows. So the upper cuts of
a table can be found where its rows are not: in files, chunk by chunk, or on an engine that aggregates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.splitting.ranks import Statistic, counted_statistic
from anonymize.classes import Bools, Ints, Runs, run_starts


@dataclass(frozen=True)
class Histograms:
    """C classes by their counts; what rules ask of a `Batch`, as far as counts say it.

    `runs`: of each attribute, the codes that occur in each class. `sizes`, `closed`, `attempts`: as in `Batch`.
    """

    runs: tuple[Runs, ...]
    sizes: Ints
    closed: Bools
    attempts: NDArray[np.uint8]

    @property
    def count(self) -> int:
        """Number of classes, C."""
        return len(self.sizes)

    @cached_property
    def low(self) -> NDArray[np.uint32]:
        """(C, attributes) lowest code of each class."""
        return np.stack([runs.codes[run_starts(runs.classes)] for runs in self.runs], axis=1).astype(np.uint32)

    @cached_property
    def high(self) -> NDArray[np.uint32]:
        """(C, attributes) highest code of each class."""
        last = [np.append(run_starts(runs.classes)[1:], len(runs.classes)) - 1 for runs in self.runs]
        columns = [runs.codes[places] for runs, places in zip(self.runs, last, strict=True)]
        return np.stack(columns, axis=1).astype(np.uint32)

    def runs_of(self, attribute: int, classes: Ints, size: int) -> Runs:
        """The codes of an attribute that occur in some classes (m,), ascending, with their rows."""
        runs = self.runs[attribute]
        if len(classes) == self.count:
            return runs
        place = np.full(self.count, -1)
        place[classes] = np.arange(len(classes))
        kept = place[runs.classes] >= 0
        return Runs(place[runs.classes[kept]], runs.codes[kept], runs.counts[kept])

    def ranked(self, attribute: int, classes: Ints, size: int, rank: Ints) -> Statistic:
        """The code at a rank (m,) of each of some classes; see `order_statistic`."""
        return counted_statistic(self.runs_of(attribute, classes, size), self.sizes[classes], rank)


@dataclass(frozen=True)
class UpperStep:
    """One cut of some classes (m,), which go by the number that each got when it came to be; the whole table is 0.

    Rows of `whole` with `start` <= code < `stop` on `attribute` become the class `first`, its others `second`.
    """

    whole: Ints
    attribute: Ints
    start: Ints
    stop: Ints
    first: Ints
    second: Ints


class CountSource(Protocol):
    """Rows that can be counted, wherever they are. Every row is in class 0 at first."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    def apply(self, step: UpperStep) -> None:
        """Parts classes; called for the steps in their order."""

    def counts(self, classes: Ints) -> tuple[Runs, ...]:
        """For each attribute, how many rows of some classes (m,), ascending, have each code."""
