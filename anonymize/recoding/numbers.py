"""How numbers appear where every class is a region of its own: as intervals, as their two ends, or as one point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from anonymize.classes import Codes, Floats, Ints, Partition, starts_of
from anonymize.domain.numeric import Numeric
from anonymize.recoding.appearance import BOUNDS, MISSING, InRegions
from anonymize.recoding.columns import ClassTexts, ReleasedColumn, released_columns
from anonymize.recoding.spans import Spans
from anonymize.recoding.window import Tails, Window


@dataclass(frozen=True)
class NumericRegions(InRegions):
    """A numeric quasi-identifier in regions.

    `tails`: what may be shown of the column's ends. `highest` (classes,): the highest code of the numbers of each
    class; None: of a class with missing values that of the column.
    """

    domain: Numeric
    tails: Tails
    highest: Codes | None = None

    @cached_property
    def window(self) -> Window | None:
        """The ends that may be shown; None: all, as those of declared levels may."""
        if self.output.edges == "tight" or self.domain.bands is not None:
            return None
        return self.tails.window(self.codes, self.partition.order, len(self.domain.values))

    @cached_property
    def spans(self) -> Spans:
        """What each class spans, as far as it is shown; where that is one point, as its values do."""
        window = self.window if self.output.numeric in ("interval", "bounds") else None
        return Spans.of(self.domain, self.low, self.high, self.highest, window)

    def columns(self) -> list[ReleasedColumn]:
        """The column, or the columns, that the output's `numeric` asks for."""
        contents = self._bounds() if self.output.numeric == "bounds" else [_ONE_COLUMN[self.output.numeric](self)]
        suffixes = [*BOUNDS, MISSING][: len(contents)] if self.output.numeric == "bounds" else [""]
        return released_columns(self.name, contents, suffixes, self.output.suppressed)

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of what each class spans; of the widened one where edges are shown, and rounded."""
        rounded = self.output.edges == "rounded" and self.output.numeric in ("interval", "bounds")
        width = self.spans.costs(rounded=rounded)
        return width, width

    def _intervals(self) -> ClassTexts:
        spans, of_class = self.spans.distinct()
        return spans.intervals(self.output), of_class

    def _bounds(self) -> list[ClassTexts]:
        spans, of_class = self.spans.distinct()
        return [(texts, of_class) for texts in spans.bounds(self.output)]

    def _means(self) -> ClassTexts:
        return self._points(_class_means)

    def _medians(self) -> ClassTexts:
        return self._points(_class_medians)

    def _points(self, points_of: Callable[[Floats, Codes, Partition], Floats]) -> ClassTexts:
        """One number a class, of its numbers as far as they may be shown."""
        points = self._points_of(points_of)
        keys = np.stack([points, self.spans.missing, self.spans.empty, self.spans.hidden])
        different, first, of_class = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        numbers = [format_number(number) for number in different[0].tolist()]
        texts = self.domain.spelled_texts(pl.Series(numbers, dtype=pl.String))
        parts = ("low", "high", "below", "above", "missing", "empty")
        spans = replace(self.spans, **{name: getattr(self.spans, name)[first] for name in parts})
        if self.window is not None and self.window.empty:
            nothing = ~spans.empty
            spans = replace(spans, below=nothing, above=nothing)
        return spans.with_missing(texts, self.output.suppressed), of_class.reshape(-1)

    def _points_of(self, points_of: Callable[[Floats, Codes, Partition], Floats]) -> Floats:
        """(classes,) the point of the numbers of each class; 0 for one that has none."""
        values = _values(self.domain)
        if self.window is not None and not self.window.empty:
            values = np.clip(values, values[self.window.low], values[self.window.high])
        points, (present, which) = np.zeros(self.partition.count), _present(self.domain, self.codes, self.partition)
        if len(which):
            points[which] = points_of(values, self.codes, present)
        return points


_ONE_COLUMN: dict[str, Callable[[NumericRegions], ClassTexts]] = {
    "interval": NumericRegions._intervals,
    "mean": NumericRegions._means,
    "median": NumericRegions._medians,
}
"""The values of the output's `numeric` that make one column."""


def format_number(number: float) -> str:
    """At most six decimals, without an exponent, a trailing zero or a bare decimal point.

    >>> format_number(1e6), format_number(2.50), format_number(-0.0000001)
    ('1000000', '2.5', '0')
    """
    text = np.format_float_positional(number, precision=6, unique=True, fractional=True, trim="-")
    return "0" if text == "-0" else text


def _values(domain: Numeric) -> Floats:
    """(domain.size,) the number of each code, and 0 for the missing one."""
    values = domain.values.astype(np.float64)
    return values if domain.missing is None else np.append(values, 0.0)


def _present(domain: Numeric, codes: Codes, partition: Partition) -> tuple[Partition, Ints]:
    """The classes that have numbers, without their missing values, and which classes these are."""
    if domain.missing is None:
        return partition, np.arange(partition.count)
    some = codes[partition.order] != domain.missing
    sizes = np.bincount(partition.labels[some], minlength=partition.count)
    which = np.flatnonzero(sizes)
    return Partition(partition.order[some], starts_of(sizes[which])), which


def _class_means(values: Floats, codes: Codes, partition: Partition) -> Floats:
    """(classes,) mean of each class.

    What is averaged are distances from the first row of the class, each divided by the size of the class before they
    are added up, so that sums neither overflow nor lose digits.
    """
    values = values[codes[partition.order]]
    first = values[partition.starts[:-1]]
    with np.errstate(over="ignore", invalid="ignore"):
        offsets = (values - np.repeat(first, partition.sizes)) / np.repeat(partition.sizes, partition.sizes)
    return np.asarray(first + np.add.reduceat(offsets, partition.starts[:-1]))


def _class_medians(values: Floats, codes: Codes, partition: Partition) -> Floats:
    """(classes,) median of each class: the mean of the two middle values where their number is even.

    The class stands in the upper 32 bits of a number and the code in the lower ones, so that one sort puts the values
    of every class in order and leaves each class where it was.
    """
    labels = np.repeat(np.arange(partition.count, dtype=np.uint64), partition.sizes)
    arranged = np.sort(labels << np.uint64(32) | codes[partition.order]) & np.uint64(0xFFFFFFFF)
    lower = partition.starts[:-1] + (partition.sizes - 1) // 2
    upper = partition.starts[:-1] + partition.sizes // 2
    return np.asarray((values[arranged[lower].astype(np.int64)] + values[arranged[upper].astype(np.int64)]) / 2)
