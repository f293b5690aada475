"""Which buckets give a row to each group, by the rule "one row from each of the l largest", without a loop over groups.

Buckets are the sensitive values, sizes their rows. Buckets larger than the l-th largest (*above*) give a row in every
round; those level with it (*tied*: within one row of each other) take turns; the smaller ones (*below*) wait. While no
bucket comes level with the tied ones, the rounds are regular, and all of them are written down at once. With every such
event a bucket joins the tied ones for good, so there are no more stretches than buckets and their sizes have ties.

Source: Xiao and Tao, Anatomy, VLDB 2006, figure 3 (group creation). Ties, which the paper leaves open, are broken at
random, anew each time that every tied bucket has given as many rows as the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Ints

Picks = NDArray[np.int32]


def schedule(counts: Ints, l: int, random: np.random.Generator) -> Picks:  # noqa: E741
    """(groups, l) int32: the bucket of each row of each group; different buckets in every group.

    `counts` (buckets,) rows of each bucket. Ends when fewer than l buckets have rows left.
    """
    state = _State.of(counts, l)
    stretches = [np.empty((0, l), np.int32)]
    while state.going:
        stretches.append(state.stretch(random))
    return np.concatenate(stretches)


@dataclass
class _State:
    """Where the rounds stand: what is left in each bucket, which are above, and the tied ones in the order of turns,
    the larger first."""

    left: Ints
    l: int  # noqa: E741
    above: Ints
    tied: Ints
    below: Ints

    @classmethod
    def of(cls, counts: Ints, l: int) -> _State:  # noqa: E741
        """The state at the start: buckets as large as the l-th largest are tied; those below are ordered with the
        largest first."""
        order = np.argsort(-counts, kind="stable")
        ranked = counts[order]
        level = ranked[l - 1] if len(ranked) >= l else 0
        return cls(counts.copy(), l, order[ranked > level], order[ranked == level], order[ranked < level])

    @property
    def going(self) -> bool:
        """Whether at least l buckets have rows."""
        left = np.count_nonzero(self.left[self.tied])
        return bool(left and len(self.above) + left >= self.l)

    def stretch(self, random: np.random.Generator) -> Picks:
        """The rounds until the next bucket comes level, (rounds, l); the state is then after them."""
        turns = self.l - len(self.above)
        rounds = self._rounds(turns)
        taken = self._turns(rounds * turns, turns, random).reshape(rounds, turns)
        picks = np.empty((rounds, self.l), np.int32)
        picks[:, : len(self.above)] = self.above
        picks[:, len(self.above) :] = taken
        self.left[self.above] -= rounds
        self.left -= np.bincount(taken.ravel(), minlength=len(self.left))
        self._join()
        return picks

    def _rounds(self, turns: int) -> int:
        """How many rounds there are before a bucket above, or one below, comes level with the largest of the tied."""
        tied = self.left[self.tied]
        waiting = int(self.left[self.below[0]]) if len(self.below) else 0
        most = int((tied - waiting).sum()) // turns
        if not len(self.above):
            return most
        count, top = len(tied), int(tied.max())
        ahead = int(self.left[self.above].min()) - top
        late = count - int(np.count_nonzero(tied == top))

        def level(rounds: int) -> bool:
            return ahead - rounds + (late + rounds * turns) // count <= 0

        low, high = 0, most
        while high - low > 1:  # the distance never grows
            middle = (low + high) // 2
            low, high = (low, middle) if level(middle) else (middle, high)
        return high

    def _turns(self, number: int, turns: int, random: np.random.Generator) -> Ints:
        """The given number of turns of the tied buckets, whose order changes after as many rounds as there are tied
        buckets."""
        larger = int(np.count_nonzero(self.left[self.tied] == self.left[self.tied].max()))
        block = len(self.tied) * turns
        blocks = -(-number // block)
        parts = [np.tile(part, (blocks, 1)) for part in (self.tied[:larger], self.tied[larger:])]
        order = np.concatenate([random.permuted(part, axis=1) for part in parts], axis=1)
        return np.asarray(np.tile(order, (1, turns)).ravel()[:number])

    def _join(self) -> None:
        """Buckets that have come level become tied; the larger of the tied come first."""
        top = self.left[self.tied].max()
        fallen = self.left[self.above] <= top
        reached = self.left[self.below] >= self.left[self.tied].min()
        together = np.concatenate([self.tied, self.above[fallen], self.below[reached]])
        self.above, self.below = self.above[~fallen], self.below[~reached]
        self.tied = together[np.argsort(-self.left[together], kind="stable")]
