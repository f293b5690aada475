"""The road of a release on an engine: counts ─▶ search ─▶ rows, made by workers ─▶ held ─▶ measured ─▶ report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any
from uuid import uuid4

import numpy as np
import polars as pl

from anonymize import privacy
from anonymize.algorithms import ALGORITHMS
from anonymize.classes import Floats
from anonymize.errors import DataError, InfeasibleError
from anonymize.families.steps import check_needs, suppression_limit
from anonymize.metrics import View, utility
from anonymize.privacy import MODELS, Requirement, weigh
from anonymize.reading.regions import DistinctTexts
from anonymize.recoding import Regions
from anonymize.records import dataclass
from anonymize.report import Clock
from anonymize.report.codebook import FileCells, codebook, generalized
from anonymize.report.data import (
    peak_mb,
    required_size,
    settings,
    spec_block,
    verdict_blocks,
    with_heights,
)
from anonymize.report.head import head as begun
from anonymize.report.head import unused_parts
from anonymize.request import Request
from anonymize.spark.checking import (
    DATAFRAME,
    beyond,
    passing_of,
    reading_of,
    refuse,
    refuse_unsafe,
    with_codes_of,
    with_combinations_of,
    with_derived,
)
from anonymize.spark.engine import (
    DataFrame,
    check_types,
    held,
    in_order,
    named_by_place,
    places_of,
    read_otherwise,
    typed_columns,
    with_settings,
)
from anonymize.spark.learned import MOST_VALUES, learn
from anonymize.spark.measured import COUNT, VALUE, CountedRows, check_rows, looked_at, measured
from anonymize.spark.outcome import EngineColumns, EngineFrame, EngineOutcome, coded, targets_of
from anonymize.spark.searches import EngineSearch, parted_by_levels
from anonymize.spec import Spec, resolve
from anonymize.spec.hierarchy import Rare
from anonymize.spec.patterns import left_over_warnings
from anonymize.table import Attribute
from anonymize.verify import THRESHOLD, Verdict, checks_of
from anonymize.verify.counted import TextReading

# --- the report -------------------------------------------------------------------------------------------------------
# The report of a release on an engine: the same blocks as on one machine, from the released DataFrame. What was not
# measured there is null.


@dataclass(frozen=True)
class EngineFacts:
    """Everything that the report is made from. `df`: the input. `sizes`: of the classes that are not suppressed."""

    known: EngineFrame
    df: DataFrame
    search: EngineSearch
    outcome: EngineOutcome
    verdict: Verdict
    sizes: pl.Series
    reading: TextReading

    @property
    def dropped_rows(self) -> int:
        """Rows of the input that are not in the release."""
        return self.known.learned.rows - self.verdict.rows

    @property
    def suppressed_rows(self) -> int:
        """The rows that were left out, and those that read as suppressed."""
        return self.verdict.suppressed_rows + self.dropped_rows


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


def release_report(facts: EngineFacts, counts: CountedRows, clock: Clock) -> dict[str, Any]:
    """The report. `counts`: of the release, its columns by their places."""
    spec, verdict, learned = facts.known.spec, facts.verdict, facts.known.learned
    blocks, marginals = verdict_blocks(verdict), [counts.marginals[name] for name in facts.reading.quasi_identifiers]
    unused = unused_parts(spec, facts.search.algorithm, facts.search.options)
    hidden = {
        "suppressed_rows": facts.suppressed_rows,
        "dropped_rows": facts.dropped_rows,
        "suppressed_cells": sum(_suppressed(each, spec) for each in marginals),
    }
    return {
        **head(spec, facts.df, clock, learned.rows),
        "output": output_block(verdict.rows, hidden),
        "algorithm": algorithm_block(facts.search.algorithm, facts.outcome.options, facts.search.seed),
        "settings": settings(spec),
        **blocks,
        "risk": {**blocks["risk"], "before": None},
        "utility": utility(_view(facts, marginals)),
        "recoding": _recoding(facts),
        "codebook": _codebook(facts, marginals),
        **foot(facts.df, clock),
        "warnings": [*left_over_warnings(spec), *unused, *verdict.remarks, *verdict.cautions],
    }


def _codebook(facts: EngineFacts, marginals: Sequence[pl.DataFrame]) -> dict[str, Any]:
    spec, layout = facts.known.spec, facts.known.layout
    cells = FileCells(spec, {name: own[VALUE] for name, own in zip(spec.quasi_identifiers, marginals, strict=True)})
    meanings = generalized(cells, {name: [name] for name in cells.texts}, labels=facts.outcome.labelled)
    return codebook(spec, [layout.names[place] for place in layout.released], meanings, cells)


def head(spec: Spec, df: DataFrame, clock: Clock, rows: int) -> dict[str, Any]:
    """The first blocks of any report of a release on an engine. `df`: the input; `rows`: how many it has."""
    return {
        **begun(clock),
        "spec": spec_block(spec),
        "input": {"path": DATAFRAME, "sha256": None, "rows": rows, "columns": len(df.columns)},
    }


def output_block(rows: int, hidden: Mapping[str, int]) -> dict[str, Any]:
    """The block of a release of so many rows. `hidden`: counts of what it does not show."""
    return {"path": DATAFRAME, "sha256": None, "rows": rows, **hidden}


def algorithm_block(name: str, options: Mapping[str, Any], seed: int | None = None) -> dict[str, Any]:
    """The block of an algorithm."""
    return {"name": name, "family": ALGORITHMS[name].NEEDS.family, "options": dict(options), "seed": seed}


def foot(df: DataFrame, clock: Clock) -> dict[str, Any]:
    """The last blocks, but for warnings."""
    return {
        "timing": clock.timing(),
        "memory": {"peak_mb": peak_mb()},
        "engine": {"version": str(df.sparkSession.version)},
    }


def _recoding(facts: EngineFacts) -> dict[str, Any]:
    """What was found; rows are those of the DataFrame."""
    regions = {"regions": facts.verdict.classes["count"]} if facts.outcome.recoding["kind"] == Regions.KIND else {}
    suppressed = {"suppressed_rows": facts.suppressed_rows}
    return with_heights(facts.known.learned.attributes, {**facts.outcome.recoding, **regions, **suppressed})


def _suppressed(counted: pl.DataFrame, spec: Spec) -> int:
    """The cells of a column that show the suppressed text. `counted`: how many rows have each text."""
    return int(counted.filter(pl.col(VALUE) == spec.output.suppressed)[COUNT].sum())


def _view(facts: EngineFacts, marginals: Sequence[pl.DataFrame]) -> View:
    attributes = facts.known.learned.attributes
    return Marginals(
        attributes=attributes,
        ncp=(),
        loss=(),
        sizes=facts.sizes.to_numpy().astype(np.int64),
        suppressed_rows=facts.suppressed_rows,
        k=required_size(facts.known.requirements),
        levels=facts.outcome.levels,
        weights=facts.known.spec.weights,
        sums=[_sums(facts, own, counted) for own, counted in zip(attributes, marginals, strict=True)],
    )


def _sums(facts: EngineFacts, attribute: Attribute, counted: pl.DataFrame) -> tuple[float, float]:
    """NCP and loss of an attribute over all rows, as its released texts say."""
    spec = facts.known.spec
    texts, rows = counted[VALUE].to_list(), counted[COUNT].to_numpy()
    missing = frozenset(spec.missing("arrow").texts)
    regions = DistinctTexts(attribute, texts, texts, spec.output, missing).regions()
    hidden = facts.dropped_rows  # a row that is left out costs as much as one that shows nothing
    return float(regions.ncp @ rows) + hidden, float(regions.loss @ rows) + hidden


# --- the road ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class EngineTask:
    """What is asked of any release on an engine. `checkpoint`: a folder that the engine and its workers can write to.
    `most_values`: see `learn`."""

    spec: Spec
    checkpoint: str
    most_values: int = MOST_VALUES
    allow_unsafe: bool = False


@dataclass(frozen=True, kw_only=True)
class EngineRequest(EngineTask):
    """What is asked of a release with equivalence classes."""

    search: EngineSearch


@with_settings
def release_on_engine(df: DataFrame, request: EngineRequest) -> tuple[DataFrame, dict[str, Any]]:
    """The release, and its report. Raises what is wrong; then nothing is returned."""
    clock = Clock()
    spec = resolve(request.spec, df.columns).of_types(typed_columns(df))
    requirements = privacy.requirements(spec)
    check_columns(spec, df)
    targets = targets_of(spec, request.search.algorithm, request.search.options)
    own = {
        **_beyond(spec, requirements, drops=request.search.drops, targets=targets),
        **parted_by_levels(spec, request.search.algorithm),
    }
    refuse(own, "make the release on one machine")
    check_needs(Request(spec, request.search.algorithm, request.search.options))
    request = replace(request, spec=spec)
    layout = EngineColumns(tuple(df.columns), spec.roles())
    places, rows = places_of(df.columns), named_by_place(df)
    with clock("read"):
        at_levels = not ALGORITHMS[request.search.algorithm].NEEDS.levels
        required = coded(spec, targets)
        learned = learn(rows, places, required, requirements, request.most_values, at_levels=at_levels)
    with clock("search"):
        known = EngineFrame(spec, learned, requirements, layout)
        outcome = request.search.outcome(rows, known)
    limit = suppression_limit(spec, learned.rows)
    made = _made(outcome.rows, known, request, clock, together=outcome.small)
    if outcome.as_one_class is not None and made.suppressed_of(learned.rows) > limit:
        made = _made(outcome.as_one_class(), known, request, clock, together=False)
    _check_all_there(rows, made, outcome, layout, learned.rows)
    with clock("verify"):
        made = replace(made, verdict=with_derived(made.verdict, df, spec, learned.rows))
    _check(made, learned.rows, request, limit)
    facts = EngineFacts(known, df, request.search, outcome, made.verdict, made.sizes, made.reading)
    report = release_report(facts, made.counts, clock)
    return made.written.toDF(*(layout.names[place] for place in layout.released)), report


@dataclass(frozen=True)
class Made:
    """A release that has been written and measured: `counts` of what was `written`, its columns by their places, and
    how these are read. `sizes`: of the classes that are not suppressed."""

    counts: CountedRows
    reading: TextReading
    verdict: Verdict
    sizes: pl.Series

    @property
    def written(self) -> DataFrame:
        """The rows."""
        return self.counts.rows

    def suppressed_of(self, rows: int) -> int:
        """How many of the rows of the input read as suppressed, or are left out."""
        return self.verdict.suppressed_rows + rows - self.verdict.rows


def _made(released: DataFrame, known: EngineFrame, request: EngineRequest, clock: Clock, *, together: bool) -> Made:
    """`together`: see `in_order`."""
    with clock("write"):
        order = request.spec.output.row_order
        ordered = in_order(released, order, known.layout.groups, known.learned.rows, together)
        written = held(ordered, request.checkpoint, f"release-{uuid4().hex}")
    with clock("verify"):
        return _measured(written, known, request.checkpoint)


# --- what is refused -------------------------------------------------------------------------------------------------


def check_columns(spec: Spec, df: DataFrame) -> None:
    """Raises DataError for columns without a role, for those that are not there, and for types that are not values."""
    lacking = [name for name in spec.roles() if name not in df.columns]
    strange = [name for name in df.columns if name not in spec.roles()]
    if lacking or strange:
        problems = [f"column {name} of the spec is not in the DataFrame" for name in lacking]
        raise DataError([*problems, *(f"column {name} has no role in the spec" for name in strange)])
    check_types(df, [name for name in df.columns if name not in spec.identifiers])


def _beyond(
    spec: Spec, requirements: Sequence[Requirement], *, drops: bool, targets: Sequence[str]
) -> Mapping[str, object]:
    """What a spec may ask for and an engine does not do. `drops`: suppressed rows can be left out; `targets`: those
    that the search looks at."""
    definitions = {**spec.quasi_identifiers, **spec.sensitive}
    models = [(MODELS[each.model], each.parameters) for each in requirements]
    return {
        **beyond(spec),
        "weights: correlation": spec.weights == "correlation",
        "workload": (spec.workload.targets and not targets) or spec.workload.selections,
        "risk: attacks": spec.risk.attacks,
        "treatments": spec.treatments,
        "a population": any(each.population is not None for each in requirements),
        "a model that weighs what classes keep": weigh(requirements),
        "a model that asks something of the table as a whole": any(m.asks_table(given) for m, given in models),
        "hierarchy: rare": any(isinstance(each.hierarchy, Rare) for each in definitions.values()),
        f"output.numeric: {spec.output.numeric}": spec.output.numeric != "interval",
        f"output.categorical: {spec.output.categorical}": spec.output.categorical == "bounds",
        "output.suppressed_rows: drop": not drops and spec.output.suppressed_rows == "drop",
    }


def _check_all_there(rows: DataFrame, made: Made, outcome: EngineOutcome, layout: EngineColumns, count: int) -> None:
    """Raises DataError where the release has not every row of the input once, but for those that the search has left
    out. `count`: of the rows of the input."""
    if made.verdict.rows != count - outcome.left_out:
        raise read_otherwise()
    if not outcome.left_out:
        check_rows(rows, made.written, layout.groups[1], made.counts.apart)


def _check(made: Made, rows: int, request: EngineRequest, limit: int) -> None:
    """Raises what stands against a release that has been measured. `rows`: of the input; `limit`: of suppressed
    rows."""
    verdict, suppressed = made.verdict, made.suppressed_of(rows)
    if suppressed > limit:
        message = f"{suppressed} rows read as suppressed in every quasi-identifier, or are left out, and {limit} may"
        raise InfeasibleError(message)
    refuse_unsafe(verdict, allow_unsafe=request.allow_unsafe)


# --- what is measured ------------------------------------------------------------------------------------------------


def _measured(written: DataFrame, known: EngineFrame, folder: str) -> Made:
    spec, layout = known.spec, known.layout
    trees = {column.name: column.paths for column in known.learned.sensitive}
    checks = [
        replace(each, tree=trees[each.attribute or ""]) if each.needs_tree else each
        for each in checks_of(spec, known.requirements)
    ]
    columns = {layout.names[place]: f"c{place}" for place in layout.released}
    reading = reading_of(spec, [columns[name] for name in spec.quasi_identifiers], columns)
    counts = CountedRows.held(written, looked_at(reading, checks), folder, layout.groups[1])
    verdict, sizes = measured(counts, reading, checks, THRESHOLD)
    places = {name: [columns[name]] for name in spec.quasi_identifiers}
    verdict = with_codes_of(verdict, counts, spec, reading, places)
    verdict = with_combinations_of(verdict, counts, spec, reading, places)
    return Made(counts, reading, replace(verdict, passing=passing_of(counts, spec, reading, columns)), sizes)
