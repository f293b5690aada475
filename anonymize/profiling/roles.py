"""What role a column seems to have, and why: from its form, its name, and how far it singles people out.

What cannot be known from a table, such as what others know, is guessed on the side of caution: what identifies is left
out, what singles people out or is known of them is generalized. Each guess is to be decided by whoever knows the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from anonymize.profiling.measure import ColumnFacts
from anonymize.profiling.shapes import TextShape, shape_of
from anonymize.profiling.words import (
    AGES,
    BIRTHS,
    DEMOGRAPHICS,
    FREE,
    IDENTIFIERS,
    PLACES,
    SECRETS,
    TIMES,
    WEIGHTS,
    YEARS,
    is_name,
    is_person,
    names_institution,
    names_person,
    names_rows,
    parts,
)

GuessedRole = Literal["identifier", "quasi-identifier", "sensitive", "insensitive"]
ROLES: tuple[GuessedRole, ...] = ("identifier", "quasi-identifier", "sensitive", "insensitive")

ALIKE = 0.98
"""The share of values that differ in a column that names its rows."""
HARDLY_TWO = 0.2
MANY_TEXTS = 1000
FEW = 10
"""Values of a column that is called as identifiers are, up to which they are codes of something else."""
POSTAL = 5
"""Digits of a number that is taken for a postal code where its column says nothing else."""
ALONE = 0.05
"""The share of the rows with a value that are alone with it, which makes a column of the others a quasi-identifier."""
RUNS = 30
"""So many numbers from 1 on, each in rows that follow each other, are taken for those of persons."""
MANY_NUMBERS = 100
"""So many different numbers or more are amounts or measurements, where nothing says otherwise."""
SHARED = "; rows share some: `unit:` may name it"
"""What the reason ends with where persons have several rows each."""


@dataclass(frozen=True)
class Guess:
    """A column with its role and the reason for it. `shape`: of its texts, None where there are none."""

    facts: ColumnFacts
    role: GuessedRole
    reason: str
    shape: TextShape | None = None
    words: frozenset[str] = field(default_factory=frozenset)

    @property
    def name(self) -> str:
        """The column's."""
        return self.facts.name

    def as_role(self, role: GuessedRole, reason: str) -> Guess:
        """The same column with another role."""
        return replace(self, role=role, reason=reason)


def guess(facts: ColumnFacts) -> Guess:
    """The role of a column, by the first rule that speaks of it."""
    shape = shape_of(facts.texts)
    words = parts(facts.name)
    for rule in (_rows, _empty, _moment, _contact, _person, _naming, _place, _known, _postal, _alone):
        for role, reason in rule(facts, shape, words):
            return Guess(facts, role, reason, shape, words)
    return Guess(facts, "insensitive", f"{_count(facts.distinct, 'value')}, which single out few rows", shape, words)


def guesses(columns: list[ColumnFacts]) -> list[Guess]:
    """The roles of all columns, of which one at least is a quasi-identifier: a spec needs one."""
    made = [guess(column) for column in columns]
    if not any(each.role == "quasi-identifier" for each in made):
        order: tuple[GuessedRole, ...] = ("insensitive", "sensitive", "identifier")
        best = min(made, key=lambda each: (order.index(each.role), -each.facts.distinct))
        reason = f"nothing looks like one, and a spec needs one; otherwise it would be {best.role}"
        made = [each.as_role("quasi-identifier", reason) if each is best else each for each in made]
    return made


Rulings = Iterator[tuple[GuessedRole, str]]


