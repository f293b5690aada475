"""Equivalence classes as the privacy models see them: sizes, and histograms of the sensitive attributes.

Nothing here knows a quasi-identifier: a class is a number in [0, C). Everything is an array over all classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Runs

Integers = NDArray[np.integer[Any]]
Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True)
class Histogram:
    """How often each sensitive value occurs in each class: sparse, sorted by (class, code), missing values left out."""

    classes: NDArray[np.int64]
    """(R,) class of each entry, ascending."""
    codes: NDArray[np.int64]
    """(R,) code of the sensitive value, ascending within a class, each at most once."""
    counts: NDArray[np.int64]
    """(R,) rows of the class with that value, all positive."""
    starts: NDArray[np.int64]
    """(C + 1,) the entries of class c are starts[c]:starts[c + 1]; none for a class without a present value."""
    values: NDArray[np.float64] | None = None
    """(R,) number of each entry; None for a categorical attribute."""

    @classmethod
    def from_rows(
        cls,
        classes: Integers,
        codes: Integers,
        class_count: int,
        size: int,
        missing: int | None = None,
        values: NDArray[np.float64] | None = None,
        counts: Integers | None = None,
    ) -> Histogram:
        """The histogram of rows, given the class (n,) and the code (n,) of each, in any order.

        `size` is the number of codes, `missing` the code that does not count, `values` (size,) the number of each code
        of a numeric attribute, `counts` (n,) how many rows each row stands for (default: one). Dense counting when
        classes x codes is small next to the rows, else a sort: O(n + classes x codes) or O(n log n).
        """
        runs = Runs.count_values(classes, codes, class_count, size, counts)
        entry_classes, entry_codes, totals = runs.classes, runs.codes, runs.counts
        if missing is not None:
            present = entry_codes != missing
            entry_classes, entry_codes, totals = entry_classes[present], entry_codes[present], totals[present]
        return cls(
            classes=entry_classes,
            codes=entry_codes,
            counts=totals,
            starts=np.searchsorted(entry_classes, np.arange(class_count + 1)).astype(np.int64),
            values=None if values is None else values[entry_codes],
        )

    def merge(self, into: Integers, class_count: int) -> Histogram:
        """The histogram of merged classes: class c becomes part of class `into[c]` of `class_count`."""
        size = int(self.codes.max()) + 1 if self.codes.size else 1
        table = None
        if self.values is not None:
            table = np.full(size, np.nan)
            table[self.codes] = self.values
        return self.from_rows(into[self.classes], self.codes, class_count, size, values=table, counts=self.counts)

    def present(self) -> NDArray[np.int64]:
        """(C,) rows of each class whose value is not missing."""
        return self.sum(self.counts)

    def distinct(self) -> NDArray[np.int64]:
        """(C,) different values in each class."""
        return np.diff(self.starts)

    def sum(self, entries: NDArray[Number]) -> NDArray[Number]:
        """(C,) sum of (R,) figures over each class's entries; 0 for a class that has none."""
        return self._reduce(np.add, entries)

    def max(self, entries: NDArray[Number]) -> NDArray[Number]:
        """(C,) largest of (R,) non-negative figures among each class's entries; 0 for a class that has none."""
        return self._reduce(np.maximum, entries)

    def _reduce(self, ufunc: np.ufunc, entries: NDArray[Number]) -> NDArray[Number]:
        """reduceat over classes. It gives an empty segment the next one's first entry, so those are left out."""
        filled = self.starts[:-1] < self.starts[1:]
        result = np.zeros(filled.size, dtype=entries.dtype)
        result[filled] = ufunc.reduceat(entries, self.starts[:-1][filled])
        return result


@dataclass(frozen=True)
class Groups:
    """All equivalence classes of a table: C sizes, and a histogram for each sensitive attribute."""

    sizes: NDArray[np.int64]
    histograms: Mapping[str, Histogram] = field(default_factory=dict)

    def of(self, attribute: str | None) -> Histogram:
        """The histogram of a requirement's attribute. KeyError if the groups were made without it."""
        return self.histograms[attribute or ""]

    def merge(self, into: Integers, class_count: int) -> Groups:
        """The same rows in fewer classes: class c becomes part of class `into[c]` of `class_count`."""
        sizes = np.zeros(class_count, dtype=np.int64)
        np.add.at(sizes, into, self.sizes)
        return Groups(sizes, {name: histogram.merge(into, class_count) for name, histogram in self.histograms.items()})
