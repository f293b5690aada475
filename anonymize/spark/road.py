"""The road of a release on an engine: counts ─▶ search ─▶ rows, made by workers ─▶ held ─▶ measured ─▶ report.

The engine is what `anonymize._release` has files for: it counts, it makes rows, and it holds what was written until
that has been measured. What is required, refused and reported is that of one machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from anonymize import privacy
from anonymize.algorithms import ALGORITHMS
from anonymize.classes import Floats
from anonymize.errors import DataError
from anonymize.families.checks import check_needs
from anonymize.families.steps import check_satisfied, check_suppression, suppression_limit
from anonymize.metrics import View, utility
from anonymize.privacy import Requirement
from anonymize.reading.regions import DistinctTexts
from anonymize.recoding import Regions
from anonymize.records import dataclass
from anonymize.report import Clock
from anonymize.report.codebook import FileCells, codebook, generalized
from anonymize.report.data import Blocks, output_block, report_of, required_size, verdict_blocks, with_heights
from anonymize.report.head import table_block, unused_parts
from anonymize.request import Request
from anonymize.spark.capabilities import RANDOMIZE, EngineUse, refuse
from anonymize.spark.checking import DATAFRAME, FrameSource, with_derived
from anonymize.spark.engine import DataFrame, check_types, read_otherwise, typed_columns, with_settings
from anonymize.spark.measured import COUNT, VALUE, CountedRows, check_rows, looked_at
from anonymize.spark.outcome import EngineDraft, EngineFrame, EngineLimits, EngineOutcome
from anonymize.spark.randomizing import randomized
from anonymize.spark.searches import counted_search, parted_search
from anonymize.spec import Spec, resolve
from anonymize.spec.patterns import left_over_warnings
from anonymize.table import Attribute
from anonymize.verify import THRESHOLD, Verdict, checks_of


@dataclass(frozen=True)
class EngineRelease:
    """A release: its rows, the report, and of a randomized one the recipient's parameters."""

    rows: DataFrame
    report: dict[str, Any]
    parameters: dict[str, Any] | None = None


@with_settings
def release_on_engine(df: DataFrame, request: Request, limits: EngineLimits) -> EngineRelease:
    """The release of a DataFrame. Raises what is wrong; then nothing is returned."""
    clock = Clock()
    request = replace(request, spec=resolve(request.spec, df.columns).of_types(typed_columns(df)))
    use = EngineUse.of_request(request)
    refuse(use)
    check_needs(request)
    drawn = use.road == RANDOMIZE
    requirements: tuple[Requirement, ...] = (privacy.disclosures if drawn else privacy.requirements)(request.spec)
    _check_columns(request.spec, df)
    with clock("read"):
        known = EngineFrame.read(df, request, requirements, limits)
    draft = (randomized if drawn else _classed)(known, clock)
    _check_all_there(known, draft)
    with clock("verify"):
        rows = known.learned.rows
        verdict = with_derived(draft.verdict, df, request.spec, rows)
    check_suppression(request, rows, _suppressed_rows(verdict, rows))
    check_satisfied(request, verdict)
    table = table_block(FrameSource(DATAFRAME, df.columns), rows)
    report = report_of(request, table, clock, draft.blocks(verdict), draft.options)
    report["engine"] = {"version": str(df.sparkSession.version)}
    return EngineRelease(draft.rows.toDF(*known.places), report, draft.parameters)


def _check_columns(spec: Spec, df: DataFrame) -> None:
    """Raises DataError for columns without a role, for those that are not there, and for types that are not values."""
    lacking = [name for name in spec.roles() if name not in df.columns]
    strange = [name for name in df.columns if name not in spec.roles()]
    if lacking or strange:
        problems = [f"column {name} of the spec is not in the DataFrame" for name in lacking]
        raise DataError([*problems, *(f"column {name} has no role in the spec" for name in strange)])
    check_types(df, [name for name in df.columns if name not in spec.identifiers])


def _check_all_there(known: EngineFrame, draft: EngineDraft) -> None:
    """Raises DataError where the release has not every row of the input once, but for those that the search has left
    out."""
    if draft.verdict.rows != known.learned.rows - draft.left_out:
        raise read_otherwise()
    if not draft.left_out:
        check_rows(known.rows, draft.rows, draft.kept, draft.apart)


def _suppressed_rows(verdict: Verdict, rows: int) -> int:
    """How many of the rows of the input read as suppressed, or are left out."""
    return verdict.suppressed_rows + rows - verdict.rows


# --- releases with classes --------------------------------------------------------------------------------------------


def _classed(known: EngineFrame, clock: Clock) -> EngineDraft:
    """A release with equivalence classes; all rows as one class, where too many would read as suppressed."""
    rows, needs = known.learned.rows, ALGORITHMS[known.request.algorithm].NEEDS
    with clock("search"):
        outcome = (counted_search if needs.counted else parted_search)(known)
    made = _made(known, outcome.rows, clock, together=outcome.small)
    allowed = suppression_limit(known.spec, rows)
    if outcome.as_one_class is not None and _suppressed_rows(made.verdict, rows) > allowed:
        made = _made(known, outcome.as_one_class(), clock, together=False)
    return EngineDraft(
        made.counts.rows,
        made.verdict,
        known.layout.groups[1],
        partial(_blocks, known, outcome, made),
        outcome.options,
        outcome.left_out,
        made.counts.apart,
    )


