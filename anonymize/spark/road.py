"""The road of a release on an engine: counts ─▶ search ─▶ rows, made by workers ─▶ held ─▶ measured ─▶ report.

The engine is what `anonymize._release` has files for: it counts, it makes rows, and it holds what was written until
that has been measured. What is required, refused and reported is that of one machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import Any
from uuid import uuid4

import numpy as np
import polars as pl

from anonymize import privacy
from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.randomize import Distorted, Randomized, planned, unknown_values
from anonymize.channels import replaced, system_bits
from anonymize.classes import Codes, Floats
from anonymize.errors import DataError, UnsafeError
from anonymize.families.checks import check_needs
from anonymize.families.randomized import bounds_of, distorted_blocks, warnings_of_spec
from anonymize.families.steps import check_satisfied, check_suppression, suppression_limit
from anonymize.metrics import View, utility
from anonymize.privacy import Requirement
from anonymize.reading.regions import DistinctTexts
from anonymize.recoding import Regions
from anonymize.records import dataclass
from anonymize.report import Clock, head
from anonymize.report.codebook import FileCells, codebook, generalized
from anonymize.report.data import Blocks, output_block, report_of, required_size, verdict_blocks, with_heights
from anonymize.request import Request
from anonymize.spark.capabilities import DISTORTION, EngineUse, refuse
from anonymize.spark.checking import DATAFRAME, FrameSource, with_derived
from anonymize.spark.engine import (
    Columns,
    DataFrame,
    beside,
    check_types,
    collected,
    held,
    read_otherwise,
    typed_columns,
    with_settings,
)
from anonymize.spark.learned import CodeBook, distinct_rows
from anonymize.spark.measured import COUNT, VALUE, CountedRows, check_rows, looked_at
from anonymize.spark.searches import EngineFrame, EngineLimits, EngineOutcome, counted_search, parted_search
from anonymize.spec import Spec, patterns, resolve
from anonymize.table import Attribute
from anonymize.table.encode import code_type
from anonymize.verify import THRESHOLD, Verdict, checks_of, unclassed


@dataclass(frozen=True)
class EngineRelease:
    """A release: its rows, the report, and of a randomized one the recipient's parameters."""

    rows: DataFrame
    report: dict[str, Any]
    parameters: dict[str, Any] | None = None


@dataclass(frozen=True)
class EngineDraft:
    """A release that has been written and measured. `rows`: what is published, its columns by their places. `kept`: the
    places of the columns that are those of the input; `apart`: see `CountedRows`. `blocks`: those of the report that
    depend on the family, by the verdict; `options`: what the report says of the search. `left_out`: as `EngineOutcome`
    has it. `parameters`: of the recipient of a distorted release."""

    rows: DataFrame
    verdict: Verdict
    kept: Sequence[str]
    blocks: Callable[[Verdict], Blocks]
    options: Mapping[str, Any]
    left_out: int = 0
    apart: pl.DataFrame | None = None
    parameters: dict[str, Any] | None = None


@with_settings
def release_on_engine(df: DataFrame, request: Request, limits: EngineLimits) -> EngineRelease:
    """The release of a DataFrame. Raises what is wrong; then nothing is returned."""
    clock = Clock()
    request = replace(request, spec=resolve(request.spec, df.columns).of_types(typed_columns(df)))
    use = EngineUse.of_request(request)
    refuse(use)
    check_needs(request)
    drawn = use.road == DISTORTION
    requirements: tuple[Requirement, ...] = (privacy.disclosures if drawn else privacy.requirements)(request.spec)
    _check_columns(request.spec, df)
    with clock("read"):
        known = EngineFrame.read(df, request, requirements, limits)
    draft = (randomized if drawn else _classed)(known, clock)
    if draft.verdict.rows != known.learned.rows - draft.left_out:
        raise read_otherwise()
    if not draft.left_out:
        check_rows(known.rows, draft.rows, draft.kept, draft.apart)
    with clock("verify"):
        rows = known.learned.rows
        verdict = with_derived(draft.verdict, df, request.spec, rows)
    check_suppression(request, rows, _suppressed_rows(verdict, rows))
    check_satisfied(request, verdict)
    table = head.table_block(FrameSource(DATAFRAME, df.columns), rows)
    report = report_of(request, table, clock, draft.blocks(verdict), draft.options)
    report["engine"] = {"version": str(df.sparkSession.version)}
    return EngineRelease(draft.rows.toDF(*known.layout.released), report, draft.parameters)


