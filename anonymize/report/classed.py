"""The blocks of the report of a release with equivalence classes, and what it says of the input beside the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np
import polars as pl

from anonymize.algorithms.bound import loss_bound
from anonymize.classes import Floats, Ints
from anonymize.domain.cells import CellKind, cells_of, members
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import Caution
from anonymize.fidelity import BothSides, fidelity
from anonymize.metrics import View, utility
from anonymize.privacy import Requirement
from anonymize.recoding import Recoding, Released
from anonymize.records import dataclass
from anonymize.report import head as cautions
from anonymize.report.codebook import FileCells, codebook, columns_of, generalized
from anonymize.report.data import (
    LEAST_COUNT,
    Blocks,
    defined,
    left_out_warnings,
    output_block,
    required_size,
    verdict_blocks,
    with_heights,
)
from anonymize.request import Request
from anonymize.risk import Sizes, merged, sizes_before
from anonymize.risk.records import candidate_rows
from anonymize.spec import Spec
from anonymize.table import OutputFile, Table
from anonymize.verify import Verdict


@dataclass(frozen=True)
class Beside:
    """Marginals and associations (`distributions`), which nobody reads where there is no report; how many classes of
    each size the input has; and the rows that may be somebody's (`candidates`), where regions may overlap."""

    distributions: Mapping[str, Any]
    sizes: Sizes
    candidates: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        request: Request,
        requirements: tuple[Requirement, ...],
        table: Table,
        released: Released,
        *,
        may_overlap: bool,
    ) -> Beside:
        """What stands beside the figures of a release, in a private report."""
        smallest, read = max(required_size(requirements), LEAST_COUNT), table.as_read
        sides = BothSides.of(read, released, request.spec)
        distributions = fidelity(sides, smallest, values=request.show_values) if request.reports else {}
        candidates = candidate_rows(request.spec, table, released) if may_overlap else {}
        return cls(distributions, sizes_before(read), candidates)


@dataclass(frozen=True)
class ClassedFacts:
    """Everything that a report of a release with equivalence classes is made from."""

    request: Request
    requirements: tuple[Requirement, ...]
    table: Table
    recoding: Recoding
    released: Released
    output: OutputFile
    verdict: Verdict
    beside: Beside
    by_weights: Mapping[str, Any] = field(default_factory=dict)
    """What sampling weights add to the block `risk`."""
    texts: Mapping[str, pl.Series] = field(default_factory=dict)
    """The different texts of the columns that show quasi-identifiers, in the file."""


def classed_blocks(facts: ClassedFacts) -> Blocks:
    """The blocks of a release with equivalence classes."""
    released, blocks = facts.released, verdict_blocks(facts.verdict)
    risk = merged(blocks["risk"], facts.by_weights) | defined({"candidates": facts.beside.candidates})
    output = output_block(facts.output, facts.verdict) | {
        "suppressed_rows": released.suppressed_rows,
        "dropped_rows": released.dropped_rows,
        "suppressed_cells": _suppressed_cells(facts),
    }
    return Blocks(
        output=output,
        measured=blocks | {"risk": risk},
        utility=_with_bound(facts, utility(_view(facts))),
        recoding=with_heights(facts.table.attributes, facts.recoding.summary()),
        warnings=_warnings(facts),
        distributions=facts.beside.distributions,
        codebook=_codebook(facts),
        sizes=facts.beside.sizes,
    )


def _codebook(facts: ClassedFacts) -> dict[str, Any]:
    spec, names = facts.request.spec, [each.name for each in facts.table.attributes]
    released = {name: [column.name for column in facts.released.columns_of(name)] for name in names}
    cells = FileCells(spec, facts.texts)
    meanings = generalized(cells, released, labels=facts.recoding.labelled)
    return codebook(spec, columns_of(facts.output), meanings, cells)


