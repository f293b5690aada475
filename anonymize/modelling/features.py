"""Regions as numbers that learners take: two for each quasi-identifier, its ends.

For a number these are the ends of its interval; for a category, the positions of the first and the last leaf under
its node, in the order of the hierarchy. What is missing may be any number: it spans all of the training part. Where
both ends are equal in every training row, as they are in an original table, one of them is left out.

Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, section 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain.numeric import Numeric
from anonymize.evaluation.regions import TextRegions
from anonymize.table import Table


@dataclass(frozen=True)
class RegionEnds:
    """Rows as regions: `start`, `stop` (rows, attributes), nan for a missing number."""

    start: Floats
    stop: Floats

    @classmethod
    def of_original(cls, table: Table) -> RegionEnds:
        """Every value as the region of itself."""
        columns = []
        for attribute in table.attributes:
            domain = attribute.domain
            values = np.arange(domain.size, dtype=np.float64)
            if isinstance(domain, Numeric):
                values = np.append(domain.values.astype(np.float64), [] if domain.missing is None else [np.nan])
            columns.append(values[attribute.codes])
        points = np.stack(columns, axis=1)
        return cls(points, points)

    @classmethod
    def of_cells(cls, regions: Sequence[TextRegions], text_of: Ints) -> RegionEnds:
        """The regions of a released table; see `read_cells`."""
        pairs = list(zip(regions, text_of, strict=True))
        start = np.stack([column.start[texts] for column, texts in pairs], axis=1)
        return cls(start, np.stack([column.stop[texts] for column, texts in pairs], axis=1))

    def rows(self, chosen: Ints | Bools) -> RegionEnds:
        """Some of the rows."""
        return RegionEnds(self.start[chosen], self.stop[chosen])

    def without(self, attributes: Sequence[int]) -> RegionEnds:
        """All but some of the attributes."""
        return RegionEnds(np.delete(self.start, attributes, axis=1), np.delete(self.stop, attributes, axis=1))


def matrices(train: RegionEnds, test: RegionEnds) -> tuple[Floats, Floats]:
    """(training rows, features) and (test rows, features)."""
    with_ends = np.append(train.start, train.stop, axis=0)
    some = ~np.isnan(with_ends)
    least = np.where(some, with_ends, np.inf).min(axis=0, initial=np.inf)
    most = np.where(some, with_ends, -np.inf).max(axis=0, initial=-np.inf)
    least, most = np.where(np.isinf(least), 0.0, least), np.where(np.isinf(most), 0.0, most)
    filled = [(_filled(part.start, least), _filled(part.stop, most)) for part in (train, test)]
    apart = (filled[0][0] != filled[0][1]).any(axis=0)
    first, second = (np.hstack([start, stop[:, apart]]) for start, stop in filled)
    return first, second


def _filled(ends: Floats, absent: Floats) -> Floats:
    return np.where(np.isnan(ends), absent, ends)
