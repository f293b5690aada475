"""The road of a randomized release on an engine: counts ─▶ parameters ─▶ rows, drawn once ─▶ measured ─▶ report.

The driver chooses p from counts, workers draw. What is drawn is drawn once: it is written before anything else looks at
it, since a worker that is lost and replaced would draw anew. Beside the distorted columns stand the original
categories, `o0`, `o1`, ..., so that the distortion can be counted in what was written; they are not part of what is
returned.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import polars as pl

from anonymize.algorithms.randomize import Options, planned, unknown_values
from anonymize.channels import replaced, system_bits
from anonymize.classes import Codes
from anonymize.errors import UnsafeError
from anonymize.families.randomized import bounds_of, warnings_of_spec
from anonymize.families.steps import check_needs
from anonymize.metrics import DRAWN, METRICS, undefined
from anonymize.privacy import Requirement, disclosures
from anonymize.records import dataclass
from anonymize.report import Clock
from anonymize.report.codebook import codebook
from anonymize.report.data import settings, verdict_blocks
from anonymize.report.head import unused_parts
from anonymize.request import Request
from anonymize.spark.checking import beyond, passing_of, reading_of, refuse, refuse_unsafe, with_derived
from anonymize.spark.engine import (
    DataFrame,
    chunks,
    collected,
    held,
    in_order,
    named_by_place,
    places_of,
    read_otherwise,
    struct,
    with_settings,
)
from anonymize.spark.learned import MOST_COMBINATIONS, CodeBook, Learned, distinct_rows, learn
from anonymize.spark.measured import CountedRows, check_rows
from anonymize.spark.outcome import EngineColumns
from anonymize.spark.road import EngineTask, algorithm_block, check_columns, foot, head, output_block
from anonymize.spec import Spec, resolve
from anonymize.spec.patterns import left_over_warnings
from anonymize.table import Attribute
from anonymize.unclassed import Distorted, Randomized
from anonymize.verify import Verdict
from anonymize.verify.unclassed import ROWS, measure_counted

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class DrawnColumn:
    """A column as workers draw it. `place`: of the column; `book`: the codes of its values; `of_code` (size,): the
    category of each; `texts`: how categories read; None where the column is left alone, which passes through."""

    place: str
    book: CodeBook
    of_code: Codes
    p: float
    texts: pl.Series | None

    @classmethod
    def of(cls, column: Distorted, book: CodeBook) -> DrawnColumn:
        """How a column is drawn, by the p that was chosen for it."""
        of_code = np.maximum(column.categories.of_code, 0).astype(np.min_scalar_type(max(column.size - 1, 0)))
        if column.released is None:
            return cls(book.column, book, of_code, 1.0, None)
        texts = pl.Series([text or None for text in column.categories.texts], dtype=pl.String)
        return cls(book.column, book, of_code, column.p, texts)

    def drawn(self, original: Codes) -> pl.Series | None:
        """What rows of these categories show; None: what they showed."""
        if self.texts is None:
            return None
        return self.texts.gather(replaced(original, self.p, len(self.texts), system_bits))


def chosen(
    rows: DataFrame, learned: Learned, requirements: tuple[Requirement, ...], options: Options, most: int
) -> Randomized:
    """The columns and their p. `released` of a column that is distorted has no rows: they are drawn by workers.

    Raises what `planned` raises, and DataError for more than `most` combinations of categories.
    """
    table = distinct_rows(rows, learned, [each.name for each in learned.sensitive], most, _taken_as(learned.attributes))
    columns, p = planned(table, requirements, options)
    none: Codes = np.zeros(0, np.uint8)
    released = tuple(
        replace(each, released=None if p[each.name] == 1 and not each.generalized else none, p=p[each.name])
        for each in columns
    )
    warnings = tuple(unknown_values(columns, requirements))
    return Randomized(options.on, released, False, bool(options.p.strip(" ,")), warnings)


def _taken_as(attributes: Sequence[Attribute]) -> dict[int, Codes]:
    """By their places, the quasi-identifiers that are distorted by category, and (size,) the first code of the category
    of each of their codes: what is counted is then the categories."""
    taken = {}
    for place, attribute in enumerate(attributes):
        if attribute.categorize is not None:
            _, first, category = np.unique(attribute.categories.of_code, return_index=True, return_inverse=True)
            taken[place] = first[category].astype(attribute.codes.dtype)
    return taken


def drawn_rows(df: DataFrame, columns: Sequence[DrawnColumn], released: Sequence[str]) -> DataFrame:
    """The distorted rows, and the original categories. `df`: its columns by their places; `released`: the places of
    those that are released."""
    fields = {field.name: field for field in df.schema.fields}
    changed = {column.place for column in columns if column.texts is not None}
    shape = struct({})
    for place in released:
        shape = shape.add(place, "string") if place in changed else shape.add(fields[place])
    for number in range(len(columns)):
        shape = shape.add(f"o{number}", "integer")
    keys = dict.fromkeys(column.book.expression for column in columns)
    return df.selectExpr(*released, *keys).mapInArrow(partial(_draw, tuple(columns), tuple(released)), shape)


def _draw(
    columns: Sequence[DrawnColumn], released: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition."""
    import pyarrow as pa

    for rows in chunks(batches):
        made = {place: rows[place] for place in released}
        originals = {}
        for number, column in enumerate(columns):
            original = column.of_code[column.book.codes(rows[column.book.name].to_numpy())]
            originals[f"o{number}"] = pa.array(original.astype(np.int32))
            texts = column.drawn(original)
            if texts is not None:
                made[column.place] = texts.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())
        yield from pa.table(made | originals).to_batches()


# --- the road ---------------------------------------------------------------------------------------------------------

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
    more = {"risk: attacks": spec.risk.attacks, "treatments": spec.treatments}
    refuse(beyond(spec) | more, "make the release on one machine")
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
