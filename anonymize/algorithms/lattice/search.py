"""The best safe node of a lattice, with as few checks as its models and its metric allow.

`walk` holds a lower bound for every node. It takes the open node of the least bound, climbs from there along the least
bounds, and looks on this path for the lowest safe node by bisection; every check closes nodes (those below a ruled out
one) or raises bounds. It ends when no open node can be better than the best. Where a safe node says nothing about those
above it there is no path, and the node itself is checked.

`best_first` holds only the nodes that it has come to, for lattices too large for that. It starts with a descent from
the top, one attribute at a time, and goes on from the bottom in the order of bounds.

Both stop at a deadline with the best node so far; the gap is what the best bound of an open node is below its score.
Without a deadline `best_first` stops after a budget of work, which follows from the table alone.

Sources: predictive tagging and path bisection: Kohlmayer, Prasser, Eckert, Kemper, Kuhn, Flash: efficient, stable and
optimal k-anonymity, PASSAT 2012.

Incognito's own way through the lattice is by subsets of the attributes, one attribute more at a time. A node of a
subset's lattice is the node of the whole lattice at which the other attributes are at their roots: it has
the same classes. Subset property: a node can be safe only if it is with any one of its attributes taken out, so its
lattice is made of the nodes that survived in the smaller ones. Generalization property: above a safe node all are safe,
and are not checked. Both hold where safety is monotone; where it is not, only what is ruled out is ruled out.

Source: LeFevre, DeWitt, Ramakrishnan, Incognito: efficient full-domain k-anonymity, SIGMOD 2005, figure 8.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anonymize.algorithms.base import option
from anonymize.algorithms.deadline import Deadline, ended_by
from anonymize.algorithms.lattice import Lattice, Vector, below, larger, least, scores
from anonymize.algorithms.lattice.nodes import Checker, NodeCheck
from anonymize.classes import Bools, Floats, Ints
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.records import dataclass

WALKED_NODES = 1 << 21
"""The largest number of nodes of a lattice for which `walk` is used."""
SEARCHED_CELLS = 1 << 33
"""Cells (distinct rows x attributes) of the nodes that `best_first` comes to at most without a deadline."""
A_NODE = 1 << 14
"""A node counts for so many cells at least: it takes as long in a table that has fewer."""


@dataclass(frozen=True)
class BestNode:
    """The best node, its score, and how far it can be from the optimum at most: 0 where it is the optimum. `stopped`:
    what ended the search before that was known, the `time` or the `work` that it may take."""

    vector: Vector
    score: scores.Score
    gap: float = 0.0
    stopped: str | None = None


def time_limit_option(**facts: Any) -> Any:
    """The field of an algorithm's options that says it."""
    return option(0.0, "Seconds after which the best node so far is taken; 0: no limit.", minimum=0, **facts)


def find(scorer: scores.Scorer, deadline: Deadline | None = None) -> BestNode | None:
    """The best safe node; None where there is none, or none was found in time."""
    deadline = deadline or Deadline()
    if scorer.checker.total <= WALKED_NODES:
        return Walk(scorer, deadline).run()
    return BestFirst(scorer, deadline).run()


def _unmet(checker: Checker) -> InfeasibleError:
    total = count_of(checker.total)
    message = f"of the {total} nodes of the lattice, none of the {checker.checked} that were checked is safe"
    return InfeasibleError(Problem(message, hint="--time-limit lets it check more; or name fewer quasi-identifiers"))


def check_enumerable(checker: Checker, deadline: Deadline, does: str) -> None:
    """Raises UsageError where a search that `does` something with the nodes one by one, and has no deadline, would not
    come to an end. Known before it begins: the number of nodes is the product of the levels."""
    if checker.total > WALKED_NODES and not deadline.given:
        message = f"the lattice of {len(checker.lattice.heights)} quasi-identifiers has {count_of(checker.total)} nodes"
        hint = "name fewer quasi-identifiers, or fewer of their levels (levels: {min, max}); --time-limit SECONDS takes"
        hint += " the best node by then; mondrian and release do not search a lattice"
        raise UsageError(Problem(f"{message}, and {does} {WALKED_NODES} at most", hint=hint))


def count_of(number: int) -> str:
    """A whole number as it reads in a message; of more than 15 digits, the power of ten below it."""
    return str(number) if number < 10**15 else f"more than 10^{len(str(number)) - 1}"