@dataclass(frozen=True)
class MeasuredRows:
    """Rows that have been written and measured: `counts` of them, their columns by their places; `sizes`: of the
    classes that are not suppressed."""

    counts: CountedRows
    verdict: Verdict
    sizes: pl.Series


def _made(known: EngineFrame, released: DataFrame, clock: Clock, *, together: bool) -> MeasuredRows:
    """Writes released rows, and measures what was written. `together`: see `in_order`."""
    with clock("write"):
        written = known.written(released, together=together)
    with clock("verify"):
        trees = {column.name: column.paths for column in known.learned.sensitive}
        checks = [
            replace(each, tree=trees[each.attribute or ""]) if each.needs_tree else each
            for each in checks_of(known.spec, known.requirements)
        ]
        names, folder = looked_at(known.reading.reading, checks), known.limits.checkpoint
        counts = CountedRows.held(written, names, folder, known.layout.groups[1])
        return MeasuredRows(counts, *known.reading.verdict(counts, checks, THRESHOLD))


def _blocks(known: EngineFrame, outcome: EngineOutcome, made: MeasuredRows, verdict: Verdict) -> Blocks:
    """The blocks of the report, from the released DataFrame. What is not measured there is null."""
    spec, request, rows = known.spec, known.request, known.learned.rows
    blocks = verdict_blocks(verdict)
    marginals = [made.counts.marginals[known.places[name]] for name in spec.quasi_identifiers]
    hidden = {"suppressed_rows": _suppressed_rows(verdict, rows), "dropped_rows": rows - verdict.rows}
    cells = FileCells(spec, {name: own[VALUE] for name, own in zip(spec.quasi_identifiers, marginals, strict=True)})
    meanings = generalized(cells, {name: [name] for name in cells.texts}, labels=outcome.labelled)
    regions = {"regions": verdict.classes["count"]} if outcome.recoding["kind"] == Regions.KIND else {}
    recoding = {**outcome.recoding, **regions, "suppressed_rows": hidden["suppressed_rows"]}
    return Blocks(
        output={
            **output_block(FrameSource(DATAFRAME, ()), verdict),
            **hidden,
            "suppressed_cells": sum(_suppressed(each, spec) for each in marginals),
        },
        measured={**blocks, "risk": {**blocks["risk"], "before": None}},
        utility=utility(_view(known, outcome, made, hidden, marginals)),
        recoding=with_heights(known.learned.attributes, recoding),
        warnings=[
            *left_over_warnings(spec),
            *unused_parts(spec, request.algorithm, request.options),
            *verdict.remarks,
            *verdict.cautions,
        ],
        codebook=codebook(spec, list(known.places), meanings, cells),
    )


def _suppressed(counted: pl.DataFrame, spec: Spec) -> int:
    """The cells of a column that show the suppressed text. `counted`: how many rows have each text."""
    return int(counted.filter(pl.col(VALUE) == spec.output.suppressed)[COUNT].sum())


@dataclass(frozen=True)
class Marginals(View):
    """A release of which the distribution of each column is known: `sums`, per quasi-identifier, of NCP and of loss
    over all rows."""

    sums: Sequence[tuple[float, float]] = ()

    @cached_property
    def attribute_ncp(self) -> Floats:
        return np.array([ncp for ncp, _ in self.sums])

    @cached_property
    def attribute_loss(self) -> Floats:
        return np.array([loss for _, loss in self.sums])


def _view(
    known: EngineFrame,
    outcome: EngineOutcome,
    made: MeasuredRows,
    hidden: Mapping[str, int],
    marginals: Sequence[pl.DataFrame],
) -> View:
    """What metrics are computed from. `hidden`: counts of rows that show nothing, or are left out."""
    attributes, dropped = known.learned.attributes, hidden["dropped_rows"]
    return Marginals(
        attributes=attributes,
        ncp=(),
        loss=(),
        sizes=made.sizes.to_numpy().astype(np.int64),
        suppressed_rows=hidden["suppressed_rows"],
        k=required_size(known.requirements),
        levels=outcome.levels,
        weights=known.spec.weights,
        sums=[_sums(known.spec, *pair, dropped) for pair in zip(attributes, marginals, strict=True)],
    )


def _sums(spec: Spec, attribute: Attribute, counted: pl.DataFrame, dropped: int) -> tuple[float, float]:
    """NCP and loss of an attribute over all rows, as its released texts say; a row that was `dropped` costs as much as
    one that shows nothing."""
    texts, rows = counted[VALUE].to_list(), counted[COUNT].to_numpy()
    missing = frozenset(spec.missing("arrow").texts)
    regions = DistinctTexts(attribute, texts, texts, spec.output, missing).regions()
    return float(regions.ncp @ rows) + dropped, float(regions.loss @ rows) + dropped
