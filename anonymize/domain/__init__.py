"""What every attribute is: an ordered list of leaves, of which a release shows intervals; and the leaves that cells
stand for, of nearly every cell an interval of them.

A column of the table is an array of leaf codes, `0 .. size - 1`. What an equivalence class is released as is a pair
`(low, high)` of codes, both included. Everything that the search and the report need to know about that pair is a
function of arrays of lows and highs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.records import dataclass

Codes: TypeAlias = NDArray[np.integer[Any]]


class Domain(ABC):
    """The leaves of one attribute.

    Attributes:
        name: the column's name.
        size: number of leaves, the missing leaf included.
        missing: code of the leaf that stands for a missing value; None where the column has none.
    """

    kind: ClassVar[Literal["numeric", "categorical"]]
    name: str
    size: int
    missing: int | None

    @abstractmethod
    def cost(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """Normalized certainty penalty of each interval, in [0, 1]; same shape as `low` and `high`.

        Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006.
        """

    def expected_cost(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """What a search counts: the cost of each interval as it is shown, on average where that depends on more."""
        return self.cost(low, high)

    @property
    def preferred_cuts(self) -> NDArray[np.bool_] | None:
        """(size + 1,) whether a cut below each code is one to prefer to its neighbours; None where all are alike."""
        return None

    @abstractmethod
    def loss(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """Loss metric of each interval, in [0, 1]; same shape as `low` and `high`.

        Source: Iyengar, Transforming data to satisfy privacy constraints, KDD 2002.
        """

    @abstractmethod
    def leaf_text(self) -> list[str]:
        """Text of each leaf, in the order of codes, `size` of them; the missing leaf's is the declared missing text."""


# --- sets of leaves ---------------------------------------------------------------------------------------------------
# Whether a cell could be about a value, how many values it covers, and how the rows behind it are spread, is answered
# for an interval by running sums over the leaves, in the time that its two ends take; a set `{a|c}` with leaves left
# out between its first and its last is a row of a table of bits.

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Gapped:
    """Which of n cells are no intervals. `which` (n,): the row of `leaves` (sets, domain.size) that says which leaves a
    cell stands for, -1 for an interval."""

    which: Ints
    leaves: Bools

    @classmethod
    def of(cls, members: Sequence[Sequence[int] | None], size: int) -> Gapped | None:
        """The column of cells that stand for these leaves (None: for an interval); None where all are intervals."""
        rows: dict[tuple[int, ...], int] = {}
        which = [-1 if each is None else rows.setdefault(tuple(each), len(rows)) for each in members]
        leaves = np.zeros((len(rows), size), np.bool_)
        for each, row in rows.items():
            leaves[row, list(each)] = True
        return cls(np.array(which, np.int64), leaves) if rows else None

    def of_cells(self, chosen: Any) -> Gapped:
        """Some of the cells, by their places or whether each is one."""
        return replace(self, which=self.which[chosen])

    @property
    def places(self) -> Ints:
        """The cells that are no intervals, ascending."""
        return np.flatnonzero(self.which >= 0)

    @property
    def of_places(self) -> Bools:
        """(places, domain.size) whether each of them stands for each leaf."""
        return np.asarray(self.leaves[self.which[self.places]])


GappedColumns = Mapping[int, Gapped]
"""By the position of an attribute, where some of its cells are no intervals."""


def chosen(columns: GappedColumns, cells: Any) -> dict[int, Gapped]:
    """The columns with gaps, of some cells."""
    return {column: gapped.of_cells(cells) for column, gapped in columns.items()}


