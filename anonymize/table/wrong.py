"""What may be wrong with the columns of an input: types that cannot be used, values that are not numbers, and those
that a hierarchy has no place for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from anonymize.errors import DataError, Problem, RowsError, ValuesError
from anonymize.spec.columns import Definition
from anonymize.table.columns import Codes
from anonymize.table.encode import LARGEST, Bad, Field, NumberColumn, TextColumn, is_text
from anonymize.table.grouping import grouped
from anonymize.table.source import Source, type_name

LINES = 10
"""Columns of which the line of the first value that is wrong is looked up, for which the file is read."""


def check_types(source: Source, definitions: dict[str, Definition], fields: list[Field]) -> None:
    """Raises DataError for columns of a typed input whose type is not numeric where the spec says so."""
    numeric = [field for field in fields if field.name in definitions and definitions[field.name].type == "numeric"]
    check_numeric(source, *numeric)


def check_numeric(source: Source, *fields: Field) -> None:
    """Raises DataError for columns of a typed input that are neither numbers nor texts."""
    others = [field for field in fields if not (field.dtype.is_numeric() or is_text(field.dtype))]
    kinds = {field.name: type_name(field.dtype) for field in others}
    problems = [
        (name, Problem(f"numeric column {name!r} is of the type {kind} in the input", source.name))
        for name, kind in kinds.items()
    ]
    if problems:
        raise DataError(grouped(problems))


def check_numbers(source: Source, encoders: Mapping[str, NumberColumn | TextColumn]) -> None:
    """Raises DataError for numeric columns with values that are not numbers, or that cannot all be held exactly."""
    numeric = {name: encoder for name, encoder in encoders.items() if isinstance(encoder, NumberColumn)}
    wrong = {name: column for name, column in numeric.items() if column.bad.count}
    problems = placed([(name, not_numbers(name, column.wrong)) for name, column in wrong.items()], source)
    problems += [
        (name, Problem(f"numeric column {name!r} has fractions beside whole numbers beyond 2^53", source.name))
        for name, column in numeric.items()
        if column.inexact
    ]
    if problems:
        raise DataError(grouped(problems))


def not_numbers(name: str, bad: Bad) -> RowsError:
    """Values of a numeric column that are not numbers."""
    count = "1 value is not a number" if bad.count == 1 else f"{bad.count} values are not numbers"
    hint = bad.hint or f"texts that mean missing belong in input.missing, and numbers are at most {LARGEST:g}"
    return RowsError(Problem(f"numeric column {name!r}: {count}", hint=hint), bad.row or 0)


@contextmanager
def by_rows(rows_of: Callable[[Sequence[int]], Bad]) -> Iterator[None]:
    """Values that are not what the spec says, which the block may find, by the rows that have them. `rows_of`: those of
    some values, by their places. Raises RowsError, whose cause is what the block raised."""
    try:
        yield
    except ValuesError as error:
        raise _in_rows(error, rows_of(error.places)) from error


def rows_of_codes(codes: Codes, places: Sequence[int]) -> Bad:
    """The rows that have one of some codes."""
    rows = Bad()
    rows.add(np.flatnonzero(np.isin(codes, places)))
    return rows


def _in_rows(error: ValuesError, rows: Bad) -> RowsError:
    (problem,) = error.problems
    where = "" if problem.file is None else f" {problem.file}"
    count = "1 row" if rows.count == 1 else f"{rows.count:,} rows"
    return RowsError(replace(problem, message=f"{problem.message}{where}, in {count}", file=None), rows.row or 0)


def placed(errors: Sequence[tuple[str, DataError]], source: Source) -> list[tuple[str, Problem]]:
    """The problems of columns, by their names; of the first `LINES` that are about rows, with the line of the first
    row, for which the file is read."""
    problems, left = [], LINES
    for name, error in errors:
        if not isinstance(error, RowsError):
            problems += [(name, problem) for problem in error.problems]
            continue
        (problem,), line = error.problems, source.line_of(error.row) if left else None
        left -= line is not None
        row = "" if source.format == "csv" else f", the first in row {error.row + 1}"
        problems.append((name, replace(problem, message=f"{problem.message}{row}", file=source.name, line=line)))
    return problems