def _rows(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    if names_rows(facts.name):
        yield "identifier", "names of rows: each is of one row of this table"
    if not words & (AGES | PLACES | YEARS) and _counts_up(facts) and facts.distinct == facts.rows > FEW:
        yield "identifier", "numbers the rows"


def _empty(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    if not facts.distinct:
        yield "insensitive", "no row has a value"


def _moment(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    eight = shape is not None and shape.format == "%Y%m%d"
    if facts.typed or (shape is not None and shape.kind in ("date", "time") and (facts.numbers is None or eight)):
        yield "quasi-identifier", shape.name if shape is not None else "dates"


def _contact(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    if shape is not None and shape.kind == "contact" and facts.numbers is None:
        yield "identifier", shape.name
    if facts.numbers is None and is_name(facts.name):
        yield "identifier", "called as names of people are"
    if facts.numbers is None and facts.distinct > 20 and ((shape and shape.kind == "free text") or words & FREE):
        yield "identifier", "free text, which no role protects"


def _person(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    """What names a person, in however many rows: of a table of visits, those of each patient."""
    if facts.distinct <= FEW or (facts.numbers is not None and not facts.numbers.whole):
        return
    more = "" if facts.share_of_values >= ALIKE else SHARED
    coded = facts.numbers is not None or all(any(map(str.isdigit, text)) for text in facts.texts)
    if names_person(facts.name) or (coded and is_person(facts.name)):
        yield "identifier", f"called as what names a person is{more}"
    runs = facts.distinct >= RUNS and facts.ascending and _counts_up(facts)
    if runs and not words & (AGES | PLACES | YEARS | TIMES) and not names_institution(facts.name):
        yield "identifier", f"numbers from 1 on, each in rows that follow each other, as those of persons do{more}"


def unit_of(made: Sequence[Guess]) -> Guess | None:
    """The column whose values are persons with several rows each, of which there are most; None where there is none.

    Every row needs a value in a unit, and so many persons that any k that is proposed can be had.
    """
    candidates = [
        each
        for each in made
        if each.role == "identifier"
        and not each.facts.missing
        and each.facts.distinct >= RUNS
        and each.facts.share_of_values < ALIKE
        and any(_person(each.facts, each.shape, each.words))
    ]
    return max(candidates, key=lambda each: each.facts.distinct, default=None)


def _counts_up(facts: ColumnFacts) -> bool:
    """Whether the values are all whole numbers from 0 or 1 up to as many as there are, and none is missing."""
    numbers = facts.numbers
    return (
        numbers is not None and numbers.whole and not facts.missing and 0 <= numbers.largest - facts.distinct + 1 <= 1
    )


def _naming(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    """What names rows: hardly two alike. Numbers do where they are whole, however they are written."""
    if shape is not None and shape.kind == "written number":
        return
    share = facts.share_of_values
    called = bool(words & IDENTIFIERS)
    whole = facts.numbers is None or facts.numbers.whole
    numbered = facts.numbers is not None and facts.numbers.largest <= 2 * facts.rows
    if whole and called and share >= 0.5 and facts.distinct > FEW:
        more = "" if share >= ALIKE else "; where rows share one, `unit:` may name it"
        yield "identifier", f"called as identifiers are, {_percent(share)} of its values differ{more}"
    if words & (AGES | PLACES) and not (facts.numbers is None and share >= ALIKE and facts.present >= 200):
        return
    enough = facts.present >= (200 if facts.numbers is not None and not numbered else 20)
    if whole and share >= ALIKE and enough:
        yield "identifier", f"{_percent(share)} of its values differ"
    crowd = facts.distinct >= MANY_TEXTS and share >= HARDLY_TWO
    if facts.numbers is None and (crowd or (share >= 0.5 and facts.present >= 50)):
        yield "identifier", f"{facts.distinct:,} different texts in {facts.present:,} rows: names or free text"


def _place(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    if shape is not None and shape.name in ("ICD-10 codes", "ATC codes"):
        yield "sensitive", shape.name
    if shape is not None and shape.kind == "code":
        yield "quasi-identifier", shape.name
    if words & PLACES:
        yield "quasi-identifier", "geography, by its name"
    if names_institution(facts.name):
        yield "quasi-identifier", "where a person was, by its name"


def _known(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    """What others know of a person, and what they should not learn."""
    numbers = facts.numbers
    if words & AGES:
        yield "quasi-identifier", "an age, by its name"
    if words & BIRTHS:
        yield "quasi-identifier", "about a birth, by its name"
    if numbers is not None and numbers.whole and facts.distinct > 2 and 1850 <= numbers.low <= numbers.high <= 2100:
        yield "quasi-identifier", "numbers that look like years"
    if words & YEARS and numbers is not None and numbers.whole and 1850 <= numbers.low <= numbers.high <= 2100:
        yield "quasi-identifier", "a year, by its name"
    if words & WEIGHTS and numbers is not None:
        yield "quasi-identifier", "a weight, by its name: a body's can be seen, a survey's follows from what is known"
    if words & DEMOGRAPHICS:
        yield "quasi-identifier", "known of a person, by its name"
    if words & SECRETS:
        yield "sensitive", "what people would keep to themselves, by its name"
    if shape is not None and shape.kind == "written number":
        yield "sensitive", f"{shape.name}: amounts or measurements"


def _postal(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    """Numbers of five digits each may be amounts, but what they would tell as postal codes is worse to let through."""
    digits = shape is not None and shape.kind == "digits" and {len(text) for text in facts.texts} == {POSTAL}
    if digits and facts.distinct > FEW and not all(text.endswith("0") for text in facts.texts):
        yield "quasi-identifier", AS_POSTAL


AS_POSTAL = "numbers of five digits each, as postal codes are"


def _alone(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    share = facts.singles / max(facts.present, 1)
    if share >= ALONE:
        of = "rows are" if not facts.missing else f"{facts.present:,} rows with a value are"
        yield "quasi-identifier", f"{_percent(share)} of the {of} alone with it"
    if facts.numbers is not None and facts.distinct >= MANY_NUMBERS:
        yield "sensitive", f"{facts.distinct:,} different numbers: amounts or measurements, which single out together"


def _percent(share: float) -> str:
    return f"{share:.0%}" if 0.01 <= share <= 0.995 or share in (0.0, 1.0) else f"{share:.1%}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
