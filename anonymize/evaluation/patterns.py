"""Decision trees on the original and on the release, and which patterns of the original a reader still finds.

Trees are those of `trees`. The label of a numeric target is whether it lies above its median.

Every node of the original's tree but its root is a pattern: the conditions on the way to it, with the label that most
of its rows have. It survives if the release lets a reader state it: if there is a statement about as many rows, in
which as large a share has that label, either within a tolerance.

A pattern is a conjunction of conditions with the label that most of its rows have. A release shows other boundaries, so
a reader states it with other ones: `capital gain from 6001` in place of `from 7298`. A statement has a condition for
each of the pattern's, on the same attribute and in the same direction, and is about the rows whose regions lie within
it as a whole: of these it is true, whatever the values behind them are. Two things have to be near the pattern, in rows
and in the share of the label: what the reader counts in the release, and what the same conditions hold of in the
original. Without the second, a release of wide regions would be credited with `from 4000: 1,330 rows` for
`from 7298: 1,330 rows`, where it only hides that there are more. The search is for the statement whose largest
difference, in units of the tolerance, is least.

Source: Morton, Mahoui, Gibson, Yechuri, An enhanced utility-driven data anonymization method, section 6.2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain import Domain, cells, taxonomy
from anonymize.domain import chosen as of_cells
from anonymize.domain.numeric import Numeric
from anonymize.errors import DataError, Problem, UsageError
from anonymize.evaluation import RegionRows
from anonymize.evaluation.trees import (
    DEPTH,
    LEAST_SHARE,
    LabelledRegions,
    RegionCondition,
    TreeGrower,
    TreeNode,
    count_table,
    last_number,
)
from anonymize.reading import as_text
from anonymize.records import dataclass
from anonymize.table.named import unnamed

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
class TreePlan:
    """How trees are grown and compared. `columns`: the quasi-identifiers that are asked; () for all but the target."""

    target: str
    depth: int = DEPTH
    columns: tuple[str, ...] = ()
    tolerance: Tolerance = field(default_factory=Tolerance)

    def attributes(self, names: Sequence[str]) -> list[int]:
        """The positions of the quasi-identifiers that are asked. Raises UsageError for names of others."""
        others = [name for name in names if name != self.target]
        wrong = [name for name in self.columns if name not in others]
        if wrong:
            hint = f"quasi-identifiers: {', '.join(others)}"
            raise UsageError([Problem(f"--tree-columns {name}: cannot be asked", hint=hint) for name in wrong])
        return [index for index, name in enumerate(names) if name in (self.columns or others)]


@dataclass(frozen=True)
class _TreeReader:
    """How nodes and conditions read."""

    names: Sequence[str]
    domains: Sequence[Domain]
    labels: Sequence[str]

    def node(self, node: TreeNode) -> dict[str, Any]:
        """A node of a tree."""
        return {
            "depth": len(node.path),
            "leaf": node.leaf,
            "condition": self.condition(node.path[-1]) if node.path else "",
            "conditions": self.conditions(needed(node.path, self.domains)),
            "rows": node.rows,
            "label": self.labels[node.label] if self.labels else "",
            "share": node.share if node.rows else None,
        }

    def conditions(self, conditions: Sequence[RegionCondition]) -> list[str]:
        """Each as people read it."""
        return [self.condition(each) for each in conditions]

    def condition(self, condition: RegionCondition) -> str:
        """A condition as people read it. Missing numbers are on the side of what is not."""
        domain, name = self.domains[condition.attribute], self.names[condition.attribute]
        if isinstance(domain, Numeric):
            value = domain.leaf_text()[condition.first]
            return f"{name} {'not ' if condition.negated else ''}from {value}"
        assert isinstance(domain, taxonomy.Taxonomy)
        label = domain.node_text(np.array([condition.first]), np.array([condition.last]))[0]
        return f"{name} {'not ' if condition.negated else ''}in {label}"


def compare(released: RegionRows, plan: TreePlan) -> dict[str, Any]:
    """The block `tree`: the nodes of either tree, and the patterns of the original with what became of each.

    Raises UsageError for columns that are not quasi-identifiers, DataError where the release does not tell the values
    of the target.
    """
    table, target = released.table, plan.target
    names = [attribute.name for attribute in table.attributes]
    chosen = plan.attributes(names)
    if target not in released.targets():
        raise DataError(f"--tree {target}: {released.why_apart or 'it is not in the release'}")
    before, after, labels = _labels(released, target)
    domains = [attribute.domain for attribute in table.attributes]
    original, release = _sides(released, chosen, before, after, len(labels))
    trees = []
    for regions in (original, release):
        least = max(2, int(LEAST_SHARE * int(regions.counts.sum())))
        trees.append(list(TreeGrower(domains, chosen, plan.depth, least).grow(regions)))
    reader = _TreeReader(names, domains, labels)
    search = StatementSearch(original, release, domains, plan.tolerance)
    patterns = [reader.node(node) | _became(node, search, reader) for node in trees[0] if node.path]
    return {
        "target": target,
        "depth": plan.depth,
        "columns": [names[index] for index in chosen],
        "tolerance": {"support": plan.tolerance.support, "confidence": plan.tolerance.confidence},
        "original": [reader.node(node) for node in trees[0]],
        "release": [reader.node(node) for node in trees[1]],
        "patterns": patterns,
        "survived": sum(pattern["survived"] for pattern in patterns),
    }


def _became(pattern: TreeNode, search: StatementSearch, reader: _TreeReader) -> dict[str, Any]:
    """What a reader of the release states in place of a pattern."""
    statement = search.nearest(pattern)
    rows = int(statement.counts.sum())
    return {
        "statement": reader.conditions(statement.conditions),
        "rows_in_release": rows,
        "share_in_release": float(statement.counts[pattern.label] / rows) if rows else None,
        "survived": statement.distance <= 1 + 1e-9,
    }


def _sides(
    released: RegionRows, chosen: Sequence[int], before: Ints, after: Ints, labels: int
) -> tuple[LabelledRegions, LabelledRegions]:
    """The rows of the original and of the release that have a label, as regions; those of attributes that are not
    asked are left at 0."""
    attributes = released.table.attributes
    codes = np.zeros((released.table.rows, len(attributes)), np.int64)
    for index in chosen:
        codes[:, index] = attributes[index].codes
    evidence = released.evidence()
    is_chosen = np.isin(np.arange(len(attributes)), chosen)
    first, last = (np.where(is_chosen, ends, 0)[evidence.class_of] for ends in (evidence.first, evidence.last))
    labelled_before, labelled = before >= 0, after >= 0
    gaps = {index: gapped for index, gapped in evidence.gapped.items() if index in chosen}
    return (
        LabelledRegions.of_rows(codes[labelled_before], codes[labelled_before], before[labelled_before], labels),
        LabelledRegions.of_rows(
            first[labelled], last[labelled], after[labelled], labels, of_cells(gaps, evidence.class_of[labelled])
        ),
    )


def _labels(released: RegionRows, target: str) -> tuple[Ints, Ints, list[str]]:
    """(rows,) label of each row of the original and of the release, -1 for none, and how labels read."""
    source, spec = released.table.source, released.spec
    original = as_text(pl.concat(list(source.batches([target])))[target], spec, source.format)
    original = unnamed(original)
    released_values = (
        original.gather(released.rows) if target in spec.quasi_identifiers else unnamed(released.frame[target])
    )
    if spec.targets()[target] == "numeric":
        values = [cells.numbers(column).fill_null(np.nan).to_numpy() for column in (original, released_values)]
        middle = float(np.nanmedian(values[0])) if not np.isnan(values[0]).all() else 0.0
        before, after = (np.where(np.isnan(each), -1, each > middle).astype(np.int64) for each in values)
        return before, after, [f"at most {middle:g}", f"above {middle:g}"]
    labels = sorted(original.fill_null("").unique().to_list())
    code_of = {label: code for code, label in enumerate(labels)}
    codes = [
        np.array([code_of.get(label, -1) for label in column.fill_null("")], np.int64)
        for column in (original, released_values)
    ]
    return codes[0], codes[1], [label or "(missing)" for label in labels]


# --- statements -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Statement:
    """Conditions, the rows of each label within them, and how far it is from its pattern."""

    conditions: Conditions
    counts: Ints
    distance: float


@dataclass(frozen=True)
class StatementSearch:
    """The search on the regions of a release, `original` being those of the original.

    It moves one condition at a time to its best boundary for as long as that helps, once from the pattern's own
    boundaries and once from those with which each condition by itself is nearest to what it is on the original. So it
    may miss a statement that needs several conditions moved at once: a pattern that survives does, one that does not
    may.
    """

    original: LabelledRegions
    released: LabelledRegions
    domains: Sequence[Domain]
    tolerance: Tolerance

    def nearest(self, pattern: TreeNode) -> Statement:
        """The statement that is nearest to a pattern; of ties the first that is met."""
        conditions = needed(pattern.path, self.domains)
        rows = self.original
        marginals = [TreeNode((each,), rows.chosen(each.within(rows)).total, leaf=True) for each in conditions]
        moved = [self._moved(each.path, 0, each) for each in marginals]  # each condition by itself
        alone = tuple(each.conditions[0] for each in moved)
        starts = [self._stated(each, pattern) for each in dict.fromkeys((conditions, alone))]
        return min((self._descended(start, pattern) for start in starts), key=lambda each: each.distance)

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
        assert isinstance(domain, taxonomy.Taxonomy)
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


def _nodes_near(condition: RegionCondition, domain: taxonomy.Taxonomy) -> Ints:
    """(n, 2) first and last codes of the node of a condition, those above it but the root, and those just below it."""
    node = int(domain.lca(np.array([condition.first]), np.array([condition.last]))[0])
    nodes = np.flatnonzero(domain.parent == node).tolist()
    while node != domain.root:
        nodes.append(node)
        node = int(domain.parent[node])
    return np.stack([domain.start[nodes], domain.stop[nodes] - 1], axis=1).astype(np.int64)
