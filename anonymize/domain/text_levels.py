"""What the levels of a hierarchy make of texts by their form: dates and times of day, codes of published systems,
ZIP codes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Literal, TypeAlias

from anonymize.records import dataclass
from anonymize.spec.codes import SMALL, SYSTEMS, ZIP_CODE, SystemName, chapter_of, compact, range_of

# --- dates and times --------------------------------------------------------------------------------------------------
# A text is read once, into ISO 8601 as far as it goes: `2024-05-03`, `2024-05-03T14:35`, or `14:35` for a time of day.
# Levels are cut from that, so that dates in any format generalize to the same labels:
#
# - dates: minute (2024-05-03T14:35), hour (2024-05-03T14), day (2024-05-03), week (2024-W18), month (2024-05), quarter
#   (2024-Q2), year (2024), decade (2020s). A date without a time after it has no minute and no hour: it reads as its
#   day
#   there. Above weeks a year is that of ISO 8601, which is made of whole weeks. A week may be all that a text says
#   (2024-W18, 2024W18, 2024-W18-5), where no level is finer or of months.
# - times: minute (14:35), hour (14:00-14:59), six-hours (12:00-17:59), half-day (12:00-23:59).
#
# Times are taken as they are written, whatever their zone, or, where that is asked for, as they are in UTC.
#
# A bottom or a top code of dates is a day, or a month or a year that is a level. What lies at or beyond it is one
# value, which reads `1934-`; on coarser levels so does whatever has it in it: `1930s-`.

Step: TypeAlias = Callable[[str], str]

_TIME = r"([T ](\d{2}(:\d{2}(:\d{2}([.,]\d+)?)?)?)\s?(Z|[+-]\d{2}(:?\d{2})?)?)?"
_ISO_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})" + _TIME, re.ASCII)
_ISO_WEEK = re.compile(r"(\d{4})-?W(\d{2})(-?[1-7])?", re.ASCII)
_ISO_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(:[0-5]\d([.,]\d+)?)?", re.ASCII)


def _hours(length: int) -> Step:
    """The stretch of so many hours that a time lies in."""

    def stretch(time: str) -> str:
        first = int(time[:2]) // length * length
        return f"{first:02}:00-{first + length - 1:02}:59"

    return stretch


def _week_of(iso: str) -> str:
    """The week of a date, which may be one already.

    >>> _week_of("2024-12-30"), _week_of("2021-01-03T10:00"), _week_of("2024-W05")
    ('2025-W01', '2020-W53', '2024-W05')
    """
    if "W" in iso:
        return iso
    year, week, _ = date.fromisoformat(iso[:10]).isocalendar()
    return f"{year:04}-W{week:02}"


_WEEKLY = frozenset(("week", "year", "decade"))
"""Levels of which weeks are parts."""
_DATE_STEPS: Mapping[str, Step] = {
    "minute": lambda iso: iso[:16],
    "hour": lambda iso: iso[:13],
    "day": lambda iso: iso[:10],
    "week": lambda iso: _week_of(iso),
    "month": lambda iso: iso[:7],
    "quarter": lambda iso: f"{iso[:4]}-Q{(int(iso[5:7]) + 2) // 3}",
    "year": lambda iso: iso[:4],
    "decade": lambda iso: f"{iso[:3]}0s",
}
_TIME_STEPS: Mapping[str, Step] = {
    "minute": lambda time: time[:5],
    "hour": _hours(1),
    "six-hours": _hours(6),
    "half-day": _hours(12),
}


@dataclass(frozen=True)
class DateCodes:
    """A `bottom` and a `top` code of dates, as ISO has a year, a month or a day, None: there is none; the templates
    `open_low` and `open_high`, by which they read; and what reads so that shows `everything`."""

    bottom: str | None = None
    top: str | None = None
    open_low: str = "{high}-"
    open_high: str = "{low}+"
    everything: str = "*"

    def below(self, high: str) -> str:
        """How everything up to a label reads."""
        return self.open_low.replace("{high}", high)

    def above(self, low: str) -> str:
        """How everything from a label on reads."""
        return self.open_high.replace("{low}", low)

    def code(self, iso: str) -> str | None:
        """The code that a date is cut off at; None where it is not."""
        if self.bottom is not None and iso[: len(self.bottom)] <= self.bottom:
            return self.bottom
        if self.top is not None and iso[: len(self.top)] >= self.top:
            return self.top
        return None

    def label(self, code: str) -> str:
        """How all that is cut off at a code reads."""
        return self.below(code) if code == self.bottom else self.above(code)

    def opened(self, label: str, labels: Sequence[str | None]) -> str:
        """The label of a level with its open ends. `labels`: of the bottom and the top code on that level."""
        low, high = (label == each for each in labels)
        if low and high:
            return self.everything
        return self.below(label) if low else self.above(label) if high else label


_YEAR = 4
"""Characters of a year."""
_LENGTHS = {"day": 10, "month": 7, "year": 4, "quarter": 3.9, "decade": 3}
"""How many characters say a part of a date; a quarter takes less than a year's parts, and more than a year."""


