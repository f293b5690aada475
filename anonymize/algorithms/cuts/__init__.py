"""Rules by which Mondrian chooses the next cut of a class. `RULES` is the registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.cuts.base import Candidates, CutRule, CutRules
from anonymize.algorithms.cuts.unsupervised import Nodes
from anonymize.algorithms.splitting import Batch
from anonymize.algorithms.splitting.grow import Cuts
from anonymize.classes import Bools, Ints, starts_of
from anonymize.domain import Domain
from anonymize.domain.taxonomy import Taxonomy
from anonymize.records import dataclass
from anonymize.table import Selection

if TYPE_CHECKING:
    from anonymize.algorithms.cuts.supervised import ByTarget

# --- selection --------------------------------------------------------------------------------------------------------

Integers = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Selecting(CutRule):
    """`--cut selection`: Selection Mondrian: the cut that takes most off the imprecision of the workload's selections.

    For a release from which known selections of rows will be counted or used. A selection from a release returns every
    class whose region overlaps the selection; the imprecision is the number of rows too many, summed over the
    selections. A class is cut at the boundaries of the selections, and one child of a node from the rest, as long as
    that lessens the sum. Where it does not, the rule that `auto` takes for the targets of the workload goes on, or for
    none.

    A region is an interval of numbers, up to the highest of all where missing values are mixed in; or the lowest node
    that covers a class's categories.

    Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, section 3.4.
    """

    ID: ClassVar[str] = "selection"

    selections: Sequence[Selection] = field(default=())
    then: CutRule | None = None
    """The rule for classes that no cut makes more precise."""

    @property
    def tries(self) -> int:
        """One attempt for the cut at a boundary, and those of the other rule."""
        return 1 + (self.then.tries if self.then else 0)

    def choose(self, batch: Batch) -> Cuts:
        """The cut at a selection's boundary where there is one that helps, else that of the other rule.

        A refused cut at a boundary is not counted among the attempts of the other rule.
        """
        candidates, gain = self._scored(batch)
        gain = np.maximum(gain, 0)
        spent = (gain > 0) & (batch.attempts > 0)
        gain[spent] = 0
        attribute = np.argmax(gain, axis=1)
        chosen = gain[np.arange(batch.count), attribute] > 0
        cuts = self._others(batch, chosen, spent)
        for index, (classes, proposed) in enumerate(candidates):
            its = (chosen & (attribute == index))[classes]
            cut = classes[its]
            cuts.attribute[cut], cuts.ties[cut] = index, 0
            cuts.start[cut], cuts.stop[cut] = proposed.start[its], proposed.stop[its]
        return cuts

    def _others(self, batch: Batch, chosen: Bools, spent: Bools) -> Cuts:
        """The cuts of the other rule, which is not asked about the `chosen` classes."""
        assert self.then is not None
        closed = batch.closed[chosen]
        batch.closed[chosen] = True
        batch.attempts[spent] -= 1
        cuts = self.then.choose(batch)
        batch.attempts[spent] += 1
        batch.closed[chosen] = closed
        return cuts

    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        """The rows of imprecision that the best cut of each class (m,) saves, 0 where none does."""
        domain = self.domains[attribute]
        about = [selection for selection in self.selections if attribute in selection.leaves]
        helped = [self._crossed(batch, attribute, classes, selection) for selection in about]
        some = np.flatnonzero(np.logical_or.reduce(helped)) if helped else np.empty(0, np.int64)
        proposed = Candidates.near_median(np.zeros(len(classes)))
        if len(some):
            taken = [selection.leaves[attribute] for selection in about]
            crossed = [each[some] for each in helped]
            weigh = self._children if isinstance(domain, Taxonomy) else self._boundaries
            best = weigh(batch, attribute, classes[some], taken, crossed)
            proposed.score[some], proposed.start[some], proposed.stop[some] = best.score, best.start, best.stop
        return proposed

    def _crossed(self, batch: Batch, attribute: int, classes: Ints, selection: Selection) -> Bools:
        """(m,) whether the selection overlaps a class and takes some of the attribute's leaves in it, but not all."""
        overlaps = np.ones(len(classes), np.bool_)
        for index, taken in selection.leaves.items():
            domain = self.domains[index]
            start, stop = _region(domain, batch.low[classes, index], batch.high[classes, index])
            rows = starts_of(taken)
            selected = rows[stop] - rows[start]
            overlaps &= selected > 0
            if index == attribute:
                overlaps &= selected < stop - start
        return overlaps

    def _boundaries(
        self, batch: Batch, attribute: int, classes: Ints, taken: Sequence[Bools], crossed: Sequence[Bools]
    ) -> Candidates:
        """Cuts of numbers. Between two boundaries all leaves are alike: segments (s) of leaves are counted."""
        domain = self.domains[attribute]
        firsts = np.unique(np.concatenate([np.flatnonzero(np.diff(each)) + 1 for each in taken]))
        if domain.missing is not None:
            firsts = np.union1d(firsts, [domain.missing])
        segment = np.searchsorted(firsts, np.arange(domain.size), side="right")
        count = len(firsts) + 1
        labels, segments = batch.labels_of(classes), segment[batch.codes_of(attribute, classes)]
        rows = np.bincount(labels * count + segments, minlength=len(classes) * count).reshape(-1, count)
        lower = np.cumsum(rows, axis=1)[:, :-1]
        upper = batch.sizes[classes][:, None] - lower
        ends = SegmentReach.of(rows)
        gain = np.zeros(lower.shape)
        for each, its in zip(taken, crossed, strict=True):
            low_hit, high_hit = ends.hit(each[np.append(0, firsts)], its)
            gain[its] += np.where(low_hit, 0, lower[its]) + np.where(high_hit, 0, upper[its])
        gain[(lower < self.minimum) | (upper < self.minimum)] = 0
        best = np.argmax(gain, axis=1)
        return Candidates(gain[np.arange(len(best)), best], np.zeros(len(best), np.int64), firsts[best])

    def _children(
        self, batch: Batch, attribute: int, classes: Ints, taken: Sequence[Bools], crossed: Sequence[Bools]
    ) -> Candidates:
        """Cuts of one child from the rest. The rest keeps the node of the class, unless it is a single child."""
        domain = self.domains[attribute]
        assert isinstance(domain, Taxonomy)
        runs = batch.runs_of(attribute, classes, domain.size)
        covering = domain.lca(batch.low[classes, attribute], batch.high[classes, attribute])
        nodes = Nodes.of_runs(runs, domain.levels[domain.level[covering][runs.classes] - 1, runs.codes])
        start, stop = _region(domain, nodes.first, nodes.last)
        rest = batch.sizes[classes][nodes.owner] - nodes.rows
        pairs = nodes.starts[np.diff(nodes.starts, append=len(nodes.owner)) == 2]
        gain = np.zeros(len(nodes.owner))
        for each, its in zip(taken, crossed, strict=True):
            rows = starts_of(each)
            hit = rows[stop] > rows[start]
            rest_hit = np.ones_like(hit)
            rest_hit[pairs], rest_hit[pairs + 1] = hit[pairs + 1], hit[pairs]
            gain += its[nodes.owner] * (np.where(hit, 0, nodes.rows) + np.where(rest_hit, 0, rest))
        gain[(nodes.rows < self.minimum) | (rest < self.minimum)] = 0
        best = np.maximum.reduceat(gain, nodes.starts)
        chosen = nodes.first_marked(gain == best[nodes.owner])
        return Candidates(best, nodes.first[chosen], nodes.last[chosen] + 1)


