"""Cut rules that look at the quasi-identifiers alone: which attribute is widest, has least entropy, or saves most
information loss by its cut. The manual of each rule is the docstring of its class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from anonymize.algorithms.cuts import Candidates, CutRule, Nodes
from anonymize.algorithms.splitting import Batch, nearest_cut
from anonymize.classes import Floats, Ints, run_starts
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.records import dataclass

# --- widest -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Widest(CutRule):
    """`--cut widest`: the textbook rule, the attribute of the largest normalized, weighted range cut at its median.

    The range of a numeric attribute is (high - low) over the range of the column; that of a categorical one, the leaves
    under the lowest node that covers the class over all leaves. Categorical attributes are cut at the boundary between
    two children of that node, the one nearest the median of the leaf order; where no such boundary leaves enough rows
    on both sides, at the boundary of leaves nearest the median.

    If ranges are equal, as all that are weighed alike are in a whole table, the attribute with fewer leaves is cut: its
    values are exact after fewer cuts. If these are equal as well, it is the one that the spec lists first. With `--ties
    listed` that one is cut in the first place, as most implementations do. The source leaves this open; its own example
    of six patients comes out as printed with fewer leaves first, in whatever order the spec lists the attributes.
    Comparisons with Mondrian should say which of the two is used: if attributes of few values are listed last, classes
    by the order of the spec are narrower in the others.

    Source: LeFevre, DeWitt and Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006, section 3.
    """

    ID: ClassVar[str] = "widest"
    BY_COUNTS: ClassVar[bool] = True

    ties: str = "leaves"

    @property
    def preference(self) -> Sequence[int]:
        """The attributes of fewest leaves first; of equally many, or with `listed` ties, in the order of the spec."""
        if self.ties == "listed":
            return range(len(self.domains))
        return sorted(range(len(self.domains)), key=lambda index: self.domains[index].size)

    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        domain = self.domains[attribute]
        span = domain.cost(batch.low[classes, attribute], batch.high[classes, attribute])
        medians = Candidates.near_median(self.weights[attribute] * span)
        if isinstance(domain, Taxonomy) and not self.relaxed:
            medians.stop[:] = self._between_children(domain, batch, attribute, classes)
        return medians

    def _between_children(self, domain: Taxonomy, batch: Batch, attribute: int, classes: Ints) -> Ints:
        """(m,) the boundary of two children nearest the median, the lower one at a tie; 0 where none is allowed."""
        runs = batch.runs_of(attribute, classes, domain.size)
        covering = domain.lca(batch.low[classes, attribute], batch.high[classes, attribute])
        nodes = Nodes.of_runs(runs, domain.levels[domain.level[covering][runs.classes] - 1, runs.codes])
        sizes = batch.sizes[classes][nodes.owner]
        before = np.cumsum(nodes.rows) - nodes.rows
        before -= before[nodes.starts][nodes.owner]
        allowed = (before >= self.minimum) & (sizes - before >= self.minimum)
        allowed &= (batch.attempts[classes, attribute] == 0)[nodes.owner]
        distance = np.where(allowed, np.abs(2 * before - sizes), sizes + 1)
        nearest = np.minimum.reduceat(distance, nodes.starts)
        chosen = nodes.first_marked(distance == nearest[nodes.owner])
        return np.where(nearest <= batch.sizes[classes], nodes.first[chosen], 0)


# --- entropy ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entropy(CutRule):
    """`--cut entropy`: the attribute whose values have the lowest entropy in the class, divided by its weight, first.

    Attributes of few, uneven values are exact after few cuts, and then cost nothing in any class below; what remains is
    spent on the others. Good on categorical tables, poor on continuous ones. Cut at the median of the leaf order.
    """

    ID: ClassVar[str] = "entropy"
    BY_COUNTS: ClassVar[bool] = True

    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        runs = batch.runs_of(attribute, classes, self.domains[attribute].size)
        share = runs.counts / batch.sizes[classes][runs.classes]
        entropy = np.add.reduceat(-share * np.log2(share), run_starts(runs.classes))
        return Candidates.near_median(-entropy / self.weights[attribute])


# --- ncp --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ncp(CutRule):
    """`--cut ncp`: the cut that saves most weighted NCP among those of all attributes nearest their medians."""

    ID: ClassVar[str] = "ncp"
    BY_COUNTS: ClassVar[bool] = True

    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        domain, sizes = self.domains[attribute], batch.sizes[classes]
        low, high = batch.low[classes, attribute], batch.high[classes, attribute]
        half = np.maximum(sizes // 2, 1)
        about = batch, attribute, domain.size, classes, half, self.minimum
        cut, _, fits = nearest_cut(*about, domain.preferred_cuts)
        runs = batch.runs_of(attribute, classes, domain.size)
        below = runs.codes < cut[runs.classes]
        starts = run_starts(runs.classes)
        rows = np.add.reduceat(np.where(below, runs.counts, 0), starts)
        under = np.maximum.reduceat(np.where(below, runs.codes, low[runs.classes]), starts)
        above = np.minimum.reduceat(np.where(below, high[runs.classes], runs.codes), starts)
        after = rows * domain.cost(low, under) + (sizes - rows) * domain.cost(above, high)
        saved = sizes * domain.cost(low, high) - after
        return Candidates.near_median(np.where(fits, self.weights[attribute] * saved, -1.0))


# --- rate -------------------------------------------------------------------------------------------------------------

FINE = 64
"""Classes of more than this many times the minimum are simply halved: whole multiples no longer matter."""


@dataclass(frozen=True)
class Rate(CutRule):
    """`--cut rate`: the cut that saves most information loss per bit.

    A class of n rows can be cut into about n / k parts, so cutting it further spends a budget of log2(n / k) bits: a
    cut into shares p and 1 - p spends H(p) of them per row. Each attribute offers its loss (weighted NCP) for bits, and
    the classical answer of rate-distortion theory is to spend them where the loss falls fastest. So the score of an
    attribute in a class is

        (NCP now - NCP after) / bits spent

    - Numeric: halving is taken to halve the range, so the score is half the NCP; where ends are shown rounded, it is
      what the lower and the upper half of the numbers cost less on average. The cut is made near the median, where the
      lower side holds half of the classes that can still be made (whole multiples of the minimum size): 35 rows at k =
      10 become 10 and 25, not 17 and 18, and so three classes instead of two. Missing values come last.
    - Categorical: the best of (a) parting one node of the taxonomy, at any level, from the rest, and (b) parting all
      nodes of a level from each other, which looks ahead over several cuts. The cut made is the best of kind (a); where
      none is allowed, the cut of the leaf order nearest the median.

    Bits are counted from the capacity floor(n / k), so a cut that wastes rows is charged for it.
    """

    ID: ClassVar[str] = "rate"
    BY_COUNTS: ClassVar[bool] = True

    def lower_rows(self, sizes: Ints, part: Ints, whole: Ints) -> Ints:
        capacity = sizes // self.minimum
        multiple = np.maximum(capacity * part // whole, 1) * self.minimum
        return np.where(capacity < FINE, multiple, sizes * part // whole)

    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        domain, weight = self.domains[attribute], self.weights[attribute]
        if isinstance(domain, Taxonomy):
            return NodeCuts(domain, self.minimum, weight).best(batch, attribute, classes)
        assert isinstance(domain, Numeric)
        low, high = batch.low[classes, attribute], batch.high[classes, attribute]
        return Candidates.near_median(weight * domain.saved_by_halving(low, high))


@dataclass(frozen=True)
class NodeCuts:
    """Cuts of a categorical attribute that part one node from the rest, and what all of a level would bring."""

    domain: Taxonomy
    minimum: int
    weight: float

    def best(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        """(m,) the score of each class, and the node to part from its rest; none where no such cut is allowed."""
        sizes = batch.sizes[classes]
        before = self.domain.cost(batch.low[classes, attribute], batch.high[classes, attribute])
        runs = batch.runs_of(attribute, classes, self.domain.size)
        score, node_score = np.zeros(len(classes)), np.zeros(len(classes))
        start, stop = np.zeros(len(classes), np.int64), np.zeros(len(classes), np.int64)
        fresh = batch.attempts[classes, attribute] == 0
        for level in range(self.domain.height):
            nodes = Nodes.of_runs(runs, self.domain.levels[level][runs.codes])
            loss = self.domain.cost(nodes.first, nodes.last) if level else np.zeros(len(nodes.owner))
            np.maximum(score, _all_at_once(nodes, loss, before, sizes), out=score)
            rate = self._one_from_rest(nodes, loss, before, sizes)
            best = np.maximum.reduceat(rate, nodes.starts)
            better = fresh & (best > node_score)
            chosen = nodes.first_marked(rate == best[nodes.owner])[better]
            node_score[better] = best[better]
            start[better], stop[better] = nodes.first[chosen], nodes.last[chosen] + 1
        return Candidates(self.weight * np.maximum(score, node_score), start, stop)

    def _one_from_rest(self, nodes: Nodes, loss: Floats, before: Floats, sizes: Ints) -> Floats:
        """(nodes,) NCP saved per bit by parting the node from the rest of its class; 0 where either is too small.

        The rest keeps the class's NCP, unless it is one node of the level itself.
        """
        whole, was = sizes[nodes.owner], before[nodes.owner]
        rest = whole - nodes.rows
        saved = nodes.rows * (was - loss)
        pairs = nodes.starts[np.diff(np.append(nodes.starts, len(nodes.owner))) == 2]
        saved[pairs] = saved[pairs + 1] = saved[pairs] + saved[pairs + 1]
        spent = self._capacity(whole) - self._capacity(nodes.rows) - self._capacity(rest)
        allowed = (nodes.rows >= self.minimum) & (rest >= self.minimum)
        return np.divide(saved, spent, out=np.zeros(len(saved)), where=allowed)

    def _capacity(self, rows: Ints) -> Floats:
        """Bits that classes of so many rows can still spend, over all their rows."""
        return np.asarray(rows * np.log2(np.maximum(rows // self.minimum, 1)))


def _all_at_once(nodes: Nodes, loss: Floats, before: Floats, sizes: Ints) -> Floats:
    """(m,) NCP saved per bit by parting all nodes of the level; 0 where there is only one."""
    share = nodes.rows / sizes[nodes.owner]
    saved = np.add.reduceat(share * (before[nodes.owner] - loss), nodes.starts)
    spent = np.add.reduceat(-share * np.log2(share), nodes.starts)
    return np.divide(saved, spent, out=np.zeros(len(saved)), where=spent > 0)
