"""Columns of the spec against columns of a table: every column has a role, and every role a column."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence

from anonymize.errors import DataError, Problem
from anonymize.spec.base import KeyPath
from anonymize.spec.model import Spec
from anonymize.spec.patterns import is_pattern
from anonymize.table.grouping import FEW
from anonymize.table.header import ROW_NAMES
from anonymize.table.source import Source

SECTIONS = "identifiers, quasi_identifiers, sensitive or insensitive"


def check_columns(spec: Spec, source: Source) -> None:
    """Raises DataError listing every column of the spec that is not in the input, and the other way round."""
    roles = spec.roles()
    if source.format == "csv" and (mark := _other_separator(source, roles.keys() - spec.left_over.keys())):
        columns = "one column" if len(source.columns) == 1 else f"{len(source.columns)} columns"
        message = f"the header is {columns} when {source.separator!r} is the separator"
        raise DataError(Problem(message, source.name, line=1, hint=f'set input.separator: "{mark}"'))
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


def _other_separator(source: Source, roles: Collection[str]) -> str | None:
    """The separator that would part a column of the header into columns of the spec, of which there is none; None:
    there is no such one."""
    if not set(roles).isdisjoint(source.columns):
        return None
    wanted = {name.strip().casefold() for name in roles}
    for mark in ",;\t|":
        parts = [part for column in source.columns if mark in column for part in column.split(mark)]
        if not wanted.isdisjoint(part.strip().casefold() for part in parts):
            return mark.replace("\t", r"\t")
    return None
