"""The search in stages: first without suppression and for coarse values, where there is less to choose from.

What a stage finds, every later one with more splits to choose from or more rows to suppress may have as well. It takes
the best of them before each of its rounds, and gives nothing back. So what a stage does in its first n rounds depends
on the earlier stages' first n rounds, and on nothing else: not on the later ones, nor on how many rounds follow. Hence
a search is never worse than one with fewer rounds, with coarser values, or without suppression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from anonymize.algorithms.optimize.costs import BestSplits
from anonymize.algorithms.optimize.local import Annealed, LineBlocks, Local
from anonymize.algorithms.optimize.moves import SplitProblem
from anonymize.algorithms.optimize.tree import Explored, SplitTree, SubtreeTask, explore
from anonymize.classes import Bools

STEPS = 24
"""Steps of each kind of local search in a round that has some."""
EAGER, RARE = 4, 4
"""The first rounds have some, and of later ones one in so many: what is left then is the proof, more often than not."""


@dataclass
class Stage:
    """The sets within an `allset`, under the limit of a problem. `below`: the stages whose sets it may have too.
    `rounds`: how many there were."""

    problem: SplitProblem
    allset: Bools
    below: Sequence[Stage]
    best: BestSplits = field(init=False)
    rounds: int = 0

    def __post_init__(self) -> None:
        self.best = BestSplits(judge=self.problem.together)
        self.tree = SplitTree(self.allset, self.best)
        walks: list[Local | LineBlocks | Annealed] = [Local(self.problem, self.best, self.allset)]
        if self.problem.sized is not None:
            walks.append(LineBlocks(self.problem, self.best, self.allset))
            walks.append(Annealed(self.problem, self.best, self.allset))
        self.walks = walks

    @property
    def steps(self) -> int:
        """Steps of the local search so far."""
        return sum(walk.steps for walk in self.walks)

    @property
    def finished(self) -> bool:
        """Whether the best set is proved to be the best one."""
        return self.tree.finished

    def inherit(self) -> None:
        """Takes the best of the stages below."""
        for stage in self.below:
            if stage.best.cost is not None and stage.best.mask is not None:
                self.best.offer(stage.best.cost, stage.best.mask)

    def begin(self, starts: Callable[[Stage, Callable[[], bool]], None], left: Callable[[], bool]) -> None:
        """The sets to begin with, the root of the tree, and the local search until it gets no further."""
        starts(self, left)
        self.inherit()
        self.tree.round(lambda tasks: [explore(self.problem, task) for task in tasks], nodes=1)
        for walk in reversed(self.walks):
            walk.restart()
            while not (self.finished or walk.settled) and left():
                walk.step()

    def round(self, explored: Callable[[Stage, list[SubtreeTask]], list[Explored]], left: Callable[[], bool]) -> None:
        """Some nodes of the tree, and some steps of the local search."""
        self.inherit()
        if self.finished:
            return
        self.tree.round(lambda tasks: explored(self, tasks))
        self.rounds += 1
        for walk in self.walks if self.rounds <= EAGER or self.rounds % RARE == 0 else ():
            for _ in range(STEPS):
                if walk.stuck or self.finished or not left():
                    break
                walk.step()
