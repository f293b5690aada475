"""What names of columns say, and words that stand for a missing value.

Names are looked at word by word. Where words are glued together, as in `kidslt6` or `motheduc`, they are taken apart as
far as all pieces are known.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from anonymize.spec.missing import UNKNOWN
from anonymize.table.header import ROW_NAMES

MISSING_WORDS = tuple(
    dict.fromkeys(form for word in sorted(UNKNOWN) for form in (word, word.upper(), word.capitalize(), word.title()))
)
"""The texts that read as missing, as people write them."""


def _listed() -> dict[str, frozenset[str]]:
    lists: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("words.txt").read_text(encoding="utf-8").splitlines():
        if line.endswith(":"):
            lists[line[:-1]] = listed = []
        elif line.startswith("  "):
            listed += line.split()
    return {name: frozenset(words) for name, words in lists.items()}


_LISTS = _listed()
IDENTIFIERS = _LISTS["IDENTIFIERS"]
PERSONAL = _LISTS["PERSONAL"]
PEOPLE = _LISTS["PEOPLE"]
NUMBERED = _LISTS["NUMBERED"]
NAMES = _LISTS["NAMES"]
NAME_PREFIXES = _LISTS["NAME_PREFIXES"]
FREE = _LISTS["FREE"]
AGES = _LISTS["AGES"]
BIRTHS = _LISTS["BIRTHS"]
YEARS = _LISTS["YEARS"]
TIMES = _LISTS["TIMES"]
PLACES = _LISTS["PLACES"]
INSTITUTIONS = _LISTS["INSTITUTIONS"]
COORDINATES = _LISTS["COORDINATES"]
DEMOGRAPHICS = _LISTS["DEMOGRAPHICS"]
WEIGHTS = _LISTS["WEIGHTS"]
SECRETS = _LISTS["SECRETS"]
COUNTRIES = _LISTS["COUNTRIES"]
STATES = _LISTS["STATES"]

_PARTS = re.compile(r"[A-Z]?[a-zà-ÿ]+|[A-Z]+(?![a-z])|\d+")

_PLAIN = frozenset(("name", "names"))

_AFFIXES = _LISTS["AFFIXES"]
_TELLING = frozenset().union(
    *(words for name, words in _LISTS.items() if name not in ("COUNTRIES", "STATES", "AFFIXES"))
)
_TELLING_WITHIN = frozenset(word for word in _TELLING if len(word) > 2)
"""Words that are looked for within others: two letters are too many other things."""

_ROW_NAMES = re.compile(rf"{ROW_NAMES}_*|row[._ ]?names?|Unnamed: \d+|__index_level_\d+__", re.IGNORECASE)


def words_of(name: str) -> list[str]:
    """The words of a column's name in their order, in lower case; those that are glued from known ones apart.

    >>> words_of("firstName"), words_of("kidslt6"), words_of("motherEduc2")
    (['first', 'name'], ['kids', 'lt', '6'], ['mother', 'educ', '2'])
    """
    return [piece for part in _PARTS.findall(name) for piece in _unglued(part.lower())]


@cache
def _unglued(part: str) -> tuple[str, ...]:
    """The known words that a part is glued from, none left over; the part itself where it is a word or no such thing.

    >>> _unglued("kidslt"), _unglued("capacity"), _unglued("sexage"), _unglued("ltge")
    (('kids', 'lt'), ('capacity',), ('sex', 'age'), ('ltge',))
    """
    if part in _TELLING:
        return (part,)
    glued = _glued(part)
    return glued if glued is not None and _TELLING_WITHIN & set(glued) else (part,)


@cache
def _glued(text: str) -> tuple[str, ...] | None:
    """The fewest known words that make a text; None where there are none."""
    if not text:
        return ()
    starts = (text[:end] for end in range(2, len(text) + 1))
    words = [start for start in starts if start in _TELLING_WITHIN or start in _AFFIXES]
    ways = [(start, *rest) for start in words if (rest := _glued(text[len(start) :])) is not None]
    return min(ways, key=len, default=None)


def parts(name: str) -> frozenset[str]:
    """The words of a column's name, and the name without what parts them.

    >>> sorted(parts("firstName")), sorted(parts("birth.dt"))
    (['first', 'firstname', 'name'], ['birth', 'birthdt', 'dt'])
    """
    words = words_of(name)
    return frozenset([*words, "".join(words)])


def names_rows(name: str) -> bool:
    """Whether a column is called as R and pandas call the names of rows, or had no name at all."""
    return _ROW_NAMES.fullmatch(name) is not None


def is_name(name: str) -> bool:
    """Whether a column seems to hold the names of people."""
    words = parts(name)
    if words & (NAMES - _PLAIN):
        return True
    return bool(words & _PLAIN) and not {word for word in words if "name" not in word} - NAME_PREFIXES


def names_person(name: str) -> bool:
    """Whether a column seems to name a person in each row, by the words of its own name, however often one comes.

    >>> [names_person(name) for name in ("officer_badge", "patientID", "student number", "students", "unit_id", "ID")]
    [True, True, True, False, False, True]
    """
    words = words_of(name)
    if PERSONAL & {*words, "".join(words)} or (PEOPLE & set(words) and NUMBERED & set(words)):
        return True
    return bool(words) and not set(words) - (NUMBERED - _CODES)


def is_person(name: str) -> bool:
    """Whether a column is called as a person is, and nothing else.

    >>> [is_person(name) for name in ("subject", "Patient", "patients", "patient_age", "")]
    [True, True, False, False, False]
    """
    words = words_of(name)
    return bool(words) and not set(words) - PEOPLE


def names_institution(name: str) -> bool:
    """Whether a column is called as a place where people are treated, taught or employed, or its number.

    >>> [names_institution(name) for name in ("site", "StudySite", "dept_no", "hospital_days", "website")]
    [True, True, True, False, False]
    """
    words = [word for word in words_of(name) if word not in NUMBERED | _PLAIN and not word.isdigit()]
    return bool(words) and words[-1] in INSTITUTIONS


_CODES = frozenset(("code", "key"))
"""What is called by these alone is as likely of something else as of a person."""
