"""What role a column seems to have, and why: from its form, its name, and how far it singles people out.

What cannot be known from a table, such as what others know, is guessed on the side of caution: what identifies is left
out, what singles people out or is known of them is generalized. Each guess is to be decided by whoever knows the data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Literal, NamedTuple, cast, get_args

from anonymize.errors import counted
from anonymize.profiling.capacity import constant_within
from anonymize.profiling.measure import ColumnFacts, Pieces, with_notation
from anonymize.profiling.shapes import TextShape, are_sentences, meaning_of, of_system, shape_of
from anonymize.profiling.words import (
    AGES,
    BIRTHS,
    BODY,
    COUNTS,
    DEMOGRAPHICS,
    FREE,
    IDENTIFIERS,
    PLACES,
    RESULTS,
    TIMES,
    WEIGHTS,
    YEARS,
    is_name,
    is_person,
    is_technical,
    names_institution,
    names_person,
    names_rows,
    names_sampling_weight,
    parts,
    secret_of,
)
from anonymize.records import dataclass
from anonymize.spec.codes import SYSTEM_NAMES

GuessedRole = Literal["identifier", "quasi-identifier", "sensitive", "sampling-weight", "insensitive", "undecided"]
ROLES: tuple[GuessedRole, ...] = get_args(GuessedRole)

ALIKE = 0.98
"""The share of values that differ in a column that names its rows."""
HARDLY_TWO = 0.2
MANY_TEXTS = 1000
MOST_CODES = 10
"""Values of a column that is called as identifiers are, up to which they are codes of something else."""
POSTAL = 5
"""Digits of a number that is taken for a postal code where its column says nothing else."""
ALONE = 0.05
"""The share of the rows with a value that are alone with it, which makes a column of the others a quasi-identifier."""
PERSONS_FROM = 30
"""So many numbers from 1 on, each in rows that follow each other, are taken for those of persons."""
MOST_OF_HOUSEHOLD = 50
"""Rows with the same number, on average, up to which it may be a household's, or a person's over time."""
TOPIC = 3
"""Columns about health, money and the like that make them the topic of a table."""
SEX = frozenset(("sex", "gender", "geschlecht", "sexe", "genre", "sexo", "género", "kön"))
FEWEST_TWINS = 5
"""Values of a column from which on it is no chance that another one has as many and says the same."""
MANY_NUMBERS = 100
"""So many different numbers or more are amounts or measurements, where nothing says otherwise."""
Mark = Literal["shared", "derived", "postal"]
"""What else follows from a rule. shared: rows share the numbers of persons or households, and these may be the unit.
derived: the column would tell what is generalized. postal: numbers are taken for postal codes."""


@dataclass(frozen=True)
class Guess:
    """A column with its role and the reason for it. `shape`: of its texts, None where there are none."""

    facts: ColumnFacts
    role: GuessedRole
    reason: str
    shape: TextShape | None = None
    words: frozenset[str] = field(default_factory=frozenset)
    mark: Mark | None = None
    decided: bool = False
    """Whether somebody has said the role; the reason is then that of the proposal."""

    @property
    def name(self) -> str:
        """The column's."""
        return self.facts.name

    def as_role(self, role: GuessedRole, reason: str, mark: Mark | None = None) -> Guess:
        """The guess with another role."""
        return replace(self, role=role, reason=reason, mark=mark)


def guess(facts: ColumnFacts) -> Guess:
    """The role of a column, by the first rule that speaks of it."""
    shape, words, texts = shape_of(facts.texts), parts(facts.name), facts.sampled.to_list()
    named = [system for system in SYSTEM_NAMES if system in words and texts]
    of_name = next((own for system in named if (own := of_system(texts, system)) is not None), None)
    shape = of_name or (shape and shape.with_odd(texts))
    facts = with_notation(facts, shape.notation if shape is not None else None)
    for rule in _RULES:
        for role, reason, mark in rule(facts, shape, words):
            return Guess(facts, role, reason, shape, words, mark)
    undecided = f"{counted(facts.distinct, 'value')}, and nothing says what they mean"
    return Guess(facts, "undecided", undecided, shape, words)