class NodeGrid:
    """All nodes of a lattice as arrays, in lexicographic order; `boxes` are views of what is below or above a node."""

    def __init__(self, lattice: Lattice) -> None:
        self.lows = lattice.bottom
        self.shape = tuple(high - low + 1 for low, high in zip(self.lows, lattice.heights, strict=True))
        self.vectors = np.indices(self.shape, np.int16).reshape(len(self.shape), -1).T + np.array(self.lows, np.int16)
        self.strides = [int(np.prod(self.shape[index + 1 :])) for index in range(len(self.shape))]
        self.numbers: Ints = np.arange(len(self.vectors)).reshape(self.shape)

    def vector(self, number: int) -> Vector:
        """The node of a number."""
        return tuple(self.vectors[number].tolist())

    def number(self, vector: Vector) -> int:
        """The number of a node."""
        return sum(step * stride for step, stride in zip(self._steps(vector), self.strides, strict=True))

    def below(self, vector: Vector) -> Ints:
        """Numbers of a node and all below it."""
        return self.numbers[tuple(slice(step + 1) for step in self._steps(vector))].ravel()

    def above(self, vector: Vector) -> Ints:
        """Numbers of a node and all above it."""
        return self.numbers[tuple(slice(step, None) for step in self._steps(vector))].ravel()

    def successors(self, number: int) -> list[int]:
        """Numbers of the direct generalizations."""
        steps = self._steps(self.vector(number))
        return [
            number + stride
            for step, size, stride in zip(steps, self.shape, self.strides, strict=True)
            if step + 1 < size
        ]

    def _steps(self, vector: Vector) -> list[int]:
        """How far each level is above the lowest."""
        return [level - low for level, low in zip(vector, self.lows, strict=True)]

    def path(self, number: int, among: Bools, bounds: Floats) -> list[int]:
        """Nodes of `among` (nodes,), each a direct generalization of the one before, of least `bounds`."""
        path = [number]
        while above := [node for node in self.successors(path[-1]) if among[node]]:
            path.append(above[least(bounds[above])])
        return path


def bisect(path: list[int], fine: Callable[[int], bool]) -> None:
    """Looks for the lowest node of a path that is fine; whatever `fine` learns on the way counts."""
    low, high = 0, len(path)
    while low < high:
        middle = (low + high) // 2
        if fine(path[middle]):
            high = middle
        else:
            low = middle + 1


def climbed(checker: Checker) -> Vector | None:
    """The first safe node on the way up by the attribute that shows the most distinct values, the first of several;
    None where there is none."""
    vector, top = checker.lattice.bottom, checker.lattice.top
    while not checker.check(vector).safe:
        if vector == top:
            return None
        distinct = [len(np.unique(column)) for column in checker.frequency_set(vector).columns]
        below_root = [index for index, level in enumerate(vector) if level < top[index]]
        most = max(below_root, key=distinct.__getitem__)
        vector = (*vector[:most], vector[most] + 1, *vector[most + 1 :])
    return vector


def descents(checker: Checker, worth: Callable[[Vector], Any], deadline: Deadline) -> Iterator[Vector]:
    """Safe nodes to begin with, as long as there is time: the one that `climbed` finds, at any time, and the ways down
    from it and from the top, always to the safe node directly below of the least `worth`."""
    begin = climbed(checker)
    starts = [checker.lattice.top] if begin is None else [begin, checker.lattice.top]
    for vector in starts if begin is not None or checker.check(checker.lattice.top).safe else []:
        yield vector
        while not deadline.passed:
            safe = [each for each in checker.lattice.below(vector) if checker.check(each).safe]
            if not safe:
                break
            vector = min(safe, key=lambda each: (worth(each), each))
            yield vector


class Walk:
    """The search that the module calls `walk`. `open` (nodes,): may still be the best. `bounds` (nodes, length of a
    score)."""

    def __init__(self, scorer: scores.Scorer, deadline: Deadline, among: Bools | None = None) -> None:
        self.scorer, self.checker, self.deadline = scorer, scorer.checker, deadline
        self.grid = NodeGrid(self.checker.lattice)
        self.bounds = scorer.lower_bounds(self.grid.vectors)
        self.open: Bools = np.ones(len(self.bounds), np.bool_) if among is None else among.copy()
        self.best: BestNode | None = None

    def run(self) -> BestNode | None:
        """The best node; the gap is what was not looked at in time."""
        while (numbers := self._candidates()).size:
            if self.deadline.passed and self.best is not None:
                bound = self.bounds[numbers[least(self.bounds[numbers])]]
                return BestNode(self.best.vector, self.best.score, self.best.score[0] - float(bound[0]), ended_by())
            start = int(numbers[least(self.bounds[numbers])])
            path = self.grid.path(start, self.open, self.bounds) if self.checker.monotone else [start]
            bisect(path, lambda number: self._check(number).safe)
        self.checker.settled(self.checker.total)
        return self.best

    def _candidates(self) -> Ints:
        """Numbers of the nodes that can be better than the best; the others are closed for good."""
        if self.best is not None:
            self.open &= below(self.bounds, self.best.score)
        numbers = np.flatnonzero(self.open)
        self.checker.settled(len(self.open) - len(numbers))
        return numbers

    def _check(self, number: int) -> NodeCheck:
        vector = self.grid.vector(number)
        checked = self.checker.check(vector)
        self.open[number] = False
        if checked.safe:
            score = self.scorer.score(vector)
            if self.best is None or score < self.best.score:
                self.best = BestNode(vector, score)
        if checked.ruled_out:
            self.open[self.grid.below(vector)] = False
        else:
            self._raise_below(checked)
        bound = self.scorer.bounds_above(checked)
        if bound is not None:
            above = self.grid.above(vector)
            self.bounds[above] = larger(self.bounds[above], np.array([bound]))
        return checked

    def _raise_below(self, checked: NodeCheck) -> None:
        bounds = self.scorer.bounds_below(checked)
        if bounds is not None:
            numbers = self.grid.below(checked.vector)
            numbers = numbers[self.open[numbers]]
            if numbers.size:
                self.bounds[numbers] = larger(self.bounds[numbers], bounds(self.grid.vectors[numbers]))


