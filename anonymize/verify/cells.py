"""What a released cell stands for, read from its text alone: a reader of the second opinion's own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from anonymize.records import dataclass
from anonymize.spec import POINT, Notation

if TYPE_CHECKING:
    from anonymize.spec import Spec

NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"

LEFT_OUT = ("without_low", "without_high")
"""Columns that say of an interval which of its ends it leaves out."""

NULL, NUMBERS, TEXT = 0, 1, 2
"""Kinds of cells, in the order in which they are sorted."""


@dataclass(frozen=True)
class CellTemplates:
    """How a release writes its cells. `suppressed`: a cell that may be anything. `missing`: texts that mean missing.
    `rounded`: ends of intervals are, so that the upper one of two bounds of decimals is left out."""

    interval: str = "[{low}-{high}]"
    open_high: str = "{low}+"
    open_low: str = "{high}-"
    suppressed: str = "*"
    missing: Sequence[str] = ("",)
    rounded: bool = False

    @classmethod
    def of(cls, spec: Spec) -> CellTemplates:
        """The templates of a spec."""
        output = spec.output
        ends = {name: text for name in ("open_high", "open_low") if (text := getattr(output, name, None))}
        written = cls(output.interval, suppressed=output.suppressed, missing=spec.input.missing, **ends)
        return replace(written, rounded=output.edges == "rounded")

    def leaves_out_high(self, low: pl.Series, high: pl.Series) -> bool:
        """Whether the upper of two bounds is left out: edges are rounded, and a number is a decimal, by its value or by
        its decimal point. Zeros behind that may be there so that a number does not read as missing."""
        if not self.rounded:
            return False
        texts = pl.concat([low, high]).drop_nulls().unique().str.strip_chars()
        for text in texts.filter(texts.str.contains(f"^{NUMBER}$")):
            if not float(text).is_integer():
                return True
            whole, point, _ = text.partition(".")
            if point and "e" not in text.lower() and whole not in self.missing:
                return True
        return False


_BRACKETS = re.compile(r"(?P<low>[\[\](])\s*\{low\}[^\[\]()<>≤≥=]+\{high\}\s*(?P<high>[\[\])])")
_WORDS = re.compile(
    r"[<>≤≥=]|\b(?:excl\w*|under|below|less|before|until|over|above|more|after|unter|vor|ohne|moins|avant|sauf|menos|antes)\b",
    re.IGNORECASE,
)
"""What may leave an end out, in addition to brackets."""
_PAIRED = {"Ps", "Pe", "Pi", "Pf"}
"""Unicode's categories of what opens and closes: brackets and quotation marks."""


def is_clear(interval: str) -> bool:
    """Whether a template says which ends its intervals include: by a bracket on either side, or by having nothing that
    could leave one out."""
    rest = _BRACKETS.sub("", interval, count=1).replace("{low}", "").replace("{high}", "")
    return not _WORDS.search(rest) and _PAIRED.isdisjoint(map(unicodedata.category, rest))


def _brackets(interval: str) -> list[tuple[str, bool, bool]]:
    """The template with each pair of brackets that may stand in its place, and whether these leave out the lower and
    the upper end. A bracket that includes its end stays, but for a `]` at the very end, which may be `)`."""
    match = _BRACKETS.search(interval)
    if match is None:
        return [(interval, False, False), *_closing_round(interval)]
    low, high = match["low"], match["high"]
    if low + high == "[]":
        return [(interval, False, False), *_closing_round(interval)]
    lows = dict.fromkeys([low, "["]) if low != "[" else ["["]
    start, stop = match.start("low"), match.start("high")
    return [
        (interval[:start] + left + interval[start + 1 : stop] + right + interval[stop + 1 :], left != "[", right != "]")
        for left in lows
        for right in dict.fromkeys([high, ")" if high == "]" else "]"])
    ]


def _closing_round(interval: str) -> list[tuple[str, bool, bool]]:
    return [(f"{interval[:-1]})", False, True)] if interval.endswith("]") else []