def guesses(columns: Sequence[ColumnFacts], hashes: Mapping[str, Pieces] = MappingProxyType({})) -> list[Guess]:
    """The roles of all columns, of which one at least is a quasi-identifier: a spec needs one.

    `hashes`: those of each column's rows, by which households are known; none where they were not kept.
    """
    made = [guess(column) for column in columns]
    for place in [place for place, each in enumerate(made) if each.role == "sampling-weight"][1:]:
        made[place] = made[place].as_role("quasi-identifier", f"{made[place].reason}, and there is one before")
    made = [_twin(each, made, hashes) or each for each in _with_topic(made)]
    if not any(each.mark == "shared" for each in made):
        made = [_household(each, made, hashes) or each for each in made]
    made = _of_units(made, hashes)
    if not any(each.role == "quasi-identifier" for each in made):
        order = ("undecided", "insensitive", "sensitive", "sampling-weight", "identifier")
        best = min(made, key=lambda each: (order.index(each.role), -each.facts.distinct))
        reason = f"nothing looks like one, and a spec needs one; otherwise it would be {best.role}"
        made = [each.as_role("quasi-identifier", reason) if each is best else each for each in made]
    return made


def _with_topic(made: Sequence[Guess]) -> list[Guess]:
    """The guesses, in which undecided columns are sensitive in a table of what people would keep to themselves: what
    `afb` is nobody can tell, but that it is a finding can be told from the columns beside it."""
    topics = Counter(secret for each in made if each.role == "sensitive" and (secret := secret_of(each.words)))
    if topics.total() < TOPIC:
        return list(made)
    reason = f"unknown by its name, beside {topics.total()} columns {', '.join(sorted(topics))}"
    return [
        each.as_role("sensitive", reason) if each.role == "undecided" and each.facts.distinct > 1 else each
        for each in made
    ]


def _of_units(made: Sequence[Guess], hashes: Mapping[str, Pieces]) -> list[Guess]:
    """The guesses, in which a weight that is the same in all rows of a household is a survey's and not a body's. The
    rows of a household, unlike those of a patient, are of more than one sex."""
    unit = unit_of(made)
    if unit is None or unit.name not in hashes or any(each.role == "sampling-weight" for each in made):
        return list(made)
    weights = [
        each for each in made if each.role == "quasi-identifier" and each.words & WEIGHTS and each.name in hashes
    ]
    usable = [
        each.name
        for each in weights
        if each.facts.numbers is not None and each.facts.numbers.least > 0 and not each.facts.missing
    ]
    sexes = [each.name for each in made if each.words & SEX and each.name in hashes]
    constant, _ = constant_within(hashes, unit.name, [*usable, *sexes])
    steady = [name for name in constant if name in usable]
    if not set(sexes) - set(constant):
        return list(made)
    reason = f"a sampling weight, as it is the same in all rows of one {unit.name}"
    return [each.as_role("sampling-weight", reason) if [each.name] == steady[:1] else each for each in made]


def _twin(candidate: Guess, made: Sequence[Guess], hashes: Mapping[str, Pieces]) -> Guess | None:
    """An undecided column that says the same as a sensitive one, in other words or numbers, such as its logarithm;
    None where it does not."""
    facts = candidate.facts
    if candidate.role != "undecided" or facts.distinct < FEWEST_TWINS or facts.name not in hashes:
        return None
    alike = [each.name for each in made if each.role == "sensitive" and each.facts.distinct == facts.distinct]
    same, _ = constant_within(hashes, facts.name, [name for name in alike if name in hashes])
    return candidate.as_role("sensitive", f"says the same as {same[0]}") if same else None


def _household(candidate: Guess, made: Sequence[Guess], hashes: Mapping[str, Pieces]) -> Guess | None:
    """A column as the number of households, or of persons over time: by nothing in its name, but since other columns
    say the same in all rows of each of its values. None where it is none."""
    facts, words = candidate.facts, candidate.words
    named = words & (AGES | BIRTHS | PLACES | YEARS | TIMES | BODY | WEIGHTS | COUNTS | DEMOGRAPHICS | RESULTS)
    coded = facts.numbers.whole if facts.numbers is not None else all(map(_DIGIT.search, facts.texts))
    several = 1.1 <= facts.rows / max(facts.distinct, 1) <= MOST_OF_HOUSEHOLD
    dated = facts.typed or (candidate.shape is not None and candidate.shape.kind in ("date", "time"))
    if named or dated or not coded or not several or facts.missing or facts.distinct < PERSONS_FROM or not hashes:
        return None
    if secret_of(words) is not None or names_institution(facts.name) or candidate.role == "sampling-weight":
        return None
    others = [each.name for each in made if each is not candidate and 2 <= each.facts.distinct < facts.distinct]
    constant, follow = constant_within(hashes, facts.name, [name for name in others if name in hashes])
    if len(constant) < (1 if follow and not facts.ascending else 2):
        return None
    alike = f"rows with the same one agree in {counted(len(constant), 'other column')}"
    return candidate.as_role("identifier", f"{alike}, as those of a household or a person do", "shared")


