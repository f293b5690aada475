"""Where a value generalization hierarchy comes from: a file, or one of the builders."""

from __future__ import annotations

import math
import re
from datetime import datetime
from itertools import pairwise
from operator import gt
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from anonymize.spec.base import Entry, Number, Positive, SpecPath, Text, by_type, ordered
from anonymize.spec.codes import SystemName

DatePart = Literal["minute", "hour", "day", "week", "month", "quarter", "year", "decade"]
TimePart = Literal["minute", "hour", "six-hours", "half-day"]
_DIRECTIVES = "YymdHIMSfpbBaAjz%"
_NEEDED = {"minute": ("M",), "hour": ("H", "Ip"), "day": ("d", "j"), "week": ("d", "j"), "month": ("m", "b", "B", "j")}
"""What a format has to have for a level; of several, one. A quarter takes a month, every date a year."""
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


def _from_fine(part: Any) -> AfterValidator:
    """Refuses parts that are not in the order of the literals."""
    order = get_args(part)
    expected = f"parts from fine to coarse, in the order {', '.join(order)}"
    return ordered(lambda fine, coarse: order.index(fine) < order.index(coarse), expected)


def _weeks(parts: tuple[DatePart, ...]) -> tuple[DatePart, ...]:
    if "week" in parts and {"month", "quarter"} & set(parts):
        raise ValueError("weeks are in no month or quarter: expected levels such as [week, year]")
    return parts


def _format(text: str) -> str:
    signs = re.findall(r"%(.?)", text, re.DOTALL)
    if not signs or any(sign not in _DIRECTIVES or not sign for sign in signs):
        raise ValueError(f'expected a format of %{", %".join(_DIRECTIVES)}, such as "%d.%m.%Y %H:%M"')
    try:
        datetime.strptime("", text)
    except re.error:
        raise ValueError("expected each part of a format once") from None
    except ValueError:
        pass
    return text


def _has(form: str, choices: tuple[str, ...]) -> bool:
    return any(all(f"%{sign}" in form for sign in choice) for choice in choices)


def _check_levels(form: str, levels: tuple[str, ...]) -> None:
    """Raises ValueError for levels that a format says nothing of."""
    for level in levels:
        needed = _NEEDED.get("month" if level == "quarter" else level, ())
        needed = ("H", "Ip") if level in ("six-hours", "half-day") else needed
        if needed and not _has(form, needed):
            raise ValueError(f"the format has nothing for the level {level}")
        if level == "minute" and not _has(form, _NEEDED["hour"]):
            raise ValueError("the format has a minute, and no hour (%H, or %I with %p)")


class Intervals(Entry):
    """Intervals of a numeric attribute, starting at 0, one width per level."""

    intervals: Annotated[tuple[Positive, ...], Field(min_length=1), AfterValidator(_widths)]
    """Widths of the intervals from fine to coarse, each a multiple of the one before: [5, 10, 20]."""


def _bounds(levels: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    if any(after <= before for level in levels for before, after in pairwise(level)):
        raise ValueError("expected numbers that grow, such as [18, 30, 65]")
    if any(not set(coarse) < set(fine) for fine, coarse in pairwise(levels)):
        raise ValueError("expected each level to have some of the bounds of the one before: [[18, 30, 65], [18, 65]]")
    return levels


def _as_levels(bounds: object) -> object:
    """One level of bounds as a list of levels."""
    if not isinstance(bounds, list | tuple):
        return bounds
    levels = bounds if any(isinstance(each, list | tuple) for each in bounds) else [bounds]
    return tuple(tuple(each) if isinstance(each, list) else each for each in levels)


Bounds = Annotated[tuple[Number, ...], Field(min_length=1)]


class NumberBands(Entry):
    """NumberBands of a numeric attribute, such as age groups, by where each begins; the first and the last are open."""

    bands: Annotated[tuple[Bounds, ...], Field(min_length=1), BeforeValidator(_as_levels), AfterValidator(_bounds)]
    """Where bands begin. [18, 65]: 17-, [18-64] and 65+. Several levels from fine to coarse, each with some of the
    bounds of the one before: [[18, 30, 45, 65], [18, 65]]."""


class Codes(Entry):
    """Levels of a published system of codes."""

    codes: SystemName
    """The system: icd10 (WHO) and icd10cm (United States): category, block, chapter. nace (Rev. 2) and isic (Rev. 4):
    group, division, section. isco (ISCO-08): minor, sub-major, major group. isced (levels of ISCED 2011): category,
    level, low to high. iscedf (ISCED-F 2013): narrow and broad field. nuts: 2, 1, country."""


class Zip3(Entry):
    """The first three digits of ZIP codes, and 000 for small areas."""

    zip3: SpecPath
    """A table of populations: a CSV with a line of names, ZIP codes or their first three digits in the first column,
    and people in the second. Areas of 20,000 people or fewer, and those not in the table, are 000."""


class Mask(Entry):
    """Characters replaced by * one after the other."""

    mask: Literal["right", "left"]
    """The end that is masked first. right: 02138 -> 0213* -> 021** -> ..."""


class Prefix(Entry):
    """The first characters, fewer at each level."""

    prefix: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1), ordered(gt, "lengths that shrink, such as [3, 1]")
    ]
    """How many characters are kept, from many to few: [3, 1]."""


DateLevels = Annotated[tuple[DatePart, ...], Field(min_length=1), _from_fine(DatePart), AfterValidator(_weeks)]
TimeLevels = Annotated[tuple[TimePart, ...], Field(min_length=1), _from_fine(TimePart)]
Format = Annotated[str, AfterValidator(_format)]