class BestFirst:
    """The search that the module calls `best_first`. `nodes`: how many it visits after the descent at most; None for
    the default, or none at all with a deadline."""

    def __init__(self, scorer: scores.Scorer, deadline: Deadline, nodes: int | None = None) -> None:
        self.scorer, self.checker, self.deadline = scorer, scorer.checker, deadline
        self.best: BestNode | None = None
        if nodes is None and not deadline.given:
            bottom = self.checker.bottom
            nodes = SEARCHED_CELLS // max(bottom.size * len(bottom.hierarchies), A_NODE)
        self._left: float = np.inf if nodes is None else nodes

    def run(self) -> BestNode | None:
        """The best node; the gap is to the least bound that was left. Raises InfeasibleError where the budget is spent
        and no safe node was met."""
        self._descend()
        bottom = self.checker.lattice.bottom
        heap: list[tuple[scores.Score, Vector, int]] = [(self.scorer.lower_bound(bottom), bottom, 0)]
        while heap:
            bound, vector, first = heapq.heappop(heap)
            if self.best is not None and bound >= self.best.score:
                break
            if self.best is None and self._left <= 0:
                raise _unmet(self.checker)
            if self.best is not None and (self._left <= 0 or self.deadline.passed):
                stopped = ended_by() if self.deadline.passed else "work"
                return BestNode(self.best.vector, self.best.score, self.best.score[0] - bound[0], stopped)
            self._take(vector)
            inherited = max(bound, self.scorer.bounds_above(self.checker.check(vector)) or bound)
            successors = self._next(vector, first)
            self._left -= max(len(successors), 1)
            for (node, index), lower in zip(successors, self._bounds(successors), strict=True):
                heapq.heappush(heap, (max(inherited, lower), node, index))
        self.checker.settled(self.checker.total)
        return self.best

    def _bounds(self, nodes: list[tuple[Vector, int]]) -> list[scores.Score]:
        """What each node costs at least; a node's bound does not depend on which others there are."""
        if not nodes:
            return []
        return [tuple(bound) for bound in self.scorer.lower_bounds(np.array([node for node, _ in nodes])).tolist()]

    def _next(self, vector: Vector, first: int) -> list[tuple[Vector, int]]:
        """The nodes that are reached from here alone: one level up in an attribute not before the last one raised."""
        top = self.checker.lattice.top
        return [
            ((*vector[:index], vector[index] + 1, *vector[index + 1 :]), index)
            for index in range(first, len(vector))
            if vector[index] < top[index]
        ]

    def _take(self, vector: Vector) -> bool:
        """Checks a node, which may be the best."""
        safe = self.checker.check(vector).safe
        if safe and (self.best is None or self.scorer.score(vector) < self.best.score):
            self.best = BestNode(vector, self.scorer.score(vector))
        self.checker.settled(self.checker.checked)
        return safe

    def _descend(self) -> None:
        """From the top down to a node without a better safe one directly below."""
        vector: Vector | None = self.checker.lattice.top
        if not self._take(self.checker.lattice.top):
            return
        while vector is not None and not self.deadline.passed:
            safe = [node for node in self.checker.lattice.below(vector) if self._take(node)]
            scored: list[tuple[Any, Vector]] = [(self.scorer.score(node), node) for node in safe]
            vector = min(scored)[1] if scored else None


# --- subsets of the attributes ----------------------------------------------------------------------------------------


def safe_nodes(checker: Checker) -> Bools:
    """(nodes,) in lexicographic order: which are safe; or, where safety is not monotone, are not ruled out."""
    grid = NodeGrid(checker.lattice)
    alive: Bools = np.zeros(len(grid.vectors), np.bool_)
    is_safe: Bools = np.zeros(len(grid.vectors), np.bool_)
    for number in _order(grid).tolist():
        if is_safe[number] or not all(alive[part] for part in _parts(grid, number)):
            continue
        checked = checker.check(grid.vector(number))
        alive[number] = checked.safe if checker.monotone else not checked.ruled_out
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
