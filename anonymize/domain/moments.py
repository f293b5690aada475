"""Dates and times of day as texts: how they are read, and what each level of a hierarchy makes of them.

A text is read once, into ISO 8601 as far as it goes: `2024-05-03`, `2024-05-03T14:35`, or `14:35` for a time of day.
Levels are cut from that, so that dates in any format generalize to the same labels:

- dates: minute (2024-05-03T14:35), hour (2024-05-03T14), day (2024-05-03), month (2024-05), quarter (2024-Q2), year
  (2024), decade (2020s). A date without a time after it has no minute and no hour: it reads as its day there.
- times: minute (14:35), hour (14:00-14:59), six-hours (12:00-17:59), half-day (12:00-23:59).

Times are taken as they are written, whatever their zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Literal, TypeAlias

Step: TypeAlias = Callable[[str], str]

_TIME = r"([T ](\d{2}(:\d{2}(:\d{2}([.,]\d+)?)?)?)\s?(Z|[+-]\d{2}(:?\d{2})?)?)?"
_ISO_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})" + _TIME, re.ASCII)
_ISO_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(:[0-5]\d([.,]\d+)?)?", re.ASCII)


def _hours(length: int) -> Step:
    """The stretch of so many hours that a time lies in."""

    def stretch(time: str) -> str:
        first = int(time[:2]) // length * length
        return f"{first:02}:00-{first + length - 1:02}:59"

    return stretch


_DATE_STEPS: Mapping[str, Step] = {
    "minute": lambda iso: iso[:16],
    "hour": lambda iso: iso[:13],
    "day": lambda iso: iso[:10],
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


class Moments:
    """How a builder reads the texts of a column, each text once."""

    def __init__(self, noun: Literal["dates", "times"], levels: Sequence[str], form: str | None) -> None:
        self.noun = noun
        self._steps = _DATE_STEPS if noun == "dates" else _TIME_STEPS
        self._levels, self._format = levels, form
        self._known: dict[str, str | None] = {}

    @property
    def expected(self) -> str:
        """What a text has to be, for a message."""
        iso = "ISO dates" if self.noun == "dates" else "times of day (14:35)"
        return iso if self._format is None else f"{self.noun} of the format {self._format}"

    def fits(self, text: str) -> bool:
        """Whether a text can be read."""
        return self._iso(text) is not None

    @property
    def steps(self) -> Sequence[Step]:
        """One step for each level, of texts that fit."""
        return [self._step(self._steps[level]) for level in self._levels]

    def _step(self, cut: Step) -> Step:
        return lambda text: cut(self._iso(text) or "")

    def _iso(self, text: str) -> str | None:
        if text not in self._known:
            self._known[text] = self._read(text)
        return self._known[text]

    def _read(self, text: str) -> str | None:
        if self._format is not None:
            return _formatted(text, self._format, dates=self.noun == "dates")
        return iso_date(text) if self.noun == "dates" else iso_time(text)


def _formatted(text: str, form: str, *, dates: bool) -> str | None:
    try:
        moment = datetime.strptime(text, form)
    except ValueError:
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


def iso_time(text: str) -> str | None:
    """A time of day as hour and minute; None for any other text."""
    match = _ISO_TIME.fullmatch(text)
    return None if match is None else f"{match[1]:0>2}:{match[2]}"