@dataclass(frozen=True)
class SegmentReach:
    """The segments (s) that the parts of m classes below and above each of the s - 1 boundaries reach: `low` (m, 1) to
    `under` (m, s - 1), and `above` (m, s - 1) to `high` (m, 1)."""

    low: Ints
    under: Ints
    above: Ints
    high: Ints

    @classmethod
    def of(cls, rows: Ints) -> SegmentReach:
        """The reach that follows from the number of rows of each class in each segment (m, s)."""
        count = rows.shape[1]
        under = np.maximum.accumulate(np.where(rows > 0, np.arange(count), -1), axis=1)
        above = np.minimum.accumulate(np.where(rows > 0, np.arange(count), count)[:, ::-1], axis=1)[:, ::-1]
        return cls(above[:, :1], under[:, :-1], above[:, 1:], under[:, -1:])

    def hit(self, taken: Bools, classes: Bools) -> tuple[Bools, Bools]:
        """(classes, s - 1) whether the part below, and that above, each boundary overlaps the segments taken (s,)."""
        rows = starts_of(taken)
        low, under = self.low[classes], self.under[classes]
        above, high = self.above[classes], self.high[classes]
        below_hit = rows[np.maximum(under, low - 1) + 1] > rows[low]
        above_hit = rows[np.maximum(high, above - 1) + 1] > rows[above]
        return below_hit, above_hit


def _region(domain: Domain, low: Integers, high: Integers) -> tuple[Ints, Ints]:
    """The leaves that a release shows for each interval of codes: `start ... stop - 1`."""
    if isinstance(domain, Taxonomy):
        node = domain.lca(low, high)
        return domain.start[node], domain.stop[node]
    return low.astype(np.int64), high.astype(np.int64) + 1


# --- registry ---------------------------------------------------------------------------------------------------------

__all__ = ["BY_TARGET", "RULES", "CutRule", "Selecting"]

_OF_TARGETS = {"infogain": "supervised.InfoGain", "lsd": "supervised.LeastSquares", "mixed": "supervised.Mixed"}

BY_TARGET: CutRules[ByTarget] = CutRules(_OF_TARGETS)
"""The rules that look at the targets of the workload."""

RULES: CutRules[CutRule] = CutRules(
    {
        "rate": "unsupervised.Rate",
        "widest": "unsupervised.Widest",
        "entropy": "unsupervised.Entropy",
        "ncp": "unsupervised.Ncp",
        **_OF_TARGETS,
        Selecting.ID: "Selecting",
    }
)
