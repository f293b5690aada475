"""How the rows of a class are spread over its region, as far as earlier rounds tell: none of them took the class.

A release in rounds recodes all rows that are left to some level of every hierarchy, publishes the classes that have k
rows, and goes on with the others at another level. So once a round is over, fewer than k rows of each of its
combinations are left. A later class of n rows whose region has a few of these combinations is spread over them: none
can hold more than (k - 1) / n of its rows, and where two are left, one frequent and one rare, the rare one holds far
more than its share. With models of sensitive values a combination may have been left with any number of rows, and
nothing follows.

The levels of a round are read from its classes: the lowest level of each hierarchy that has a node of just that span.
Where the round's own level is higher, its nodes are the same there and unions elsewhere, so that the bound holds for
the lower level, too.

Source: Chhillar, Righi, Sutter and Kornaropoulos, 2025, whose linear program has the same bounds. Here each class is
looked at by itself, by one round: that a combination's few rows may be shared by several later classes is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonymize.attacks.scene import ShownRows
from anonymize.classes import Bools, Floats, Ints, mixed_radix


def round_levels(release: ShownRows, levels: Sequence[Ints]) -> Ints:
    """(classes, attributes) the lowest level of each hierarchy that has a node of just what a class shows, -1 where
    none has. `levels`: of each attribute (levels, size) the node of each code."""
    lowest = np.full(release.first.shape, -1)
    for column, nodes in enumerate(levels):
        first, last = release.first[:, column], release.last[:, column]
        interval = release.cells(column).counts == last - first + 1
        for level, node in reversed(list(enumerate(nodes))):
            edge = np.ones(len(node) + 1, np.bool_)
            edge[1:-1] = node[1:] != node[:-1]
            just = interval & (node[first] == node[last]) & edge[first] & edge[last + 1]
            lowest[just, column] = level
    return lowest


@dataclass(frozen=True)
class SpreadPoints:
    """Combinations drawn of some classes, as in `PossiblePoints`. `weight` (classes, points): how many of those that
    are left each stands for; it sums up to their number. `bound` (classes,): whether a round's bound changed it."""

    weight: Floats
    bound: Bools

    @classmethod
    def evenly(cls, left: Bools) -> SpreadPoints:
        """Where nothing is known but what is left."""
        return cls(left.astype(float), np.zeros(len(left), np.bool_))


def spread(
    release: ShownRows, classes: Ints, inside: Any, points: Ints, left: Bools, levels: Sequence[Ints], k: int
) -> SpreadPoints:
    """The combinations (classes, points, attributes) that are `left`, spread so that none of an earlier round stands
    for more than k - 1 of the rows. If several rounds come before a class, the one that leaves it the fewest
    combinations counts; ties go to the one of the lowest levels."""
    chosen = np.full(left.shape, -1)
    fewest = np.full(len(classes), left.shape[1] + 1)
    for vector, wider in _rounds(release, inside, levels):
        cells, counts = _cells(
            points[wider], left[wider], [nodes[level] for nodes, level in zip(levels, vector, strict=True)]
        )
        better = counts < fewest[wider]
        chosen[wider[better]], fewest[wider[better]] = cells[better], counts[better]
    most = (k - 1) / np.maximum(release.sizes[classes], 1)
    some = np.flatnonzero((fewest <= left.shape[1]) & left.any(axis=1))
    weight, bound = left.astype(float), np.zeros(len(classes), np.bool_)
    weight[some], bound[some] = _levelled(chosen[some], left[some], most[some])
    return SpreadPoints(weight, bound)


def _rounds(release: ShownRows, inside: Any, levels: Sequence[Ints]) -> list[tuple[Ints, Ints]]:
    """The levels of each round that has a class inside others, and these others (places in `inside`), in the order of
    the levels; rounds whose spans are not nodes are left out."""
    vectors, round_of = np.unique(round_levels(release, levels), axis=0, return_inverse=True)
    which = round_of.ravel()[inside.indices]
    owner = np.repeat(np.arange(inside.shape[0]), np.diff(inside.indptr))
    return [
        (vectors[place], np.unique(owner[which == place])) for place in np.unique(which) if (vectors[place] >= 0).all()
    ]


def _cells(points: Ints, left: Bools, nodes: Sequence[Ints]) -> tuple[Ints, Ints]:
    """(classes, points) the combination of nodes that each point has, numbered from 0 in each class, those that are not
    left behind the others; (classes,) how many different ones are left."""
    owner = np.repeat(np.arange(len(points)), points.shape[1])
    node_of = [node[points[:, :, column]].ravel() for column, node in enumerate(nodes)]
    sizes = [len(points), 2, *(int(node.max(initial=0)) + 1 for node in nodes)]
    keys, _ = mixed_radix([owner, (~left).ravel().astype(np.int64), *node_of], sizes)
    dense = np.unique(keys, return_inverse=True)[1].reshape(left.shape)
    numbered = dense - dense.min(axis=1, keepdims=True)
    return numbered, np.where(left, numbered + 1, 0).max(axis=1)


def _levelled(cells: Ints, left: Bools, most: Floats) -> tuple[Floats, Bools]:
    """(classes, points) weights of the points that are left, in sum their number, such that no cell has more than the
    share `most` (classes,) of its class; (classes,) whether that changed any. Where too few cells were drawn for that,
    all of them have the same. What is cut off goes to the other cells as they are frequent, so that of all ways to meet
    the bounds it is the one nearest to the frequencies (least relative entropy)."""
    classes, points = cells.shape
    count = np.zeros((classes, points))
    np.add.at(count, (np.broadcast_to(np.arange(classes)[:, None], cells.shape)[left], cells[left]), 1.0)
    total = count.sum(axis=1)
    share = count / total[:, None]
    most = np.maximum(most, 1 / np.maximum((count > 0).sum(axis=1), 1))[:, None]
    full = np.zeros(share.shape, np.bool_)
    while True:
        room = 1 - (full * most).sum(axis=1, keepdims=True)
        rest = np.where(full, 0.0, share).sum(axis=1, keepdims=True)
        scaled = share * np.divide(room, rest, out=np.zeros_like(room), where=rest > 0)
        over = ~full & (scaled > most + 1e-12)
        if not over.any():
            break
        full |= over
    weight = np.where(full, most, scaled) / np.maximum(count, 1) * total[:, None]
    spread_out = np.where(left, np.take_along_axis(weight, cells, axis=1), 0.0)
    return spread_out, np.asarray(full.any(axis=1))
