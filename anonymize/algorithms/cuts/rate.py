"""`--cut rate`: the cut that saves most information loss per bit.

A class of n rows can be cut into about n / k parts, so cutting it further spends a budget of log2(n / k) bits: a cut
into shares p and 1 - p spends H(p) of them per row. Each attribute offers its loss (weighted NCP) for bits, and the
classical answer of rate-distortion theory is to spend them where the loss falls fastest. So the score of an attribute
in a class is

    (NCP now - NCP after) / bits spent

- Numeric: halving is taken to halve the range, so the score is half the NCP; where ends are shown rounded, it is
  what the lower and the upper half of the numbers cost less on average. The cut is made near the median, where the
  lower side holds half of the classes that can still be made (whole multiples of the minimum size): 35 rows at k = 10
  become 10 and 25, not 17 and 18, and so three classes instead of two.
  Missing values come last.
- Categorical: the best of (a) parting one node of the taxonomy, at any level, from the rest, and (b) parting all nodes
  of a level from each other, which looks ahead over several cuts. The cut made is the best of kind (a); where none is
  allowed, the cut of the leaf order nearest the median.

Bits are counted from the capacity floor(n / k), so a cut that wastes rows is charged for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anonymize.algorithms.cuts.base import Candidates, CutRule
from anonymize.algorithms.cuts.nodes import Nodes
from anonymize.algorithms.splitting.batch import Batch
from anonymize.classes import Floats, Ints
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy

FINE = 64
"""Classes of more than this many times the minimum are simply halved: whole multiples no longer matter."""


@dataclass(frozen=True)
class Rate(CutRule):
    """See the module."""

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
        return self._numeric(domain, weight, batch, attribute, classes)

    def _numeric(self, domain: Numeric, weight: float, batch: Batch, attribute: int, classes: Ints) -> Candidates:
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
