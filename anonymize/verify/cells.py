"""What a released cell stands for, read from its text alone: a reader of the second opinion's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from anonymize.spec import Spec

NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"

NULL, NUMBERS, TEXT = 0, 1, 2
"""Kinds of cells, in the order in which they are sorted."""


@dataclass(frozen=True)
class CellTemplates:
    """How a release writes its cells. `suppressed`: a cell that may be anything. `missing`: texts that mean missing."""

    interval: str = "[{low}-{high}]"
    open_high: str = "{low}+"
    open_low: str = "{high}-"
    suppressed: str = "*"
    missing: Sequence[str] = ("",)

    @classmethod
    def of(cls, spec: Spec) -> CellTemplates:
        """As the spec says."""
        output = spec.output
        ends = {name: text for name in ("open_high", "open_low") if (text := getattr(output, name, None))}
        return cls(output.interval, suppressed=output.suppressed, missing=spec.input.missing, **ends)


def number_of(text: pl.Expr) -> pl.Expr:
    """The number that a text is, without the white space around it; null for any other."""
    value = text.str.strip_chars().cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value + 0.0)  # so that -0 is 0


def ends_of(texts: pl.Series, templates: CellTemplates | None) -> pl.DataFrame:
    """For each text its `kind`, the numbers `low` and `high` between which it lies (both null for what shows none, one
    infinite where an end is open), `half_open` (high itself is left out), `or_missing`, and the `text`.

    Without templates only numbers are numbers, and no interval is one.
    """
    frame = texts.cast(pl.String).alias("text").to_frame()
    number = number_of(pl.col("text"))
    frame = frame.with_columns(low=number, high=number, half_open=pl.lit(False), or_missing=pl.lit(False))
    if templates is not None:
        frame = _with_intervals(frame, templates)
    shows = pl.col("low").is_not_null() & pl.col("high").is_not_null()
    kind = pl.when(pl.col("text").is_null()).then(NULL).when(shows).then(NUMBERS).otherwise(TEXT)
    return frame.with_columns(
        kind=kind.cast(pl.UInt8), low=pl.when(shows).then("low"), high=pl.when(shows).then("high")
    )


def _with_intervals(frame: pl.DataFrame, templates: CellTemplates) -> pl.DataFrame:
    """The same, of texts that are not numbers: intervals, with open ends or not, and those that may be missing."""
    bare, maybe = _without_missing(templates)
    frame = frame.with_columns(bare=bare, maybe=maybe)
    bare = pl.col("bare")
    shapes = [
        (_ends(bare, templates.interval), False),
        (_ends(bare, re.sub(r"\]$", ")", templates.interval)), True),
        (_ends(bare, templates.open_high), False),
        (_ends(bare, templates.open_low), False),
        ((number_of(bare), number_of(bare)), False),
    ]
    for (first, last), half_open in shapes:
        frame = frame.with_columns(first=first, last=last)
        fits = pl.col("low").is_null() & pl.col("first").is_not_null() & pl.col("last").is_not_null()
        frame = frame.with_columns(
            low=pl.when(fits).then("first").otherwise("low"),
            high=pl.when(fits).then("last").otherwise("high"),
            half_open=pl.when(fits).then(pl.lit(half_open)).otherwise("half_open"),
            or_missing=pl.when(fits).then("maybe").otherwise("or_missing"),
        )
    return frame.drop("bare", "maybe", "first", "last")


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
