"""Decision trees on the original and on the release, and which patterns of the original a reader still finds.

Trees are those of `trees`. The label of a numeric target is whether it lies above its median.

Every node of the original's tree but its root is a pattern: the conditions on the way to it, with the label that most
of its rows have. It survives if the release lets a reader state it: if there is a statement (see `statements`) about
as many rows, in which as large a share has that label, either within a tolerance.

Source: Morton, Mahoui, Gibson, Yechuri, An enhanced utility-driven data anonymization method, section 6.2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Ints
from anonymize.domain.base import Domain
from anonymize.domain.cells import numbers
from anonymize.domain.leafsets import chosen as of_cells
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import DataError, Problem, UsageError
from anonymize.evaluation.released import ReleasedTable, as_text
from anonymize.evaluation.statements import StatementSearch, Tolerance, needed
from anonymize.evaluation.trees import DEPTH, LEAST_SHARE, LabelledRegions, RegionCondition, TreeGrower, TreeNode
from anonymize.table.named import unnamed


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
        assert isinstance(domain, Taxonomy)
        label = domain.node_text(np.array([condition.first]), np.array([condition.last]))[0]
        return f"{name} {'not ' if condition.negated else ''}in {label}"


def compare(released: ReleasedTable, plan: TreePlan) -> dict[str, Any]:
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
    released: ReleasedTable, chosen: Sequence[int], before: Ints, after: Ints, labels: int
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


def _labels(released: ReleasedTable, target: str) -> tuple[Ints, Ints, list[str]]:
    """(rows,) label of each row of the original and of the release, -1 for none, and how labels read."""
    source, spec = released.table.source, released.spec
    original = as_text(pl.concat(list(source.batches([target])))[target], spec, source.format)
    original = unnamed(original)
    released_values = (
        original.gather(released.rows) if target in spec.quasi_identifiers else unnamed(released.frame[target])
    )
    if spec.targets()[target] == "numeric":
        values = [numbers(column).fill_null(np.nan).to_numpy() for column in (original, released_values)]
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
