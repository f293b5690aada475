"""Columns that a spec names by a pattern, or leaves to `others`, against the columns that a table has.

In a list of columns a `*` stands for any characters, and for nothing else there is a sign: brackets and question marks
are common in names. An entry that is the name of a column is that column, whatever is in it. A column that is listed by
name is matched by no pattern; of several patterns in one section the first counts; patterns of two sections that match
the same column are a mistake, since a column has one role. Undecided columns that `others: drop` leaves out are
identifiers once a table's columns are known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from anonymize.errors import Caution, DataError, Problem, counted
from anonymize.spec.base import KeyPath, Place
from anonymize.spec.model import SECTIONS, LeftOver, Spec

WILDCARD = "*"
SECTION_PATHS = frozenset((section,) for section in SECTIONS)


def is_pattern(name: str) -> bool:
    """Whether an entry stands for whatever it matches, unless a column has just this name."""
    return WILDCARD in name


def matches(pattern: str, column: str) -> bool:
    """Whether a column's name is what a pattern describes.

    >>> matches("lab_*", "lab_hdl"), matches("*[mg]", "iron [mg]"), matches("lab_*", "my lab_hdl")
    (True, True, False)
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split(WILDCARD))), column, re.DOTALL) is not None


def entry_of(names: Collection[str], column: str) -> str | None:
    """The entry that names a column: its own, else the first pattern that matches it; None where there is none."""
    if column in names:
        return column
    return next((name for name in names if is_pattern(name) and matches(name, column)), None)


UNNAMED = "unnamed column "
"""What a column without a name is called that is left out, with its number."""


def is_open(spec: Spec) -> bool:
    """Whether it takes a table to say which columns have a role, and which one."""
    open_input = spec.others != "error" or spec.input.unnamed == "drop"
    return open_input or any(is_pattern(name) for section in SECTIONS for name in getattr(spec, section))


def expand(spec: Spec, columns: Sequence[str], *, lenient: bool = False) -> Spec:
    """The spec with the columns of a table in place of patterns and of `others`; columns in the table's order.

    A pattern that matches nothing stays, for whoever asks whether all columns are there. Unless `lenient`, raises
    DataError for columns that patterns of two sections match, and for an entry with a `*` that is a column's name where
    columns that it would match as a pattern have no other role but that of `others`.
    """
    if not is_open(spec):
        return spec
    present = frozenset(columns)
    explicit = {name for _, name, _ in spec.mentions() if not is_pattern(name) or name in present}
    free = [column for column in columns if column not in explicit]
    if not lenient:
        _check_sections(spec, free, present)
    update: dict[str, Any] = {}
    places = {path: place for path, place in spec._places.items() if path[:1] not in SECTION_PATHS or len(path) == 1}
    for section in SECTIONS:
        names = getattr(spec, section)
        origin = dict(_origins(names, free, present))
        keyed = isinstance(names, dict)
        update[section] = {column: names[name] for column, name in origin.items()} if keyed else tuple(origin)
        places |= _places(spec, section, origin)
    named = explicit.union(*(update[section] for section in SECTIONS))
    left_over: dict[str, LeftOver] = dict(spec.left_over)
    if spec.others == "drop":
        left_over |= dict.fromkeys(update["undecided"], "undecided")
        _leave_out(update, places)
    rest = tuple(column for column in columns if column not in named)
    if spec.input.unnamed == "drop":
        nameless = tuple(column for column in rest if column.startswith(UNNAMED))
        update["identifiers"] = (*update["identifiers"], *nameless)
        rest = tuple(column for column in rest if column not in nameless)
    if rest and spec.others != "error":
        if not lenient:
            _refuse_ambiguous(spec, rest, present)
        section = "insensitive" if spec.others == "insensitive" else "identifiers"
        update[section] = (*update[section], *rest)
        update["others"] = "error"
    left_over |= dict.fromkeys(rest, "unnamed")
    return spec.model_copy(update=update).located(spec.path, places, spec.overridden, left_over)


def _leave_out(update: dict[str, Any], places: dict[KeyPath, Place]) -> None:
    """Makes identifiers of the undecided columns, with the places where they are written."""
    first = len(update["identifiers"])
    for index in range(len(update["undecided"])):
        if ("undecided", index) in places:
            places["identifiers", first + index] = places.pop(("undecided", index))
    update["identifiers"] = (*update["identifiers"], *update["undecided"])
    update["undecided"] = ()


