"""What names of columns say, and words that stand for a missing value.

The words are in the files of `lists/`, one for each role, in several languages; whoever misses one adds it there. Names
are looked at word by word. Where words are glued together, as in `kidslt6`, `motheduc` or `lwage`, they are taken apart
as far as all pieces are known.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import cache
from pathlib import Path

from anonymize.spec.notation import UNKNOWN
from anonymize.table.named import ROW_NAMES

MISSING_WORDS = tuple(
    dict.fromkeys(form for word in sorted(UNKNOWN) for form in (word, word.upper(), word.capitalize(), word.title()))
)
"""The texts that read as missing, as people write them."""

_FOLDER = Path(__file__).with_name("lists")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "å": "aa", "ø": "oe", "æ": "ae"})


def read_lists(file: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The lists of a file, by name: what the file says of each, and its words as they are written there."""
    lists: dict[str, tuple[str, list[str]]] = {}
    words: list[str] = []
    for line in (_FOLDER / f"{file}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            words += line.split()
        elif line and not line.startswith("#"):
            name, _, meaning = line.partition(":")
            words = []
            lists[name] = (meaning.strip(), words)
    return {name: (meaning, tuple(own)) for name, (meaning, own) in lists.items()}


def plain(text: str) -> str:
    """A text without accents, where letters have them.

    >>> plain("födelseår"), plain("Straße")
    ('fodelsear', 'Strasse')
    """
    return "".join(
        each for each in unicodedata.normalize("NFD", text.replace("ß", "ss")) if not unicodedata.combining(each)
    )


def _spelled(words: Collection[str]) -> frozenset[str]:
    """Words as they are written with accents, without them, and with digraphs in place of umlauts."""
    accented = [word for word in words if len(word) > 3]  # without its accent, a short word is another one
    return frozenset((*words, *map(plain, accented), *(word.translate(_UMLAUTS) for word in accented)))


_ROLES = ("identifiers", "quasi_identifiers", "sensitive", "insensitive")
_BY_ROLE = {role: read_lists(role) for role in _ROLES}
_LISTS = {name: _spelled(words) for lists in _BY_ROLE.values() for name, (_, words) in lists.items()}
MEANINGS = {name: meaning for lists in _BY_ROLE.values() for name, (meaning, _) in lists.items()}
"""What a reason says of a column that is called by a list's words."""
SECRETS = tuple(name for name in _BY_ROLE["sensitive"] if name != "RESULTS")
"""The lists of what people would keep to themselves, whatever else a name says."""
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
BODY = _LISTS["BODY"]
WEIGHTS = _LISTS["WEIGHTS"]
COUNTS = _LISTS["COUNTS"]
RESULTS = _LISTS["RESULTS"]
TECHNICAL = _LISTS["TECHNICAL"]
COUNTRIES, STATES = (frozenset(read_lists("codes")[name][1]) for name in ("COUNTRIES", "STATES"))

_UPPER, _LOWER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿ"
_PARTS = re.compile(rf"[{_UPPER}]?[{_LOWER}]+|[{_UPPER}]+(?![{_LOWER}])|\d+")

_PLAIN = frozenset(("name", "names", "namn"))

_AFFIXES, _BEFORE, _BEHIND = (frozenset(words) for _, words in read_lists("affixes").values())
_TELLING = frozenset().union(*_LISTS.values())
_TELLING_WITHIN = frozenset(word for word in _TELLING if len(word) > 2)
"""Words that are looked for within others: two letters are too many other things."""
_LONG = 3
"""Letters of a word that one letter may stand behind; before one of these, only an l for a logarithm."""
_COMMON = frozenset("whmfrs")
"""Letters that often stand behind a word: of wife, husband, male, female, respondent, several."""
_SHORT = 4
"""Letters of the beginning of a word that stands for it."""
_LONGEST = 10
"""Letters of a word in which two may be mistyped."""
_COMPOUND = 6
"""Letters of a word that is known at the end of a compound, whatever it begins with."""

_ROW_NAMES = re.compile(rf"{ROW_NAMES}_*|row[._ ]?names?|Unnamed: \d+|__index_level_\d+__", re.IGNORECASE)


def words_of(name: str) -> list[str]:
    """The words of a column's name in their order, in lower case; those that are glued from known ones apart.

    >>> words_of("firstName"), words_of("kidslt6"), words_of("motherEduc2"), words_of("LÄN")
    (['first', 'name'], ['kids', 'lt', '6'], ['mother', 'educ', '2'], ['län'])
    """
    composed = unicodedata.normalize("NFC", name)
    return [piece for part in _PARTS.findall(composed) for piece in _unglued(part.lower())]


@cache
def _unglued(part: str) -> tuple[str, ...]:
    """The known words that a part is glued from, none left over; the part itself where it is a word or no such thing.

    >>> _unglued("kidslt"), _unglued("capacity"), _unglued("sexage"), _unglued("ltge"), _unglued("lwage")
    (('kids', 'lt'), ('capacity',), ('sex', 'age'), ('ltge',), ('l', 'wage'))
    """
    if part in _TELLING:
        return (part,)
    glued = _glued(part)
    if glued is not None and _TELLING_WITHIN & set(glued):
        return glued
    first, rest = part[:1], part[1:]
    if first in _BEFORE and len(rest) >= _LONG + (first != "l") and rest in _TELLING_WITHIN:
        return (first, rest)
    head, last = part[:-1], part[-1:]
    if last in _BEHIND and len(head) >= (_LONG if last in _COMMON else _SHORT) and head in _TELLING_WITHIN:
        return (head, last)
    return _compound(part) or _shortened(part) or _misspelt(part) or (part,)


def _shortened(part: str) -> tuple[str, ...]:
    """The word of which a part is the beginning, as in `popul`; none where it begins words of several lists.

    >>> _shortened("popul"), _shortened("depr"), _shortened("cont")
    (('population',), ('depresion',), ())
    """
    longer = [word for word in _TELLING_WITHIN if len(word) >= len(part) + 2 and word.startswith(part)]
    lists = {name for name, words in _LISTS.items() for word in longer if word in words}
    return (min(longer, key=lambda word: (len(word), word)),) if len(part) >= _SHORT and len(lists) == 1 else ()


def _misspelt(part: str) -> tuple[str, ...]:
    """The word that a long part is but for a letter, of the longest for two; none where it may be words of several
    lists, or says nothing of a person.

    >>> _misspelt("maried"), _misspelt("comdominiom"), _misspelt("weights")
    (('married',), ('condominium',), ())
    """
    if len(part) < _COMPOUND:
        return ()
    near = [word for word in _TELLING_WITHIN - TECHNICAL if word[0] == part[0] and _is_near(part, word)]
    lists = {name for name, words in _LISTS.items() for word in near if word in words}
    return (min(near),) if len(lists) == 1 else ()


def _is_near(part: str, word: str) -> bool:
    """Whether two words of some length differ in a letter, or the longest in two: left out, put in, or another one."""
    most = 2 if min(len(part), len(word)) >= _LONGEST else 1
    if min(len(part), len(word)) < _COMPOUND or abs(len(part) - len(word)) > most:
        return False
    above = list(range(len(word) + 1))
    for row, letter in enumerate(part, 1):
        own = [row]
        for place, other in enumerate(word, 1):
            own.append(min(above[place] + 1, own[-1] + 1, above[place - 1] + (letter != other)))
        above = own
    return above[-1] <= most


def _compound(part: str) -> tuple[str, ...]:
    """A part taken apart at the long word that it ends with, as German and Swedish compounds do; or begins with, where
    that is a secret.

    >>> _compound("haushaltseinkommen"), _compound("krankheitstage"), _compound("capacity")
    (('haushalts', 'einkommen'), ('krankheit', 'stage'), ())
    """
    for end in range(len(part) - 1, _COMPOUND - 1, -1):
        if part[-end:] in _TELLING_WITHIN:
            return (part[:-end], part[-end:])
        if secret_of(frozenset([part[:end]])):
            return (part[:end], part[end:])
    return ()


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


def secret_of(words: frozenset[str]) -> str | None:
    """What a name says of what people would keep to themselves; None where it says nothing."""
    return next((MEANINGS[name] for name in SECRETS if words & _LISTS[name]), None)


def names_sampling_weight(name: str) -> bool:
    """Whether a column is called as sampling weights are, and as a body's weight is not.

    >>> [names_sampling_weight(name) for name in ("finalwgt", "perwt", "pers_weight", "WTMEC2YR", "weight", "cd4")]
    [True, True, True, True, False, False]
    """
    words = words_of(name)
    letters = [word for word in words if not word.isdigit()]
    rest = {word for word in letters if word not in WEIGHTS}
    if {*words, "".join(words)} & _LISTS["SAMPLING"] or words[:1] == ["wtmec"]:
        return True
    return bool(rest) and len(rest) < len(letters) and rest <= _LISTS["SAMPLING_PARTS"] | _AFFIXES


def names_rows(name: str) -> bool:
    """Whether a column is called as R and pandas call the names of rows, or had no name at all."""
    return _ROW_NAMES.fullmatch(name) is not None


def is_name(name: str) -> bool:
    """Whether a column seems to hold the names of people."""
    words = parts(name)
    if words & (NAMES - _PLAIN):
        return True
    return bool(words & _PLAIN) and not {word for word in words if "nam" not in word} - NAME_PREFIXES


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


def is_technical(name: str) -> bool:
    """Whether a column's name speaks of how the table was made, and of nothing else.

    >>> [is_technical(name) for name in ("batch", "file_version2", "form_of_cancer")]
    [True, True, False]
    """
    words = {word for word in words_of(name) if not word.isdigit()}
    return bool(words) and words <= TECHNICAL


_CODES = frozenset(("code", "key"))
"""What is called by these alone is as likely of something else as of a person."""