def as_number(text: str) -> float | None:
    """A text as a number; None where it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def number_of(text: pl.Expr) -> pl.Expr:
    """The number that a text is, without the white space around it; null for any other."""
    value = text.str.strip_chars().cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value + 0.0)  # so that -0 is 0


def with_point(text: pl.Expr, notation: Notation) -> pl.Expr:
    """Texts of an original column of numbers, written with a point and without a unit; what is not written as is
    declared has no number, but for a text without a digit, which stays."""
    if notation == POINT:
        return text
    bare = text.str.strip_chars()
    if notation.unit_text is not None:
        unit = re.escape(notation.unit_text.strip())
        bare = bare.str.replace(rf"^([+\u2212-]?)\s*{unit}\s*", "${1}").str.replace(rf"\s*{unit}$", "")
    whole = bare
    if notation.thousands is not None:
        sign = {" ": r"\p{Zs}", "'": "['\u2019]"}.get(notation.thousands, re.escape(notation.thousands))
        grouped = rf"^[+\u2212-]?[0-9]{{1,3}}(?:{sign}[0-9]{{2,3}})*{sign}[0-9]{{3}}(?:[^0-9].*)?$"
        whole = pl.when(bare.str.contains(grouped)).then(bare.str.replace_all(sign, "")).otherwise(bare)
    other = "." if notation.decimal == "," else ","
    pointed = whole.str.replace_many([notation.decimal, other, "\u2212"], [".", ",", "-"])
    fits = pointed.str.contains(f"^{NUMBER}$")
    return pl.when(fits).then(pointed).when(text.str.contains("[0-9]")).then(pl.lit("no number")).otherwise(text)


def ends_of(texts: pl.Series, templates: CellTemplates | None) -> pl.DataFrame:
    """For each text its `kind`, the numbers `low` and `high` between which it lies (both null for what shows none, one
    infinite where an end is open), `without_low`, `without_high` (that end itself is left out), `or_missing`, and the
    `text`.

    Without templates only numbers are numbers, and no interval is one.
    """
    frame = texts.cast(pl.String).alias("text").to_frame()
    number = number_of(pl.col("text"))
    no = pl.lit(False)
    frame = frame.with_columns(low=number, high=number, without_low=no, without_high=no, or_missing=no)
    if templates is not None and _is_unread(frame):
        frame = _with_intervals(frame, templates)
    shows = pl.col("low").is_not_null() & pl.col("high").is_not_null()
    kind = pl.when(pl.col("text").is_null()).then(NULL).when(shows).then(NUMBERS).otherwise(TEXT)
    return frame.with_columns(
        kind=kind.cast(pl.UInt8), low=pl.when(shows).then("low"), high=pl.when(shows).then("high")
    )


def _with_intervals(frame: pl.DataFrame, templates: CellTemplates) -> pl.DataFrame:
    """Reads texts that are not numbers: intervals, with open ends or not, and those that may be missing."""
    bare, maybe = _without_missing(templates)
    frame = frame.with_columns(bare=bare, maybe=maybe)
    bare = pl.col("bare")
    shapes = [
        *((_ends(bare, text), low, high) for text, low, high in _brackets(templates.interval)),
        (_ends(bare, templates.open_high), False, False),
        (_ends(bare, templates.open_low), False, False),
        ((number_of(bare), number_of(bare)), False, False),
    ]
    for (first, last), without_low, without_high in shapes:
        if not _is_unread(frame):
            break
        frame = frame.with_columns(first=first, last=last)
        fits = pl.col("low").is_null() & pl.col("first").is_not_null() & pl.col("last").is_not_null()
        frame = frame.with_columns(
            low=pl.when(fits).then("first").otherwise("low"),
            high=pl.when(fits).then("last").otherwise("high"),
            without_low=pl.when(fits).then(pl.lit(without_low)).otherwise("without_low"),
            without_high=pl.when(fits).then(pl.lit(without_high)).otherwise("without_high"),
            or_missing=pl.when(fits).then("maybe").otherwise("or_missing"),
        )
    return frame.drop("bare", "maybe", "first", "last")


def _is_unread(frame: pl.DataFrame) -> bool:
    """Whether a text may yet be an interval: it has no ends, but a digit, as every template has once it is filled."""
    texts = frame["text"].filter(frame["low"].is_null())
    return bool(texts.str.contains("[0-9]").any())


def _without_missing(templates: CellTemplates) -> tuple[pl.Expr, pl.Expr]:
    """The text without ` or ?` at its end, and whether it had that. Where the text of missing values is empty, it is
    ` or missing`."""
    text = pl.col("text")
    words = sorted({*filter(None, templates.missing), "missing"}, key=len, reverse=True)
    bare = text.str.extract(f"(?s)^(.*) or (?:{'|'.join(map(re.escape, words))})$")
    return pl.coalesce(bare, text), bare.is_not_null()


def _ends(text: pl.Expr, template: str) -> tuple[pl.Expr, pl.Expr]:
    """The two ends of texts that read as a template; of one that has only one of them, the other is infinite."""
    pattern = re.escape(template)
    groups: dict[str, int] = {}
    for name in sorted(("low", "high"), key=lambda name: template.find(f"{{{name}}}")):
        if f"{{{name}}}" in template:
            groups[name] = len(groups) + 1
            pattern = pattern.replace(re.escape(f"{{{name}}}"), f"({NUMBER})", 1)
    low, high = (
        number_of(text.str.extract(f"^{pattern}$", groups[name]))
        if name in groups
        else pl.when(text.str.contains(f"^{pattern}$")).then(pl.lit(infinite))
        for name, infinite in (("low", float("-inf")), ("high", float("inf")))
    )
    return low, high
