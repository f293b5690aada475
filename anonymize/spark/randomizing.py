"""A randomized release on an engine: counts ─▶ parameters ─▶ rows, drawn once ─▶ measured ─▶ report.

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

from anonymize.algorithms.randomize import Distorted, Randomized, planned, unknown_values
from anonymize.channels import replaced, system_bits
from anonymize.classes import Codes
from anonymize.errors import UnsafeError
from anonymize.families.randomized import bounds_of, warnings_of_spec
from anonymize.metrics import DRAWN, METRICS, undefined
from anonymize.privacy import Requirement
from anonymize.records import dataclass
from anonymize.report import Clock
from anonymize.report.codebook import codebook
from anonymize.report.data import Blocks, output_block, verdict_blocks
from anonymize.report.head import unused_parts
from anonymize.spark.checking import DATAFRAME, FrameSource
from anonymize.spark.engine import DataFrame, chunks, collected, held, struct
from anonymize.spark.learned import CodeBook, distinct_rows
from anonymize.spark.measured import CountedRows
from anonymize.spark.outcome import EngineDraft, EngineFrame
from anonymize.spec.patterns import left_over_warnings
from anonymize.table import Attribute
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


def chosen(known: EngineFrame) -> Randomized:
    """The columns and their p. `released` of a column that is distorted has no rows: they are drawn by workers.

    Raises what `planned` raises, and DataError for too many combinations of categories.
    """
    learned, options = known.learned, known.request.options
    names, most = [each.name for each in learned.sensitive], known.limits.most_combinations
    table = distinct_rows(known.rows, learned, names, most, _taken_as(learned.attributes))
    columns, p = planned(table, known.requirements, options)
    none: Codes = np.zeros(0, np.uint8)
    released = tuple(
        replace(each, released=None if p[each.name] == 1 and not each.generalized else none, p=p[each.name])
        for each in columns
    )
    warnings = tuple(unknown_values(columns, known.requirements))
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


# --- the release ------------------------------------------------------------------------------------------------------


def randomized(known: EngineFrame, clock: Clock) -> EngineDraft:
    """The randomized release of a DataFrame, written and measured. Raises as `chosen` does."""
    learned = known.learned
    with clock("search"):
        result = chosen(known)
    columns = [DrawnColumn.of(column, book) for column, book in zip(result.columns, learned.books, strict=True)]
    released = list(known.places.values())
    with clock("write"):
        drawn = drawn_rows(known.rows, columns, released)
        written = known.written(held(drawn, known.limits.checkpoint, f"drawn-{uuid4().hex}"))
    parameters = json.loads(json.dumps(result.parameters(learned.rows, known.spec.input.separator)))
    with clock("verify"):
        verdict = _measured(written, result, columns, parameters, known.requirements)
        verdict = replace(verdict, passing=known.reading.passing(CountedRows(written)))
    distorted = {column.place for column in columns if column.texts is not None}
    return EngineDraft(
        written.select(*released),
        verdict,
        [place for place in released if place not in distorted],
        partial(_blocks, known, result),
        asdict(known.request.options),
        parameters=parameters,
    )


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


def _blocks(known: EngineFrame, result: Randomized, verdict: Verdict) -> Blocks:
    """The blocks of one machine, without what an ordinary attacker guesses, which is not measured here."""
    spec, request = known.spec, known.request
    return Blocks(
        output=output_block(FrameSource(DATAFRAME, ()), verdict)
        | dict.fromkeys(("suppressed_rows", "suppressed_cells"), 0),
        measured=verdict_blocks(verdict),
        utility={},
        left_out=undefined(METRICS, DRAWN),
        recoding=result.summary(),
        codebook=codebook(spec, list(known.places), result.meanings()),
        warnings=[
            *result.warnings,
            *unused_parts(spec, request.algorithm, request.options),
            *warnings_of_spec(spec),
            *left_over_warnings(spec),
            *verdict.cautions,
        ],
    )
