"""Problems that many columns have alike, as one: a table of 171 columns is to have no 164 lines of errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from anonymize.errors import Problem

FEW = 3
"""So many columns have a line each."""


def grouped(problems: Iterable[tuple[str, Problem]]) -> list[Problem]:
    """Problems, each with the column that it is about. Of those that differ in the column and in numbers alone there is
    one where they are many: the first, with the names of the other columns.

    >>> alike = [(name, Problem(f"numeric column {name!r}: {ord(name)} values are not numbers")) for name in "abcd"]
    >>> [str(problem) for problem in grouped(alike)]
    ["numeric column 'a': 97 values are not numbers; the like in 3 more columns: b, c, d"]
    """
    alike: dict[tuple[str | None, str, str | None], list[tuple[str, Problem]]] = {}
    for name, problem in problems:
        message = re.sub(r"\d+( values are| value is| rows?)?", "#", problem.message.replace(repr(name), ""))
        alike.setdefault((problem.file, message, problem.hint), []).append((name, problem))
    merged: list[Problem] = []
    for rows_alike in alike.values():
        (_, first), *more = rows_alike
        if len(rows_alike) <= FEW:
            merged += [problem for _, problem in rows_alike]
        else:
            names = ", ".join(name for name, _ in more)
            merged.append(replace(first, message=f"{first.message}; the like in {len(more)} more columns: {names}"))
    return merged
