"""The hierarchy of one attribute of either kind, and what each of its nodes costs.

A categorical attribute's hierarchy is its domain. A numeric one has a hierarchy beside its domain, whose leaves may be
more than the numbers that occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.base import Codes, Domain
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.tree import Level, Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Generalization:
    """A hierarchy over a domain.

    Attributes:
        domain: the attribute's leaves as the table has them.
        hierarchy: the value generalization hierarchy.
        leaves: (domain.size,) the hierarchy's leaf of each code of the domain; None: the code itself.
        numbers: (hierarchy.size,) the number of each leaf of the hierarchy, nan for one that is not a number; None
            where the attribute is categorical.
    """

    domain: Domain
    hierarchy: Taxonomy
    leaves: NDArray[np.int64] | None = None
    numbers: Floats | None = None

    @classmethod
    def plain(cls, domain: Domain, suppressed: str = "*") -> Generalization:
        """The hierarchy of a domain that has no other: a taxonomy is its own, numbers have one root above them all."""
        if isinstance(domain, Taxonomy):
            return cls(domain, domain)
        assert isinstance(domain, Numeric)
        texts = domain.leaf_text()
        ground = Level(np.arange(len(texts)), texts)
        numbered = Tree((ground, Level(np.zeros(len(texts), np.intp), [suppressed]))).numbered()
        return cls.over(domain, Taxonomy(domain.name, numbered.levels, numbered.labels, domain.missing))

    @classmethod
    def over(cls, domain: Numeric, hierarchy: Taxonomy) -> Generalization:
        """Numbers with a hierarchy whose leaf codes are the domain's."""
        numbers = np.full(hierarchy.size, np.nan)
        numbers[: len(domain.values)] = domain.values
        return cls(domain, hierarchy, None, numbers)

    def leaf_of(self, codes: Codes) -> NDArray[np.int64]:
        """The hierarchy's leaf of each code of the domain, same shape."""
        return codes.astype(np.int64) if self.leaves is None else self.leaves[codes]

    def text_of(self, codes: Codes, nodes: Codes) -> list[str]:
        """How each node reads; a node that is a leaf as the value (its code) does."""
        values = self.domain.leaf_text()
        size, labels = self.hierarchy.size, self.hierarchy.labels
        pairs = zip(codes.tolist(), nodes.tolist(), strict=True)
        return [values[code] if node < size else labels[node] for code, node in pairs]

    @cached_property
    def share(self) -> Floats:
        """(nodes,) leaves under each node over all leaves."""
        return (self.hierarchy.stop - self.hierarchy.start) / self.hierarchy.size

    @cached_property
    def ncp(self) -> Floats:
        """(nodes,) normalized certainty penalty: 0 of a leaf, 1 of the root.

        For numbers: what the leaves under the node that are numbers span, over the column's span, at most 1. For
        categories: the hierarchy's `node_cost`, which is weight x share, at most 1, and 0 where one leaf is all
        there is.
        """
        cost = self._width() if self.numbers is not None else self.hierarchy.node_cost.copy()
        cost[: self.hierarchy.size] = 0.0
        cost[self.hierarchy.root] = 1.0
        return cost

    @cached_property
    def loss(self) -> Floats:
        """(nodes,) Iyengar's loss: (leaves under the node - 1) / (leaves - 1) for categories, the `ncp` for numbers."""
        if self.numbers is not None:
            return self.ncp
        cost = (self._count() - 1) / max(self.hierarchy.size - 1, 1)
        cost[self.hierarchy.root] = 1.0
        return np.asarray(cost)

    def _count(self) -> NDArray[np.int64]:
        return self.hierarchy.stop - self.hierarchy.start

    def _width(self) -> Floats:
        """(nodes,) highest less lowest number under each node, over the span of the column; 0 where there is none,
        1 where the column has no span and the node has one.

        On each level the leaves of a node lie side by side, so one `reduceat` per level has the lowest and the highest
        number of all its nodes. Quarters keep the difference of two large numbers within a float64.
        """
        assert self.numbers is not None and isinstance(self.domain, Numeric)
        low = np.where(np.isnan(self.numbers), np.inf, self.numbers)
        high = np.where(np.isnan(self.numbers), -np.inf, self.numbers)
        width, span = np.zeros(len(self.hierarchy.labels)), self.domain.span
        for level in self.hierarchy.levels[1:]:
            first = np.flatnonzero(np.diff(level, prepend=-1))
            most, least = np.maximum.reduceat(high, first), np.minimum.reduceat(low, first)
            some = most > least
            width[level[first[some]]] = (most[some] / 4 - least[some] / 4) / (span / 4) if span else 1.0
        return np.minimum(width, 1.0)
