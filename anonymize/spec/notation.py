"""How cells of a table are written: numbers such as `1.234,56`, `165 cm` and `$1,234`, how texts are compared, and
which of them mean that a value is missing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from pydantic import Field

from anonymize.errors import Caution
from anonymize.records import dataclass
from anonymize.spec.base import Entry, Text

if TYPE_CHECKING:
    import polars as pl


# --- texts, and missing values ----------------------------------------------------------------------------------------
# Everything outside the second opinion asks here how the spec's list, normalization and the format of a file combine,
# so that whatever else comes to mean missing is added once.
#
# Normalized, two texts that a reader cannot tell apart are one value: Unicode NFC, without invisible characters,
# without space at either end. A text of which nothing is left is missing.

_LINES = dict.fromkeys(map(ord, "\t\n\v\f\r\x85\u2028\u2029"), " ")
_INVISIBLE = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x200B, 0x2060, 0xFEFF])
_CHARACTERS = {
    **_INVISIBLE,
    **_LINES,
    **dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " "),
}
"""What becomes of characters in who somebody is: some invisible ones go; any space, a tab and the end of a line are a
space like any other."""

ODD = r"[^ -~]|^ | $"
"""Finds every text that normalization may change: all others are printable ASCII without outer spaces."""

_TOUCHED = re.compile(f"[{''.join(map(chr, _CHARACTERS))}]|^ | $")

UNKNOWN = frozenset(
    (
        *("unknown", "not known", "unspecified", "not specified", "not stated", "not available", "no answer"),
        *("n/a", "n.a.", "na", "nan", "nat", "none", "null", "nil", "missing", "-", "--", ".", "?", "<na>", "(null)"),
        *("#n/a", "#na", "#null!", "#value!", "#ref!", "#name?", "#div/0!", "#num!", "not applicable", "no data"),
        *("unbekannt", "keine angabe", "k. a.", "k.a.", "inconnu", "desconocido"),
    )
)
"""What reads as if a value were not known, in lower case. It is a value all the same unless the spec lists it."""


def as_number(text: str) -> float | None:
    """A text as a number; None where it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def normalized(text: str) -> str:
    """What a text is compared as: in NFC, without invisible characters, any white space being a space, none outside.

    >>> normalized(" Caf\u200be\u0301\u00a0"), normalized("\t\u2060"), normalized("New\u00a0York")
    ('Café', '', 'New York')
    """
    if not text.isascii() or _TOUCHED.search(text):
        text = "".join(map(_seen, text)).strip(" ")
    return unicodedata.normalize("NFC", text)


def identified(text: str) -> str:
    """What a text says of who somebody is: as it was first laid down, so that a series knows its people for ever."""
    if _TOUCHED.search(text):
        text = text.translate(_CHARACTERS).strip(" ")
    return unicodedata.normalize("NFC", text)


def trimmed(text: str) -> str:
    """A text as it may be shown: in NFC, on one line, without control characters, and outside nothing invisible."""
    text = "".join(" " if ord(each) in _LINES else "" if unicodedata.category(each) == "Cc" else each for each in text)
    inner = [place for place, each in enumerate(text) if _seen(each).strip()]
    return unicodedata.normalize("NFC", text[inner[0] : inner[-1] + 1]) if inner else ""


@cache
def _seen(character: str) -> str:
    """What is seen of a character: itself, a space, or nothing of one that Unicode says is ignored by default, of a
    control character, and of the empty pattern of Braille."""
    category = unicodedata.category(character)
    if category == "Zs" or ord(character) in _LINES:
        return " "
    if category == "Cc" or character == "\u2800":
        return ""
    if character.isascii():
        return character
    import polars as pl  # whose patterns know the properties of Unicode

    ignored = pl.Series([character]).str.contains(r"\p{Default_Ignorable_Code_Point}").item()
    return "" if ignored else character


