"""Weights of the nodes of a hierarchy: which are refused, and why.

A category that is released as a node u costs weight(u) x size(u) / |A|, 1 at most: size(u) leaves of |A| are under it.
A node that is worse to show than its size tells, as it mixes what a reader has to tell apart, weighs more than 1; one
that is better weighs less.

Two things have to stay as they are without weights. No node costs less than a node below it: a wider class never
gains, and every search prunes by that. And the root weighs 1: a suppressed cell costs 1. A leaf costs nothing, so a
weight would be without effect.

Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, section 3.2.2, names weights of internal
nodes as an extension and leaves them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

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
        hint = f"the node in line {where} needs a weight of {weight * size / size_above:.6g} or more"
        yield (
            f"weight x leaves of the node are more than those of the node above it, in line {where}",
            lines[path],
            hint,
        )
