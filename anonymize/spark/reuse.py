"""A saved recoding applied to a DataFrame, chunk by chunk: what a row reads follows from its values alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from anonymize._recode import recode_frame, spec_of
from anonymize.errors import Caution, DataError, Problem, UsageError
from anonymize.recoding.saved import FORMAT_VERSION, Saved
from anonymize.report.head import head
from anonymize.spark.checking import DATAFRAME
from anonymize.spark.engine import (
    DataFrame,
    Tables,
    arrow_of,
    check_types,
    chunks,
    collected,
    in_order,
    mapped,
    named_by_place,
    of_schema,
    struct,
)

if TYPE_CHECKING:
    import pyarrow as pa


def recode_on_engine(df: DataFrame, saved: Saved) -> tuple[DataFrame, dict[str, Any]]:
    """The recoded rows, and the report. Raises DataError for a DataFrame without rows, and as `recode` does."""
    names = tuple(df.columns)
    spec = spec_of(saved, names, DATAFRAME)
    if spec.output.row_order == "keep":
        raise UsageError("output.row_order: keep (a DataFrame has no order): not on an engine")
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
