"""What a reader of a release can state in place of a pattern of the original.

A pattern is a conjunction of conditions with the label that most of its rows have. A release shows other boundaries, so
a reader states it with other ones: `capital gain from 6001` in place of `from 7298`. A statement has a condition for
each of the pattern's, on the same attribute and in the same direction, and is about the rows whose regions lie within
it as a whole: of these it is true, whatever the values behind them are. Two things have to be near the pattern, in rows
and in the share of the label: what the reader counts in the release, and what the same conditions hold of in the
original. Without the second, a release of wide regions would be credited with `from 4000: 1,330 rows` for
`from 7298: 1,330 rows`, where it only hides that there are more. The search is for the statement whose largest
difference, in units of the tolerance, is least.

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
from anonymize.evaluation.trees import LabelledRegions, RegionCondition, TreeNode, count_table, last_number

SUPPORT = 0.1
CONFIDENCE = 0.05
Conditions = tuple[RegionCondition, ...]


@dataclass(frozen=True)
class Tolerance:
    """How far a statement may be from its pattern: `support`, of the rows, as a share of the pattern's; `confidence`,
    of the share of the label, in points from 0 to 1."""

    support: float = SUPPORT
    confidence: float = CONFIDENCE

    def distances(self, counts: Ints, pattern: TreeNode) -> Floats:
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

    def nearest(self, pattern: TreeNode) -> Statement:
        """The statement that is nearest to a pattern; of ties the first that is met."""
        conditions = needed(pattern.path, self.domains)
        alone = tuple(self._moved((each,), 0, self._marginal(each)).conditions[0] for each in conditions)
        starts = [self._stated(each, pattern) for each in dict.fromkeys((conditions, alone))]
        return min((self._descended(start, pattern) for start in starts), key=lambda each: each.distance)

    def _marginal(self, condition: RegionCondition) -> TreeNode:
        """One condition by itself, on the original."""
        return TreeNode((condition,), self.original.chosen(condition.within(self.original)).total, leaf=True)

    def _descended(self, statement: Statement, pattern: TreeNode) -> Statement:
        """With conditions moved, one after the other, for as long as that helps."""
        while True:
            before = statement
            for position in range(len(statement.conditions)):
                moved = self._moved(statement.conditions, position, pattern)
                statement = moved if moved.distance < statement.distance else statement
            if statement.distance >= before.distance:
                return statement

    def _stated(self, conditions: Conditions, pattern: TreeNode) -> Statement:
        counts, truth = (rows.chosen(_within(conditions, rows)).total for rows in (self.released, self.original))
        return Statement(conditions, counts, float(self._distances(counts[None], truth[None], pattern)[0]))

    def _distances(self, counts: Ints, truth: Ints, pattern: TreeNode) -> Floats:
        """(statements,) of their rows (statements, labels) in the release and in the original."""
        return np.maximum(self.tolerance.distances(counts, pattern), self.tolerance.distances(truth, pattern))

    def _moved(self, conditions: Conditions, position: int, pattern: TreeNode) -> Statement:
        """With one condition at its best boundary; of ties the boundary that is nearest to where it was."""
        condition = conditions[position]
        others = [each for each in conditions if each is not condition]
        rest, whole = (rows.chosen(_within(others, rows)) for rows in (self.released, self.original))
        places = self._alternatives(condition, rest)
        if not len(places):
            return self._stated(conditions, pattern)
        counts, truth = (self._counts(condition, places, rows) for rows in (rest, whole))
        distances = self._distances(counts, truth, pattern)
        away = np.abs(places - (condition.first, condition.last)).sum(axis=1)
        best = int(np.lexsort((away, distances))[0])
        first, last = places[best].tolist()
        moved = (*conditions[:position], replace(condition, first=first, last=last), *conditions[position + 1 :])
        return Statement(moved, counts[best], float(distances[best]))

    def _alternatives(self, condition: RegionCondition, rest: LabelledRegions) -> Ints:
        """(n, 2) first and last codes of conditions of the same direction on the same attribute."""
        domain = self.domains[condition.attribute]
        if isinstance(domain, Numeric):
            return _boundaries(condition, rest, domain)
        assert isinstance(domain, Taxonomy)
        return _nodes_near(condition, domain)

    def _counts(self, condition: RegionCondition, places: Ints, rows: LabelledRegions) -> Ints:
        """(n, labels) rows within a condition at each of some places."""
        domain = self.domains[condition.attribute]
        if isinstance(domain, Numeric):
            return _beyond(condition, places[:, 0], rows, domain)
        within = [replace(condition, first=first, last=last).within(rows) for first, last in places.tolist()]
        return np.stack([rows.counts[each].sum(axis=0) for each in within])


def _within(conditions: Sequence[RegionCondition], rows: LabelledRegions) -> Bools:
    """(regions,) those of which all conditions hold."""
    inside = np.ones(len(rows.counts), np.bool_)
    for condition in conditions:
        inside &= condition.within(rows)
    return inside


def needed(path: Conditions, domains: Sequence[Domain]) -> Conditions:
    """The conditions without those that follow from others: of numbers, the last of either side says it all."""
    last = {(each.attribute, each.negated): index for index, each in enumerate(path)}
    numeric = [isinstance(domain, Numeric) for domain in domains]
    return tuple(
        each
        for index, each in enumerate(path)
        if not numeric[each.attribute] or last[each.attribute, each.negated] == index
    )


def _boundaries(condition: RegionCondition, rest: LabelledRegions, domain: Numeric) -> Ints:
    """Every boundary that some region has on the side that is asked for: `from` a value where a region starts, not
    from the one behind where a region ends."""
    first, last = rest.first[:, condition.attribute], rest.last[:, condition.attribute]
    top = last_number(domain)
    begins = np.unique(last[last < top] + 1 if condition.negated else first[(first > 0) & (last <= top)])
    return np.stack([begins, np.full(len(begins), top)], axis=1)


def _beyond(condition: RegionCondition, begins: Ints, rows: LabelledRegions, domain: Numeric) -> Ints:
    """(n, labels) rows of regions that lie from each boundary on; or below it, or are missing numbers."""
    first, last = rows.first[:, condition.attribute], rows.last[:, condition.attribute]
    top = last_number(domain)
    if condition.negated:
        below = count_table(last[first <= top] + 1, rows.counts[first <= top], domain.size + 1).cumsum(axis=0)
        return np.asarray(below[begins] + rows.counts[first > top].sum(axis=0))
    present = last <= top
    return count_table(first[present], rows.counts[present], domain.size)[::-1].cumsum(axis=0)[::-1][begins]


def _nodes_near(condition: RegionCondition, domain: Taxonomy) -> Ints:
    """(n, 2) first and last codes of the node of a condition, those above it but the root, and those just below it."""
    node = int(domain.lca(np.array([condition.first]), np.array([condition.last]))[0])
    nodes = np.flatnonzero(domain.parent == node).tolist()
    while node != domain.root:
        nodes.append(node)
        node = int(domain.parent[node])
    return np.stack([domain.start[nodes], domain.stop[nodes] - 1], axis=1).astype(np.int64)
