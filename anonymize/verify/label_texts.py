"""How the labels of builders read: at which levels one stands, and what stands above it, by its text alone.

Masked characters and kept ones are counted, parts of dates and of times have each a form of its own, and levels of
codes are known by form and by the published ranges.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from pathlib import Path

from anonymize.records import dataclass
from anonymize.spec.codes import SMALL, SYSTEMS, SystemName, compact, large_areas, ranges


class LabelText(ABC):
    """How the labels of a builder read."""

    @abstractmethod
    def levels(self, text: str) -> tuple[int, int] | None:
        """The lowest and the highest level at which a label stands; None where that is not known."""

    @abstractmethod
    def above(self, text: str, level: int) -> str | None:
        """How the node of a level above a label reads; None where there is none or it is not known."""

    def aligned(self, texts: Sequence[str]) -> Sequence[str]:
        """Labels as they can be compared."""
        return texts

    height: int
    unbounded = False
    """Whether there are as many levels as texts have characters, and no more than that."""


@dataclass(frozen=True)
class MaskText(LabelText):
    """Characters replaced by `*` from one side on."""

    side: str
    height = 1 << 30
    unbounded = True

    def levels(self, text: str) -> tuple[int, int]:
        bare = text.rstrip("*") if self.side == "right" else text.lstrip("*")
        return len(text) - len(bare), len(text) - len(bare)

    def aligned(self, texts: Sequence[str]) -> Sequence[str]:
        width = max(map(len, texts))
        return [text.rjust(width, "_") if self.side == "right" else text.ljust(width, "_") for text in texts]

    def above(self, text: str, level: int) -> str | None:
        if level > len(text):
            return None
        kept = len(text) - level
        return text[:kept] + "*" * level if self.side == "right" else "*" * level + text[level:]


@dataclass(frozen=True)
class PrefixText(LabelText):
    """The first characters, followed by `*`. A shorter value stands on the levels that keep as many as it has."""

    lengths: Sequence[int]

    @property
    def height(self) -> int:  # type: ignore[override]
        return len(self.lengths) + 1

    def levels(self, text: str) -> tuple[int, int]:
        kept = len(text) - 1
        if not text.endswith("*") or kept > self.lengths[0]:
            return 0, 0
        high = max(level for level, length in enumerate(self.lengths, 1) if length >= kept)
        return (high if kept in self.lengths else 1), high

    def above(self, text: str, level: int) -> str:
        bare = text.removesuffix("*") if self.levels(text)[1] else text
        return text if level == 0 else f"{bare[: self.lengths[level - 1]]}*"


_DAY = r"\d{4}-\d{2}-\d{2}"
_FORMS: Mapping[str, Mapping[str, str]] = {
    "dates": {
        "minute": _DAY + r"T\d{2}:\d{2}",
        "hour": _DAY + r"T\d{2}",
        "day": _DAY,
        "week": r"\d{4}-W\d{2}",
        "month": r"\d{4}-\d{2}",
        "quarter": r"\d{4}-Q[1-4]",
        "year": r"\d{4}",
        "decade": r"\d{3}0s",
    },
    "times": {
        "minute": r"\d{2}:\d{2}",
        "hour": r"(\d{2}):00-\1:59",
        "six-hours": r"00:00-05:59|06:00-11:59|12:00-17:59|18:00-23:59",
        "half-day": r"00:00-11:59|12:00-23:59",
    },
}
"""How each part of a date and of a time reads."""


@dataclass(frozen=True)
class MomentText(LabelText):
    """Parts of dates or times. A date without a time reads as its day on the levels below that."""

    noun: str
    parts: Sequence[str]
    format: str | None
    utc: bool = False

    @property
    def height(self) -> int:  # type: ignore[override]
        return len(self.parts) + 1

    def levels(self, text: str) -> tuple[int, int]:
        forms = _FORMS[self.noun]
        fits = [level for level, part in enumerate(self.parts, 1) if re.fullmatch(forms[part], text)]
        if self.noun == "dates" and re.fullmatch(_DAY, text):
            fits += [level for level, part in enumerate(self.parts, 1) if part in ("minute", "hour")]
        return (min(fits), max(fits)) if fits else (0, 0)

    def above(self, text: str, level: int) -> str | None:
        if level == 0:
            return text
        part, low = self.parts[level - 1], self.levels(text)
        if low[0] <= level <= low[1]:
            return text
        moment = text if low[1] else self._iso(text)
        if moment is not None and "week" in self.parts and part in ("week", "year", "decade"):
            moment = _week(moment)
        return None if moment is None else (_date if self.noun == "dates" else _time)(moment, part)

    def span(self, text: str) -> DateSpan | None:
        """The days of a label, or of a value; None where it is neither."""
        iso = text if self.levels(text)[1] else self._iso(text)
        return None if iso is None else DateSpan.of(iso)

    def _iso(self, text: str) -> str | None:
        """A value as ISO has it."""
        if week := re.fullmatch(r"(\d{4})-?W(\d{2})(-?[1-7])?", text.strip()):
            return f"{week[1]}-W{week[2]}"
        if self.format is None and not self.utc:
            return text.strip().replace(" ", "T")
        try:
            bare = text.strip()
            if self.format is None:
                moment = datetime.fromisoformat(re.sub(r"\s+([Z+-])", r"\1", bare))
            else:
                moment = datetime.strptime(text, self.format)
        except ValueError:
            return None
        if moment.tzinfo is not None:
            moment = (moment.astimezone(timezone.utc) if self.utc else moment).replace(tzinfo=None)  # noqa: UP017
        return moment.strftime("%H:%M") if self.noun == "times" else moment.isoformat()


@dataclass(frozen=True)
class DateSpan:
    """The days of a label of dates, as ISO has them; the time as well where the label has one. Months have 31 days,
    which orders them rightly."""

    first: str
    last: str

    @classmethod
    def of(cls, label: str) -> DateSpan | None:
        """The span of a part of a date, or of a date as ISO has it; None for any other text."""
        if re.fullmatch(r"\d{3}0s", label):
            return cls(f"{label[:4]}-01-01", f"{label[:3]}9-12-31")
        if quarter := re.fullmatch(r"(\d{4})-Q([1-4])", label):
            year, last = quarter[1], int(quarter[2]) * 3
            return cls(f"{year}-{last - 2:02}-01", f"{year}-{last:02}-31")
        if not re.match(r"\d{4}(?:-\d{2}(?:-\d{2}|$)|$)", label):
            return None
        return cls(label + "-01-01"[len(label) - 4 :], (label + "-12-31"[len(label) - 4 :])[:10])

    def beyond(self, code: DateSpan, sign: int, *, is_open: bool) -> bool:
        """Whether a label tells something apart beyond a bottom code (`sign` -1) or a top code (1). `is_open`: it
        stands for all that lies beyond it on that side as well."""
        if sign > 0:
            return self.first > code.first or (not is_open and self.first == code.first and self.last < code.last)
        return self.last < code.last or (not is_open and self.last == code.last and self.first > code.first)


def _week(iso: str) -> str | None:
    """The week of a date, or a week, of which a label of years is none."""
    if "W" in iso or len(iso) < 10:
        return iso
    year, week, _ = date.fromisoformat(iso[:10]).isocalendar()
    return f"{year:04}-W{week:02}"


def _date(iso: str, part: str) -> str | None:
    """A part of a date, of one that is as fine or finer."""
    if part == "decade":
        return f"{iso[:3]}0s"
    if part == "week" and "W" in iso:
        return iso
    if part == "quarter" and re.match(r"\d{4}-\d{2}", iso):
        return f"{iso[:4]}-Q{(int(iso[5:7]) + 2) // 3}"
    length = {"minute": 16, "hour": 13, "day": 10, "month": 7, "year": 4}.get(part, 99)
    return iso[: min(length, 10) if len(iso) == 10 else length] if len(iso) >= min(length, 10) else None


def _time(iso: str, part: str) -> str | None:
    """A part of a time, of one that is as fine or finer."""
    hours = {"hour": 1, "six-hours": 6, "half-day": 12}.get(part)
    if hours is None:
        return iso[:5]
    first = int(iso[:2]) // hours * hours
    return f"{first:02}:00-{first + hours - 1:02}:59"


@dataclass(frozen=True)
class PooledText(LabelText):
    """Frequent values, and one label for all others. `counts`: rows of each value of the original, where they are at
    hand; without them a value may be frequent or not."""

    label: str
    below: int
    counts: Mapping[str, int] | None
    height = 2

    def levels(self, text: str) -> tuple[int, int] | None:
        if text == self.label:
            return 1, 1
        if self.counts is None or text not in self.counts:
            return None
        return 0, int(self.counts[text] >= self.below)

    def above(self, text: str, level: int) -> str | None:
        levels = self.levels(text)
        if level == 0 or levels is None:
            return text if levels is not None else None
        return text if levels[1] else self.label


class FlatText(LabelText):
    """Values with nothing above them but the root."""

    height = 1

    def levels(self, text: str) -> tuple[int, int]:
        return 0, 0

    def above(self, text: str, level: int) -> str:
        return text


@dataclass(frozen=True)
class CodeText(LabelText):
    """Levels of a published system of codes: the first characters followed by `*`, ranges of codes, and chapters with
    their number before their range."""

    system: SystemName

    @property
    def height(self) -> int:  # type: ignore[override]
        return len(SYSTEMS[self.system].levels) + 1

    def levels(self, text: str) -> tuple[int, int]:
        known = SYSTEMS[self.system].levels
        places = {level: number for number, level in enumerate(known, 1)}
        if re.fullmatch(r"[A-Z0-9]+ [0-9A-Z]+-[0-9A-Z]+", text) and "chapter" in places:
            return places["chapter"], places["chapter"]
        if re.fullmatch(r"[0-9A-Z]+-[0-9A-Z]+", text) and "block" in places:
            return places["block"], places["block"]
        if not text.endswith("*"):
            return 0, 0
        kept = len(self._bare(text))
        fits = [number for number, level in enumerate(known, 1) if isinstance(level, int) and level >= kept]
        same = [number for number, level in enumerate(known, 1) if level == kept]
        return (same or [1])[0], max(fits, default=0)

    def above(self, text: str, level: int) -> str | None:
        low, high = self.levels(text)
        if low <= level <= high:
            return text
        part, key = SYSTEMS[self.system].levels[level - 1], SYSTEMS[self.system].key
        if isinstance(part, int):
            kept = self._bare(text)[:part]
            return None if high > level else f"{kept[:key]}.{kept[key:]}*" if self._dotted(kept) else f"{kept}*"
        first = text.rpartition(" ")[2].partition("-")[0] if high and not text.endswith("*") else self._bare(text)
        inside = [each for each in ranges(self.system) if each.first <= first[:key] <= each.last]
        exact = [each for each in inside if each.first == each.last] or inside
        if not exact or len(first) < key:
            return None
        own = [each for each in ranges(self.system) if each.chapter == exact[-1].chapter]
        return str(exact[-1]) if part == "block" else f"{own[0].chapter} {own[0].first}-{own[-1].last}"

    def _bare(self, text: str) -> str:
        """A code, or what is kept of one, without what says nothing."""
        bare = text.removesuffix("*")
        return (compact(self.system, bare) or bare.replace(".", "")) if bare == text else bare.replace(".", "")

    def _dotted(self, kept: str) -> bool:
        return bool(SYSTEMS[self.system].ignored) and len(kept) > SYSTEMS[self.system].key


@dataclass(frozen=True)
class AreaText(LabelText):
    """Areas of ZIP codes, of which small ones are one. `populations`: the table that says which are not."""

    populations: Path
    height = 2

    def levels(self, text: str) -> tuple[int, int]:
        return (1, 1) if text == SMALL or text in {f"{area}*" for area in large_areas(self.populations)} else (0, 0)

    def above(self, text: str, level: int) -> str:
        if level == 0 or self.levels(text)[1]:
            return text
        return f"{text[:3]}*" if text[:3] in large_areas(self.populations) else SMALL
