"""Many COUNT queries at once, as boxes of leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain.base import Domain
from anonymize.domain.numeric import Numeric


@dataclass(frozen=True)
class Queries:
    """COUNT queries. One that asks for a set that is not a range is several boxes, which have no row in common.

    `restricted` (boxes, attributes): which quasi-identifiers a box restricts; the rest of a row of the next four means
    nothing where it does not. `first`, `last` (boxes, attributes) int64: the leaves of the original that it takes, both
    included. `low`, `high` (boxes, attributes) float64: its ends as they are asked for, numbers or positions of leaves.
    `whole` (attributes,): whether these are whole numbers. `query` (boxes,): which query each box is of. `dimensions`
    (queries,): how many quasi-identifiers each restricts. `repeat` (queries,): of which seed each is, from 0. `bound`:
    rows below which no true count is taken to be, 0 for none. `settings`: how they were made, as the report says it.
    `threads`: by how many of them the queries are answered.
    """

    restricted: Bools
    first: Ints
    last: Ints
    low: Floats
    high: Floats
    whole: Bools
    query: Ints
    dimensions: Ints
    repeat: Ints
    bound: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1

    @property
    def count(self) -> int:
        """Number of queries."""
        return len(self.dimensions)

    def totals(self, of_boxes: Floats) -> Floats:
        """(queries,) the sums over the boxes of each."""
        return np.asarray(np.bincount(self.query, of_boxes, minlength=self.count), np.float64)


def values(domains: Sequence[Domain], leaves: Ints) -> Floats:
    """(boxes, attributes) what leaves stand for: numbers, or their own positions, which are those of a column of
    numbers without any value as well."""
    columns = [
        domain.values[np.minimum(codes, len(domain.values) - 1)]
        if isinstance(domain, Numeric) and len(domain.values)
        else codes
        for domain, codes in zip(domains, leaves.T, strict=True)
    ]
    return np.stack(columns, axis=1).astype(np.float64) if columns else np.zeros(leaves.shape)


def widened(domains: Sequence[Domain], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """(boxes, attributes) the ends of boxes, as they are asked for.

    A single number of a column that is not whole has no width on a line: it stands for all those that would be rounded
    to it, half a unit of the column to either side.
    """
    units = np.array([each.unit if isinstance(each, Numeric) else 1.0 for each in domains])
    half = np.where((low == high) & ~whole(domains), units / 2, 0.0)
    return low - half, high + half


def whole(domains: Sequence[Domain]) -> Bools:
    """(attributes,) whether ends are whole numbers: of categories, which are positions, always."""
    return np.array([domain.whole if isinstance(domain, Numeric) else True for domain in domains], np.bool_)


def sizes(domains: Sequence[Domain]) -> Ints:
    """(attributes,) leaves that a query may take: a missing number is none of them."""
    return np.array([len(each.values) if isinstance(each, Numeric) else each.size for each in domains], np.int64)
