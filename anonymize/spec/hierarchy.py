"""Where a value generalization hierarchy comes from: a file, or one of the builders."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from anonymize.spec.base import Entry, Positive, SpecPath

DATE_PARTS = ("day", "month", "quarter", "year", "decade")


MOST_WIDTH = 2.0**52
"""Intervals are numbered exactly up to here, in units and in multiples of the narrowest."""


def _widths(widths: tuple[float, ...]) -> tuple[float, ...]:
    if widths[-1] > MOST_WIDTH or widths[-1] / widths[0] > MOST_WIDTH:
        raise ValueError("expected widths up to 2^52 (about 4.5e15), and up to so many times the first")
    for narrow, wide in pairwise(widths):
        ratio = wide / narrow
        if wide <= narrow or not math.isfinite(ratio) or not math.isclose(ratio, round(ratio), rel_tol=1e-9):
            raise ValueError("expected widths that grow, each a multiple of the one before, such as [5, 10, 20]")
    return widths


def _lengths(lengths: tuple[int, ...]) -> tuple[int, ...]:
    if any(after >= before for before, after in pairwise(lengths)):
        raise ValueError("expected lengths that shrink, such as [3, 1]")
    return lengths


def _parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    ranks = [DATE_PARTS.index(part) for part in parts]
    if any(after <= before for before, after in pairwise(ranks)):
        raise ValueError(f"expected parts from fine to coarse, in the order {', '.join(DATE_PARTS)}")
    return parts


class Intervals(Entry):
    """Intervals of a numeric attribute, starting at 0, one width per level."""

    intervals: Annotated[tuple[Positive, ...], Field(min_length=1), AfterValidator(_widths)] = Field(
        description="Widths of the intervals from fine to coarse, each a multiple of the one before: [5, 10, 20]."
    )


class Mask(Entry):
    """Characters replaced by * one after the other."""

    mask: Literal["right", "left"] = Field(
        description="The end that is masked first. right: 02138 -> 0213* -> 021** -> ..."
    )


class Prefix(Entry):
    """The first characters, fewer at each level."""

    prefix: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1), AfterValidator(_lengths)] = Field(
        description="How many characters are kept, from many to few: [3, 1]."
    )


class Dates(Entry):
    """Parts of an ISO date (2024-03-18)."""

    dates: Annotated[
        tuple[Literal["day", "month", "quarter", "year", "decade"], ...], Field(min_length=1), AfterValidator(_parts)
    ] = Field(description="What a date is coarsened to, from fine to coarse: [month, year].")


def _boolean(value: object) -> object:
    if not isinstance(value, bool):
        raise ValueError("expected true")
    return value


class Flat(Entry):
    """No levels: a value is kept or suppressed."""

    flat: Annotated[Literal[True], BeforeValidator(_boolean)] = Field(
        description="true: a value is kept or suppressed, with nothing in between."
    )


BUILDERS: Mapping[str, type[Entry]] = {
    "intervals": Intervals,
    "mask": Mask,
    "prefix": Prefix,
    "dates": Dates,
    "flat": Flat,
}


def _source_kind(value: object) -> str | None:
    if isinstance(value, str | Path):
        return "file"
    names = tuple(value) if isinstance(value, dict) else tuple(getattr(type(value), "model_fields", ()))
    return names[0] if len(names) == 1 and names[0] in BUILDERS else None


HierarchySource = Annotated[
    Annotated[SpecPath, Tag("file")]
    | Annotated[Intervals, Tag("intervals")]
    | Annotated[Mask, Tag("mask")]
    | Annotated[Prefix, Tag("prefix")]
    | Annotated[Dates, Tag("dates")]
    | Annotated[Flat, Tag("flat")],
    Discriminator(
        _source_kind,
        custom_error_type="hierarchy_kind",
        custom_error_message="Input should be a hierarchy file or one builder",
    ),
]
