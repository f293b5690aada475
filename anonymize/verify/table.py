"""The text of a table, read in two streaming passes: its classes, then the sensitive values in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from anonymize.errors import DataError
from anonymize.verify.verdict import Subject

_SEEDS = range(8)

CSV = ("csv", "csv.gz")
"""The formats in which a null is an empty field."""


def text_of(path: Path, form: str, separator: str) -> pl.LazyFrame:
    """A table as it was written, by a plain reader; of a CSV, the text."""
    if form not in CSV:
        scan = pl.scan_parquet if form == "parquet" else pl.scan_ipc
        return scan(path, glob=False, hive_partitioning=False)
    return pl.scan_csv(
        path,
        infer_schema=False,
        separator=separator,
        with_column_names=lambda names: [name.replace('""', '"') for name in names],  # which polars leaves as they are
        glob=False,
    )


@dataclass(frozen=True)
class Table:
    """What is measured: rows, the quasi-identifiers' columns, what means missing, and what a null is read as."""

    frame: pl.LazyFrame
    quasi_identifiers: tuple[str, ...]
    missing: tuple[str, ...]
    fill: str | None

    def text(self, column: str) -> pl.Expr:
        text = pl.col(column).cast(pl.String)
        return text if self.fill is None else text.fill_null(self.fill)

    def keys(self) -> list[pl.Expr]:
        """The quasi-identifiers as text, under names that clash with nothing."""
        return [self.text(name).alias(f"q{at}") for at, name in enumerate(self.quasi_identifiers)]

    def key_number(self, seed: int) -> pl.Expr:
        """A 64-bit number of each row's quasi-identifiers, from the columns of `keys`."""
        return pl.struct(self.key_names()).hash(seed).alias("class")

    def key_names(self) -> list[str]:
        return [f"q{at}" for at in range(len(self.quasi_identifiers))]


def classes_of(table: Table, suppressed: str) -> tuple[pl.DataFrame, int]:
    """One row a class: its number, its size, whether it is suppressed; and the seed with which the numbers are made.

    The texts are compared as texts; a seed for which two classes would have the same number is not used.
    """
    names = table.key_names()
    hidden = pl.all_horizontal((pl.col(name) == suppressed).fill_null(False) for name in names)
    sizes = table.frame.select(table.keys()).group_by(names).agg(pl.len().cast(pl.Int64).alias("size"))
    for seed in _SEEDS:
        query = sizes.select(table.key_number(seed), "size", hidden.alias("suppressed"))
        classes = query.collect(engine="streaming")
        if classes["class"].n_unique() == classes.height:
            return classes, seed
    raise RuntimeError("no numbering of the classes is unique: this is probably a bug")


def sensitive_values(table: Table, seed: int, subjects: Sequence[Subject], classes: pl.DataFrame) -> pl.DataFrame:
    """The number of each row's class, and the sensitive value of each subject (v0, v1, ...): null where missing."""
    values = [expr for at, subject in enumerate(subjects) for expr in _values(table, at, *subject)]
    if not values:
        return pl.DataFrame()
    query = table.frame.select(*table.keys(), *values).select(table.key_number(seed), pl.exclude(table.key_names()))
    rows = query.collect(engine="streaming")
    if rows.height != classes["size"].sum():
        raise changed()
    numbers = [_as_numbers(rows, f"v{at}", name) for at, (name, numeric) in enumerate(subjects) if name and numeric]
    return rows.with_columns(numbers).select("class", pl.col(r"^v\d+$"))


def _values(table: Table, at: int, attribute: str | None, numeric: bool) -> list[pl.Expr]:
    """A code for each text; or the number as a float, nan for what is none, and exactly where it is a whole one."""
    if attribute is None:
        return []
    text = table.text(attribute)
    present = pl.when(~text.is_in(table.missing)).then(text)
    if not numeric:
        return [present.cast(pl.Categorical(pl.Categories.random())).to_physical().alias(f"v{at}")]
    bare = present.str.strip_chars()
    number = bare.cast(pl.Float64, strict=False)
    number = pl.when(number.is_finite().fill_null(False)).then(number).otherwise(float("nan"))
    return [
        pl.when(bare.is_not_null()).then(number).alias(f"v{at}"),
        bare.cast(pl.Int64, strict=False).alias(f"whole{at}"),
    ]


def _as_numbers(rows: pl.DataFrame, column: str, attribute: str) -> pl.Series:
    """The column as whole numbers if all of its values are. Raises DataError if some are no numbers."""
    numbers, whole = rows[column], rows[column.replace("v", "whole")]
    wrong = int(numbers.is_nan().sum())
    if wrong:
        raise DataError(f"column {attribute} is numeric, and {wrong} of its values are not numbers")
    return whole.alias(column) if whole.null_count() == numbers.null_count() else numbers


def entries_of(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """How often each present value of a sensitive attribute occurs in each class: class, value, count."""
    values = rows.lazy().select("class", value=column).drop_nulls("value")
    return values.group_by("class", "value").agg(pl.len().cast(pl.Int64).alias("count")).collect(engine="streaming")


def changed() -> DataError:
    return DataError("the table changed while it was being verified")
