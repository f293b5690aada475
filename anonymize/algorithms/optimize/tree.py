"""The set-enumeration tree over splits, searched where its bound is lowest, until no node can be better than the best.

A round takes the open nodes of the lowest bounds, and looks at some nodes below each of them. These tasks know nothing
of each other, so it does not matter where they are carried out: the result is the same.

A node is a head and a tail: the sets below it have all splits of the head and some of the tail. At each node

- a split of the tail goes where it is useless: in the classes that it parts it can only part off rows that are
  suppressed here and below;
- a split of the tail goes where the bound with it in the head is no better than the best set known, or too many rows
  would be suppressed;
- a split of the tail moves to the head where the bound without it is no better than the best set known;

over again, as every such step raises the bound. Then the tree branches: with and without the split of the tail that
parts the most pairs of rows and, left out, raises the bound most. As an order of the tail that is chosen anew at every
node, this is the published tree with dynamic rearrangement; that splits are forced into the head is added. The cells of
a node are made of those of the node above, which are fewer than those of the table.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import field
from typing import TypeAlias

import numpy as np

from anonymize.algorithms.optimize import SizedCells, lines, moves
from anonymize.algorithms.optimize.costs import Additions, BestSplits
from anonymize.classes import Bools, Floats, Ints
from anonymize.records import dataclass

SPLITS_GONE = 4
"""A node is looked at again as soon as one split in so many of its tail is gone."""


@dataclass(frozen=True)
class SplitNode:
    """`bound`: no set below costs less. `head`, `tail`: packed bits."""

    bound: int
    head: bytes
    tail: bytes

    @classmethod
    def of(cls, bound: int, head: Bools, tail: Bools) -> SplitNode:
        """The node of two sets of splits."""
        return cls(bound, np.packbits(head).tobytes(), np.packbits(tail).tobytes())

    def masks(self, splits: int) -> tuple[Bools, Bools]:
        """Its head and its tail."""
        head, tail = (np.frombuffer(packed, np.uint8) for packed in (self.head, self.tail))
        return np.unpackbits(head, count=splits).astype(np.bool_), np.unpackbits(tail, count=splits).astype(np.bool_)


@dataclass(frozen=True)
class SubtreeTask:
    """What is below a node, as far as so many `nodes` lead, given what the best set known `cost`s."""

    node: SplitNode
    nodes: int
    cost: int | None


@dataclass(frozen=True)
class Explored:
    """What came of it: nodes that are still open, how many were looked at, numbers read, and a better set. `unproved`:
    a set may cost as little that was not released so, as its classes could be suppressed in other ways than one."""

    open: list[SplitNode]
    nodes: int
    work: int
    cost: int | None
    mask: Bools | None
    unproved: int | None = None

    @classmethod
    def nothing(cls, task: SubtreeTask) -> Explored:
        """What is explored of a task for which there was no time: nothing."""
        return cls([task.node], 0, 0, None, None)


def explore(problem: moves.SplitProblem, task: SubtreeTask) -> Explored:
    """Looks at nodes, that of the lowest bound first."""
    best = BestSplits(task.cost, judge=problem.together)
    search = Subtree(problem, best)
    search.push(task.node, None)
    nodes = 0
    while search.open and nodes < task.nodes:
        search.step()
        nodes += 1
    left = [node for _, _, node, _ in sorted(search.open, key=lambda entry: entry[:2]) if not best.reached(node.bound)]
    return Explored(left, nodes, best.work, best.cost, best.mask, search.unproved)


@dataclass
class Subtree:
    """Open nodes, each with the cells of the node above, as far as its splits are open still."""

    problem: moves.SplitProblem
    best: BestSplits
    open: list[tuple[int, int, SplitNode, SizedCells | None]] = field(default_factory=list)
    unproved: int | None = None
    _pushed: int = 0

    def push(self, node: SplitNode, above: SizedCells | None) -> None:
        """Opens a node that may be better than the best set."""
        if not self.best.reached(node.bound):
            self._pushed += 1
            heapq.heappush(self.open, (node.bound, -self._pushed, node, above))

    def step(self) -> None:
        """Looks at the open node of the lowest bound; ties go to the most recent."""
        *_, node, cells = heapq.heappop(self.open)
        head, tail = node.masks(self.problem.splits.count)
        bound = node.bound
        while True:
            view = self.problem.view(head, head | tail, cells)
            cells = moves.cells_of(view)
            self.best.work += view.work
            bound = max(bound, view.floor)
            if self.best.reached(bound) or view.ruled_out > self.problem.allowed:
                return
            added = view.additions()
            self._offer(view, added, tail)
            open_splits = tail & self._promising(view, added)
            if np.count_nonzero(tail & ~open_splits) * SPLITS_GONE <= np.count_nonzero(tail):
                without = view.bound + view.exclusions()
                forced = open_splits & (without >= (np.inf if self.best.cost is None else self.best.cost))
                if not forced.any():
                    break
                head, open_splits = head | forced, open_splits & ~forced
            tail = open_splits
        if not open_splits.any():
            self._close(head)
        else:
            if cells is not None:
                self.best.work += len(cells.counts) * len(cells.places)
                cells = cells.fewer(head | open_splits)
            bound, spared = self._along(bound, cells, head, open_splits)
            if not self.best.reached(bound):
                settled = self._settled(view, added, without)
                chosen = int(np.argmax(np.where(open_splits & ~spared, settled, -1.0)))
                self._branch(bound, (head, open_splits), cells, chosen, (added.within, without))

    def _close(self, head: Bools) -> None:
        """Nothing is left to be added to a set, which is offered for what it costs at least: compared with other rows
        its classes may be safe that fail by themselves. Where it might cost less than it does, or than the best, with
        other classes suppressed, it is not proved that none does."""
        if self.best.judge is not None:
            least = self.best.released(head).least
            if least is None:
                return
            self.best.offer(least, head)
            if not self.best.reached(least):
                self.unproved = least if self.unproved is None else min(self.unproved, least)

    def _along(self, bound: int, cells: SizedCells | None, head: Bools, tail: Bools) -> tuple[int, Bools]:
        """The bound by the attribute that most of the tail belongs to, whose best cut is offered; and (splits,) those
        of it, which are branched at only where no others are left."""
        owner = self.problem.splits.attribute
        attribute = int(np.bincount(owner[tail]).argmax())
        of_attribute = owner == attribute
        line = None if cells is None else lines.Line.of(self.problem.rules, cells, head, attribute)
        if line is None:
            return bound, np.zeros_like(tail)
        cost, splits = line.best()
        if not self.best.reached(cost) and cost < lines.BIG:
            mask = head & ~of_attribute
            mask[splits] = True
            chosen = self.problem.view(mask, mask)
            if chosen.suppressed <= self.problem.allowed:
                self.best.offer(chosen.cost, mask)
        alone = not (tail & ~of_attribute).any()
        return max(bound, cost if alone else line.bound()), np.zeros_like(tail) if alone else of_attribute

    def _promising(self, view: moves.View, added: Additions) -> Bools:
        """(splits,) whether a better set may have each split."""
        useful = (added.useful > 0) | (self.best.judge is not None)  # what is suppressed can make the rest safe
        promising = useful & (view.ruled_out + added.ruled_out <= self.problem.allowed)
        if self.best.cost is not None:
            promising &= added.within < self.best.cost
        return promising

    def _offer(self, view: moves.View, added: Additions, tail: Bools) -> None:
        """The head, and the head with one split of the tail."""
        allowed = self.problem.allowed
        if view.suppressed <= allowed:
            self.best.offer(view.cost, view.head)
        fine = np.flatnonzero(tail & (view.suppressed + added.suppressed <= allowed))
        if len(fine):
            chosen = fine[np.argmin(added.cost[fine])]
            mask = view.head.copy()
            mask[chosen] = True
            self.best.offer(view.cost + int(added.cost[chosen]), mask)

    def _settled(self, view: moves.View, added: Additions, without: Ints) -> Floats:
        """(splits,) by how much is settled by branching at each: with it, the pairs of rows that it parts, as what
        parts the classes evenly leaves few other splits that keep them large enough; without it, by how much the bound
        by the cells rises."""
        parted, raised = (np.maximum(each, 0) + 1.0 for each in (added.apart, without - view.bound))
        return np.asarray(parted * raised)

    def _branch(
        self, bound: int, masks: tuple[Bools, Bools], cells: SizedCells | None, chosen: int, bounds: Bounds
    ) -> None:
        """With and without a split of the tail; `masks`: head and tail."""
        (head, tail), (within, without) = masks, bounds
        rest, more = tail.copy(), head.copy()
        rest[chosen], more[chosen] = False, True
        self.push(SplitNode.of(max(bound, int(without[chosen])), head, rest), cells)
        self.push(SplitNode.of(max(bound, int(within[chosen])), more, rest), cells)


Bounds: TypeAlias = tuple[Ints, Ints]
"""(splits,) the bound with each, and without."""


# --- rounds of tasks --------------------------------------------------------------------------------------------------

TASKS = 8
"""Tasks of a round."""
NODES = 32
"""Nodes of a task."""


@dataclass
class SplitTree:
    """The nodes that are open. `allset`: the splits that there are to choose from. `nodes`: how many have been looked
    at. `unproved`: what sets that are settled may cost in another way than they were released."""

    allset: Bools
    best: BestSplits
    nodes: int = 0
    unproved: int | None = None
    _open: list[tuple[int, int, SplitNode]] = field(default_factory=list)
    _pushed: int = 0
    _taken: list[SplitNode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._push(SplitNode.of(0, np.zeros_like(self.allset), self.allset))

    @property
    def finished(self) -> bool:
        """Whether no open node can be better than the best set."""
        return not self._open or self.best.reached(self._open[0][0])

    @property
    def bound(self) -> int | None:
        """No set costs less; None where none is known to be feasible and none is left."""
        lowest = [entry[0] for entry in self._open[:1]] + [node.bound for node in self._taken[:1]]
        costs = [value for value in (*lowest, self.unproved, self.best.cost) if value is not None]
        return min(costs, default=None)

    @property
    def proved(self) -> bool:
        """Whether no set costs less than the best one."""
        return self.finished and (self.unproved is None or self.best.reached(self.unproved))

    def _push(self, node: SplitNode) -> None:
        if not self.best.reached(node.bound):
            self._pushed += 1
            heapq.heappush(self._open, (node.bound, -self._pushed, node))

    def round(self, explored: Callable[[list[SubtreeTask]], list[Explored]], nodes: int = NODES) -> None:
        """The tasks of one round; `explored` carries them out. At first there is one node, and it is the task."""
        while len(self._taken) < TASKS and not self.finished:
            self._taken.append(heapq.heappop(self._open)[2])
        for result in explored([SubtreeTask(node, nodes, self.best.cost) for node in self._taken]):
            self.nodes += result.nodes
            self.best.work += result.work
            if result.cost is not None and result.mask is not None:
                self.best.offer(result.cost, result.mask)
            if result.unproved is not None:
                self.unproved = min(result.unproved, result.unproved if self.unproved is None else self.unproved)
            for node in reversed(result.open):
                self._push(node)
        self._taken = []
