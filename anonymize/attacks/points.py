"""Rows of single values, numbers and categories mixed, such as invented ones: their distances, and which of them meet a
condition.

The distance of two rows is Gower's, summed over columns: for numbers the difference as a share of the column's range,
at most 1; for categories 0 or 1. A missing value is at distance 0 from another missing one, and at 1 from all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Floats, Ints
from anonymize.records import dataclass

Distances: TypeAlias = NDArray[np.float32]

PAIRS = 1 << 22
"""Pairs of rows that are compared at once: 16 MB of distances."""
DISTANCE_TOLERANCE = np.float32(1e-5)
"""Distances that differ by no more are the same."""


@dataclass(frozen=True)
class PointRows:
    """Invented rows. `points` (rows, columns): a number, nan where it is missing, or the code of a category; `names`
    and `numeric` of the columns, of which the first `known` are quasi-identifiers."""

    points: Floats
    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    known: int

    @cached_property
    def ranges(self) -> Floats:
        """(columns,) the highest less the lowest number of each, 1 where that is 0 or the column has categories."""
        spans = [np.ptp(column[~np.isnan(column)]) if (~np.isnan(column)).any() else 0.0 for column in self.points.T]
        return np.array(
            [span if span > 0 and number else 1.0 for span, number in zip(spans, self.numeric, strict=True)]
        )

    @cached_property
    def middles(self) -> Floats:
        """(columns,) the median of each."""
        return np.array([np.median(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in self.points.T])

    def of(self, rows: Ints) -> PointRows:
        """Some of the rows."""
        return PointRows(self.points[rows], self.names, self.numeric, self.known)

    def drawn(self, number: int, generator: np.random.Generator) -> PointRows:
        """Draws as many rows as are asked for, in their order; all where there are no more."""
        if len(self.points) <= number:
            return self
        return self.of(np.sort(generator.choice(len(self.points), number, replace=False)))

    def distances(self, points: Floats, columns: Sequence[int]) -> Iterator[tuple[slice, Distances]]:
        """Of some other rows at a time, (others, rows) how far they are from these by some of the columns."""
        step = max(PAIRS // max(len(self.points), 1), 1)
        for start in range(0, len(points), step):
            others = points[start : start + step]
            apart = np.zeros((len(others), len(self.points)), np.float32)
            for column in columns:
                apart += self._apart(column, others[:, column, None])
            yield slice(start, start + len(others)), apart

    def _apart(self, column: int, others: Floats) -> Distances:
        """How far others, (others, 1), are from these by one column, whose range is 1 and whose middle is 0."""
        middle, span = self.middles[column], self.ranges[column]
        own, other = (((each - middle) / span).astype(np.float32) for each in (self.points[None, :, column], others))
        if not self.numeric[column]:
            return np.asarray(own != other, np.float32)
        apart = np.minimum(np.abs(own - other), np.float32(1))
        missing = np.isnan(own), np.isnan(other)
        return np.asarray(np.where(missing[0] | missing[1], missing[0] != missing[1], apart), np.float32)

    def nearest(self, points: Floats, columns: Sequence[int]) -> Iterator[tuple[slice, Distances, Bools]]:
        """Of some other rows at a time, (others,) the least distance, and (others, rows) which of these are at it."""
        for batch, apart in self.distances(points, columns):
            least = apart.min(axis=1, initial=np.inf)
            yield batch, least, apart <= least[:, None] + DISTANCE_TOLERANCE


@dataclass(frozen=True)
class Conditions:
    """Conditions on several columns of points: to be at least or at most a number, to have a category, or none.

    `columns`, `values` (conditions, parts): of which column, and which value; `rows`: whose medians say whether a
    number is to be at least that, if it is not below the median, or at most.
    """

    columns: Ints
    values: Floats
    rows: PointRows

    def of(self, chosen: Bools) -> Conditions:
        """Some of them."""
        return Conditions(self.columns[chosen], self.values[chosen], self.rows)

    def _parts(self, points: Floats) -> Iterator[list[Bools]]:
        """Of each condition, (points,) which rows meet each of its parts."""
        by_column = np.ascontiguousarray(points.T)
        for columns, values in zip(self.columns.tolist(), self.values.tolist(), strict=True):
            yield [self._met(column, by_column[column], value) for column, value in zip(columns, values, strict=True)]

    def _met(self, column: int, points: Floats, value: float) -> Bools:
        if np.isnan(value):
            return np.isnan(points)
        if not self.rows.numeric[column]:
            return np.asarray(points == value)
        return np.asarray(points >= value if value >= self.rows.middles[column] else points <= value)

    def counts(self, points: Floats) -> Ints:
        """(conditions,) how many rows meet each."""
        return np.array([np.logical_and.reduce(parts).sum() for parts in self._parts(points)], np.int64)

    def weights(self, points: Floats) -> Floats:
        """(conditions,) the share of rows that would meet each if columns were independent."""
        return np.array([np.prod([part.mean() for part in parts]) for parts in self._parts(points)], np.float64)
