"""Regions as numbers that learners take: two for each quasi-identifier, its ends.

For a number these are the ends of its interval; for a category, the positions of the first and the last leaf under
its node, in the order of the hierarchy. What is missing may be any number: it spans all of the training part. Where
both ends are equal in every training row, as they are in an original table, one of them is left out. For a released set
`{a|c}` the leaves that some set leaves out between its ends are further numbers: 1 where a row may be about that leaf.

Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, section 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain.leafsets import GappedColumns, LeafSets
from anonymize.domain.leafsets import chosen as of_cells
from anonymize.domain.numeric import Numeric
from anonymize.reading.regions import TextRegions, gapped_columns
from anonymize.table import Table


@dataclass(frozen=True)
class RegionEnds:
    """Rows as regions: `start`, `stop` (rows, attributes), nan for a missing number. `gapped`: the categories that are
    sets of leaves with others between them."""

    start: Floats
    stop: Floats
    gapped: GappedColumns = field(default_factory=dict)

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
        """The regions of a released table; see `read_regions`."""
        pairs = list(zip(regions, text_of, strict=True))
        start = np.stack([column.start[texts] for column, texts in pairs], axis=1)
        stop = np.stack([column.stop[texts] for column, texts in pairs], axis=1)
        return cls(start, stop, gapped_columns(regions, text_of))

    def rows(self, chosen: Ints | Bools) -> RegionEnds:
        """Some of the rows."""
        return RegionEnds(self.start[chosen], self.stop[chosen], of_cells(self.gapped, chosen))

    def without(self, attributes: Sequence[int]) -> RegionEnds:
        """All but some of the attributes."""
        left = [index for index in range(self.start.shape[1]) if index not in attributes]
        gapped = {place: self.gapped[index] for place, index in enumerate(left) if index in self.gapped}
        return RegionEnds(self.start[:, left], self.stop[:, left], gapped)

    def held(self, attribute: int, leaves: Ints) -> Floats:
        """(rows, leaves) 1 where the cell of a category may be about a leaf, else 0."""
        first, last = (ends[:, attribute].astype(np.int64) for ends in (self.start, self.stop))
        return LeafSets(first, last, self.gapped.get(attribute)).holding(leaves[None, :]).astype(np.float64)


def matrices(train: RegionEnds, test: RegionEnds) -> tuple[Floats, Floats]:
    """(training rows, features) and (test rows, features)."""
    with_ends = np.append(train.start, train.stop, axis=0)
    some = ~np.isnan(with_ends)
    least = np.where(some, with_ends, np.inf).min(axis=0, initial=np.inf)
    most = np.where(some, with_ends, -np.inf).max(axis=0, initial=-np.inf)
    least, most = np.where(np.isinf(least), 0.0, least), np.where(np.isinf(most), 0.0, most)
    filled = [(_filled(part.start, least), _filled(part.stop, most)) for part in (train, test)]
    apart = (filled[0][0] != filled[0][1]).any(axis=0)
    gaps = _gaps(train)
    first, second = (
        np.hstack([start, stop[:, apart], *(part.held(index, leaves) for index, leaves in gaps.items())])
        for part, (start, stop) in zip((train, test), filled, strict=True)
    )
    return first, second


def _gaps(train: RegionEnds) -> dict[int, Ints]:
    """By attribute, the leaves that some training row leaves out between its ends."""
    every = {index: gapped.leaves[np.unique(gapped.which[gapped.places])] for index, gapped in train.gapped.items()}
    within = {
        index: np.logical_or.accumulate(sets, axis=1) & np.logical_or.accumulate(sets[:, ::-1], axis=1)[:, ::-1] & ~sets
        for index, sets in every.items()
    }
    return {index: np.flatnonzero(between.any(axis=0)) for index, between in within.items()}


def _filled(ends: Floats, absent: Floats) -> Floats:
    return np.where(np.isnan(ends), absent, ends)
