"""A hierarchy before it is a taxonomy: the groups of its leaves, level by level; the weights of its nodes; and large
files of it in CSV, read column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonymize.records import dataclass
from anonymize.spec.notation import ODD, normalized

if TYPE_CHECKING:
    import polars as pl


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
        *below, root = self.levels
        alone = [
            Level(
                np.append(level.group, len(level.labels)),
                [*level.labels, label],
                [*level.weights, 1.0] if level.weights else [],
            )
            for level in below
        ]
        return Tree((*alone, Level(np.append(root.group, 0), root.labels, root.weights)))

    def numbered(self) -> Numbered:
        """Leaves in depth-first order, siblings by first appearance; nodes numbered from the leaves to the root.

        Each level is nested in the next, so sorting leaves by the groups of all levels, the root's first, brings the
        leaves of every node together.
        """
        first = (np.unique(level.group, return_index=True, return_inverse=True)[1:] for level in self.levels)
        order = np.lexsort([where[inverse] for where, inverse in first])
        return _number([Level(level.group[order], level.labels, level.weights) for level in self.levels])


def _grouped(keys: list[Key]) -> tuple[Numbering, list[Key], list[int]]:
    """Number of each key's group, each group's key, and the position where it first stands."""
    numbers: dict[Key, int] = {}
    group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
    first = np.unique(group, return_index=True)[1].tolist()
    return group, list(numbers), first


def _number(levels: list[Level]) -> Numbered:
    """Numbers for nodes, level by level; a group that repeats the only group below it takes that one's number."""
    rows: list[NDArray[np.int32]] = []
    labels: list[str] = []
    weights: list[float] = []
    for level in levels:
        first = np.flatnonzero(np.diff(level.group, prepend=-1))
        texts = [level.labels[group] for group in level.group[first].tolist()]
        node = np.array(_repeats(first, texts, rows, labels), dtype=np.int32)
        new = np.flatnonzero(node < 0)
        node[new] = len(labels) + np.arange(len(new))
        labels += [texts[index] for index in new.tolist()]
        weights += [level.weights[group] if level.weights else 1.0 for group in level.group[first[new]].tolist()]
        rows.append(np.repeat(node, np.diff(np.append(first, len(level.group)))))
    return Numbered(np.stack(rows), labels, np.array(weights))


def _repeats(first: Numbering, texts: list[str], rows: list[NDArray[np.int32]], labels: list[str]) -> list[int]:
    """For each group, which starts at `first`: the node below it, if that is alone there and reads alike; else -1."""
    if not rows:
        return [-1] * len(first)
    child = rows[-1]
    last = np.append(first[1:], len(child)) - 1
    pairs = zip(child[first].tolist(), child[last].tolist(), texts, strict=True)
    return [node if node == other and labels[node] == text else -1 for node, other, text in pairs]


# --- weights ----------------------------------------------------------------------------------------------------------
# A category that is released as a node u costs weight(u) x size(u) / |A|, 1 at most: size(u) leaves of |A| are under
# it. A node that is worse to show than its size tells, as it mixes what a reader has to tell apart, weighs more than 1;
# one that is better weighs less.
#
# Two things have to stay as they are without weights. No node costs less than a node below it: a wider class never
# gains, and every search prunes by that. And the root weighs 1: a suppressed cell costs 1. A leaf costs nothing, so a
# weight would be without effect.
#
# Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, section 3.2.2, names weights of
# internal nodes as an extension and leaves them out.

Path: TypeAlias = tuple[str, ...]
"""The labels from a node to the root."""
WeightFault: TypeAlias = tuple[str, int, str]
"""Message, line and hint."""

NUMBERS = "weights of nodes are for categories: a number costs what its interval spans"


