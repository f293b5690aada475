"""The road of a randomized release on an engine: counts ─▶ parameters ─▶ rows, drawn once ─▶ measured ─▶ report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import uuid4

from anonymize.algorithms.randomize import Options
from anonymize.errors import UnsafeError
from anonymize.families.randomized import bounds_of, warnings_of_spec
from anonymize.families.steps import check_needs
from anonymize.metrics import DRAWN, METRICS, undefined
from anonymize.privacy import Requirement
from anonymize.privacy.asked import disclosures
from anonymize.randomized import Randomized
from anonymize.report import Clock
from anonymize.report.codebook import codebook
from anonymize.report.data import settings, unused_parts, verdict_blocks
from anonymize.request import Request
from anonymize.spark.checking import beyond, passing_of, reading_of, refuse, refuse_unsafe, with_derived
from anonymize.spark.columns import EngineColumns
from anonymize.spark.counts import CountedRows
from anonymize.spark.distinct import MOST_COMBINATIONS
from anonymize.spark.distorting import DrawnColumn, chosen, drawn_rows
from anonymize.spark.engine import DataFrame, collected, held, in_order, named_by_place, places_of, read_otherwise
from anonymize.spark.identity import check_rows
from anonymize.spark.learned import learn
from anonymize.spark.report import algorithm_block, foot, head, output_block
from anonymize.spark.road import EngineTask, check_columns
from anonymize.spark.settings import with_settings
from anonymize.spec import Spec, resolve
from anonymize.spec.patterns import left_over_warnings
from anonymize.verify import Verdict
from anonymize.verify.randomized import ROWS, measure_counted

NAME = "randomize"


@dataclass(frozen=True, kw_only=True)
class EngineRandomize(EngineTask):
    """What is asked of a randomized release."""

    options: Options
    most_combinations: int = MOST_COMBINATIONS


@dataclass(frozen=True)
class EngineRandomized:
    """A randomized release: its rows, the recipient's parameters, and the report."""

    rows: DataFrame
    parameters: dict[str, Any]
    report: dict[str, Any]


@with_settings
def randomize_on_engine(df: DataFrame, request: EngineRandomize) -> EngineRandomized:
    """The release. Raises what is wrong; then nothing is returned."""
    clock = Clock()
    spec = resolve(request.spec, df.columns)
    check_needs(Request(spec, NAME, request.options))
    requirements = disclosures(spec)
    check_columns(spec, df)
    refuse(beyond(spec) | {"risk: attacks": spec.risk.attacks}, "make the release on one machine")
    places, rows = places_of(df.columns), named_by_place(df)
    with clock("read"):
        learned = learn(rows, places, spec, (), request.most_values)
    with clock("search"):
        result = chosen(rows, learned, requirements, request.options, request.most_combinations)
    layout = EngineColumns(tuple(df.columns), spec.roles())
    released = [f"c{place}" for place in layout.released]
    columns = [DrawnColumn.of(column, book) for column, book in zip(result.columns, learned.books, strict=True)]
    with clock("write"):
        run = uuid4().hex
        drawn = held(drawn_rows(rows, columns, released), request.checkpoint, f"drawn-{run}")
        ordered = in_order(drawn, spec.output.row_order, layout.groups, learned.rows)
        written = held(ordered, request.checkpoint, f"release-{run}")
    parameters = json.loads(json.dumps(result.parameters(learned.rows, spec.input.separator)))
    with clock("verify"):
        verdict = _measured(written, result, columns, parameters, requirements)
        names = {name: place for name, place in places.items() if place in released}
        reading = reading_of(spec, [places[name] for name in spec.quasi_identifiers], names)
        verdict = replace(verdict, passing=passing_of(CountedRows(written), spec, reading, names))
        verdict = with_derived(verdict, df, spec, learned.rows)
    if verdict.rows != learned.rows:
        raise read_otherwise()
    distorted = {column.place for column in columns if column.texts is not None}
    check_rows(rows, written, [place for place in released if place not in distorted])
    refuse_unsafe(verdict, allow_unsafe=request.allow_unsafe)
    report = _report(spec, df, layout, request, result, verdict, clock)
    visible = written.select(*released).toDF(*(layout.names[place] for place in layout.released))
    return EngineRandomized(visible, parameters, report)


def _measured(
    written: DataFrame,
    result: Randomized,
    columns: list[DrawnColumn],
    parameters: Mapping[str, Any],
    requirements: tuple[Requirement, ...],
) -> Verdict:
    """The verdict on what was written, by code that shares nothing with what drew it. Raises UnsafeError where these
    parameters cannot have brought it about."""
    originals = [f"o{number}" for number in range(len(columns))]
    counted = collected(written.groupBy(*originals).count())
    moves = [
        None
        if column.texts is None
        else collected(written.groupBy(original, column.place).count()).rename(
            {original: "before", column.place: "text", "count": ROWS}
        )
        for original, column in zip(originals, columns, strict=True)
    ]
    bounds = bounds_of(result.columns, requirements)
    verdict, wrong = measure_counted(moves, counted.select(originals), counted["count"], parameters, bounds)
    if wrong:
        raise UnsafeError(wrong)
    return verdict


def _report(
    spec: Spec,
    df: DataFrame,
    layout: EngineColumns,
    request: EngineRandomize,
    result: Randomized,
    verdict: Verdict,
    clock: Clock,
) -> dict[str, Any]:
    """The blocks of a report of one machine, without what an ordinary attacker guesses, which is not measured here."""
    blocks = verdict_blocks(verdict)
    return {
        **head(spec, df, clock, verdict.rows),
        "output": output_block(verdict.rows, {"suppressed_rows": 0, "suppressed_cells": 0}),
        "algorithm": algorithm_block(NAME, asdict(request.options)),
        "settings": settings(spec),
        **blocks,
        "left_out": undefined(METRICS, DRAWN),
        "recoding": result.summary(),
        "codebook": codebook(spec, [layout.names[place] for place in layout.released], result.meanings()),
        **foot(df, clock),
        "warnings": [
            *result.warnings,
            *unused_parts(spec, NAME, request.options),
            *warnings_of_spec(spec),
            *left_over_warnings(spec),
            *verdict.cautions,
        ],
    }