_DIGIT = re.compile(r"\d")


class Ruling(NamedTuple):
    """What a rule says of a column."""

    role: GuessedRole
    reason: str
    mark: Mark | None = None


Rulings = Iterator[Ruling]


def is_moment(facts: ColumnFacts, shape: TextShape | None) -> bool:
    """Whether the values are dates or times."""
    eight = shape is not None and shape.format == "%Y%m%d"
    written = shape is not None and shape.kind in ("date", "time")
    return facts.typed or (written and (facts.numbers is None or eight))


def _form(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    """What values show by themselves: numbers of rows, dates, contact data, free text."""
    if names_rows(facts.name):
        yield Ruling("identifier", "names of rows: each is of one row of this table")
    if not words & (AGES | PLACES | YEARS) and _counts_up(facts) and facts.distinct == facts.rows > MOST_CODES:
        yield Ruling("identifier", "numbers the rows")
    if not facts.distinct:
        yield Ruling("undecided", "no row has a value")
    if is_moment(facts, shape):
        yield Ruling("quasi-identifier", shape.name if shape is not None else "dates")
    if facts.numbers is not None:
        return
    if shape is not None and shape.kind == "contact":
        yield Ruling("identifier", shape.name)
    if is_name(facts.name):
        yield Ruling("identifier", "its name is that of people's names")
    if _is_free(facts, shape, words):
        yield Ruling("identifier", "free text, which no role protects")


def _is_free(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> bool:
    """Whether texts are written freely: by their form, by the column's name where they are of several words, or, of a
    few, as sentences of which most stand in one row alone."""
    if shape is not None and shape.kind == "free text":
        return True
    if not facts.texts or (shape is not None and shape.kind != "text"):
        return False
    named = bool(words & FREE) and any(" " in text.strip() for text in facts.texts)
    return named or (2 * facts.singles >= facts.distinct > 1 and are_sentences(facts.texts))


def _person(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    """What names a person, in however many rows: of a table of visits, those of each patient."""
    if facts.distinct <= MOST_CODES or (facts.numbers is not None and not facts.numbers.whole):
        return
    shared: Mark | None = None if facts.share_of_values >= ALIKE else "shared"
    coded = facts.numbers is not None or all(any(map(str.isdigit, text)) for text in facts.texts)
    if names_person(facts.name) or (coded and is_person(facts.name)):
        yield Ruling("identifier", "its name says that it names a person", shared)
    runs = facts.distinct >= PERSONS_FROM and facts.ascending and _counts_up(facts)
    if runs and not words & (AGES | PLACES | YEARS | TIMES) and not names_institution(facts.name):
        reason = "numbers from 1 on, each in rows that follow each other, as those of persons do"
        yield Ruling("identifier", reason, shared)


def unit_of(made: Sequence[Guess]) -> Guess | None:
    """The column whose values are persons or households with several rows each, of which there are most; None where
    there is none.

    Every row needs a value in a unit, and so many persons that any k that is proposed can be had.
    """
    shared = [each for each in made if each.role == "identifier" and each.mark == "shared"]
    candidates = [each for each in shared if not each.facts.missing and each.facts.distinct >= PERSONS_FROM]
    return max(candidates, key=lambda each: each.facts.distinct, default=None)


def _counts_up(facts: ColumnFacts) -> bool:
    """Whether the values are all whole numbers from 0 or 1 up to as many as there are, and none is missing."""
    numbers = facts.numbers
    if numbers is None or not numbers.whole or facts.missing:
        return False
    return 0 <= numbers.largest - facts.distinct + 1 <= 1


def _naming(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    """What names rows: hardly two alike. Numbers do where they are whole, however they are written."""
    if shape is not None and shape.kind == "written number":
        return
    if facts.numbers is not None and secret_of(words) is not None and not words & IDENTIFIERS:
        return  # amounts that nobody else has
    share = facts.share_of_values
    called = bool(words & IDENTIFIERS)
    whole = facts.numbers is None or facts.numbers.whole
    numbered = facts.numbers is not None and facts.numbers.largest <= 2 * facts.rows
    if whole and called and share >= 0.5 and facts.distinct > MOST_CODES:
        more = "" if share >= ALIKE else "; where rows share one, `unit:` may name it"
        yield Ruling("identifier", f"called as identifiers are, {_percent(share)} of its values differ{more}")
    if words & (AGES | PLACES) and not (facts.numbers is None and share >= ALIKE and facts.present >= 200):
        return
    enough = facts.present >= (200 if facts.numbers is not None and not numbered else 20)
    if whole and share >= ALIKE and enough:
        yield Ruling("identifier", f"{_percent(share)} of its values differ")
    crowd = facts.distinct >= MANY_TEXTS and share >= HARDLY_TWO
    if facts.numbers is None and (crowd or (share >= 0.5 and facts.present >= 50)):
        yield Ruling("identifier", f"{facts.distinct:,} different texts in {facts.present:,} rows: names or free text")


def _weight(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    """What a row stands for in the population. Numbers that cannot be that, as some are missing or none are above zero,
    follow from what is known of a person all the same."""
    numbers = facts.numbers
    if numbers is None or not names_sampling_weight(facts.name):
        return
    usable = numbers.least > 0 and not facts.missing
    yield Ruling("sampling-weight" if usable else "quasi-identifier", "a sampling weight, by its name")


def _place(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    if shape is not None and (shape.system in ("icd10", "icd10cm") or shape.name == "ATC codes"):
        yield Ruling("sensitive", shape.name)
    if shape is not None and shape.kind == "code":
        yield Ruling("quasi-identifier", shape.name)
    if words & PLACES:
        yield Ruling("quasi-identifier", "geography, by its name")
    if names_institution(facts.name):
        yield Ruling("quasi-identifier", "where a person was, by its name")


def _known(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    """What others know of a person, and what they should not learn."""
    numbers = facts.numbers
    if words & AGES:
        yield Ruling("quasi-identifier", "an age, by its name")
    if words & BIRTHS:
        yield Ruling("quasi-identifier", "about a birth, by its name")
    if numbers is not None and numbers.whole and 1850 <= numbers.low <= numbers.high <= 2100:
        if facts.distinct > 2:
            yield Ruling("quasi-identifier", "numbers that look like years")
        if words & YEARS:
            yield Ruling("quasi-identifier", "a year, by its name")
    if words & WEIGHTS and numbers is not None:
        reason = "a weight, by its name: a body's can be seen, a survey's follows from what is known"
        yield Ruling("quasi-identifier", reason)
    if words & BODY:
        yield Ruling("quasi-identifier", "seen of a person, by its name")
    if (secret := secret_of(words)) is not None:
        yield Ruling("sensitive", f"{secret}, by its name")
    if words & DEMOGRAPHICS:
        yield Ruling("quasi-identifier", "others know it of a person, by its name")
    if facts.numbers is None and (said := meaning_of(facts.texts)) is not None:
        yield Ruling(cast(GuessedRole, said[0]), said[1])
    if numbers is not None and words & TIMES:
        yield Ruling("quasi-identifier", "a time, by its name")
    if words & RESULTS:
        yield Ruling("sensitive", "a result, by its name")
    if shape is not None and shape.kind == "written number":
        yield Ruling("sensitive", f"{shape.name}: amounts or measurements")


def _values(facts: ColumnFacts, shape: TextShape | None, words: frozenset[str]) -> Rulings:
    """What values are where no name says it. Numbers of five digits each may be amounts, but what they would tell as
    postal codes is worse to let through."""
    digits = shape is not None and shape.kind == "digits" and {len(text) for text in facts.texts} == {POSTAL}
    if digits and facts.distinct > MOST_CODES and not all(text.endswith("0") for text in facts.texts):
        yield Ruling("quasi-identifier", "numbers of five digits each, as postal codes are", "postal")
    if facts.distinct == 1 and not facts.missing:
        yield Ruling("insensitive", "the same in every row")
    if is_technical(facts.name):
        yield Ruling("insensitive", "how the table was made, by its name")
    many = f"{facts.distinct:,} different numbers: amounts or measurements, which single out together"
    if facts.numbers is not None and not facts.numbers.whole and facts.distinct >= MANY_NUMBERS:
        yield Ruling("sensitive", many)
    share = facts.singles / max(facts.present, 1)
    if share >= ALONE:
        of = "rows are" if not facts.missing else f"{facts.present:,} rows with a value are"
        yield Ruling("quasi-identifier", f"{_percent(share)} of the {of} alone with it")
    if facts.numbers is not None and facts.distinct >= MANY_NUMBERS:
        yield Ruling("sensitive", many)


_RULES = [_form, _person, _weight, _naming, _place, _known, _values]
"""What is asked of a column, until something is known: what names people, what tells of them, what singles out."""


def _percent(share: float) -> str:
    return f"{share:.0%}" if 0.01 <= share <= 0.995 or share in (0.0, 1.0) else f"{share:.1%}"