def faults(branches: Sequence[tuple[Path, Sequence[int]]], weights: Mapping[Path, float]) -> Iterator[WeightFault]:
    """What is wrong with the weights of a tree.

    `branches`: the path of each leaf, and the line of each of its labels. `weights`: of nodes that have one.
    """
    lines = {path[start:]: line[start] for path, line in branches for start in range(len(path))}
    leaves = Counter(path[start:] for path, _ in branches for start in range(1, len(path)))
    for path, weight in weights.items():
        if weight != 1 and path not in leaves:
            yield "the weight of a leaf has no effect: a leaf costs nothing", lines[path], "weigh a node above it"
        elif weight != 1 and len(path) == 1:
            yield "the root has a weight: it costs 1, as a suppressed cell does", lines[path], "leave it out"
    for path, size in leaves.items():
        if len(path) > 2:
            yield from _against_parent(path, size, leaves[path[1:]], lines, weights)


def _against_parent(
    path: Path, size: int, size_above: int, lines: Mapping[Path, int], weights: Mapping[Path, float]
) -> Iterator[WeightFault]:
    """What is wrong between an inner node of `size` leaves and the one above it, which is not the root."""
    weight, above = weights.get(path, 1.0), weights.get(path[1:], 1.0)
    where = lines[path[1:]]
    if path[0] == path[1] and size == size_above and weight != above:
        yield f"the node is one with that in line {where}, which has another weight", lines[path], "give both the same"
    elif size > 1 and weight * size > above * size_above:
        message = f"weight x leaves of the node are more than those of the node above it, in line {where}"
        hint = f"the node in line {where} needs a weight of {weight * size / size_above:.6g} or more"
        yield message, lines[path], hint


# --- large files ------------------------------------------------------------------------------------------------------
# A CSV of a million leaves takes seconds column by column, where line by line takes half a minute. It has to be plain:
# no quotes, in every line as many fields, none of them empty, no label that is not compared as it stands, and a
# hierarchy without a fault. Any other file is left to the reader of lines, which knows how to say what is wrong.

POLARS_FROM = 1 << 20
"""Characters from which on a file is worth the import of polars."""


def read_plain(text: str, separator: str, *, normalize: bool = True, large: int = POLARS_FROM) -> Tree | None:
    """The tree of a hierarchy in CSV, the one that its lines make; None where the text has fewer than `large`
    characters, or is not plain."""
    if len(text) < large or any(part in text for part in ('"', "\r", "\n\n", "\0")) or text[:1] == "\n":
        return None
    frame = _frame(text, separator)
    if frame is None or frame.width < 2 or not _is_hierarchy(frame):
        return None
    for column in frame:
        labels = column.unique()  # in another order each time
        odd = labels.filter(labels.str.contains(ODD)).to_list()
        if any(not label.strip() or (normalize and normalized(label) != label) for label in odd):
            return None
    leaves, *above = frame.get_columns()
    levels = [_level(column) for column in above]
    return Tree((Level(np.arange(frame.height, dtype=np.intp), leaves.to_list()), *levels))


def _frame(text: str, separator: str) -> pl.DataFrame | None:
    """The fields as they stand; None where lines differ in how many they have, or one is empty."""
    import polars as pl

    try:
        frame = pl.read_csv(text.encode(), has_header=False, separator=separator, quote_char=None, infer_schema=False)
    except pl.exceptions.PolarsError:
        return None
    lines = text.count("\n") + (not text.endswith("\n"))
    return None if frame.height != lines or any(frame.null_count().row(0)) else frame


def _is_hierarchy(frame: pl.DataFrame) -> bool:
    """Whether every leaf stands once, there is one root, and every label of a level has one parent."""
    names = frame.columns
    once = frame[names[0]].n_unique() == frame.height and frame[names[-1]].n_unique() == 1
    pairs = pairwise(names[1:])
    return once and all(frame[low].n_unique() == frame.select(low, high).n_unique() for low, high in pairs)


def _level(column: pl.Series) -> Level:
    """The groups of equal labels, numbered in the order in which they first stand."""
    labels = column.unique(maintain_order=True)
    numbers = labels.alias("label").to_frame().with_row_index("group")
    group = column.alias("label").to_frame().join(numbers, on="label", how="left", maintain_order="left")["group"]
    return Level(group.to_numpy().astype(np.intp), labels.to_list())