@dataclass(frozen=True)
class LeafSets:
    """The leaves of n cells of an attribute. `first`, `last` (n,): the lowest and the highest code of each, between
    which it stands for all but where it is `gapped`."""

    first: Ints
    last: Ints
    gapped: Gapped | None = None

    def of_cells(self, cells: Any) -> LeafSets:
        """Some of them."""
        gapped = None if self.gapped is None else self.gapped.of_cells(cells)
        return LeafSets(self.first[cells], self.last[cells], gapped)

    def sums(self, of_leaf: Floats | Ints) -> Any:
        """(n, ...) the sum over the leaves of each cell; `of_leaf` (domain.size, ...)."""
        below = np.concatenate([np.zeros_like(of_leaf, shape=(1, *of_leaf.shape[1:])), of_leaf.cumsum(axis=0)])
        sums = below[self.last + 1] - below[self.first]
        if self.gapped is not None:
            sums[self.gapped.places] = (self.gapped.leaves @ of_leaf)[self.gapped.which[self.gapped.places]]
        return sums

    def spanning(self, codes: Ints) -> Bools:
        """(codes, n) whether each cell stands for each of some codes (codes, 1)."""
        spans = (self.first <= codes) & (codes <= self.last)
        if self.gapped is not None:
            places = self.gapped.places
            spans[:, places] &= self.gapped.leaves[self.gapped.which[places][None, :], codes]
        return np.asarray(spans)

    @property
    def counts(self) -> Ints:
        """(n,) how many leaves each cell stands for."""
        counts = np.asarray(self.last - self.first + 1)
        if self.gapped is not None:
            counts[self.gapped.places] = self.gapped.of_places.sum(axis=1)
        return counts

    def meeting(self, leaves: Bools) -> Bools:
        """(n,) whether a cell stands for any of some leaves (domain.size,)."""
        return np.asarray(self.sums(leaves.astype(np.int64)) > 0)

    def holding(self, codes: Ints) -> Bools:
        """(n, ...) whether each cell stands for codes (n, ...), or (1, ...) for the same ones of every cell."""
        axes = (slice(None), *(None,) * (codes.ndim - 1))
        within = (self.first[axes] <= codes) & (codes <= self.last[axes])
        if self.gapped is not None:
            places = self.gapped.places
            own = np.maximum(np.broadcast_to(codes, within.shape)[places], 0)
            within[places] &= self.gapped.leaves[self.gapped.which[places][axes], own]
        return np.asarray(within)

    def spread(self, rows: Floats | Ints, size: int, values: Ints | None = None, count: int = 1) -> Floats:
        """(size, count) how many rows have each code if those of a cell (n,) are spread evenly over its leaves; a
        column for each of their `values` (n,), where they have some. Each cell adds to its first code, and takes away
        behind its last; running sums make counts of that."""
        value = np.zeros(len(rows), np.int64) if values is None else values
        each = rows / self.counts
        plain = slice(None) if self.gapped is None else self.gapped.which < 0
        steps = np.zeros((size + 1, count))
        np.add.at(steps, (self.first[plain], value[plain]), each[plain])
        np.add.at(steps, (self.last[plain] + 1, value[plain]), -each[plain])
        spread = np.maximum(steps.cumsum(axis=0)[:size], 0.0)
        if self.gapped is not None:
            places = self.gapped.places
            of_sets = np.zeros((len(self.gapped.leaves), count))
            np.add.at(of_sets, (self.gapped.which[places], value[places]), each[places])
            spread += self.gapped.leaves.T @ of_sets
        return np.asarray(spread)

    def runs(self) -> tuple[Ints, Ints, Ints]:
        """The intervals that the cells are made of: the cell, the first and the last code of each."""
        owner = np.arange(len(self.first))
        if self.gapped is None:
            return owner, self.first, self.last
        places = self.gapped.places
        edges = np.diff(np.pad(self.gapped.of_places.astype(np.int8), ((0, 0), (1, 1))), axis=1)
        (cell, first), (_, stop) = np.nonzero(edges == 1), np.nonzero(edges == -1)
        plain = self.gapped.which < 0
        owners = np.concatenate([owner[plain], places[cell]])
        order = np.argsort(owners, kind="stable")
        firsts, lasts = np.append(self.first[plain], first), np.append(self.last[plain], stop - 1)
        return owners[order], firsts[order], lasts[order]


def densities(columns: Sequence[LeafSets], cells: int) -> Floats:
    """(cells,) one over the combinations of leaves that the cells of all columns stand for together, the largest being
    1."""
    volume = np.log(np.stack([each.counts for each in columns], axis=1)).sum(axis=1) if columns else np.zeros(cells)
    return np.asarray(np.exp(volume.min(initial=np.inf) - volume))
