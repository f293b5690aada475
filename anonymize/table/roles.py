"""Columns of a table as the spec declares them: every column has a role, and every role a column, of a type that it can
use; and the codes of what is left of quasi-identifiers that are rounded or have a bottom or a top code."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain import files, grid, text_levels
from anonymize.domain.build import build, moments_of, numeric_hierarchy
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import DataError, Problem, RowsError, ValuesError, counted
from anonymize.spec import base, columns, hierarchy, patterns
from anonymize.spec.model import Spec
from anonymize.spec.override import check_separator
from anonymize.table.columns import Codes, compared
from anonymize.table.encode import LARGEST, Bad, Field, NumberColumn, TextColumn, code_type, is_text
from anonymize.table.named import COLUMNS_WITH_LINES, ROW_NAMES, column, grouped
from anonymize.table.scratch import Arrays
from anonymize.table.source import Source, type_name

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
        return f"it has {counted(len(present), 'column')}, and none that is named; is its first line a header?"
    return f"it has {', '.join(present)}"


def refuse_lacking(
    names: Iterable[str], present: Sequence[str], file: str, wanted: Iterable[str] | None = None
) -> None:
    """Raises DataError for columns that a table lacks. `wanted`: with a hint of which it has; see `columns_in`."""
    if lacking := [name for name in names if name not in present]:
        hint = None if wanted is None else columns_in(present, wanted)
        raise DataError([Problem(f"has no column {name}", file=file, hint=hint) for name in lacking])


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
    paths: dict[str, base.KeyPath] = {}
    sections: dict[str, list[str]] = {}
    for section, name, path in spec.mentions():
        if name in absent and name not in paths:
            paths[name] = path
            sections.setdefault(section, []).append(name)
    problems = []
    for section, names in sections.items():
        if len(names) > COLUMNS_WITH_LINES:
            message = f"{len(names)} columns under {section} are not in {source.name}: {', '.join(names)}"
            problems.append(spec.problem(paths[names[0]], message))
            continue
        for name in names:
            hint = _nearest(name, unlisted) or _nearest(name, source.columns)
            if patterns.is_pattern(name):
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

LINES = 10
"""Columns of which the line of the first value that is wrong is looked up, for which the file is read."""


def check_types(source: Source, definitions: dict[str, columns.Definition], fields: list[Field]) -> None:
    """Raises DataError for columns of a typed input whose type is not numeric where the spec says so."""
    numeric = [field for field in fields if field.name in definitions and definitions[field.name].type == "numeric"]
    check_numeric(source, *numeric)


def check_numeric(source: Source, *fields: Field) -> None:
    """Raises DataError for columns of a typed input that are neither numbers nor texts."""
    problems = {}
    for field in fields:
        if not (field.dtype.is_numeric() or is_text(field.dtype)):
            message = f"numeric column {field.name!r} is of the type {type_name(field.dtype)} in the input"
            problems[field.name] = Problem(message, source.name)
    if problems:
        raise DataError(grouped(problems.items()))


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
        (problem,), rows = error.problems, rows_of(error.places)
        where = "" if problem.file is None else f" {problem.file}"
        message = f"{problem.message}{where}, in {counted(rows.count, 'row')}"
        raise RowsError(replace(problem, message=message, file=None), rows.row or 0) from error


def rows_of_codes(codes: Codes, places: Sequence[int]) -> Bad:
    """The rows that have one of some codes."""
    rows = Bad()
    rows.add(np.flatnonzero(np.isin(codes, places)))
    return rows


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


# --- coding -----------------------------------------------------------------------------------------------------------
# What is left of quasi-identifiers that are rounded, have a bottom or a top code, or are coded at a level.

PIECE = 1 << 20
"""Rows that are coded at once."""


def coding_of(spec: Spec, definition: columns.QuasiIdentifier) -> grid.Coding:
    """Where a quasi-identifier is cut off, and how that reads."""
    return grid.Coding(*definition.number_ends, spec.output.open_high, spec.output.open_low, definition.round)


def date_codes(spec: Spec, definition: columns.Definition) -> text_levels.DateCodes:
    """Where the dates of a quasi-identifier are cut off, and how that reads."""
    ends = definition.date_ends if isinstance(definition, columns.QuasiIdentifier) else (None, None)
    output = spec.output
    return text_levels.DateCodes(*ends, output.open_low, output.open_high, output.suppressed)


def cut_off(source: object, codes: text_levels.DateCodes, values: Sequence[str]) -> dict[str, str]:
    """What becomes of each value: of dates what stands for all beyond a code, of any other column itself."""
    if not isinstance(source, hierarchy.Dates) or (codes.bottom is None and codes.top is None):
        return {value: value for value in values}
    moments = moments_of(source, codes)
    return {value: moments.coded(value) for value in values}


def rounded(
    coding: grid.Coding, values: grid.Numbers, codes: Codes, missing: int | None, arrays: Arrays = np.empty
) -> tuple[grid.Numbers, Codes, int | None]:
    """A column of sorted distinct values, of codes (rows,) and of the code of missing ones, rounded and cut off."""
    if coding.leaves_all:
        return values, codes, missing
    left, place = coding.applied(values)
    absent = None if missing is None else len(left)
    return left, recoded(codes, np.append(place, len(left)), len(left) + (missing is not None), arrays), absent


def recoded(codes: Codes, place: NDArray[np.int64], size: int, arrays: Arrays = np.empty) -> Codes:
    """(rows,) what each of the codes (rows,) has become, below `size`: `place` says it of every code."""
    table = place.astype(code_type(size))
    out: Codes = arrays(len(codes), table.dtype)
    for start in range(0, len(codes), PIECE):
        out[start : start + PIECE] = table[codes[start : start + PIECE]]
    return out


# --- hierarchies of any table -----------------------------------------------------------------------------------------
# What a check needs for distances between values.

Paths = dict[str, tuple[str, ...]]
"""The labels from each leaf to the root, by the leaf's label, in the order of leaves."""


