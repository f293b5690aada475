"""Histograms of sensitive attributes in equivalence classes, the distributions that they are compared with, and
single values that are protected where a spec names them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, WithJsonSchema

from anonymize.classes import Runs, concatenated_ranges, first_of_each
from anonymize.records import dataclass
from anonymize.spec import base, notation

if TYPE_CHECKING:
    from anonymize.table import SensitiveColumn


# --- protected values -------------------------------------------------------------------------------------------------
# Single sensitive values that are protected, where a spec names them: `values: [positive]`.
#
# A model that bounds something for each sensitive value then bounds it for these alone. The others still count: as rows
# of the class, as values that a protected one hides among, and as part of what a class is compared with.

Names: TypeAlias = Sequence[str] | NDArray[np.float64]
"""How the values of an attribute read; of a numeric one, its numbers."""


def _as_text(value: object) -> object:
    """A number where a text is meant, as a spec that is not a file may have it."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_as_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]

Values: TypeAlias = Annotated[
    tuple[Text, ...] | None,
    Field(min_length=1, description="the sensitive values that are protected; every value where it is left out"),
    base.Means.PROTECTED,
]
"""The type of a model's parameter `values`."""


def readings(value: str) -> set[str]:
    """The texts of a column that are this value of the spec: as it stands, and as values are compared."""
    return {value, notation.normalized(value)}


def finite(text: str) -> float | None:
    """A text as a finite number; None where it is not one."""
    number = notation.as_number(text)
    return number if number is not None and math.isfinite(number) else None


def protected_mask(names: Names, values: Iterable[str]) -> NDArray[np.bool_]:
    """(names,) which of them are among the values."""
    if isinstance(names, np.ndarray):
        numbers = [number for value in values if (number := finite(value)) is not None]
        return np.isin(names, numbers)
    texts = {text for value in values for text in readings(value)}
    return np.fromiter((name in texts for name in names), np.bool_, len(names))


def absent(names: Names, values: Iterable[str]) -> list[str]:
    """The values that are none of the names."""
    if isinstance(names, np.ndarray):
        numbers = set(names.tolist())
        return [value for value in values if finite(value) not in numbers]
    present = set(names)
    return [value for value in values if present.isdisjoint(readings(value))]


def values_of(parameters: base.ModelParameters) -> tuple[str, ...] | None:
    """The values that parameters restrict a model to; None where all are protected, if some by other limits."""
    return cast("tuple[str, ...] | None", parameters.given(base.Means.PROTECTED))


# --- histogram --------------------------------------------------------------------------------------------------------
# Histograms of sensitive attributes in equivalence classes, and the distributions that they are compared with.

