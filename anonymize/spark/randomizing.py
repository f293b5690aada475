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
from typing import Any
from uuid import uuid4

import numpy as np
import polars as pl

from anonymize.algorithms.randomize import Distorted, Randomized, planned, unknown_values
from anonymize.channels import replaced, system_bits
from anonymize.classes import Codes
from anonymize.errors import UnsafeError
from anonymize.families.randomized import bounds_of, distorted_blocks, warnings_of_spec
from anonymize.privacy import Requirement
from anonymize.records import dataclass
from anonymize.report import Clock
from anonymize.report.data import Blocks
from anonymize.report.head import unused_parts
from anonymize.spark.checking import DATAFRAME, FrameSource
from anonymize.spark.engine import Columns, DataFrame, beside, collected, held
from anonymize.spark.learned import CodeBook, distinct_rows
from anonymize.spark.measured import CountedRows
from anonymize.spark.outcome import EngineDraft, EngineFrame
from anonymize.spec.patterns import left_over_warnings
from anonymize.table import Attribute
from anonymize.verify import Verdict
from anonymize.verify.unclassed import ROWS, measure_counted


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
        return self.texts.gather(replaced(original, self.p, len(self.texts), system_bits)).alias(self.place)


def chosen(known: EngineFrame) -> Randomized:
    """The columns and their p. `released` of a column that is distorted has no rows: they are drawn by workers.

    Raises what `planned` raises, and DataError for too many combinations of categories.
    """
    learned, options = known.learned, known.request.options
    names, most = [each.name for each in learned.sensitive], known.limits.most_combinations
    table = distinct_rows(known.rows, learned, names, most, _taken_as(learned.attributes))
    columns, p, origin = planned(table, known.requirements, options)
    none: Codes = np.zeros(0, np.uint8)
    released = tuple(
        replace(each, released=None if p[each.name] == 1 and not each.generalized else none, p=p[each.name])
        for each in columns
    )
    warnings = tuple(unknown_values(columns, known.requirements))
    return Randomized(options.on, released, False, origin, warnings)


def _taken_as(attributes: Sequence[Attribute]) -> dict[int, Codes]:
    """By their places, the quasi-identifiers that are distorted by category, and (size,) the first code of the category
    of each of their codes: what is counted is then the categories."""
    taken = {}
    for place, attribute in enumerate(attributes):
        if attribute.categorize is not None:
            _, first, category = np.unique(attribute.categories.of_code, return_index=True, return_inverse=True)
            taken[place] = first[category].astype(attribute.codes.dtype)
    return taken


def drawn_rows(known: EngineFrame, columns: Sequence[DrawnColumn]) -> DataFrame:
    """The distorted rows, their columns by their places, and the original categories."""
    changed = {column.place: "string" for column in columns if column.texts is not None}
    originals = {f"o{number}": "int" for number in range(len(columns))}
    released = list(known.places.values())
    rows = known.learned.keyed(known.rows, *(place for place in released if place not in changed))
    made = beside(rows, known.learned.keys, partial(_draw, columns), {**changed, **originals})
    return made.select(*released, *originals)


def _draw(columns: Sequence[DrawnColumn], chunks: Iterable[Columns]) -> Iterator[pl.DataFrame]:
    """What the rows of a partition show, and their categories."""
    names = list(dict.fromkeys(column.book.name for column in columns))
    for chunk in chunks:
        keys = dict(zip(names, chunk, strict=True))
        originals = [column.of_code[column.book.codes(keys[column.book.name])] for column in columns]
        drawn = [column.drawn(own) for column, own in zip(columns, originals, strict=True)]
        counted = [pl.Series(f"o{number}", own.astype(np.int32)) for number, own in enumerate(originals)]
        yield pl.DataFrame([*(each for each in drawn if each is not None), *counted])


# --- the release ------------------------------------------------------------------------------------------------------


def randomized(known: EngineFrame, clock: Clock) -> EngineDraft:
    """The randomized release of a DataFrame, written and measured. Raises as `chosen` does."""
    learned = known.learned
    with clock("search"):
        result = chosen(known)
    columns = [DrawnColumn.of(column, book) for column, book in zip(result.columns, learned.books, strict=True)]
    released = list(known.places.values())
    with clock("write"):
        written = known.written(held(drawn_rows(known, columns), known.limits.checkpoint, f"drawn-{uuid4().hex}"))
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
    warnings = [*result.warnings, *unused_parts(spec, request.algorithm, request.options), *warnings_of_spec(spec)]
    blocks = distorted_blocks(spec, result, FrameSource(DATAFRAME, ()), list(known.places), verdict)
    return replace(blocks, warnings=[*warnings, *left_over_warnings(spec), *verdict.cautions])