def _check_columns(spec: Spec, df: DataFrame) -> None:
    """Raises DataError for columns without a role, for those that are not there, and for types that are not values."""
    lacking = [name for name in spec.roles() if name not in df.columns]
    strange = [name for name in df.columns if name not in spec.roles()]
    if lacking or strange:
        problems = [f"column {name} of the spec is not in the DataFrame" for name in lacking]
        raise DataError([*problems, *(f"column {name} has no role in the spec" for name in strange)])
    check_types(df, [name for name in df.columns if name not in spec.identifiers])


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
        known.layout.passing,
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
        counts = CountedRows.held(written, names, folder, known.layout.passing)
        return MeasuredRows(counts, *known.reading.verdict(counts, checks, THRESHOLD))


def _blocks(known: EngineFrame, outcome: EngineOutcome, made: MeasuredRows, verdict: Verdict) -> Blocks:
    """The blocks of the report, from the released DataFrame. What is not measured there is null."""
    spec, request, rows = known.spec, known.request, known.learned.rows
    blocks = verdict_blocks(verdict)
    marginals = [made.counts.marginals[known.layout.released[name]] for name in spec.quasi_identifiers]
    hidden = {"suppressed_rows": _suppressed_rows(verdict, rows), "dropped_rows": rows - verdict.rows}
    cells = FileCells(spec, {name: own[VALUE] for name, own in zip(spec.quasi_identifiers, marginals, strict=True)})
    meanings = generalized(cells, {name: [name] for name in cells.texts}, labels=outcome.labelled)
    regions = {"regions": verdict.classes["count"]} if outcome.recoding["kind"] == Regions.KIND else {}
    recoding = {**outcome.recoding, **regions, "suppressed_rows": hidden["suppressed_rows"]}
    return Blocks(
        output={
            **output_block(FrameSource(DATAFRAME, ()), verdict),
            **hidden,
            "suppressed_cells": sum(
                int(each.filter(pl.col(VALUE) == spec.output.suppressed)[COUNT].sum()) for each in marginals
            ),
        },
        measured={**blocks, "risk": {**blocks["risk"], "before": None}},
        utility=utility(_view(known, outcome, made, hidden, marginals)),
        recoding=with_heights(known.learned.attributes, recoding),
        warnings=[
            *patterns.left_over_warnings(spec),
            *head.unused_parts(spec, request.algorithm, request.options),
            *verdict.remarks,
            *verdict.cautions,
        ],
        codebook=codebook(spec, list(known.layout.released), meanings, cells),
    )


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


# --- randomized releases ----------------------------------------------------------------------------------------------
# Counts ─▶ parameters ─▶ rows, drawn once ─▶ measured.
#
# The driver chooses p from counts, workers draw. What is drawn is drawn once: it is written before anything else looks
# at it, since a worker that is lost and replaced would draw anew. Beside the distorted columns stand the original
# categories, `o0`, `o1`, ..., so that the distortion can be counted in what was written; they are not part of what is
# returned.


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
        of_code = np.maximum(column.categories.of_code, 0).astype(code_type(column.size))
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
    released = list(known.layout.released.values())
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


def randomized(known: EngineFrame, clock: Clock) -> EngineDraft:
    """The randomized release of a DataFrame, written and measured. Raises as `chosen` does."""
    learned = known.learned
    with clock("search"):
        result = chosen(known)
    columns = [DrawnColumn.of(column, book) for column, book in zip(result.columns, learned.books, strict=True)]
    released = list(known.layout.released.values())
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
        partial(_drawn_blocks, known, result),
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
            {original: "before", column.place: "text", "count": unclassed.ROWS}
        )
        for original, column in zip(originals, columns, strict=True)
    ]
    bounds = bounds_of(result.columns, requirements)
    verdict, wrong = unclassed.measure_counted(moves, counted.select(originals), counted["count"], parameters, bounds)
    if wrong:
        raise UnsafeError(wrong)
    return verdict


def _drawn_blocks(known: EngineFrame, result: Randomized, verdict: Verdict) -> Blocks:
    """The blocks of one machine, without what an ordinary attacker guesses, which is not measured here."""
    spec, request = known.spec, known.request
    warnings = [*result.warnings, *head.unused_parts(spec, request.algorithm, request.options), *warnings_of_spec(spec)]
    blocks = distorted_blocks(spec, result, FrameSource(DATAFRAME, ()), list(known.layout.released), verdict)
    return replace(blocks, warnings=[*warnings, *patterns.left_over_warnings(spec), *verdict.cautions])
