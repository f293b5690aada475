"""The set-enumeration tree over splits, searched where its bound is lowest, until no node can be better than the best.

A node is a head and a tail: the sets below it have all splits of the head and some of the tail. At each node

- a split of the tail goes where it is useless: in the classes that it parts it can only part off rows that are
  suppressed here and below;
- a split of the tail goes where the bound with it in the head is no better than the best set known, or too many rows
  would be suppressed;
- a split of the tail moves to the head where the bound without it is no better than the best set known;

over again, as every such step raises the bound. Then the tree branches: with and without the split of the tail for
which both bounds rise most. As an order of the tail that is chosen anew at every node, this is the published tree with
dynamic rearrangement; that splits are forced into the head is added.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from anonymize.algorithms.optimize.local import BestSplits
from anonymize.algorithms.optimize.moves import Additions, SplitProblem, SplitView
from anonymize.classes import Bools, Ints


@dataclass
class SplitTree:
    """The nodes that are open. `nodes`: how many have been looked at."""

    problem: SplitProblem
    best: BestSplits
    nodes: int = 0
    _open: list[tuple[int, int, bytes, bytes]] = field(default_factory=list)
    _pushed: int = 0

    def __post_init__(self) -> None:
        self._push(0, np.zeros(self.problem.splits.count, np.bool_), np.ones(self.problem.splits.count, np.bool_))

    @property
    def done(self) -> bool:
        """Whether no open node can be better than the best set."""
        return not self._open or self.best.reached(self._open[0][0])

    @property
    def bound(self) -> int | None:
        """No set costs less; None where none is known to be feasible and none is left."""
        lowest = self._open[0][0] if self._open else None
        known = [value for value in (lowest, self.best.cost) if value is not None]
        return min(known, default=None)

    def _push(self, bound: int, head: Bools, tail: Bools) -> None:
        if not self.best.reached(bound):
            self._pushed += 1
            heapq.heappush(self._open, (bound, -self._pushed, np.packbits(head).tobytes(), np.packbits(tail).tobytes()))

    def step(self) -> None:
        """Looks at the open node of the lowest bound; ties go to the most recent."""
        bound, _, *packed = heapq.heappop(self._open)
        head, tail = (
            np.unpackbits(np.frombuffer(each, np.uint8), count=self.problem.splits.count).astype(np.bool_)
            for each in packed
        )
        self.nodes += 1
        while True:
            view = self.problem.view(head, head | tail)
            self.best.work += view.work
            bound = max(bound, view.bound)
            if self.best.reached(bound) or view.hopeless > self.problem.allowed:
                return
            added = view.additions()
            self._offer(view, added, tail)
            kept = tail & self._promising(bound, view, added)
            if (kept == tail).all():
                without = view.bound + view.exclusions()
                forced = tail & (without >= self.best.cost) if self.best.cost is not None else np.zeros_like(tail)
                if not forced.any():
                    break
                head = head | forced
                kept = tail & ~forced
            tail = kept
        if tail.any():
            self._branch(bound, head, tail, view.bound + added.bound, without)

    def _promising(self, bound: int, view: SplitView, added: Additions) -> Bools:
        """(splits,) whether a better set may have each split."""
        promising = (added.useful > 0) & (view.hopeless + added.hopeless <= self.problem.allowed)
        if self.best.cost is not None:
            promising &= view.bound + added.bound < self.best.cost
        return promising

    def _offer(self, view: SplitView, added: Additions, tail: Bools) -> None:
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

    def _branch(self, bound: int, head: Bools, tail: Bools, within: Ints, without: Ints) -> None:
        """With and without the split for which the product of the rises is highest, the first of several."""
        rises = (within - bound + 1.0) * (without - bound + 1.0)
        chosen = int(np.argmax(np.where(tail, np.maximum(rises, 0.0), -1.0)))
        rest, more = tail.copy(), head.copy()
        rest[chosen], more[chosen] = False, True
        self._push(max(bound, int(without[chosen])), head, rest)
        self._push(max(bound, int(within[chosen])), more, rest)
