"""The road of a release on an engine: counts ─▶ upper cuts ─▶ parts, grown by workers ─▶ held ─▶ measured ─▶ report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import numpy as np
import polars as pl

from anonymize import privacy
from anonymize.algorithms.base import Context
from anonymize.algorithms.mondrian import CANDIDATES, TRIAL_ROWS, RuleSearch, best_rule
from anonymize.algorithms.splitting.parts import PART_ROWS
from anonymize.algorithms.splitting.upper import upper_parts
from anonymize.errors import DataError, InfeasibleError, Problem, UnsafeError, UsageError
from anonymize.families.steps import suppression_limit
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check
from anonymize.report import Clock
from anonymize.spark.checking import beyond, passing_of, reading_of, refuse
from anonymize.spark.cutting import Demands, EngineRows
from anonymize.spark.engine import DataFrame, collected, held, in_order, named_by_place, places_of, polars_schema
from anonymize.spark.growing import EngineColumns, Plan, as_one_class, boxes_of, released_rows
from anonymize.spark.learned import MOST_VALUES, Learned, learn
from anonymize.spark.measured import measured
from anonymize.spark.report import EngineFacts, release_report
from anonymize.spec import Spec, resolve
from anonymize.spec.hierarchy import Rare
from anonymize.verify import THRESHOLD, Verdict, checks_of
from anonymize.verify.counted import TextReading

RULE = CANDIDATES[0]


@dataclass(frozen=True)
class EngineRequest:
    """What is asked of a release on an engine. `cut`: the rule, or `auto`. `checkpoint`: a folder that the engine and
    its workers can write to. `part_rows`: how many rows a worker grows at once. `most_values`: see `learn`."""

    spec: Spec
    cut: str
    checkpoint: str
    part_rows: int = PART_ROWS
    most_values: int = MOST_VALUES
    allow_unsafe: bool = False


def release_on_engine(df: DataFrame, request: EngineRequest) -> tuple[DataFrame, dict[str, Any]]:
    """The release, and its report. Raises what is wrong; then nothing is returned."""
    clock = Clock()
    spec = resolve(request.spec, df.columns)
    requirements = privacy.requirements(spec)
    check_spec(spec, requirements, df)
    _check_rule(request.cut)
    request = replace(request, spec=spec)
    layout = EngineColumns(tuple(df.columns), spec.roles())
    places, rows = places_of(df.columns), named_by_place(df)
    with clock("read"):
        learned = learn(rows, places, spec, requirements, request.most_values)
        _check_feasible(learned, requirements)
    with clock("search"):
        demands = Demands(requirements, chosen_rule(rows, learned, requirements, request.cut))
        plan = _planned(rows, learned, demands, layout, request)
    made = _made(rows, plan, request, clock)
    limit = suppression_limit(spec, learned.rows)
    if made.verdict.suppressed_rows > limit:
        made = _made(rows, as_one_class(plan), request, clock)
    _check(made.verdict, request, limit)
    facts = EngineFacts(spec, df, layout, learned, demands, made.verdict, made.sizes, made.reading, request.part_rows)
    report = release_report(facts, made.written, clock)
    return made.written.toDF(*(layout.names[place] for place in layout.released)), report


@dataclass(frozen=True)
class Made:
    """A release that has been written and measured: `written`, its columns by their places, and how these are read.
    `sizes`: of the classes that are not suppressed."""

    written: DataFrame
    reading: TextReading
    verdict: Verdict
    sizes: pl.Series


def _made(rows: DataFrame, plan: Plan, request: EngineRequest, clock: Clock) -> Made:
    with clock("write"):
        ordered = in_order(released_rows(rows, plan), request.spec.output.row_order)
        written = held(ordered, request.checkpoint, f"release-{uuid4().hex}")
    with clock("verify"):
        return _measured(written, plan, request.spec)


# --- what is refused -------------------------------------------------------------------------------------------------


def check_spec(spec: Spec, requirements: Sequence[Requirement], df: DataFrame) -> None:
    """Raises UsageError for what an engine does not do, all of it at once, and DataError for columns without a role."""
    lacking = [name for name in spec.roles() if name not in df.columns]
    strange = [name for name in df.columns if name not in spec.roles()]
    if lacking or strange:
        problems = [f"column {name} of the spec is not in the DataFrame" for name in lacking]
        raise DataError([*problems, *(f"column {name} has no role in the spec" for name in strange)])
    nested = [name for name, kind in polars_schema(df).items() if kind.is_nested() or kind in (pl.Binary, pl.Object)]
    nested = [name for name in nested if name not in spec.identifiers]
    if nested:
        raise DataError([f"column {name!r} is of a type that is not supported" for name in nested])
    refuse(_beyond(spec, requirements), "make the release on one machine")


def _beyond(spec: Spec, requirements: Sequence[Requirement]) -> Mapping[str, object]:
    """What a spec may ask for and an engine does not do."""
    definitions = {**spec.quasi_identifiers, **spec.sensitive}
    models = [(MODELS[each.model], each.parameters) for each in requirements]
    return {
        **beyond(spec),
        "weights: correlation": spec.weights == "correlation",
        "workload": spec.workload.targets or spec.workload.selections,
        "risk: attacks": spec.risk.attacks,
        "a population": any(each.population is not None for each in requirements),
        "a model that asks something of the table as a whole": any(m.asks_table(given) for m, given in models),
        "hierarchy: rare": any(isinstance(each.hierarchy, Rare) for each in definitions.values()),
        f"output.numeric: {spec.output.numeric}": spec.output.numeric != "interval",
        f"output.categorical: {spec.output.categorical}": spec.output.categorical == "bounds",
        "output.suppressed_rows: drop": spec.output.suppressed_rows == "drop",
    }


def _check_rule(cut: str) -> None:
    """Raises UsageError for a rule that looks at more than one attribute at a time."""
    if cut not in ("auto", *CANDIDATES):
        raise UsageError(f"cut {cut!r}: not on an engine, which has {', '.join(CANDIDATES)}")


def _check_feasible(learned: Learned, requirements: Sequence[Requirement]) -> None:
    """Raises InfeasibleError where all rows as one class do not meet a requirement."""
    histograms = {}
    for column, counts in zip(learned.sensitive, learned.counts[len(learned.attributes) :], strict=True):
        codes = np.flatnonzero(counts)
        histograms[column.name] = Histogram.from_rows(
            np.zeros(len(codes), np.int64), codes, 1, column.size, column.missing, column.values, counts[codes]
        )
    everyone = Groups(np.array([learned.rows]), histograms)
    failing = [each for each in requirements if not check(everyone, [each]).all()]
    if failing:
        hint = "an engine suppresses no single rows: where that would mend it, make the release on one machine"
        raise InfeasibleError([Problem(f"{each} is not met by all rows as one class", hint=hint) for each in failing])


def _check(verdict: Verdict, request: EngineRequest, limit: int) -> None:
    """Raises what stands against a release that has been measured. `limit`: of suppressed rows."""
    if verdict.suppressed_rows > limit:
        message = f"{verdict.suppressed_rows} rows read as suppressed in every quasi-identifier, and {limit} may"
        raise InfeasibleError(message)
    if not verdict.satisfied and not request.allow_unsafe:
        raise UnsafeError([Problem(each, hint="allow_unsafe=True returns it all the same") for each in verdict.unmet])


# --- what is done ----------------------------------------------------------------------------------------------------


def chosen_rule(rows: DataFrame, learned: Learned, requirements: tuple[Requirement, ...], cut: str) -> str:
    """The rule by which classes are cut. Where a trial decides, it is on the rows whose values hash lowest: as many as
    on one machine, where they are spread over the table."""
    if cut != "auto":
        return cut
    if all(MODELS[each.model].by_size for each in requirements):
        return RULE
    columns = list(dict.fromkeys(book.column for book in learned.books))
    some = rows.select(*columns).selectExpr("*", f"xxhash64({', '.join(columns)}) as hash")
    trial = collected(some.orderBy("hash", *columns).limit(TRIAL_ROWS))
    codes = [book.codes(trial) for book in learned.books]
    count = len(learned.attributes)
    table = learned.table(codes[:count], codes[count:], trial.height)
    everyone = np.arange(trial.height, dtype=np.uint32)
    return best_rule(RuleSearch(table, requirements, False, Context(0), everyone))


def _planned(
    rows: DataFrame, learned: Learned, demands: Demands, layout: EngineColumns, request: EngineRequest
) -> Plan:
    """The upper cuts, as workers need them."""
    source = EngineRows(rows, learned, demands)
    refused = source.refused if demands.beyond_size else None
    parts = upper_parts(source, demands.rule(learned), len(learned.attributes), request.part_rows, refused)
    large = parts.numbers[parts.sizes > request.part_rows]
    boxes = boxes_of(large, source.counts(large)) if len(large) else {}
    known = learned.without_codes()
    return Plan(known, demands, layout, request.spec.output, tuple(source.steps), parts, boxes, request.part_rows)


def _measured(written: DataFrame, plan: Plan, spec: Spec) -> Made:
    trees = {column.name: column.paths for column in plan.learned.sensitive}
    checks = [
        replace(each, tree=trees[each.attribute or ""]) if each.needs_tree else each
        for each in checks_of(spec, plan.demands.requirements)
    ]
    columns = {plan.layout.names[place]: f"c{place}" for place in plan.layout.released}
    reading = reading_of(spec, [columns[name] for name in spec.quasi_identifiers], columns)
    verdict, sizes = measured(written, reading, checks, THRESHOLD)
    return Made(written, reading, replace(verdict, passing=passing_of(written, spec, reading, columns)), sizes)
