"""A hierarchy before it is a taxonomy: the groups of its leaves, level by level, in whatever order they were named."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Numbering = NDArray[np.intp]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Level:
    """One partition of the leaves, the level below it or finer.

    Attributes:
        group: (leaves,) number of the group that each leaf is in.
        labels: (groups,) text of each group.
        weights: (groups,) weight of each group; empty where all weigh 1.
    """

    group: Numbering
    labels: list[str]
    weights: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Numbered:
    """What a `Taxonomy` is made of; see there."""

    levels: NDArray[np.int32]
    labels: list[str]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """Levels from the leaves (each its own group) to the root (one group), each nested in the next.

    A group that has the same label and the same leaves as the group below it is one node with it.
    """

    levels: tuple[Level, ...]

    @property
    def leaves(self) -> list[str]:
        """Text of each leaf, in the order named."""
        return self.levels[0].labels

    @classmethod
    def from_steps(cls, leaves: Sequence[str], steps: Sequence[Callable[[str], str]], root: str) -> Tree:
        """A tree whose every level is computed from the text of a leaf.

        Two leaves that a step takes to the same text have to have the same text after every later step.
        """
        group, first = np.arange(len(leaves)), list(range(len(leaves)))
        levels = [Level(group, list(leaves))]
        for step in steps:
            above, labels, where = _grouped([step(leaves[leaf]) for leaf in first])
            group, first = above[group], [first[node] for node in where]
            levels.append(Level(group, labels))
        return cls((*levels, Level(np.zeros_like(group), [root])))

    @classmethod
    def from_paths(
        cls, paths: Sequence[tuple[str, ...]], weights: Mapping[tuple[str, ...], float] | None = None
    ) -> Tree:
        """A tree of paths from leaf to root; the leaf of a short one stands for its lower levels.

        Args:
            paths: distinct leaves, one root, two labels or more each.
            weights: of nodes, by their path from the node to the root.
        """
        height = max(map(len, paths)) - 1
        group: Numbering = np.zeros(len(paths), dtype=np.intp)
        levels: list[Level] = []
        for depth in range(height + 1):
            ends = [path[max(len(path) - 1 - depth, 0) :] for path in paths]
            group, keys, first = _grouped(list(zip(group.tolist(), (end[0] for end in ends), strict=True)))
            weigh = [weights.get(ends[path], 1.0) for path in first] if weights else []
            levels.insert(0, Level(group, [label for _, label in keys], weigh))
        return cls(tuple(levels))

    def with_leaf(self, label: str) -> Tree:
        """The tree with one more leaf, the last, directly under the root."""
        root = self.levels[-1]
        top = Level(np.zeros(len(root.group) + 1, dtype=np.intp), root.labels, root.weights)
        return Tree((*(_with_leaf(level, label) for level in self.levels[:-1]), top))

    def numbered(self) -> Numbered:
        """Leaves in depth-first order, siblings by first appearance; nodes numbered from the leaves to the root.

        Each level is nested in the next, so sorting leaves by the groups of all levels, the root's first, brings the
        leaves of every node together.
        """
        order = np.lexsort([_by_appearance(level.group) for level in self.levels])
        return _number([Level(level.group[order], level.labels, level.weights) for level in self.levels])


def _grouped(keys: list[Key]) -> tuple[Numbering, list[Key], list[int]]:
    """Number of each key's group, each group's key, and the position where it first stands."""
    numbers: dict[Key, int] = {}
    group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
    first = np.unique(group, return_index=True)[1].tolist()
    return group, list(numbers), first


def _with_leaf(level: Level, label: str) -> Level:
    """The level with one more leaf, in a group of its own."""
    weights = [*level.weights, 1.0] if level.weights else []
    return Level(np.append(level.group, len(level.labels)), [*level.labels, label], weights)


def _by_appearance(group: Numbering) -> Numbering:
    """The groups renumbered in the order in which they first stand."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _number(levels: list[Level]) -> Numbered:
    """Numbers for nodes, level by level; a group that repeats the only group below it takes that one's number."""
    rows: list[NDArray[np.int32]] = []
    labels: list[str] = []
    weights: list[float] = []
    for level in levels:
        first = np.flatnonzero(np.diff(level.group, prepend=-1))
        repeats = _repeats(level, first, rows, labels)
        texts = [level.labels[group] for group in level.group[first].tolist()]
        node = np.array(repeats, dtype=np.int32)
        new = np.flatnonzero(node < 0)
        node[new] = len(labels) + np.arange(len(new))
        labels += [texts[index] for index in new.tolist()]
        weights += [level.weights[group] if level.weights else 1.0 for group in level.group[first[new]].tolist()]
        rows.append(np.repeat(node, np.diff(np.append(first, len(level.group)))))
    return Numbered(np.stack(rows), labels, np.array(weights))


def _repeats(level: Level, first: Numbering, rows: list[NDArray[np.int32]], labels: list[str]) -> list[int]:
    """Per group that starts at `first`: the node below it, if it is alone there and has the group's label; else -1."""
    if not rows:
        return [-1] * len(first)
    child = rows[-1][first]
    starts = np.cumsum(np.diff(rows[-1], prepend=-1) != 0)
    last = np.append(first[1:], len(level.group)) - 1
    alone = starts[first] == starts[last]
    texts = [level.labels[group] for group in level.group[first].tolist()]
    pairs = zip(child.tolist(), alone.tolist(), texts, strict=True)
    return [node if single and labels[node] == text else -1 for node, single, text in pairs]