def withheld(spec: Spec, name: str, where: str) -> Caution:
    """What there is to say of a column that releases leave out, and that is in one. `where`: the table or release."""
    reasons = {
        "undecided": "is undecided, and left out by `others: drop`",
        "unnamed": "is named nowhere in the spec, and left out by `others: drop`",
    }
    how = spec.left_over.get(name)
    what = "is a direct identifier" if how is None else reasons[how]
    publish = "publish what `anonymize release` writes, which leaves it out"
    remedy = publish if how is None else "give it a role in the spec"
    return Caution.of(f"column {name} {what}, and it is in {where}", remedy)


def left_over_warnings(spec: Spec) -> Iterator[Caution]:
    """What there is to say of columns that pass through, or are left out, as nobody has decided what they are."""
    changed = spec.treated
    passing = [name for name in spec.left_over if name in spec.insensitive and name not in changed]
    undecided = [name for name, how in spec.left_over.items() if how == "undecided"]
    if passing:
        are, passes = ("is", "passes") if len(passing) == 1 else ("are", "pass")
        columns = f"{counted(len(passing), 'column')} {are} named nowhere in the spec, and {passes}"
        remedy = "name each under the role that it has, or `others: drop` to leave them out"
        yield Caution.of(f"{columns} through untouched (others: insensitive): {_first(passing)}", remedy)
    if undecided:
        are = "is" if len(undecided) == 1 else "are"
        columns = f"{counted(len(undecided), 'column')} {are} undecided, and {are}"
        said = f"{columns} left out of the release (others: drop): {', '.join(undecided)}"
        yield Caution.of(said, f"to keep one, list it under one of: {ROLES}")


ROLES = "`quasi_identifiers` what others may know, `sensitive` what they should not learn, else `insensitive`"


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _origins(names: Collection[str], free: Sequence[str], present: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each column of a section with the entry that names it: its own, or the first pattern that matches it."""
    taken: set[str] = set()
    for name in names:
        columns = [name] if name in present or not is_pattern(name) else [each for each in free if matches(name, each)]
        for column in columns or [name]:
            if column not in taken:
                taken.add(column)
                yield column, name


def _places(spec: Spec, section: str, origin: Mapping[str, str]) -> dict[KeyPath, Place]:
    """Where the keys of a section stand: those of a pattern for each column that it matches."""
    names = getattr(spec, section)
    keyed = isinstance(names, dict)
    position = {name: index for index, name in enumerate(names)}
    below: dict[Any, list[KeyPath]] = {}
    for path in spec._places:
        if path[:1] == (section,) and len(path) > 1:
            below.setdefault(path[1], []).append(path)
    return {
        (section, column if keyed else index, *path[2:]): spec._places[path]
        for index, (column, name) in enumerate(origin.items())
        for path in below.get(name if keyed else position[name], ())
    }


def _check_sections(spec: Spec, free: Sequence[str], present: Collection[str]) -> None:
    """Raises DataError for columns that patterns of two sections match, one problem for each pair of patterns."""
    both: dict[tuple[KeyPath, str, str, str], list[str]] = {}
    for column in free:
        hits = [
            (section, name, path)
            for section, name, path in spec.mentions()
            if section in SECTIONS and is_pattern(name) and name not in present and matches(name, column)
        ]
        for section, name, path in hits:
            if section != hits[0][0]:
                both.setdefault((path, name, hits[0][1], hits[0][0]), []).append(column)
                break
    problems = [
        spec.problem(
            path,
            f"{_listed(names)}: matched by `{name}` under {path[0]} and by `{first}` under {section}",
            "a column has one role; list it by name where it belongs",
        )
        for (path, name, first, section), names in both.items()
    ]
    if problems:
        raise DataError(problems)


def _refuse_ambiguous(spec: Spec, rest: Sequence[str], present: Collection[str]) -> None:
    """Raises DataError where an entry may be meant for more columns than the one of that name."""
    problems: list[Problem] = []
    for section, name, path in spec.mentions():
        more = [column for column in rest if is_pattern(name) and name in present and matches(name, column)]
        if more and section in SECTIONS:
            message = f"`{name}` is the name of a column, and as a pattern it would match {_listed(more)} as well"
            problems.append(spec.problem(path, message, f"list them by name, or write `{name}{WILDCARD}` for all"))
    if problems:
        raise DataError(problems)


def _listed(names: Sequence[str]) -> str:
    """Columns for a message; of many, how many."""
    return f"column{'s' if len(names) > 1 else ''} {_first(names)}"
