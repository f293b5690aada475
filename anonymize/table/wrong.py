"""What may be wrong with the columns of an input: types that cannot be used, and values that are not numbers."""

from __future__ import annotations

from collections.abc import Mapping

from anonymize.errors import DataError, Problem
from anonymize.spec.columns import Definition
from anonymize.table.encode import Field, NumberColumn, TextColumn, is_text
from anonymize.table.grouping import grouped
from anonymize.table.source import Source, type_name

LINES = 10
"""Columns of which the line of the first value that is not a number is looked up, for which the file is read."""


def check_types(source: Source, definitions: dict[str, Definition], fields: list[Field]) -> None:
    """Raises DataError for columns of a typed input whose type is not numeric where the spec says so."""
    problems = []
    for field in fields:
        numeric = field.name in definitions and definitions[field.name].type == "numeric"
        if numeric and not (field.dtype.is_numeric() or is_text(field.dtype)):
            message = f"numeric column {field.name!r} is of the type {type_name(field.dtype)} in the input"
            problems.append((field.name, Problem(message, source.name)))
    if problems:
        raise DataError(grouped(problems))


def check_numbers(source: Source, encoders: Mapping[str, NumberColumn | TextColumn]) -> None:
    """Raises DataError for numeric columns with values that are not numbers, or that cannot all be held exactly."""
    numeric = {name: encoder for name, encoder in encoders.items() if isinstance(encoder, NumberColumn)}
    wrong = {name: column for name, column in numeric.items() if column.bad.count}
    lines = {name: source.line_of(column.bad.row or 0) for name, column in [*wrong.items()][:LINES]}
    problems = [(name, _not_numbers(source, name, column, lines.get(name))) for name, column in wrong.items()]
    problems += [
        (name, Problem(f"numeric column {name!r} has fractions beside whole numbers beyond 2^53", source.name))
        for name, column in numeric.items()
        if column.inexact
    ]
    if problems:
        raise DataError(grouped(problems))


def _not_numbers(source: Source, name: str, column: NumberColumn, line: int | None) -> Problem:
    row = column.bad.row or 0
    count = "1 value is not a number" if column.bad.count == 1 else f"{column.bad.count} values are not numbers"
    first = f", the first in row {row + 1}" if line is None and source.format != "csv" else ""
    hint = "texts that mean missing belong in input.missing"
    return Problem(f"numeric column {name!r}: {count}{first}", source.name, line, hint=hint)
