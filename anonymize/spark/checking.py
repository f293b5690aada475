"""The roads of a check and of a saved recoding on an engine: any DataFrame measured against a spec, as one machine
would measure it; and what a recoding shows for its rows, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from anonymize._recode import recode_frame, spec_of
from anonymize.auditing import checks_asked, released_as, undivided, with_trees
from anonymize.auditing.facts import AuditFacts
from anonymize.declared import declared
from anonymize.errors import Caution, DataError, Problem
from anonymize.formats import Checked
from anonymize.judging import refuse_absent
from anonymize.recoding.appearance import NumberColumns
from anonymize.recoding.saved import FORMAT_VERSION, Saved
from anonymize.records import dataclass
from anonymize.report.head import head
from anonymize.report.passing import PASSING, bounds_of, derived
from anonymize.spark.capabilities import AUDIT, RECODE, EngineUse, refuse
from anonymize.spark.engine import (
    DataFrame,
    Tables,
    arrow_of,
    check_types,
    chunks,
    collected,
    hash_of,
    in_order,
    mapped,
    named_by_place,
    of_schema,
    places_of,
    polars_schema,
    struct,
    typed_columns,
    with_settings,
)
from anonymize.spark.measured import CountedRows, compared_texts, group_figures, measured, passing
from anonymize.spec import Spec, resolve
from anonymize.table.roles import unclassified
from anonymize.verify import Check, Verdict, codes, combinations
from anonymize.verify.counted import TextReading
from anonymize.verify.kept import PassingFigures

if TYPE_CHECKING:
    import pyarrow as pa


# --- a check ----------------------------------------------------------------------------------------------------------

SAMPLE = 200_000
"""Rows of an original in which the driver compares columns that pass through with quasi-identifiers, about, at most."""
DATAFRAME = "<DataFrame>"
"""What a report calls a table that was no file."""


@with_settings
def audit_on_engine(df: DataFrame, spec: Spec, threshold: float, name: str = DATAFRAME) -> Checked:
    """The DataFrame, measured; `name`: what the report calls it. Raises UsageError for what an engine does not measure,
    DataError for a DataFrame without rows, that lacks a column, or has one without a role."""
    refuse(EngineUse(AUDIT, spec))
    table = _CheckedFrame.of(df, spec, name)
    requirements, checks = checks_asked(table.spec, grouped=False)
    if not table.rows.limit(1).count():
        raise DataError(Problem("has no rows", file=name))
    places = {name: [table.places[each] for each in columns] for name, columns in table.columns_of.items()}
    counts, measuring = CountedRows(table.rows), FrameReading(table.spec, table.reading, table.places, places)
    verdict = measuring.verdict(counts, table.with_trees(checks), threshold)[0]
    facts = AuditFacts(table, requirements, verdict)
    report = facts.report()
    engine = {"version": str(table.rows.sparkSession.version)}
    return Checked(
        {**report, "privacy": {**report["privacy"], "order": None}, "engine": engine},
        facts.findings(),
    )


@dataclass(frozen=True)
class FrameReading:
    """How a DataFrame is measured against a spec. `places`: of the columns that are in it, by their names; `columns`:
    of those of each quasi-identifier."""

    spec: Spec
    reading: TextReading
    places: Mapping[str, str]
    columns: Mapping[str, Sequence[str]]

    def verdict(self, counts: CountedRows, checks: Sequence[Check], threshold: float) -> tuple[Verdict, pl.Series]:
        """What everything that is required comes to, and the sizes of the classes that are not suppressed. Raises
        DataError for protected values that do not occur."""
        verdict, sizes = measured(counts, self.reading, checks, threshold)
        refuse_absent(verdict.absent)
        verdict = self._with_codes(verdict, counts)
        verdict = combinations.with_combinations(
            verdict, self.spec, self.columns, partial(group_figures, counts, self.reading)
        )
        return replace(verdict, passing=self.passing(counts)), sizes

    def _with_codes(self, verdict: Verdict, counts: CountedRows) -> Verdict:
        """The verdict with levels and codes measured."""
        declarations = declared(self.spec, self.columns, None)
        cells = {}
        for each in declarations:
            named = dict(zip(each.columns, ("low", "high", "missing"), strict=False))
            texts = collected(compared_texts(counts, self.reading, list(each.columns))).rename(named)
            lacking = {"high": pl.col("low"), "missing": pl.lit(None, pl.String)}
            texts = texts.with_columns(**{name: text for name, text in lacking.items() if name not in texts.columns})
            cells[each.name] = texts
        return codes.with_codes(verdict, cells, self.spec, declarations)

    def passing(self, counts: CountedRows) -> PassingFigures:
        """What the columns that pass through give away."""
        roles = self.spec.roles()
        names = [name for name in self.places if roles.get(name) in PASSING]
        groups = {
            "names": names,
            "passing": [self.places[name] for name in names],
            "generalized": list(self.reading.quasi_identifiers),
            "sensitive": list(self.reading.attributes.values()),
        }
        return replace(passing(counts, self.reading, groups, self.spec.fewest), bounds=bounds_of(self.spec))


def with_derived(verdict: Verdict, df: DataFrame, spec: Spec, rows: int) -> Verdict:
    """The verdict on a release with the columns that pass through and follow from a quasi-identifier, as measured by
    the driver in the DataFrame that it is made of, `df`: in all of its `rows`, or in as many as that takes, chosen by a
    hash of all that stands in them."""
    passing = verdict.passing
    if passing is None or not passing.columns:
        return verdict
    places, frame = places_of(df.columns), named_by_place(df)
    names = [name for name in df.columns if name in spec.quasi_identifiers or name in passing.columns]
    share = -(-rows // SAMPLE)
    if share > 1:
        frame = frame.where(f"pmod({hash_of([*places.values()])}, {share}) = 0")
    texts = collected(frame.selectExpr(*(f"cast({places[name]} as string) as {places[name]}" for name in names)))
    texts.columns = names
    derivations = derived(texts.lazy(), texts.height, spec, spec.missing("arrow"), passing.columns)
    looked_at = texts.height if share > 1 else None
    return replace(verdict, passing=replace(passing, derived=derivations, derived_rows=looked_at))


@dataclass(frozen=True)
class FrameSource:
    """What a report says of a DataFrame."""

    name: str
    columns: Sequence[str]
    sha256: None = None


@dataclass(frozen=True)
class _CheckedFrame:
    """A DataFrame that is measured: `rows`, its columns by their `places`. `columns_of`: those of each
    quasi-identifier."""

    spec: Spec
    source: FrameSource
    rows: DataFrame
    places: Mapping[str, str]
    columns_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    warnings: Sequence[Caution] = ()

    @classmethod
    def of(cls, df: DataFrame, spec: Spec, name: str) -> _CheckedFrame:
        spec = resolve(spec, undivided(spec, df.columns)).of_types(typed_columns(df))
        columns_of = released_as(spec, df.columns, name)
        known = spec.roles().keys() | {name for names in columns_of.values() for name in names}
        strange = [column for column in df.columns if column not in known]
        if strange:
            raise DataError(unclassified(strange, name))
        check_types(df, [column for column in df.columns if column not in spec.identifiers])
        return cls(spec, FrameSource(name, df.columns), named_by_place(df), places_of(df.columns), columns_of)

    @property
    def exposed(self) -> list[str]:
        """The direct identifiers of the spec that are in the table."""
        return [name for name in self.spec.identifiers if name in self.places]

    @property
    def reading(self) -> TextReading:
        """How it is read."""
        own = [self.places[name] for names in self.columns_of.values() for name in names]
        kinds = polars_schema(self.rows)
        numbers = [self.places[name] for name in NumberColumns.of(self.spec, "arrow").names if name in self.places]
        numeric = frozenset(place for place in numbers if kinds[place].is_numeric())
        return replace(reading_of(self.spec, own, self.places), numbers=numeric)

    def with_trees(self, checks: Sequence[Check]) -> list[Check]:
        """The checks with the hierarchies that their distances need."""
        names = dict.fromkeys(check.attribute for check in checks if check.attribute and check.needs_tree)
        if not names:
            return list(checks)
        values = [collected(self.rows.select(self.places[name]).distinct()).to_series().alias(name) for name in names]
        return with_trees(self.spec, checks, pl.concat([each.to_frame() for each in values], how="horizontal").lazy())


def reading_of(spec: Spec, quasi_identifiers: Sequence[str], places: Mapping[str, str]) -> TextReading:
    """How a DataFrame is read. `quasi_identifiers`: their places; `places`: those of all columns."""
    meaning = spec.missing("arrow")
    return TextReading(
        tuple(quasi_identifiers),
        {name: places[name] for name in spec.sensitive if name in places},
        meaning.texts,
        spec.output.suppressed,
        null_missing=meaning.null,
        normalize=spec.input.normalize,
    )


# --- a saved recoding -------------------------------------------------------------------------------------------------
# It is applied chunk by chunk: what a row reads follows from its values alone.


def recode_on_engine(df: DataFrame, saved: Saved) -> tuple[DataFrame, dict[str, Any]]:
    """The recoded rows, and the report. Raises DataError for a DataFrame without rows, and as `recode` does."""
    names = tuple(df.columns)
    spec = spec_of(saved, names, DATAFRAME)
    refuse(EngineUse(RECODE, spec))
    check_types(df, [name for name in names if name not in spec.identifiers])
    rows = named_by_place(df)
    first = collected(rows.limit(1))
    if not first.height:
        raise DataError(Problem("has no rows", file=DATAFRAME))
    columns = recode_frame(saved, first.rename(dict(zip(first.columns, names, strict=True))))[0].columns
    fields = dict(zip(names, rows.schema.fields, strict=True))
    passing = {*spec.roles()} - {*spec.quasi_identifiers}
    shape = struct({})
    for place, name in enumerate(columns):
        kind = fields[name].dataType if name in passing else "string"
        shape = shape.add(f"c{place}", kind)
    recoded = rows.mapInArrow(partial(_recode, saved, names, arrow_of(shape)), shape)
    report = _report(rows, saved, names)
    kept = [f"c{place}" for place, name in enumerate(columns) if name in passing]
    groups = [name for name in recoded.columns if name not in kept], kept
    ordered = in_order(recoded, spec.output.row_order, groups, report["output"]["rows"])
    return ordered.toDF(*columns), report


def _recode(
    saved: Saved, names: tuple[str, ...], schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for table in chunks(batches):
        frame = recode_frame(saved, pl.DataFrame(table.rename_columns(list(names))))[0]
        made = frame.rename(dict(zip(frame.columns, schema.names, strict=True)))
        yield from of_schema(made, schema).to_batches()


def _report(rows: DataFrame, saved: Saved, names: tuple[str, ...]) -> dict[str, Any]:
    """The report of `recode`, with counts of all chunks."""
    counted = collected(mapped(rows, partial(_count, saved, names), {"name": "string", "n": "long"}))
    sums = counted.group_by("name").agg(pl.col("n").sum()).sort("name")
    totals = dict(zip(sums["name"].to_list(), sums["n"].to_list(), strict=True))
    attributes: dict[str, dict[str, int]] = {attribute.name: {} for attribute in saved.attributes}
    for place, name in enumerate(attributes):
        own = {key: n for key, n in totals.items() if key.startswith(f"{place} ")}
        attributes[name] = {key.partition(" ")[2]: n for key, n in own.items()}
    counts = {key: n for key, n in totals.items() if " " not in key}
    total = counts.pop("rows")
    dropped = counts.pop("dropped")
    return {
        **head(),
        "recoding": {"format_version": FORMAT_VERSION, "algorithm": saved.algorithm, "kind": saved.kind},
        "input": {"path": DATAFRAME, "sha256": None, "rows": total, "columns": len(names)},
        "output": {
            "path": DATAFRAME,
            "sha256": None,
            "rows": total - dropped,
            "suppressed_rows": counts["suppressed"],
            "dropped_rows": dropped,
        },
        "outside": {"rows": counts.pop("outside"), **counts, "attributes": attributes},
        "engine": {"version": str(rows.sparkSession.version)},
        "warnings": [
            Caution.of("the table was not measured", "`anonymize.spark.audit` says whether it is safe to publish")
        ],
    }


def _count(saved: Saved, names: tuple[str, ...], tables: Tables) -> Iterator[pl.DataFrame]:
    """The counts of a partition; those of an attribute behind its place."""
    places = {attribute.name: place for place, attribute in enumerate(saved.attributes)}
    for frame in map(pl.DataFrame, tables):
        made, counts = recode_frame(saved, frame.rename(dict(zip(frame.columns, names, strict=True))))
        figures = asdict(counts) | {"dropped": frame.height - made.height}
        for name, own in figures.pop("attributes").items():
            figures |= {f"{places[name]} {key}": n for key, n in own.items()}
        yield pl.DataFrame({"name": list(figures), "n": list(figures.values())})
