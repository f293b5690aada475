"""Incognito's own way through the lattice: subsets of the attributes, one attribute more at a time.

A node of a subset's lattice is the node of the whole lattice at which the other attributes are at their roots: it has
the same classes. Subset property: a node can be safe only if it is with any one of its attributes taken out, so its
lattice is made of the nodes that survived in the smaller ones. Generalization property: above a safe node all are safe,
and are not checked. Both hold where safety is monotone; where it is not, only what is hopeless is ruled out.

Source: LeFevre, DeWitt, Ramakrishnan, Incognito: efficient full-domain k-anonymity, SIGMOD 2005, figure 8.
"""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.search import NodeGrid
from anonymize.classes import Bools, Ints


def safe_nodes(checker: Checker) -> Bools:
    """(nodes,) in lexicographic order: which are safe; or, where safety is not monotone, are not ruled out."""
    grid = NodeGrid(checker.lattice)
    alive: Bools = np.zeros(len(grid.vectors), np.bool_)
    is_safe: Bools = np.zeros(len(grid.vectors), np.bool_)
    for number in _order(grid).tolist():
        if is_safe[number] or not all(alive[part] for part in _parts(grid, number)):
            continue
        checked = checker.check(grid.vector(number))
        alive[number] = checked.safe if checker.monotone else not checked.hopeless
        if checker.monotone and checked.safe:
            above = grid.above(checked.vector)
            alive[above] = is_safe[above] = True
        checker.settled(checker.checked)
    return alive


def _order(grid: NodeGrid) -> Ints:
    """Numbers of the nodes: by how many attributes are below their roots, then by height, then lexicographically."""
    top = np.array(grid.lows) + np.array(grid.shape) - 1
    used = (grid.vectors < top).sum(axis=1)
    return np.lexsort((grid.vectors.sum(axis=1, dtype=np.int64), used))


def _parts(grid: NodeGrid, number: int) -> list[int]:
    """Numbers of the nodes with one attribute less."""
    steps = (grid.vectors[number] - grid.lows).tolist()
    return [
        number + (size - 1 - step) * stride
        for step, size, stride in zip(steps, grid.shape, grid.strides, strict=True)
        if step < size - 1
    ]
