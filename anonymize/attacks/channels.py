"""A release through channels as attackers see it: what each row shows, and the parameters that everybody has.

A cell shows the category that it had with probability p, and each other one of d with (1 - p) / (d - 1). What is the
same in expectation as counting the people of some quasi-identifiers with each sensitive value is a sum over the rows:
each counts for the product, over its cells, of the inverse channel from the category that it shows to the person's
(Guo, Ying and Wu, lemma 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from anonymize.classes import Floats, Ints
from anonymize.meaning import Channel

CELLS = 1 << 23
"""Pairs of a person and a distinct row that are looked at together."""


@dataclass(frozen=True)
class ChannelRows:
    """Rows of categories. `cells` (rows, attributes): the category that each cell shows; `columns`, one for each
    attribute; `category_of`: for each attribute (codes,) the category of each code of the original. `values`: the
    channel of each sensitive attribute."""

    cells: Ints
    columns: tuple[Channel, ...]
    category_of: tuple[Ints, ...]
    values: Mapping[str, Channel]

    @cached_property
    def distinct(self) -> tuple[Ints, Ints]:
        """(combinations, attributes) that some row shows, and (rows,) which each does."""
        combinations, which = np.unique(self.cells, axis=0, return_inverse=True)
        return combinations, which.ravel()

    def counts(self, values: Ints, size: int) -> Any:
        """(combinations, size + 1) how many rows show each sensitive value, those without one last."""
        from scipy.sparse import csr_array

        combinations, which = self.distinct
        places = (which, np.where(values < 0, size, values))
        return csr_array((np.ones(len(which)), places), shape=(len(combinations), size + 1)).toarray()

    def beside(self, codes: Ints, counts: Floats) -> Floats:
        """(people, values) the rows of each person's quasi-identifiers that show each value, as they are in
        expectation; `codes` (people, attributes), -1 for what is not known of somebody, and counts for all alike."""
        combinations, _ = self.distinct
        step = max(CELLS // max(len(combinations), 1), 1)
        parts = [self._weights(codes[start : start + step]) @ counts for start in range(0, len(codes), step)]
        return np.concatenate([np.zeros((0, counts.shape[1])), *parts])

    def _weights(self, codes: Ints) -> Floats:
        """(people, combinations) what each combination counts for."""
        combinations, _ = self.distinct
        weights = np.ones((len(codes), len(combinations)))
        for axis, (column, category) in enumerate(zip(self.columns, self.category_of, strict=True)):
            same, other = column.inverse
            categories = np.where(codes[:, axis] < 0, -1, category[codes[:, axis]])
            factor = np.where(categories[:, None] == combinations[None, :, axis], same + other, other)
            factor[categories < 0] = 1.0
            weights *= factor
        return weights


def undone(observed: Floats, column: Channel) -> Floats:
    """(people, values) counts of values as they were, from counts as they are shown; none below 0."""
    same, other = column.inverse
    return np.asarray(np.maximum(same * observed + other * observed.sum(axis=1, keepdims=True), 0.0))
