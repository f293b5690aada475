"""What a reader of a release can state in place of a pattern of the original.

A pattern is a conjunction of conditions with the label that most of its rows have. A release shows other boundaries, so
a reader states it with other ones: `capital gain from 6001` in place of `from 7298`. A statement has a condition for
each of the pattern's, on the same attribute and in the same direction, and is about the rows whose regions lie within
it as a whole: of these it is true, whatever the values behind them are. Of all statements the one is looked for whose
rows and share of the label are nearest to the pattern's, each difference taken in units of its tolerance; the larger of
the two counts.

The search moves one condition at a time to its best boundary for as long as that helps, once from the pattern's own
boundaries and once from those with which each condition by itself is nearest to what it is on the original. So it may
miss a statement that needs several conditions moved at once: a pattern that survives does, one that does not may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain.base import Domain
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.evaluation.trees import LabelledRegions, Node, RegionCondition, count_table, last_number

SUPPORT = 0.1
CONFIDENCE = 0.05
Conditions = tuple[RegionCondition, ...]


@dataclass(frozen=True)
class Tolerance:
    """How far a statement may be from its pattern: `support`, of the rows, as a share of the pattern's; `confidence`,
    of the share of the label, in points from 0 to 1."""

    support: float = SUPPORT
    confidence: float = CONFIDENCE

    def distances(self, counts: Ints, pattern: Node) -> Floats:
        """(statements,) how far rows (statements, labels) are from a pattern: at most 1 where they are within
        tolerance, infinitely where most have another label, or there are none."""
        rows = counts.sum(axis=1)
        shares = counts[:, pattern.label] / np.maximum(rows, 1)
        of_support = _units(np.abs(rows - pattern.rows) / max(pattern.rows, 1), self.support)
        of_confidence = _units(np.abs(shares - pattern.share), self.confidence)
        same = (rows > 0) & (counts.argmax(axis=1) == pattern.label)
        return np.where(same, np.maximum(of_support, of_confidence), np.inf)


def _units(difference: Floats, tolerance: float) -> Floats:
    """Differences in units of their tolerance; of a tolerance of 0 anything but no difference is too much."""
    return np.asarray(difference / tolerance if tolerance else np.where(difference > 0, np.inf, 0.0))


@dataclass(frozen=True)
class Statement:
    """Conditions, the rows of each label within them, and how far it is from its pattern."""

    conditions: Conditions
    counts: Ints
    distance: float


@dataclass(frozen=True)
class StatementSearch:
    """The search on the regions of a release, `original` being those of the original."""

    original: LabelledRegions
    released: LabelledRegions
    domains: Sequence[Domain]
    tolerance: Tolerance

    def nearest(self, pattern: Node) -> Statement:
        """The statement that is nearest to a pattern; of ties the first that is met."""
        conditions = needed(pattern.path, self.domains)
        alone = tuple(self._moved((each,), 0, self._marginal(each)).conditions[0] for each in conditions)
        starts = [self._stated(each, pattern) for each in dict.fromkeys((conditions, alone))]
        return min((self._descended(start, pattern) for start in starts), key=lambda each: each.distance)

    def _marginal(self, condition: RegionCondition) -> Node:
        """One condition by itself, on the original."""
        return Node((condition,), self.original.chosen(condition.within(self.original)).total, leaf=True)

    def _descended(self, statement: Statement, pattern: Node) -> Statement:
        """With conditions moved, one after the other, for as long as that helps."""
        while True:
            before = statement
            for position in range(len(statement.conditions)):
                moved = self._moved(statement.conditions, position, pattern)
                statement = moved if moved.distance < statement.distance else statement
            if statement.distance >= before.distance:
                return statement

    def _stated(self, conditions: Conditions, pattern: Node) -> Statement:
        counts = self.released.counts[self._within(conditions)].sum(axis=0)
        return Statement(conditions, counts, float(self.tolerance.distances(counts[None], pattern)[0]))

    def _within(self, conditions: Sequence[RegionCondition]) -> Bools:
        inside = np.ones(len(self.released.counts), np.bool_)
        for condition in conditions:
            inside &= condition.within(self.released)
        return inside

    def _moved(self, conditions: Conditions, position: int, pattern: Node) -> Statement:
        """With one condition at its best boundary; of ties the boundary that is nearest to where it was."""
        own = conditions[position]
        rest = self.released.chosen(self._within([each for each in conditions if each is not own]))
        places, counts = self._alternatives(own, rest)
        if not len(places):
            return self._stated(conditions, pattern)
        distances = self.tolerance.distances(counts, pattern)
        away = np.abs(places - (own.first, own.last)).sum(axis=1)
        best = int(np.lexsort((away, distances))[0])
        first, last = places[best].tolist()
        moved = (*conditions[:position], replace(own, first=first, last=last), *conditions[position + 1 :])
        return Statement(moved, counts[best], float(distances[best]))

    def _alternatives(self, own: RegionCondition, rest: LabelledRegions) -> tuple[Ints, Ints]:
        """Conditions of the same direction on the same attribute, as (n, 2) first and last codes, and the rows
        (n, labels) within each."""
        domain = self.domains[own.attribute]
        if isinstance(domain, Numeric):
            return _boundaries(own, rest, domain)
        assert isinstance(domain, Taxonomy)
        places = _nodes_near(own, domain)
        counts = [rest.counts[replace(own, first=a, last=b).within(rest)].sum(axis=0) for a, b in places.tolist()]
        return places, np.array(counts, np.int64).reshape(len(places), rest.counts.shape[1])


def needed(path: Conditions, domains: Sequence[Domain]) -> Conditions:
    """The conditions without those that follow from others: of numbers, the last of either side says it all."""
    last = {(each.attribute, each.negated): index for index, each in enumerate(path)}
    numeric = [isinstance(domain, Numeric) for domain in domains]
    return tuple(
        each
        for index, each in enumerate(path)
        if not numeric[each.attribute] or last[each.attribute, each.negated] == index
    )


def _boundaries(own: RegionCondition, rest: LabelledRegions, domain: Numeric) -> tuple[Ints, Ints]:
    """Every boundary that some region has on the side that is asked for: `from` a value where a region starts, not
    from the one behind where a region ends. A missing number is not from any."""
    first, last = rest.first[:, own.attribute], rest.last[:, own.attribute]
    top = last_number(domain)
    if own.negated:
        table = count_table(last + 1, rest.counts, domain.size + 1)
        begins = np.flatnonzero(table[: top + 1].any(axis=1))
        below = table[: top + 1].cumsum(axis=0)[begins]
        counts = below + rest.counts[first > top].sum(axis=0)
    else:
        present = last <= top
        table = count_table(first[present], rest.counts[present], domain.size)
        begins = np.flatnonzero(table.any(axis=1))
        begins = begins[begins > 0]
        counts = table[::-1].cumsum(axis=0)[::-1][begins]
    return np.stack([begins, np.full(len(begins), top)], axis=1), counts


def _nodes_near(own: RegionCondition, domain: Taxonomy) -> Ints:
    """(n, 2) first and last codes of the node of a condition, those above it but the root, and those just below it."""
    node = int(domain.lca(np.array([own.first]), np.array([own.last]))[0])
    nodes = np.flatnonzero(domain.parent == node).tolist()
    while node != domain.root:
        nodes.append(node)
        node = int(domain.parent[node])
    return np.stack([domain.start[nodes], domain.stop[nodes] - 1], axis=1).astype(np.int64)
