"""What names of columns say, and words that stand for a missing value."""

from __future__ import annotations

import re
from pathlib import Path

from anonymize.spec.missing import UNKNOWN

MISSING_WORDS = tuple(
    dict.fromkeys(form for word in sorted(UNKNOWN) for form in (word, word.upper(), word.capitalize(), word.title()))
)
"""The texts that read as missing, as people write them."""


def _listed() -> dict[str, frozenset[str]]:
    lists: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("words.txt").read_text(encoding="utf-8").splitlines():
        if line.endswith(":"):
            lists[line[:-1]] = own = []
        elif line.startswith("  "):
            own += line.split()
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
PLACES = _LISTS["PLACES"]
COORDINATES = _LISTS["COORDINATES"]
DEMOGRAPHICS = _LISTS["DEMOGRAPHICS"]
WEIGHTS = _LISTS["WEIGHTS"]
SECRETS = _LISTS["SECRETS"]
COUNTRIES = _LISTS["COUNTRIES"]
STATES = _LISTS["STATES"]

_PARTS = re.compile(r"[A-Z]?[a-zà-ÿ]+|[A-Z]+(?![a-z])|\d+")

_PLAIN = frozenset(("name", "names"))


def parts(name: str) -> frozenset[str]:
    """The words of a column's name, in lower case, and the name without what parts them.

    >>> sorted(parts("firstName")), sorted(parts("birth.dt"))
    (['first', 'firstname', 'name'], ['birth', 'birthdt', 'dt'])
    """
    words = [word.lower() for word in _PARTS.findall(name)]
    return frozenset([*words, "".join(words)])


def is_name(name: str) -> bool:
    """Whether a column seems to hold the names of people."""
    words = parts(name)
    if words & (NAMES - _PLAIN):
        return True
    return bool(words & _PLAIN) and not {word for word in words if "name" not in word} - NAME_PREFIXES


def names_person(words: frozenset[str]) -> bool:
    """Whether a column seems to name a person in each row, by the words of its own name, however often one comes.

    >>> [names_person(parts(name)) for name in ("officer_badge", "patientID", "student number", "students", "unit_id")]
    [True, True, True, False, False]
    """
    return bool(words & PERSONAL) or bool(words & PEOPLE and words & NUMBERED)