def remarks(column: str, alike: int, unknown: int, *, counted: bool = False) -> list[Caution]:
    """What to say of a column with so many distinct values that differ from another one in case alone, and so many that
    read as unknown (`UNKNOWN`). `counted`: a sensitive one, of whose values so many look like another one."""
    if counted:
        look = "value looks like another one, and is" if alike == 1 else "values look like others, and are"
        read = "value reads as unknown, and is" if unknown == 1 else "values read as unknown, and are"
        said = [f"{number} {text}" for text, number in ((look, alike), (read, unknown)) if number]
        exact = "`normalize: exact` of the column counts them, if they are different"
        return [Caution.of(f"column {column!r}: {text} not counted as different ones", exact) for text in said]
    reads, counts = ("value reads", "counts") if unknown == 1 else ("values read", "count")
    differ = f"column {column!r}: {alike} values differ from another one only in case, and count as different"
    strange = f"column {column!r}: {unknown} {reads} as unknown, and {counts} as known"
    return [
        *([Caution.of(differ, "if they mean the same, write them alike in the input")] if alike else []),
        *([Caution.of(strange, "list what means missing under `input.missing`")] if unknown else []),
    ]


@dataclass(frozen=True)
class Missing:
    """What means that a value is missing, in a table of one format.

    Attributes:
        texts: the texts that mean it, in the spec's order; the first one is what a release shows.
        null: whether a null means it. A null of a CSV is an empty field, which is the empty text, and means missing
            only where that does; in a typed file a null is always missing.
        normalize: whether texts are compared as `normalized` has them. Then the empty text means missing.
    """

    texts: tuple[str, ...] = ("",)
    null: bool = True
    normalize: bool = True

    @classmethod
    def in_format(cls, texts: tuple[str, ...], form: str, *, normalize: bool = True) -> Missing:
        """In a table of this format: `csv`, `csv.gz`, `parquet` or `arrow`. `texts`: the spec's."""
        compared = tuple(dict.fromkeys([*map(normalized, texts), ""])) if normalize else texts
        return cls(compared, not form.startswith("csv") or "" in compared, normalize)

    def compared(self, text: str) -> str:
        """What a text is compared as."""
        return normalized(text) if self.normalize else text

    def __contains__(self, text: str) -> bool:
        """Whether a text means missing."""
        return self.compared(text) in self.texts

    @property
    def text(self) -> str:
        """What a release shows for a missing value."""
        return self.texts[0] if self.texts else ""

    @property
    def null_text(self) -> str:
        """The text that says the same as a null."""
        return self.text if self.null else ""

    @property
    def fill(self) -> str | None:
        """What a null is read as where each text is a value of its own; None: it stays one.

        Where null and the empty text both mean missing they are one value.
        """
        return "" if not self.null or "" in self.texts else None

    def filled(self, text: pl.Expr) -> pl.Expr:
        """A column of texts whose nulls all mean missing: the others are the empty text."""
        return text if self.null else text.fill_null("")


# --- numbers ----------------------------------------------------------------------------------------------------------
# What is released of a number that is generalized is written with a point, without a unit; a column that passes through
# stays the text that it was.

Decimal = Literal[".", ","]
Setting = Literal["decimal", "thousands", "unit_text"]
Thousands = Literal[".", ",", " ", "'", "_"]
_SPACES = {" ": r"[\p{Zs}]", "'": "['\u2019]"}
"""What stands for a sign between thousands: any space, either apostrophe."""
_OUTSIDE = r"[\s\p{Default_Ignorable_Code_Point}]*"
NO_NUMBER = "#"
"""Stands before a text that another notation would read as a number."""


class NumberFormat(Entry):
    """How the numbers of one column are written."""

    decimal: Decimal | None = None
    """The sign before fractions in a column of numbers: "." or ",". Left out: that of `input.decimal`."""
    thousands: Thousands | None = None
    """The sign between thousands in a column of numbers. Left out: that of `input.thousands`."""
    unit_text: Annotated[Text, Field(min_length=1)] | None = None
    """A unit or a sign that may stand before or behind each number of the column, and is left out: cm, $, %."""


