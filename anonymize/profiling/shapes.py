"""What texts are by their form: dates and their formats, times, codes of known lists, contact data, free text.

A form is recognized where nearly all distinct texts of a sample have it; whether all of a column have it is checked
where a spec depends on that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal

import polars as pl

from anonymize.domain.text_levels import Moments
from anonymize.profiling.words import COUNTRIES, STATES, plain, read_lists
from anonymize.records import dataclass
from anonymize.spec.codes import SYSTEMS, SystemName, compact
from anonymize.spec.notation import Notation

NEARLY = 0.98
"""The share of distinct texts that have to have a form."""
MOSTLY = 0.8
"""The share of those that are dates, where the others are mistyped, or of those that are on a list of values."""
SOME_NAMES, FEWEST_NAMES = 0.3, 5
"""The share of first names that are on the list, and how many of them are at least."""

Kind = Literal["date", "time", "contact", "code", "digits", "written number", "free text", "text"]


@dataclass(frozen=True)
class TextShape:
    """The form of a column's texts. `digits`: numbers of one length, which are codes where more speaks for it.

    `name`: what it is, for a reader. `format`: of dates and times, None: as ISO has it. `parts`: what a format can
    tell, down to the finest. `lengths`: of a code, the prefixes that mean something, from long to short; none: it is
    masked. `system`: that the codes are of. `ambiguous`: another format that fits as well. `years`: how far apart dates
    lie. `odd`: texts of the sample that are no such dates or times. `notation`: how numbers are written.
    """

    kind: Kind
    name: str
    format: str | None = None
    finest: str = "day"
    lengths: tuple[int, ...] = ()
    system: SystemName | None = None
    ambiguous: str | None = None
    years: int = 0
    odd: int = 0
    notation: Notation | None = None

    def with_odd(self, texts: Sequence[str]) -> TextShape:
        """The shape, with a count of the texts that are no such dates or times."""
        if self.kind not in ("date", "time"):
            return self
        fits = Moments("dates" if self.kind == "date" else "times", (), self.format).fits
        return replace(self, odd=sum(not fits(text) for text in texts))


_DAYS = (
    *("%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d"),
    *("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y"),
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y", "%y-%m-%d"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M", "T%H:%M:%S", " %H:%M:%S.%f")
_MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b-%Y", "%b %Y", "%B %Y", "%Y-%b", "%b-%y")
_TIMES = ("%I:%M %p", "%I:%M:%S %p", "%H%M")

_CONTACTS = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "web addresses": re.compile(r"(https?://|www\.)\S+"),
    "IP addresses": re.compile(r"\d{1,3}(\.\d{1,3}){3}|[0-9a-fA-F]{1,4}(:[0-9a-fA-F]{0,4}){2,7}"),
    "UUIDs": re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "social security numbers": re.compile(r"\d{3}-\d{2}-\d{4}"),
    "bank account numbers": re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}"),
    "telephone numbers": re.compile(
        r"\+\d[\d ()/-]{6,}\d|\(\d{3}\) ?\d{3}-\d{4}|\d{3}-\d{3}-\d{4}|0\d{2,4}[ /-]\d{5,}"
    ),
}
_CODES: Sequence[tuple[str, re.Pattern[str], tuple[int, ...]]] = (
    ("ATC codes", re.compile(r"[A-Z]\d{2}[A-Z]{2}\d{2}"), (5, 4, 3, 1)),
    ("ZIP+4 codes", re.compile(r"\d{5}-\d{4}"), (5, 3, 1)),
    ("Canadian postal codes", re.compile(r"[A-Z]\d[A-Z] ?\d[A-Z]\d"), (3, 1)),
    ("British postcodes", re.compile(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"), (4, 2)),
)


def shape_of(texts: Sequence[str]) -> TextShape | None:
    """The form that nearly all distinct texts have; None where they have none, or there are none."""
    if not texts:
        return None
    for recognize in (_contact, _date, _time, _listed, _system, _code, _written_number):
        shape = recognize(texts)
        if shape is not None:
            return shape
    kind: Kind = "free text" if len(texts) > 20 and are_sentences(texts) else "text"
    return TextShape(kind, kind)


def _share(texts: Sequence[str], fits: Callable[[str], object]) -> float:
    """The share of texts that have a form; 0 where most of the first ones have none."""
    first = texts[:20]
    if sum(bool(fits(text)) for text in first) < 0.5 * len(first):
        return 0.0
    return sum(bool(fits(text)) for text in texts) / len(texts)


def _contact(texts: Sequence[str]) -> TextShape | None:
    for name, pattern in _CONTACTS.items():
        if _share(texts, pattern.fullmatch) >= NEARLY:
            return TextShape("contact", name)
    return None


# --- dates and times --------------------------------------------------------------------------------------------------


def date_formats() -> Iterator[tuple[str, str]]:
    """Formats of dates that are tried, and the finest part that each tells."""
    for day, clock in product(_DAYS, _CLOCKS):
        yield day + clock, "minute" if clock else "day"
    yield from ((month, "month") for month in _MONTHS)
    yield "%Y%m%d", "day"


def _date(texts: Sequence[str]) -> TextShape | None:
    if not any(character.isdigit() for character in "".join(texts[:3])) or max(map(len, texts)) > 40:
        return None
    iso = Moments("dates", (), None)
    if _share(texts, iso.fits) >= MOSTLY:
        finest = "minute" if any(len(text) > 10 for text in texts) else "day"
        finest = "week" if any("W" in text for text in texts) else finest
        name = "ISO weeks" if finest == "week" else "ISO dates"
        return TextShape("date", name, None, finest, years=_years(texts, None))
    first = [text for text in texts[:3] if _LIKE_DATE.search(text)]
    fitting = [
        (form, finest)
        for form, finest in date_formats()
        if any(_marks(form) == _marks(text) and Moments("dates", (), form).fits(text) for text in first)
        and (form != "%Y%m%d" or all(len(text) == 8 and text[:2] in ("19", "20") for text in texts))
        and _share(texts, Moments("dates", (), form).fits) >= (MOSTLY if _DAY_MARKS.search(form) else NEARLY)
    ]
    if not fitting:
        return None
    (form, finest), *more = fitting
    years = _years(texts, form)
    return TextShape("date", f"dates written {form}", form, finest, ambiguous=more[0][0] if more else None, years=years)


def _years(texts: Sequence[str], form: str | None) -> int:
    """How many years lie between the first date and the last."""
    moments = Moments("dates", ("year",), form)
    (year_of,) = moments.steps
    years = [int(year_of(text)) for text in texts if moments.fits(text)]
    return max(years) - min(years)


_DAY_MARKS = re.compile(r"%d.*%[Yy]|%Y.*%d(?<!%Y%m%d)")
"""Formats with a day and something between the parts, which little else is written like."""
_LIKE_DATE = re.compile(r"^\d{8}$|\d[-/. ](\d|[A-Za-z]{3})|[A-Za-z]{3}[-/. ]\d")


def _marks(text: str) -> str:
    """What stands between the parts of a text or a format: a format fits no text with other marks. Making a pattern of
    a format takes longer than reading many texts with it."""
    return _PARTS.sub("", text)


_PARTS = re.compile(r"%?[A-Za-z0-9]+| +(?= )")


def _time(texts: Sequence[str]) -> TextShape | None:
    if _share(texts, Moments("times", (), None).fits) >= NEARLY:
        return TextShape("time", "times of day", None, "minute")
    for form in _TIMES:
        fits = Moments("times", (), form).fits
        if (form != "%H%M" or _zeros(texts)) and _share(texts, fits) >= NEARLY:
            return TextShape("time", f"times of day written {form}", form, "minute")
    return None


def _zeros(texts: Sequence[str]) -> bool:
    """Whether digits are a code: all of one length, some with a zero in front."""
    return len({len(text) for text in texts}) == 1 and any(text.startswith("0") for text in texts)


# --- codes and words --------------------------------------------------------------------------------------------------


def _listed(texts: Sequence[str]) -> TextShape | None:
    """Countries and states, of which there have to be several: two letters may be anything."""
    distinct, lists = set(texts), (("US states", STATES), ("ISO country codes", COUNTRIES))
    if len(distinct) < 5:
        return None
    return next((TextShape("code", name) for name, codes in lists if distinct <= codes), None)


_TELLING: Mapping[SystemName, re.Pattern[str]] = {
    "icd10": re.compile(r"[A-Z]\d\w.*"),
    "icd10cm": re.compile(r"[A-Z]\d\w.*"),
    "nuts": re.compile(r"[A-Z]{2}[0-9A-Z]{1,3}"),
}
"""What texts of a system are like that little else is; numbers may be anything."""
_FEWEST_CODES = 3
"""So many codes of a system are no chance."""


def _system(texts: Sequence[str]) -> TextShape | None:
    """Codes of a published system, which are all in it."""
    letters = {text.strip()[:1].upper() for text in texts}
    for system, pattern in _TELLING.items():
        chapters = len(letters) > 1 or system == "nuts"  # years behind one letter (c1950) are in one chapter of ICD-10
        enough = chapters and len(texts) >= _FEWEST_CODES
        if enough and all(pattern.fullmatch(text.strip().upper()) for text in texts[:20]):
            shape = of_system(texts, system)
            if shape is not None and (system != "nuts" or any(map(str.isdigit, "".join(texts)))):
                return shape
    return None


def of_system(texts: Sequence[str], system: SystemName) -> TextShape | None:
    """The shape of texts that are all codes of a system; None where one is not."""
    if any(compact(system, text) is None for text in texts):
        return None
    return TextShape("code", SYSTEMS[system].noun, system=system)


def _code(texts: Sequence[str]) -> TextShape | None:
    for name, pattern, lengths in _CODES:
        if len(texts) > 2 and _share(texts, pattern.fullmatch) >= NEARLY:
            return TextShape("code", name, lengths=lengths)
    if not all(text.isascii() and text.isdigit() for text in texts):
        return None
    width = len(texts[0])
    if _zeros(texts) and 3 <= width <= 8:
        return TextShape("code", f"codes of {width} digits, some with a zero in front")
    if len(texts) > 2 and 4 <= width <= 8 and all(len(text) == width for text in texts):
        return TextShape("digits", f"numbers of {width} digits each")
    return None


_UNIT = re.compile(
    r"[$€£¥₹₽₩₺₪%]|[A-Z]{1,2}\$|kr\.?|zł|Kč|Ft|Fr\.?|CHF|EUR|USD|SEK|NOK|DKK|GBP|PLN|CZK|HUF|RON|CAD|AUD|INR|JPY|CNY|"
    r"[ckm]?m|[kmµ]?g|lbs?|oz|in|ft|°[CF]|years?|yrs?|Jahre?|ans|años|år"
    r"|h|hrs?|min|days?|Tage?|ml|dl|l|mmHg|bpm|kcal|m²|qm",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"^[-+\u2212]?\s*([^\d\s.,+-]*).*?([^\d\s.,'+-]*)$", re.DOTALL)
_NOTATIONS = ((".", None), (".", ","), (",", None), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
"""Signs before fractions, and between thousands, that are tried in this order."""


def _written_number(texts: Sequence[str]) -> TextShape | None:
    """Numbers as people write them, which no column of numbers has: with a comma, a currency, a unit, a share."""
    beside = {part for text in texts[:20] for part in _BESIDE.sub(r"\1 \2", text.strip()).split()}
    if len(beside) > 1 or not all(map(_UNIT.fullmatch, beside)) or not any(map(_SIGNS.search, [*texts, *beside])):
        return None
    written = pl.Series("text", texts)
    for decimal, thousands in _NOTATIONS:
        notation = Notation(decimal, thousands, next(iter(beside), None))
        read = pl.select(notation.with_point(pl.lit(written))).to_series().cast(pl.Float64, strict=False)
        if not read.null_count() and read.is_finite().all():
            return TextShape("written number", "numbers with a comma, a sign or a unit", notation=notation)
    return None


_SIGNS = re.compile(r"[$€£¥₹₽₩₺₪%,'a-zA-Zł°]|\d \d")


def are_sentences(texts: Sequence[str]) -> bool:
    """Whether texts are of several words each, as notes are, and labels of categories seldom."""
    words = sum(len(text.split()) for text in texts) / len(texts)
    return words >= 4 or sum(map(len, texts)) / len(texts) >= 40


# --- what values say --------------------------------------------------------------------------------------------------

_VALUES = {
    name: (meaning, frozenset(spelling for word in words for spelling in (word, plain(word))))
    for name, (meaning, words) in read_lists("values").items()
}
_BETWEEN = re.compile(r"[\s,;/_()]+|-(?=[a-z]{3})")
_NOTHING = frozenset(("other", "others", "none", "unknown", "neither", "both", "andere", "autre", "otro", "annan"))


def meaning_of(texts: Sequence[str]) -> tuple[str, str] | None:
    """The role of a column, and what its values are, where nearly all are on a list of such values or of words in them;
    None where there is no such list."""
    own = [text for text in (text.strip().lower() for text in texts) if text not in _NOTHING]
    for name, (meaning, known) in _VALUES.items():
        role, _, noun = meaning.partition(", ")
        whole, names = name == "SEXES", name == "FIRST_NAMES"
        hits = sum(text in known or (not whole and not known.isdisjoint(_BETWEEN.split(text))) for text in own)
        share, least = (SOME_NAMES, FEWEST_NAMES) if names else (1.0 if whole else MOSTLY, 2)
        if hits >= max(least, share * len(own)):
            return role, f"values that are {noun}"
    return None
