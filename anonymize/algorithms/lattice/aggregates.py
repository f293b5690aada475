"""Figures of attributes put together: mean, geometric, max, sum, rank.

Whole arrays of nodes are aggregated attribute by attribute, so that a node's result does not depend on which other
nodes are in the array.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonymize.classes import Bools, Floats, Ints

AGGREGATES = ("mean", "geometric", "max", "sum", "rank")


def aggregate(name: str, figures: Sequence[Floats]) -> Floats:
    """(n, 1) the scores, or (n, attributes) for `rank`, from the weighted figures (n,) of each attribute; see
    `scores`."""
    if name == "rank":
        return -np.sort(-np.stack(figures, axis=1), axis=1)
    total = np.zeros(len(figures[0])) if name != "geometric" else np.ones(len(figures[0]))
    for figure in figures:
        if name == "max":
            np.maximum(total, figure, out=total)
        elif name == "geometric":
            total *= (figure + 1) ** (1 / len(figures))
        else:
            total += figure
    if name == "geometric":
        total -= 1
    return (total / len(figures) if name == "mean" else total)[:, None]


def below(scores: Floats, bound: Sequence[float]) -> Bools:
    """(n,) which scores (n, length) come before a bound, compared in order."""
    less = np.zeros(len(scores), np.bool_)
    equal = np.ones(len(scores), np.bool_)
    for column, limit in zip(scores.T, bound, strict=True):
        less |= equal & (column < limit)
        equal &= column == limit
    return less


def larger(scores: Floats, bounds: Floats) -> Floats:
    """(n, length) the later one of each two scores."""
    if scores.shape[1] == 1:
        return np.maximum(scores, bounds)
    first = np.zeros(len(scores), np.bool_)
    equal = np.ones(len(scores), np.bool_)
    for column, other in zip(scores.T, np.broadcast_to(bounds, scores.shape).T, strict=True):
        first |= equal & (column > other)
        equal &= column == other
    return np.where(first[:, None], scores, bounds)


def least(scores: Floats) -> int:
    """Position of the first of the smallest scores."""
    if scores.shape[1] == 1:
        return int(np.argmin(scores[:, 0]))
    smallest: Ints = np.arange(len(scores))
    for column in scores.T:
        values = column[smallest]
        smallest = smallest[values == values.min()]
    return int(smallest[0])
