"""How numbers appear where every class is a region of its own: as intervals, as their two ends, or as one point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anonymize.classes import Codes, Floats, Partition
from anonymize.domain.numeric import Numeric
from anonymize.recoding.appearance import BOUNDS, InRegions
from anonymize.recoding.columns import ClassTexts, ReleasedColumn, released_columns


@dataclass(frozen=True)
class NumericRegions(InRegions):
    """A numeric quasi-identifier in regions."""

    domain: Numeric

    def columns(self) -> list[ReleasedColumn]:
        """The column, or the two, that the output's `numeric` asks for."""
        if self.output.numeric == "bounds":
            return released_columns(self.name, self._bounds(), BOUNDS, self.output.suppressed)
        one = _ONE_COLUMN[self.output.numeric](self)
        return released_columns(self.name, [one], [""], self.output.suppressed)

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of each class's region; of the widened one where edges are shown, and rounded."""
        if self.output.edges == "rounded" and self.output.numeric in ("interval", "bounds"):
            width = self.domain.rounded_cost(self.low, self.high)
            return width, width
        return self.domain.cost(self.low, self.high), self.domain.loss(self.low, self.high)

    def _intervals(self) -> ClassTexts:
        low, high, of_class = self._distinct()
        output = self.output
        return self.domain.interval_text(low, high, output.interval, output.edges, output.suppressed), of_class

    def _bounds(self) -> list[ClassTexts]:
        low, high, of_class = self._distinct()
        ends = self.domain.bounds_text(low, high, self.output.edges, self.output.suppressed)
        return [(texts, of_class) for texts in ends]

    def _means(self) -> ClassTexts:
        return self._points(_class_means(self.domain, self.codes, self.partition))

    def _medians(self) -> ClassTexts:
        return self._points(_class_medians(self.domain, self.codes, self.partition))

    def _points(self, points: Floats) -> ClassTexts:
        """One number a class; suppressed or missing where the interval is."""
        numbers, of_class = np.unique(points, return_inverse=True)
        texts = self.domain.spelled([format_number(number) for number in numbers.tolist()])
        texts += [self.output.suppressed, self.domain.missing_text or ""]
        of_class = np.where(self.domain.suppressed(self.low, self.high), len(texts) - 2, of_class)
        if self.domain.missing is not None:
            of_class = np.where(self.low == self.domain.missing, len(texts) - 1, of_class)
        return texts, of_class


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


def _class_means(domain: Numeric, codes: Codes, partition: Partition) -> Floats:
    """(classes,) mean of each class.

    A class with missing values has one too, which is not shown. What is averaged are distances from the first row of
    the class, each divided by the size of the class before they are added up, so that sums neither overflow nor lose
    digits.
    """
    values = _values(domain)[codes[partition.order]]
    first = values[partition.starts[:-1]]
    with np.errstate(over="ignore", invalid="ignore"):
        offsets = (values - np.repeat(first, partition.sizes)) / np.repeat(partition.sizes, partition.sizes)
    return np.asarray(first + np.add.reduceat(offsets, partition.starts[:-1]))


def _class_medians(domain: Numeric, codes: Codes, partition: Partition) -> Floats:
    """(classes,) median of each class: the mean of the two middle values where their number is even.

    The class stands in the upper 32 bits of a number and the code in the lower ones, so that one sort puts the values
    of every class in order and leaves each class where it was.
    """
    labels = np.repeat(np.arange(partition.count, dtype=np.uint64), partition.sizes)
    arranged = np.sort(labels << np.uint64(32) | codes[partition.order]) & np.uint64(0xFFFFFFFF)
    values = _values(domain)
    lower = partition.starts[:-1] + (partition.sizes - 1) // 2
    upper = partition.starts[:-1] + partition.sizes // 2
    return np.asarray((values[arranged[lower].astype(np.int64)] + values[arranged[upper].astype(np.int64)]) / 2)