class FormattedDates(Entry):
    """Dates that are not in ISO format, or are taken as UTC, and what they are coarsened to."""

    format: Format | None = None
    """How a date is written: "%Y/%m/%d %H:%M:%S", with the codes of strptime. Default: ISO format."""
    levels: DateLevels
    """What a date is coarsened to, from fine to coarse: [day, month, year]."""
    utc: Annotated[bool, Field(strict=True)] = False
    """Whether levels use the time in UTC; every value then needs a zone. false: local time, as written."""

    @model_validator(mode="after")
    def _fitting(self) -> FormattedDates:
        if self.format is None:
            return self
        if not _has(self.format, ("Y", "y")):
            raise ValueError("the format has no year (%Y)")
        if self.utc and not _has(self.format, ("z",)):
            raise ValueError("the format has no zone (%z), which `utc` needs")
        _check_levels(self.format, self.levels)
        return self


class FormattedTimes(Entry):
    """Times of day that are not written as ISO has them, and what they are coarsened to."""

    format: Format
    """How a time is written: "%I:%M %p", with the signs of strptime."""
    levels: TimeLevels
    """What a time is coarsened to, from fine to coarse: [hour, six-hours]."""

    @model_validator(mode="after")
    def _fitting(self) -> FormattedTimes:
        _check_levels(self.format, self.levels)
        return self


_LEVELS_KIND = by_type(
    "levels_kind",
    "expected a list of levels, or {format: ..., levels: [...]}",
    settings=(dict, Entry),
    levels=(list, tuple),
)


class Parts(Entry):
    """Dates or times of day by their parts: `KEY` has levels, or a format and levels."""

    KEY: ClassVar[Literal["dates", "times"]]

    @property
    def _entry(self) -> FormattedDates | FormattedTimes | tuple[DatePart | TimePart, ...]:
        entry: FormattedDates | FormattedTimes | tuple[DatePart | TimePart, ...] = getattr(self, self.KEY)
        return entry

    @property
    def levels(self) -> tuple[DatePart | TimePart, ...]:
        """What each is coarsened to."""
        return self._entry if isinstance(self._entry, tuple) else self._entry.levels

    @property
    def format(self) -> str | None:
        """How each is written; None: as ISO has it."""
        return None if isinstance(self._entry, tuple) else self._entry.format

    @property
    def utc(self) -> bool:
        """Whether levels are of the time in UTC, and not of that which is written."""
        return isinstance(self._entry, FormattedDates) and self._entry.utc


class Dates(Parts):
    """Parts of a date: an ISO one (2024-03-18), with or without a time after it, or one of another format."""

    KEY = "dates"

    dates: Annotated[Annotated[DateLevels, Tag("levels")] | Annotated[FormattedDates, Tag("settings")], _LEVELS_KIND]
    """What a date is coarsened to, from fine to coarse: [month, year], or [week, year] for weeks of ISO 8601 and the
    years that these are in; or {format: "%d.%m.%Y", levels: [month, year]}."""


class Times(Parts):
    """Parts of a time of day (14:35, 14:35:10)."""

    KEY = "times"

    times: Annotated[Annotated[TimeLevels, Tag("levels")] | Annotated[FormattedTimes, Tag("settings")], _LEVELS_KIND]
    """What a time of day is coarsened to, from fine to coarse: [hour, six-hours]; or {format: "%I:%M %p", levels:
    [hour, half-day]}."""


class Pool(Entry):
    """Which values are pooled, and what the pool is called."""

    below: Annotated[int, Field(ge=2)]
    """Values of fewer rows than this are pooled, and further ones, the rarest first, until the pool has this many rows
    and two values."""
    label: Annotated[Text, Field(min_length=1)] = "Other"
    """How the pool reads; none of the column's values."""


class Rare(Entry):
    """Rare values pooled under one label; a frequent one is kept or suppressed."""

    rare: Pool
    """Which values are pooled: {below: 20, label: Other}."""


def _boolean(value: object) -> object:
    if not isinstance(value, bool):  # 1 is True to Python
        raise ValueError("expected true")
    return value


class Flat(Entry):
    """No levels: a value is kept or suppressed."""

    flat: Annotated[Literal[True], BeforeValidator(_boolean)]
    """true: a value is kept or suppressed, with nothing in between."""


BUILDERS = ("intervals", "bands", "mask", "prefix", "dates", "times", "codes", "zip3", "rare", "flat")


def _source_kind(value: object) -> str | None:
    if isinstance(value, str | Path):
        return "file"
    names = tuple(value) if isinstance(value, dict) else tuple(getattr(type(value), "model_fields", ()))
    return names[0] if len(names) == 1 and names[0] in BUILDERS else None


HierarchySource = Annotated[
    Annotated[SpecPath, Tag("file")]
    | Annotated[Intervals, Tag("intervals")]
    | Annotated[NumberBands, Tag("bands")]
    | Annotated[Mask, Tag("mask")]
    | Annotated[Prefix, Tag("prefix")]
    | Annotated[Dates, Tag("dates")]
    | Annotated[Times, Tag("times")]
    | Annotated[Codes, Tag("codes")]
    | Annotated[Zip3, Tag("zip3")]
    | Annotated[Rare, Tag("rare")]
    | Annotated[Flat, Tag("flat")],
    Discriminator(
        _source_kind,
        custom_error_type="hierarchy_kind",
        custom_error_message="Input should be a hierarchy file or one builder",
    ),
]
