"""What the text of a category stands for: the leaves under a label, the values of a set, a value that stands alone.

Whatever reads a category in released text asks here, whether it has the domain of the original or the hierarchy file
alone. If several nodes have one label, the widest is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np

from anonymize.classes import Bools
from anonymize.domain.cells import CellKind, members, unescaped
from anonymize.domain.generalization import Generalization
from anonymize.domain.taxonomy import Taxonomy
from anonymize.records import dataclass


class LabelledNodes:
    """The nodes of a hierarchy by label, with what a cell that shows one costs."""

    def __init__(self, generalization: Generalization) -> None:
        self.generalization, self.hierarchy = generalization, generalization.hierarchy
        self.by_label = self.hierarchy.by_label
        above = np.where(self.hierarchy.parent >= 0, self.hierarchy.level[self.hierarchy.parent], 0)
        self._until = np.where(self.hierarchy.parent >= 0, above - 1, self.hierarchy.height)

    def widest(self, label: str | None) -> tuple[int, bool]:
        """The node of a label, -1 for none; whether another of the same label costs something else."""
        nodes = self.by_label.get(label or "", [])
        if not nodes:
            return -1, False
        costs = self.generalization.ncp[nodes]
        return nodes[int(costs.argmax())], bool(costs.max() > costs.min())

    def common_level(self, nodes: Sequence[int]) -> int | None:
        """The one level on which all nodes stand; None where that is none or several, or there are no nodes."""
        standing = [self.levels_of([node]) for node in set(nodes)]
        levels = np.flatnonzero(np.all(standing, axis=0)).tolist() if standing else []
        return levels[0] if len(levels) == 1 else None

    def levels_of(self, nodes: Sequence[int]) -> Bools:
        """(height + 1,) at which levels any of the nodes stands."""
        every = np.arange(self.hierarchy.height + 1)
        standing = [(self.hierarchy.level[node] <= every) & (every <= self._until[node]) for node in nodes]
        return np.any(standing, axis=0) if standing else np.zeros(len(every), np.bool_)


@dataclass(frozen=True)
class Category:
    """What one text of a category stands for: first and last leaf, the nodes that it may be (none if it is not a
    node), whether these cost differently, and the leaves of a set that leaves some out between its first and last.
    `node`: the one that is taken of several, -1 where there is none."""

    first: int
    last: int
    nodes: Sequence[int] = ()
    ambiguous: bool = False
    members: Sequence[int] | None = None
    node: int = -1


UNKNOWN = Category(-1, -1)


@dataclass(frozen=True)
class CategoryReader:
    """Texts of a categorical quasi-identifier. `missing`: those that mean it; `shows`: as `categorical` of a spec's
    output."""

    domain: Taxonomy
    nodes: LabelledNodes
    missing: Collection[str]
    shows: str

    def category(self, kind: int, text: str, other: str) -> Category:
        """What a cell of a kind stands for; `other`: the same text, or that of the second of two bounds."""
        missing = self.domain.missing
        if kind == CellKind.SUPPRESSED:
            return Category(0, self.domain.size - 1)
        if kind == CellKind.MISSING:
            return UNKNOWN if missing is None else Category(missing, missing, [missing], node=missing)
        if self.shows == "bounds" and text.isdecimal() and other.isdecimal():
            return self._positions(int(text), int(other))
        if text != other:
            return UNKNOWN
        if kind == CellKind.SET:
            return self._several(members(text)) or self._label(text) or UNKNOWN
        values = self._value(unescaped(text))
        return (values if self.shows == "set" else None) or self._label(text) or values or UNKNOWN

    @cached_property
    def _codes(self) -> Mapping[str, int]:
        return {text: code for code, text in enumerate(self.domain.leaf_text())}

    def _positions(self, first: int, last: int) -> Category:
        if not 0 <= first <= last < self.domain.size:
            return UNKNOWN
        same = np.flatnonzero((self.domain.start == first) & (self.domain.stop == last + 1))
        costs = self.nodes.generalization.ncp[same]
        return Category(first, last, same.tolist(), bool(costs.max(initial=0.0) > costs.min(initial=1.0)))

    def _label(self, text: str) -> Category | None:
        node, several = self.nodes.widest(text)
        if node < 0:
            return None
        first, stop = int(self.domain.start[node]), int(self.domain.stop[node])
        return Category(first, stop - 1, self.nodes.by_label[text], several, node=node)

    def _value(self, text: str) -> Category | None:
        """The leaf of a value; None for another text."""
        code = self.domain.missing if text in self.missing else self._codes.get(text)
        return None if code is None else Category(code, code, [code], self._also_label(text), node=code)

    def _several(self, names: Sequence[str]) -> Category | None:
        """The leaves of what a set names; None where it names something else."""
        leaves = self.domain.leaves_of(names, self.missing)
        if leaves is None:
            return None
        first, last = leaves[0], leaves[-1]
        return Category(first, last, members=leaves if len(leaves) < last - first + 1 else None)

    def _also_label(self, text: str) -> bool:
        """Whether what reads as one value is the label of a node that costs something, too."""
        node, _ = self.nodes.widest(text)
        return node >= 0 and bool(self.nodes.generalization.ncp[node] > 0)