def _with_bound(facts: ClassedFacts, block: dict[str, Any]) -> dict[str, Any]:
    """The block `utility`, with the bound on gcp where that is asked for; its figures are null in too large a table."""
    if not facts.request.bound:
        return block
    suppressing = facts.request.spec.privacy.suppression > 0
    bound = loss_bound(facts.table, facts.requirements, suppressing=suppressing)
    return block | {"bound": bound.block(block["gcp"])}


def _view(facts: ClassedFacts) -> View:
    released = facts.released
    return View(
        attributes=facts.table.attributes,
        ncp=released.ncp,
        loss=released.loss,
        sizes=released.sizes,
        suppressed_rows=released.suppressed_rows,
        k=required_size(facts.requirements),
        levels=_levels(facts),
        weights=facts.table.weights,
        partition=facts.recoding.regions,
        ncp_set=_of_sets(facts) if facts.recoding.SETS and facts.recoding.regions is None else None,
    )


def _of_sets(facts: ClassedFacts) -> list[Floats]:
    """(classes,) of each quasi-identifier the NCP of a cell, a set of categories by the number of values that it
    names."""
    costs = []
    for attribute, ncp in zip(facts.table.attributes, facts.released.ncp, strict=True):
        column = facts.released.columns_of(attribute.name)[0]
        if attribute.domain.kind == "categorical":
            named = _named(facts.request.spec, attribute.hierarchy, column.texts)[column.of_class[:-1]]
            ncp = np.where(named > 0, named / attribute.domain.size, ncp)
        costs.append(ncp)
    return costs


def _named(spec: Spec, taxonomy: Taxonomy, texts: pl.Series) -> Ints:
    """(n,) how many values each text names, 0 where it is no set."""
    sets = cells_of(spec, texts, texts, numeric=False).of_kind(CellKind.SET)
    named = np.zeros(len(texts), np.int64)
    for index in np.flatnonzero(sets).tolist():
        named[index] = len(taxonomy.leaves_of(members(texts[index])) or ())
    return named


def _levels(facts: ClassedFacts) -> list[tuple[int, int]] | None:
    """(level, height) of each quasi-identifier, where all classes share one level vector."""
    vector = facts.recoding.vector
    if vector is None:
        return None
    return [(level, a.hierarchy.height) for level, a in zip(vector, facts.table.attributes, strict=True)]


def _suppressed_cells(facts: ClassedFacts) -> int:
    """Cells of quasi-identifiers that show the suppressed text, in rows that are not suppressed or dropped as a whole,
    and those of suppressed rows that are published."""
    released = facts.released
    published = (released.suppressed_rows - released.dropped_rows) * len(facts.table.attributes)
    suppressed = facts.request.spec.output.suppressed
    for attribute in facts.table.attributes:
        column = released.columns_of(attribute.name)[0]
        hidden = (column.texts == suppressed).arg_true().to_list()
        classes = sum((column.of_class[:-1] == index for index in hidden), start=released.sizes * 0)
        published += int((classes * released.sizes).sum())
    return published


def _warnings(facts: ClassedFacts) -> list[Caution]:
    request, released, table = facts.request, facts.released, facts.table
    spec = request.spec
    warnings = [*table.warnings, *facts.verdict.cautions, *cautions.order_warnings(spec)]
    if request.seed is not None and spec.output.row_order == "shuffle":
        shuffled = "the rows were shuffled with a given seed: anybody who knows it can undo the shuffle"
        warnings.append(Caution.of(shuffled, "release without `--seed`, or with `output: {row_order: sorted}`"))
    warnings += left_out_warnings(spec, released.dropped_rows, "`--suppression 0` generalizes them as well")
    if facts.recoding.labelled:
        warnings += cautions.of_labels(spec, request.algorithm, sets=facts.recoding.SETS)
    warnings += [*cautions.late(facts.recoding.summary()), *cautions.ambiguous(spec, table.attributes)]
    warnings += [*cautions.signed(spec, table.attributes), *cautions.lone_values(spec, table, released)]
    return [*warnings, *cautions.unused(request)]
