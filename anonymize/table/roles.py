"""Columns of the spec against columns of a table: every column has a role, and every role a column, of a type that
it can use."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from anonymize.errors import DataError, Problem, RowsError, ValuesError
from anonymize.spec.base import KeyPath
from anonymize.spec.columns import Definition
from anonymize.spec.model import Spec
from anonymize.spec.override import check_separator
from anonymize.spec.patterns import is_pattern
from anonymize.table.columns import Codes
from anonymize.table.encode import LARGEST, Bad, Field, NumberColumn, TextColumn, is_text
from anonymize.table.named import FEW, ROW_NAMES, grouped
from anonymize.table.source import Source, type_name

# --- roles ------------------------------------------------------------------------------------------------------------
# Columns of the spec against columns of a table: every column has a role, and every role a column.

SECTIONS = "identifiers, quasi_identifiers, sensitive or insensitive"


def check_columns(spec: Spec, source: Source) -> None:
    """Raises DataError listing every column of the spec that is not in the input, and the other way round."""
    roles = spec.roles()
    if source.format == "csv":
        check_separator(source.columns, roles.keys() - spec.left_over.keys(), source.separator, source.name)
    if roles.keys().isdisjoint(source.columns):
        raise DataError(Problem(f"no column of the spec is in it: {columns_in(source.columns, roles)}", source.name))
    absent = [name for name in roles if name not in source.schema]
    unlisted = [name for name in source.columns if name not in roles]
    problems = _absent(spec, source, absent, unlisted)
    problems += [unclassified(unlisted, source.name, absent)] if unlisted else []
    if problems:
        raise DataError(problems)


def columns_in(present: Sequence[str], wanted: Iterable[str]) -> str:
    """Which columns a table has, for a message; how many, where none of those is there that are wanted: then its first
    line may be somebody's cells and no header."""
    if set(present).isdisjoint(wanted):
        return f"it has {len(present)} columns, and none that is named; is its first line a header?"
    return f"it has {', '.join(present)}"


def unclassified(names: Sequence[str], file: str, absent: Sequence[str] = ()) -> Problem:
    """Columns of a file that the spec gives no role: one problem, however many there are.

    `absent`: columns of the spec that the file lacks, which a name may be a misspelling of.
    """
    if len(names) > 1:
        message = f"{len(names)} columns have no role in the spec: {', '.join(names)}"
        return Problem(message, file, hint="; ".join(filter(None, [f"list them under {SECTIONS}", _row_names(names)])))
    hints = [_nearest(names[0], absent), f"list it under {SECTIONS}", _row_names(names)]
    return Problem(f"column {names[0]!r} has no role in the spec", file, hint="; ".join(filter(None, hints)))


def _row_names(names: Sequence[str]) -> str | None:
    """What those are that have no name in the file."""
    return f"{ROW_NAMES} are the names of the rows: an identifier" if ROW_NAMES in names else None


def _absent(spec: Spec, source: Source, absent: Sequence[str], unlisted: list[str]) -> list[Problem]:
    """Columns of the spec that the file lacks: one problem each, where they are few, else one for each section."""
    paths: dict[str, KeyPath] = {}
    sections: dict[str, list[str]] = {}
    for section, name, path in spec.mentions():
        if name in absent and name not in paths:
            paths[name] = path
            sections.setdefault(section, []).append(name)
    problems = []
    for section, names in sections.items():
        if len(names) > FEW:
            message = f"{len(names)} columns under {section} are not in {source.name}: {', '.join(names)}"
            problems.append(spec.problem(paths[names[0]], message))
            continue
        for name in names:
            hint = _nearest(name, unlisted) or _nearest(name, source.columns)
            if is_pattern(name):
                problems.append(spec.problem(paths[name], f"no column of {source.name} matches {name!r}"))
            else:
                problems.append(spec.problem(paths[name], f"column {name!r} is not in {source.name}", hint))
    return problems


def _nearest(name: str, names: Iterable[str]) -> str | None:
    names = list(names)
    alike = [each for each in names if each.strip().casefold() == name.strip().casefold()]
    close = alike or difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else None


# --- what may be wrong with columns -----------------------------------------------------------------------------------
# What may be wrong with the columns of an input: types that cannot be used, values that are not numbers, and those that
# a hierarchy has no place for.

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
    if bad.infinite:
        infinite = f"{bad.infinite} {'value is' if bad.infinite == 1 else 'values are'} infinite"
        others = bad.count - bad.infinite
        count = infinite if not others else f"{infinite}, and {others} more {'is' if others == 1 else 'are'} no number"
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
