"""The set-enumeration tree over splits, searched where its bound is lowest, until no node can be better than the best.

A round takes the open nodes of the lowest bounds, and looks at some nodes below each of them. These tasks know nothing
of each other, so it does not matter where they are carried out: the result is the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from anonymize.algorithms.optimize.best import BestSplits
from anonymize.algorithms.optimize.explore import Explored, SplitNode, SubtreeTask
from anonymize.classes import Bools

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