Integers = NDArray[np.integer[Any]]
Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True)
class Whole:
    """A sensitive attribute in all rows that are released: what the distribution in a class is compared with.

    `counts` (size,) rows that have each code, 0 of the missing one; ascending codes are the order of the values.
    `levels` (height + 1, size) the node of each code at each level of the attribute's hierarchy, from the leaf to the
    root; None where it has none. `names` (size,) how each code reads.
    """

    counts: NDArray[np.int64]
    levels: NDArray[np.int32] | None = None
    names: Names = ()
    together: NDArray[np.int64] | None = None
    """(size,) the code that stands for all that look like each, -1 where it reads as unknown; None: each for itself."""
    folded: bool = False
    """These have been counted by the code that stands for them."""
    _masks: dict[tuple[str, ...], NDArray[np.bool_]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        column: SensitiveColumn,
        rows: NDArray[np.uint32] | None = None,
        units: Integers | None = None,
        counts: Integers | None = None,
    ) -> Whole:
        """The distribution in all rows of a table, or in some; of a part of one, in what it is a part of. `units`: the
        individual that each row of the table is about; or `counts`: how many rows each stands for."""
        if column.everywhere is not None:
            return cls._of_counts(column, column.everywhere.copy())
        picked = slice(None) if rows is None else rows
        codes = column.codes[picked]
        if units is not None:
            codes = codes[first_of_each(codes, units[picked])]
        weights = None if counts is None else counts[picked]
        return cls._of_counts(column, np.bincount(codes, weights, minlength=column.size).astype(np.int64, copy=False))

    @classmethod
    def _of_counts(cls, column: SensitiveColumn, totals: NDArray[np.int64]) -> Whole:
        """`totals` (size,) rows of each code, of which those of the missing one are set to 0."""
        if column.missing is not None:
            totals[column.missing] = 0
        names = column.texts if column.values is None else column.values
        return cls(totals, column.levels, names, column.together)

    def protected(self, values: tuple[str, ...]) -> NDArray[np.bool_]:
        """(size,) which codes read as one of the values."""
        if values not in self._masks:
            if len(self.names) != len(self.counts):
                raise TypeError("values without names: this is probably a bug")
            self._masks[values] = mask = protected_mask(self.names, values)
            if self.folded and self.together is not None:
                mask[self.together[mask & (self.together >= 0)]] = True
        return self._masks[values]

    def as_alike(self, together: NDArray[np.int64]) -> Whole:
        """The whole table's values, look-alikes counted as one, and without what reads as unknown."""
        known = together >= 0
        counts = np.bincount(together[known], self.counts[known], len(together)).astype(np.int64)
        return replace(self, counts=counts, folded=True, _masks={})

    @cached_property
    def total(self) -> int:
        """Rows whose value is not missing."""
        return int(self.counts.sum())

    @cached_property
    def distinct(self) -> int:
        """Different values."""
        return int(np.count_nonzero(self.counts))

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """(size,) the share of each code among the rows whose value is not missing."""
        return self.counts / max(self.total, 1)


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
    given: Whole | None = None
    """The whole that these classes are only a part of; None where they are the whole themselves."""

    @classmethod
    def of(cls, column: SensitiveColumn, runs: Runs, class_count: int, whole: Whole | None = None) -> Histogram:
        """The histogram of a column, given how many rows, or individuals, of each class have each of its codes."""
        return cls._of_runs(runs, class_count, column.missing, column.values, whole)

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
        whole: Whole | None = None,
    ) -> Histogram:
        """The histogram of rows, given the class (n,) and the code (n,) of each, in any order.

        `size` is the number of codes, `missing` the code that does not count, `values` (size,) the number of each code
        of a numeric attribute, `counts` (n,) how many rows each row stands for (default: one). Dense counting when
        classes x codes is small next to the rows, else a sort: O(n + classes x codes) or O(n log n).
        """
        runs = Runs.count_values(classes, codes, class_count, size, counts)
        return cls._of_runs(runs, class_count, missing, values, whole)

    @classmethod
    def _of_runs(
        cls, runs: Runs, class_count: int, missing: int | None, values: NDArray[np.float64] | None, whole: Whole | None
    ) -> Histogram:
        present = runs if missing is None else runs.subset(runs.codes != missing)
        return cls(
            classes=present.classes,
            codes=present.codes,
            counts=present.counts,
            starts=np.searchsorted(present.classes, np.arange(class_count + 1)).astype(np.int64),
            values=None if values is None else values[present.codes],
            given=whole,
        )

    def merge(self, into: Integers, class_count: int) -> Histogram:
        """The histogram of merged classes: class c becomes part of class `into[c]` of `class_count`, or is left out
        where that is below 0."""
        owners = into[self.classes]
        stays = owners >= 0
        if stays.all():
            return self._regrouped(owners, slice(None), class_count)
        return self._regrouped(owners[stays], np.flatnonzero(stays), class_count)

    def joined(self, one: Integers, other: Integers) -> Histogram:
        """The histogram of pairs (n,) of classes, each pair as one class."""
        lengths = np.diff(self.starts)
        entries = [concatenated_ranges(self.starts[:-1][side], lengths[side]) for side in (one, other)]
        owners = [np.repeat(np.arange(len(side)), lengths[side]) for side in (one, other)]
        return self._regrouped(np.concatenate(owners), np.concatenate(entries), len(one))

    def _regrouped(self, owners: Integers, entries: NDArray[np.int64] | slice, class_count: int) -> Histogram:
        """The histogram that some entries make, each counted in the class that `owners` (entries,) gives it."""
        codes = self.codes[entries]
        size, numbers = int(codes.max(initial=0)) + 1, None
        if self.values is not None:
            numbers = np.full(size, np.nan)
            numbers[codes] = self.values[entries]
        return self.from_rows(
            owners, codes, class_count, size, values=numbers, counts=self.counts[entries], whole=self.given
        )

    def subset(self, mask: NDArray[np.bool_]) -> Histogram:
        """The histogram of some of the classes (C,), renumbered; what they are compared with stays."""
        entries = mask[self.classes]
        owners = (np.cumsum(mask) - 1)[self.classes[entries]]
        return Histogram(
            owners,
            self.codes[entries],
            self.counts[entries],
            np.searchsorted(owners, np.arange(np.count_nonzero(mask) + 1)).astype(np.int64),
            None if self.values is None else self.values[entries],
            self.given,
        )

    @property
    def alike(self) -> Histogram | None:
        """The histogram with values that look alike as one, and without those that read as unknown; None where that
        is what they are."""
        together = None if self.given is None or self.given.folded else self.given.together
        if self.given is None or together is None:
            return None
        codes = together[self.codes]
        known, whole, count = codes >= 0, self.given.as_alike(together), self.starts.size - 1
        counted = (self.classes[known], codes[known], count, len(together))
        return self.from_rows(*counted, counts=self.counts[known], whole=whole)

    def by_itself(self) -> Histogram:
        """The classes as the whole release, compared with what they are together."""
        counts = np.bincount(self.codes, weights=self.counts, minlength=len(self.whole.counts)).astype(np.int64)
        return replace(self, given=replace(self.whole, counts=counts))

    @cached_property
    def whole(self) -> Whole:
        """What the distributions are compared with."""
        if self.given is not None:
            return self.given
        size = int(self.codes.max()) + 1 if self.codes.size else 1
        return Whole(np.bincount(self.codes, weights=self.counts, minlength=size).astype(np.int64))

    def protected(self, values: tuple[str, ...] | None) -> NDArray[np.bool_]:
        """(R,) which entries are of one of the values; all where these are None."""
        if values is None:
            return np.ones(self.codes.size, np.bool_)
        return self.whole.protected(values)[self.codes]

    def shares(self) -> NDArray[np.float64]:
        """(R,) the share of each entry among the rows of its class whose value is not missing."""
        return self.counts / self.present()[self.classes]

    def ratios(self) -> NDArray[np.float64]:
        """(R,) the share of each entry in its class divided by its share in the whole."""
        return (self.counts * float(self.whole.total)) / (
            self.present()[self.classes] * self.whole.counts[self.codes].astype(np.float64)
        )

    def gathered(self, nodes: NDArray[np.int32]) -> Histogram:
        """The histogram of the nodes (size,) that the codes are under, renumbered from 0 in ascending order."""
        _, number = np.unique(nodes, return_inverse=True)
        size = int(number.max()) + 1
        whole = Whole(np.bincount(number, weights=self.whole.counts, minlength=size).astype(np.int64))
        count = self.starts.size - 1
        return self.from_rows(self.classes, number[self.codes], count, size, counts=self.counts, whole=whole)

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
        """(C,) largest of (R,) figures among each class's entries; 0 for a class that has none."""
        return self._reduce(np.maximum, entries)

    def min(self, entries: NDArray[Number]) -> NDArray[Number]:
        """(C,) smallest of (R,) figures among each class's entries; 0 for a class that has none."""
        return self._reduce(np.minimum, entries)

    def _reduce(self, ufunc: np.ufunc, entries: NDArray[Number]) -> NDArray[Number]:
        """`reduceat` over classes. For an empty segment it would return the first entry of the next one, so empty
        classes are left out."""
        filled = self.starts[:-1] < self.starts[1:]
        result = np.zeros(filled.size, dtype=entries.dtype)
        result[filled] = ufunc.reduceat(entries, self.starts[:-1][filled])
        return result