class Moments:
    """How a builder reads the texts of a column, each text once. `utc`: times are taken as they are in UTC."""

    def __init__(
        self,
        noun: Literal["dates", "times"],
        levels: Sequence[str],
        form: str | None,
        *,
        utc: bool = False,
        codes: DateCodes = DateCodes(),  # noqa: B008 (frozen)
    ) -> None:
        self.noun, self._utc, self._codes = noun, utc, codes
        self._steps = _DATE_STEPS if noun == "dates" else _TIME_STEPS
        self._levels, self._format = levels, form
        self._known: dict[str, str | None] = {}

    @property
    def expected(self) -> str:
        """What a text has to be, for a message."""
        dates = "ISO dates or weeks" if _WEEKLY.issuperset(self._levels) else "ISO dates"
        iso = dates if self.noun == "dates" else "times of day (14:35)"
        zone = " with a zone (as `utc` needs)" if self._utc else ""
        return (iso if self._format is None else f"{self.noun} of the format {self._format}") + zone

    def fits(self, text: str) -> bool:
        """Whether a text can be read."""
        return text in self._labels or self._iso(text) is not None

    def coded(self, text: str) -> str:
        """A value, or what stands for all that lie beyond a code."""
        iso = self._iso(text)
        code = None if iso is None else self._codes.code(iso)
        return text if code is None else self._codes.label(code)

    @property
    def steps(self) -> Sequence[Step]:
        """One step for each level, of texts that fit."""
        return [self._step(level) for level in self._levels]

    @property
    def _labels(self) -> dict[str, str]:
        """The bottom and the top code by how they read."""
        codes = (self._codes.bottom, self._codes.top)
        return {self._codes.label(code): code for code in codes if code is not None}

    def _step(self, level: str) -> Step:
        cut, labels = self._cut(level), self._labels
        codes = [
            None if code is None or _LENGTHS.get(level, 99) >= len(code) else cut(code)
            for code in (self._codes.bottom, self._codes.top)
        ]

        def step(text: str) -> str:
            if text in labels and _LENGTHS.get(level, 99) >= len(labels[text]):
                return text  # which is a whole node of the level, or more than that
            return self._codes.opened(cut(labels.get(text) or self._iso(text) or ""), codes)

        return step

    def _cut(self, level: str) -> Step:
        """What a level makes of a moment; a year above weeks is made of these."""
        cut = self._steps[level]
        return (lambda iso: cut(_week_of(iso))) if "week" in self._levels and level in _WEEKLY else cut

    def _iso(self, text: str) -> str | None:
        if text not in self._known:
            self._known[text] = self._read(text)
        return self._known[text]

    def _read(self, text: str) -> str | None:
        if self._utc:
            moment = _parsed(text, self._format)
            if moment is None or moment.tzinfo is None:
                return None
            return moment.astimezone(UTC).isoformat()[:16]
        if self._format is not None:
            return _formatted(text, self._format, dates=self.noun == "dates")
        if self.noun == "times":
            match = _ISO_TIME.fullmatch(text)
            return None if match is None else f"{match[1]:0>2}:{match[2]}"
        codes = (self._codes.bottom, self._codes.top)
        weekly = _WEEKLY.issuperset(self._levels) and not any(code and len(code) > _YEAR for code in codes)
        return iso_date(text) or (iso_week(text) if weekly else None)


