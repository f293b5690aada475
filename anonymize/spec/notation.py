"""How numbers are written in the columns of a table: `1.234,56`, `165 cm`, `$1,234`.

What is released of a number that is generalized is written with a point, without a unit; a column that passes through
stays the text that it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from anonymize.spec.base import Entry, Text

if TYPE_CHECKING:
    import polars as pl

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
        every: dict[Setting, str | None] = {
            "decimal": self.decimal,
            "thousands": self.thousands,
            "unit_text": self.unit_text,
        }
        return {name: value for name, value in every.items() if value is not None}

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
        said.append(f"{many} have a unit or a sign beside the number, which `unit_text` of the column names")
    if wrong["gap"] and not count:
        said.append(f"{wrong['gap']:,} of {rows:,} have a sign between digits, which is `thousands`")
    return "; ".join(said) or None


def _sign(thousands: str | None) -> str:
    return "" if thousands is None else _SPACES.get(thousands) or re.escape(thousands)