@dataclass(frozen=True)
class Notation:
    """How the numbers of a column are written: the sign before fractions, that between thousands (None: there is
    none), and the unit or sign beside a number (None: none)."""

    decimal: str = "."
    thousands: str | None = None
    unit_text: str | None = None

    @property
    def settings(self) -> dict[Setting, str]:
        """The keys of the spec that say the same."""
        names: tuple[Setting, ...] = get_args(Setting)
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def with_point(self, text: pl.Expr) -> pl.Expr:
        """Texts of numbers as they are written with a point and without a unit; any other text that has a digit
        becomes none of a number. Groups of thousands are of three digits, but for the first and those of a lakh."""
        if self == POINT:
            return text
        import polars as pl  # whose patterns know the properties of Unicode

        fits = text.str.contains(self._pattern)
        bare = text.str.replace(self._pattern, "${sign}${own}${whole}${fraction}${power}")
        if self.thousands is not None:
            bare = bare.str.replace_all(_sign(self.thousands), "")
        bare = bare.str.replace(self.decimal, ".", literal=True).str.replace("\u2212", "-", literal=True)
        other = pl.when(text.str.contains(r"\d")).then(NO_NUMBER + text).otherwise(text)
        return pl.when(fits).then(bare).otherwise(other)

    @property
    def _pattern(self) -> str:
        unit = "" if self.unit_text is None else f"(?:{re.escape(self.unit_text.strip())})?"
        sign, whole = _sign(self.thousands), r"\d+"
        if self.thousands is not None:
            whole = rf"\d{{1,3}}(?:{sign}\d{{2,3}})*{sign}\d{{3}}|\d+"
        number = rf"(?P<whole>(?:{whole})?)(?P<fraction>(?:{re.escape(self.decimal)}\d*)?)(?P<power>(?:[eE][+-]?\d+)?)"
        signs = "[+\u2212-]?"
        return rf"^{_OUTSIDE}(?P<sign>{signs})\s*{unit}\s*(?P<own>{signs}){number}\s*{unit}{_OUTSIDE}$"


POINT = Notation()
"""Numbers with a point, without a unit."""

OTHERWISE = {
    "comma": r"\d,\d",
    "point": r"\d\.\d",
    "commas": r"^[^.,]*\d,\d{3}(?:,\d{3})*(?:[^\d,]|$)",
    "points": r"^[^.,]*\d\.\d{3}(?:\.\d{3})*(?:[^\d.]|$)",
    "both": r"\d\.\d{3},\d",
    "unit": r"^\D*[^\d\s.,'+-]\D*\d|\d\D*[^\d\s.,'eE+-]\D*$",
    "gap": r"\d[\p{Zs}'\x{2019}]\d",
}
"""Patterns of numbers that are written in another way than is declared."""


def hint_of(notation: Notation, wrong: Mapping[str, int], rows: int) -> str | None:
    """What would make numbers of the texts that are none; None where nothing is seen. `wrong`: how many of them have
    each pattern of `OTHERWISE`; `rows`: that have a value."""
    here, there, groups = ("point", "comma", "commas") if notation.decimal == "." else ("comma", "point", "points")
    sign = {"comma": ",", "point": "."}[there]
    count = wrong[there]
    if count and count == wrong[groups] and (notation.decimal == "," or wrong["unit"]):
        keys = f'`thousands: "{sign}"`, if that parts thousands'
    elif notation.decimal == "." and wrong["both"]:
        keys = '`input: {decimal: ",", thousands: "."}`'
    else:
        keys = f'`input: {{decimal: "{sign}"}}`'
    said = []
    if count:
        said.append(f"numbers are written with a {here} here; {count:,} of {rows:,} have a {there}: {keys}")
    if wrong["unit"]:
        many = f"{wrong['unit']:,} of {rows:,}"
        said.append(f"{many} have a unit or a sign next to the number; name it as `unit_text` of the column")
    if wrong["gap"] and not count:
        said.append(f"{wrong['gap']:,} of {rows:,} have a sign between digits, which is `thousands`")
    return "; ".join(said) or None


def _sign(thousands: str | None) -> str:
    return "" if thousands is None else _SPACES.get(thousands) or re.escape(thousands)