def zone_of(text: str, form: str | None) -> str | None:
    """The zone of a date and a time, as hours and minutes off UTC; None where it has none, or cannot be read."""
    if form is None:
        match = _ISO_DATE.fullmatch(text)
        zone = None if match is None else match[7]
        return zone and f"{zone.replace(':', '').replace('Z', '+00'):0<5}"
    moment = _parsed(text, form)
    return None if moment is None or moment.tzinfo is None else moment.strftime("%z")


def _parsed(text: str, form: str | None) -> datetime | None:
    """A date, or a date and a time, of a format or as ISO has it; None for any other text."""
    try:
        if form is not None:
            return datetime.strptime(text, form)
        return None if iso_date(text) is None else datetime.fromisoformat(re.sub(r"\s(?=Z|[+-]\d{2})", "", text))
    except ValueError:
        return None


def _formatted(text: str, form: str, *, dates: bool) -> str | None:
    moment = _parsed(text, form)
    if moment is None:
        return None
    if not dates:
        return moment.strftime("%H:%M")
    timed = any(f"%{sign}" in form for sign in "HI")
    return moment.isoformat()[: 16 if timed else 10]


def iso_date(text: str) -> str | None:
    """An ISO date, with the hour and the minute of the time after it if there is one; None for any other text."""
    match = _ISO_DATE.fullmatch(text)
    if match is None:
        return None
    try:
        date.fromisoformat(match[1])
    except ValueError:
        return None
    return match[1] if match[3] is None else f"{match[1]}T{match[3][:5]}"


def iso_week(text: str) -> str | None:
    """An ISO week (2024-W05), with or without a day of it; None for any other text.

    >>> iso_week("2024W05"), iso_week("2020-W53-7"), iso_week("2021-W53")
    ('2024-W05', '2020-W53', None)
    """
    match = _ISO_WEEK.fullmatch(text)
    if match is None:
        return None
    try:
        date.fromisocalendar(int(match[1]), int(match[2]), 1)
    except ValueError:
        return None
    return f"{match[1]}-W{match[2]}"


# --- codes of published systems ---------------------------------------------------------------------------------------
# A level of characters reads `E11*`, a block `E10-E14`, a chapter or section with its number `IV E00-E90`. A code that
# is shorter than a level keeps all that it has: `E11` is `E11*` as well. Of ZIP codes there is one level: the first
# three digits (`021*`), or `000` for all areas that the table of populations does not show to be large.

Fits: TypeAlias = Callable[[str], bool]


def code_steps(system: SystemName) -> tuple[Fits, Sequence[Step]]:
    """Whether a text is a code of a system, and what each level makes of one."""
    return lambda text: compact(system, text) is not None, [_step(system, level) for level in SYSTEMS[system].levels]


def _step(system: SystemName, level: int | Literal["block", "chapter"]) -> Step:
    known = SYSTEMS[system]

    def step(text: str) -> str:
        code = compact(system, text) or ""
        around = range_of(system, code)
        if isinstance(level, int) or around is None:
            kept = code[: level if isinstance(level, int) else None]
            dotted = known.ignored and len(kept) > known.key
            return f"{kept[: known.key]}.{kept[known.key :]}*" if dotted else f"{kept}*"
        return str(around) if level == "block" else f"{around.chapter} {chapter_of(system, around.chapter)}"

    return step


def zip_steps(large: Collection[str]) -> tuple[Fits, Sequence[Step]]:
    """Whether a text is a ZIP code, and its area. `large`: areas that are shown, by their first three digits."""

    def area(text: str) -> str:
        digits = text.strip()[:3]
        return f"{digits}*" if digits in large else SMALL

    return lambda text: ZIP_CODE.fullmatch(text.strip()) is not None, [area]
