"""Rules by which Mondrian chooses the next cut of a class, and their registry: all score the attributes, take the best
and fall back on a cut near the median; one follows selections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from anonymize.algorithms.base import Registry
from anonymize.algorithms.splitting import Batch, nearest_cut, parting_cut
from anonymize.algorithms.splitting.grow import AGAIN, FINISHED, Cuts
from anonymize.classes import Bools, Floats, Integers, Ints, Runs, starts_of
from anonymize.domain import Domain
from anonymize.domain.taxonomy import Taxonomy
from anonymize.records import dataclass
from anonymize.table import Selection

SHARES = np.array([(1, 2), (1, 4), (3, 4)])
"""Where along a class its cuts are tried, one after the other, while a privacy model refuses them."""


SCORE_DIGITS = 40
"""Binary digits of a score that count."""


@dataclass(frozen=True)
class Candidates:
    """What a rule thinks of one attribute in m classes: a score each (-inf: no cut), and the interval of codes to part
    from the rest; an empty interval (0, 0) asks for a cut near the median."""

    score: Floats
    start: Ints
    stop: Ints

    @classmethod
    def near_median(cls, score: Floats) -> Candidates:
        """Candidates that leave the place of the cut to the median."""
        start, stop = np.zeros((2, len(score)), np.int64)
        return cls(score, start, stop)

    def put(self, classes: Ints | Bools, other: Candidates) -> None:
        """Some of the classes become those of another."""
        self.score[classes], self.start[classes], self.stop[classes] = other.score, other.start, other.stop

    def picked(self, classes: Ints | Bools) -> Candidates:
        """Some of the classes."""
        return Candidates(self.score[classes], self.start[classes], self.stop[classes])


def rounded(scores: Floats) -> Floats:
    """Scores to 40 binary digits, 12 decimal ones: what two processors compute differently in its last digits is equal,
    so that all workers of an engine, and this machine, cut a class alike."""
    digits, exponent = np.frexp(scores)
    return np.asarray(np.ldexp(np.round(np.ldexp(digits, SCORE_DIGITS)), exponent - SCORE_DIGITS))


@dataclass(frozen=True)
class CutRule(ABC):
    """A rule by which the next cut of a class is chosen.

    `domains` and `weights`: one per quasi-identifier. `minimum`: rows that a class must have at least. `relaxed`: rows
    of equal value may part at a median. At equal scores the attribute that comes first in `preference` is cut.
    """

    domains: Sequence[Domain]
    weights: Sequence[float]
    minimum: int
    relaxed: bool = False

    ID: ClassVar[str]
    BY_COUNTS: ClassVar[bool] = False
    """Whether cuts follow from how many rows of a class have each code of each attribute by itself, so that the rule
    asks no more of a batch than `Histograms` has."""

    @abstractmethod
    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        """Scores of one attribute in some classes (m,), in each of which it has at least two values."""

    @property
    def fewest_rows(self) -> int:
        """Rows that a class must have at least to be cut: enough for two."""
        return 2 * self.minimum

    @property
    def preference(self) -> Sequence[int]:
        """The attributes in the order in which they are cut at equal scores: that of the spec."""
        return range(len(self.domains))

    def lower_rows(self, sizes: Ints, part: Ints, whole: Ints) -> Ints:
        """Rows of the lower side of a cut near the median, (m,); `part` / `whole` (m,) is the share asked for."""
        return np.asarray(np.maximum(sizes * part // whole, 1))

    def choose(self, batch: Batch) -> Cuts:
        """The cut of every class: the attribute of highest score, where its candidate says or near the median."""
        candidates, score = self._scored(batch)
        preference = np.array(self.preference)
        attribute = preference[np.argmax(rounded(score)[:, preference], axis=1)]
        attribute[np.isneginf(score[np.arange(batch.count), attribute])] = FINISHED
        start, stop, ties = np.zeros((3, batch.count), np.int64)
        for index, (classes, proposed) in enumerate(candidates):
            chosen = attribute[classes] == index
            start[classes[chosen]], stop[classes[chosen]] = proposed.start[chosen], proposed.stop[chosen]
            medians = classes[chosen & (proposed.stop == 0)]
            stop[medians], ties[medians], fits = self._near_median(batch, index, medians)
            attribute[medians[~fits]] = AGAIN
        return Cuts(attribute, start, stop, ties)

    def _scored(self, batch: Batch) -> tuple[list[tuple[Ints, Candidates]], Floats]:
        worth_it = (batch.sizes >= self.fewest_rows)[:, None] & (batch.low < batch.high)
        worth_it &= ~batch.closed & (batch.attempts < self.tries)
        score = np.full(worth_it.shape, -np.inf)
        candidates = []
        for attribute in range(len(self.domains)):
            classes = np.flatnonzero(worth_it[:, attribute])
            proposed = Candidates.near_median(np.empty(0))
            if len(classes):
                proposed = self.candidates(batch, attribute, classes)
                score[classes, attribute] = proposed.score
            candidates.append((classes, proposed))
        return candidates, score

    @property
    def tries(self) -> int:
        """Cuts of one class on one attribute that privacy models may refuse before another attribute is taken."""
        return len(SHARES)

    def _near_median(self, batch: Batch, index: int, classes: Ints) -> tuple[Ints, Ints, Bools]:
        """Where to cut some classes (m,) on one attribute, the ties of the cut, and whether it is allowed.

        Closes the attribute of a class where no cut of it, nor of any part of it, would be.
        """
        attempts = batch.attempts[classes, index] % len(SHARES)
        part, whole = SHARES[attempts].T
        rows = self.lower_rows(batch.sizes[classes], part, whole)
        about = batch, index, self.domains[index].size, classes, rows, self.minimum
        preferred = self.domains[index].preferred_cuts
        cut, ties, fits = parting_cut(*about) if self.relaxed else nearest_cut(*about, preferred)
        batch.closed[classes[~fits & (attempts == 0)], index] = True
        batch.attempts[classes[~fits], index] += 1
        return cut, ties, fits


# --- the nodes of a taxonomy in each class ----------------------------------------------------------------------------
# What categorical cuts are chosen among.


@dataclass(frozen=True)
class Nodes:
    """Nodes that occur in m classes, sorted by class, then leaf order; one of each class at least.

    `owner` (nodes,) class of each; `starts` (m,) the first node of each class; `first`, `last` (nodes,) lowest and
    highest leaf code that occurs under it; `rows` (nodes,) rows of the class under it.
    """

    owner: Ints
    starts: Ints
    first: Ints
    last: Ints
    rows: Ints

    @classmethod
    def of_runs(cls, runs: Runs, node: Integers) -> Nodes:
        """The values of each class put together by their node (runs,)."""
        new_class = np.ones(len(node), np.bool_)
        np.not_equal(runs.classes[1:], runs.classes[:-1], out=new_class[1:])
        begins = new_class.copy()
        begins[1:] |= node[1:] != node[:-1]
        starts = np.flatnonzero(begins)
        last = runs.codes[np.append(starts[1:], len(node)) - 1]
        rows = np.add.reduceat(runs.counts, starts)
        return cls(runs.classes[starts], np.flatnonzero(new_class[starts]), runs.codes[starts], last, rows)

    def first_marked(self, marked: Bools) -> Ints:
        """(m,) the first marked node of each class; every class has one."""
        places = np.flatnonzero(marked)
        owner = self.owner[places]
        return places[np.concatenate(([True], owner[1:] != owner[:-1]))]


# --- selection --------------------------------------------------------------------------------------------------------


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
            proposed.put(some, weigh(batch, attribute, classes[some], taken, crossed))
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

_OF_TARGETS = {"infogain": "supervised:InfoGain", "lsd": "supervised:LeastSquares", "mixed": "supervised:Mixed"}

BY_TARGET: Registry[Any] = Registry(__name__, _OF_TARGETS)
"""The rules that look at the targets of the workload, subclasses of `ByTarget`."""

RULES: Registry[type[CutRule]] = Registry(
    __name__,
    {
        "rate": "unsupervised:Rate",
        "widest": "unsupervised:Widest",
        "entropy": "unsupervised:Entropy",
        "ncp": "unsupervised:Ncp",
        **_OF_TARGETS,
        Selecting.ID: Selecting,
    },
)
