"""What SPSS and Stata files have in common, as pyreadstat reads and writes them.

A value with a label reads as its label, which is what a category means; a value without one as it is. Missing values of
all kinds are null. Texts are written as texts. The time of writing, which both formats hold, is a fixed one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from anonymize.errors import DataError, Problem, WriteError
from anonymize.table.files import CHUNK, write_all
from anonymize.table.foreign.plain import natural, plain


def read_with(reader: Callable[..., Any], path: Path, form: str, name: str) -> pl.DataFrame:
    """The table that a reader of pyreadstat finds. Raises DataError for a file that it cannot read."""
    import pyreadstat

    try:
        frame, meta = reader(str(path), output_format="polars", apply_value_formats=False)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError):
        raise DataError(Problem(f"cannot be read as a file of the format {form}", file=name)) from None
    frame = natural(frame)
    labels: Mapping[str, Mapping[Any, str]] = meta.variable_value_labels
    return frame.select([_labelled(column, labels.get(column.name, {})) for column in frame.iter_columns()])


def _labelled(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """The column with labels in place of values that have one; as it is where no value that occurs has one."""
    texts = _distinct(labels)
    if not texts or column.dtype.is_temporal():
        return column
    coded = pl.Series(list(texts), strict=False)
    if column.dtype == pl.String:
        values, coded = column, coded.cast(pl.String)
    elif coded.dtype.is_numeric():
        values, coded = column.cast(pl.Float64), coded.cast(pl.Float64)
    else:  # labels of Stata's missing values, .a to .z
        return column
    if not values.is_in(coded.implode()).any():
        return column
    of_cells = values.replace_strict(coded, list(texts.values()), default=None, return_dtype=pl.String)
    return pl.select(pl.coalesce(of_cells, column.cast(pl.String))).to_series().alias(column.name)


def _distinct(labels: Mapping[Any, str]) -> dict[Any, str]:
    """The labels by value; those that several values have, with the value behind."""
    texts = list(labels.values())
    return {value: text if texts.count(text) == 1 else f"{text} ({value:g})" for value, text in labels.items() if text}


def write_with(writer: Callable[..., Any], frame: pl.DataFrame, path: Path, name: str, form: str, longest: int) -> None:
    """Writes a table with a writer of pyreadstat. Raises WriteError for names that the format does not allow, and for
    what else it refuses."""
    import pyreadstat

    check_names(frame.columns, name, form, longest)
    texts = [each.fill_null("") if each.dtype == pl.String else each for each in plain(frame).iter_columns()]
    try:
        writer(pl.DataFrame(texts), str(path))
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
        _check_room(path)
        raise WriteError(
            Problem(f"{name}: cannot be written as a .{form} file", hint="write .parquet or .csv")
        ) from None


def _check_room(path: Path) -> None:
    """Raises OSError where a file cannot grow, for which the library has no other words than for what it cannot
    write."""
    with open(path, "ab", buffering=0) as file:
        write_all(file, bytes(CHUNK))


def check_names(columns: list[str], name: str, form: str, longest: int) -> None:
    """Raises WriteError for columns whose names are none in this format: a letter first, then letters, digits and _."""
    wrong = [column for column in columns if not re.fullmatch(rf"[^\W\d_]\w{{0,{longest - 1}}}", column)]
    if wrong:
        rule = f"a .{form} file has names of letters, digits and _, a letter first, {longest} characters at most"
        hint = "rename the columns of the input, or write .parquet, .xlsx or .csv"
        named = ", ".join(wrong)
        raise WriteError(
            Problem(f"{name}: cannot be written: these are not names of columns: {named}; {rule}", hint=hint)
        )


def patch(path: Path, place: int, text: bytes) -> None:
    """Overwrites some bytes of a file."""
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(text)