def trees(spec: Spec, frame: pl.LazyFrame, attributes: Iterable[str]) -> dict[str, Paths]:
    """The hierarchies of some sensitive attributes or quasi-identifiers, of those that have one.

    That of a file as it stands there, whatever the table has; a built one over the values in `frame`, a table as text.
    Raises SpecError for a file that is wrong, DataError for values that a builder cannot take.
    """
    definitions = {name: spec.sensitive.get(name) or spec.quasi_identifiers[name] for name in attributes}
    return {
        name: tree_of(spec, frame, name, definition).paths()
        for name, definition in definitions.items()
        if definition.hierarchy is not None
    }


def all_leaves(spec: Spec, frame: pl.LazyFrame | None, name: str) -> Paths:
    """The hierarchy of a quasi-identifier, the missing leaf included. `frame`: a table as text, over whose values a
    built one is; None where it is a file's."""
    taxonomy = tree_of(spec, pl.LazyFrame() if frame is None else frame, name, spec.quasi_identifiers[name])
    levels = [[taxonomy.labels[node] for node in level] for level in taxonomy.levels.tolist()]
    return {path[0]: path for path in zip(*levels, strict=True)}


def tree_of(spec: Spec, frame: pl.LazyFrame, name: str, definition: columns.Definition) -> Taxonomy:
    """The hierarchy of one column."""
    normalize = spec.normalizes(name)
    if isinstance(definition.hierarchy, Path):
        tree = files.read(definition.hierarchy, name, normalize=normalize)
        return Taxonomy.of(name, tree, next((text for text in [spec.input.missing_text] if text in tree.leaves), None))
    texts = frame.select(column(name).cast(pl.String).unique().drop_nulls()).collect(engine="streaming").to_series()
    present = sorted(set(compared(texts, spec.missing("arrow", name)).drop_nulls()))
    if definition.type != "numeric":
        ends = date_codes(spec, definition)
        present = sorted(set(cut_off(definition.hierarchy, ends, present).values()))
        absent, suppressed = None if present else "", spec.output.suppressed
        return build(name, definition, present, absent, suppressed, normalize=normalize, codes=ends)
    written = pl.Series(present, dtype=pl.String).to_frame("text")
    if is_text(frame.collect_schema()[name]):
        written = written.select(spec.notation(name).with_point(pl.col("text")))
    numbers = Numeric(name, _numbers(written.to_series()).to_numpy())
    output = spec.output
    return numeric_hierarchy(definition, numbers, output.interval, output.suppressed, normalize=normalize).hierarchy


def _numbers(texts: pl.Series) -> pl.Series:
    """The different numbers among texts, ascending; any other text is left out, for the check to find."""
    bare = texts.str.strip_chars()
    whole, broken = bare.cast(pl.Int64, strict=False), bare.cast(pl.Float64, strict=False)
    numbers = whole if whole.null_count() == broken.null_count() else broken + 0.0
    return numbers.filter(broken.is_finite().fill_null(False)).unique().sort()
