"""At which levels of a hierarchy a released cell stands, told from its text: a reader of the second opinion's own.

Of a file, labels are looked up in it. Of a builder, they are known by how they read, so that no value of the original
is needed: masked characters and kept ones are counted, parts of dates and of times have each a form of its own, and the
ends of intervals are multiples of a width. Leaves that are counted from 0, as two columns of bounds have them, can be
placed only where the leaves are known.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from fractions import Fraction
from functools import cached_property
from math import floor, isfinite
from pathlib import Path

from anonymize.spec import Intervals, Mask, Parts, Prefix, QuasiIdentifier, Rare
from anonymize.verify.verdict import Tree


@dataclass(frozen=True)
class Extent:
    """What a cell shows of a hierarchy. `finest`: the highest level of which it shows whole nodes; `widest`: the lowest
    level of which one node holds it all. Each from what is sure to what is possible, which differ where one label is
    that of several nodes; `known` is False where nothing can be told."""

    finest: tuple[int, int] = (0, 0)
    widest: tuple[int, int] = (0, 0)
    known: bool = True

    def meets(self, least: int, most: int | None) -> bool:
        """Whether it is sure to lie between two levels."""
        return self.known and self.finest[0] >= least and (most is None or self.widest[1] <= most)

    def fails(self, least: int, most: int | None) -> bool:
        """Whether it is sure not to."""
        return self.known and (self.finest[1] < least or (most is not None and self.widest[0] > most))


UNKNOWN = Extent(known=False)


class LevelReader(ABC):
    """The levels of one hierarchy of categories."""

    @abstractmethod
    def extent(self, members: Sequence[str], positions: tuple[int, int] | None = None) -> Extent:
        """That of a cell which names some labels, or says the first and the last leaf under it."""


def reader_of(definition: QuasiIdentifier, tree: Tree | None, counts: Mapping[str, int] | None) -> LevelReader:
    """What reads the labels of a column of categories. `tree`, `counts`: see `codes.Declared`."""
    source = definition.hierarchy
    if isinstance(source, Path):
        return Listed(tree or {})
    if isinstance(source, Mask):
        return BuiltLabels(MaskText(source.mask), tree)
    if isinstance(source, Prefix):
        return BuiltLabels(PrefixText(source.prefix), tree)
    if isinstance(source, Parts):
        return BuiltLabels(MomentText(source.KEY, source.levels, source.format, source.utc), tree)
    if isinstance(source, Rare):
        return BuiltLabels(PooledText(source.rare.label, source.rare.below, counts), tree)
    return BuiltLabels(FlatText(), tree)


# --- of a file --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelNode:
    """The leaves from `first` to `last`, and the levels on which they stand together, from `low` to `high`."""

    first: int
    last: int
    low: int
    high: int


@dataclass(frozen=True)
class Listed(LevelReader):
    """A hierarchy of which every leaf is known."""

    tree: Tree

    @cached_property
    def paths(self) -> list[tuple[str, ...]]:
        """The labels from each leaf to the root; the leaf of a short path stands for its lower levels."""
        height = max(map(len, self.tree.values()), default=1)
        return [(*path[:1] * (height - len(path)), *path) for path in self.tree.values()]

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.paths[0]) - 1 if self.paths else 0

    @cached_property
    def nodes(self) -> dict[str, list[LabelNode]]:
        """The nodes of each label: leaves side by side that share it and everything above it. A node that stands on
        several levels is one."""
        places: dict[tuple[str, int, int], list[int]] = {}
        for level in range(self.height + 1):
            for first, last in self.runs[level]:
                places.setdefault((self.paths[first][level], first, last), []).append(level)
        nodes: dict[str, list[LabelNode]] = {}
        for (label, first, last), levels in places.items():
            nodes.setdefault(label, []).append(LabelNode(first, last, min(levels), max(levels)))
        return nodes

    @cached_property
    def runs(self) -> list[list[tuple[int, int]]]:
        """(levels,) the first and the last leaf of each node of a level."""
        runs = []
        for level in range(self.height + 1):
            above = [path[level:] for path in self.paths]
            starts = [place for place in range(len(above)) if not place or above[place] != above[place - 1]]
            runs.append([(first, stop - 1) for first, stop in zip(starts, [*starts[1:], len(above)], strict=True)])
        return runs

    def extent(self, members: Sequence[str], positions: tuple[int, int] | None = None) -> Extent:
        """See `LevelReader`. A label that is that of several nodes is read as the widest of them."""
        if positions is not None:
            return self.of_leaves(*positions)
        named = [self.nodes.get(label, []) for label in members]
        if not named or not all(named):
            return UNKNOWN
        widest = [max(nodes, key=lambda node: (node.last - node.first, node.high)) for nodes in named]
        finest, above = min(node.high for node in widest), self._above(widest)
        return Extent((finest, finest), (above, above))

    def of_leaves(self, first: int, last: int) -> Extent:
        """That of all leaves from the first to the last; one more than there are is the missing one, which is exempt.
        Of all of them nothing is shown, as of a suppressed cell."""
        last -= last == len(self.paths) and first < last
        if first == 0 and last == len(self.paths) - 1:
            return Extent((self.height, self.height), (0, 0))
        if not 0 <= first <= last < len(self.paths):
            return UNKNOWN
        fine = [level for level in range(self.height + 1) if self._parts(level, first, last)]
        level = max(fine, default=0)
        above = self._above([LabelNode(first, last, 0, 0)])
        return Extent((level, level), (above, above))

    def _parts(self, level: int, first: int, last: int) -> bool:
        """Whether leaves are whole nodes of a level."""
        runs = self.runs[level]
        return any(run[0] == first for run in runs) and any(run[1] == last for run in runs)

    def _above(self, nodes: Sequence[LabelNode]) -> int:
        """The lowest level of which one node holds them all."""
        first, last = min(node.first for node in nodes), max(node.last for node in nodes)
        paths = self.paths
        return next((level for level in range(self.height) if paths[first][level:] == paths[last][level:]), self.height)


# --- of a builder -----------------------------------------------------------------------------------------------------


class LabelText(ABC):
    """How the labels of a builder read."""

    @abstractmethod
    def levels(self, text: str) -> tuple[int, int] | None:
        """The lowest and the highest level at which a label stands; None where that cannot be told."""

    @abstractmethod
    def above(self, text: str, level: int) -> str | None:
        """How the node of a level above a label reads; None where there is none or it cannot be told."""

    def aligned(self, texts: Sequence[str]) -> Sequence[str]:
        """Labels as they can be compared."""
        return texts

    height: int


@dataclass(frozen=True)
class BuiltLabels(LevelReader):
    """A hierarchy whose labels say where they stand. `tree`: over the values of the original, where that is known."""

    text: LabelText
    tree: Tree | None

    def extent(self, members: Sequence[str], positions: tuple[int, int] | None = None) -> Extent:
        """See `LevelReader`."""
        if positions is not None:
            return UNKNOWN if self.tree is None else Listed(self.tree).of_leaves(*positions)
        levels = [self.text.levels(label) for label in members]
        known = [each for each in levels if each is not None]
        if not known or len(known) < len(levels):
            return UNKNOWN
        finest, widest = min(high for _, high in known), max(low for low, _ in known)
        if len(members) > 1:
            last = min(self.text.height, max(map(len, members)) + 1)
            labels = self.text.aligned(members)
            widest = next((level for level in range(widest, last) if self._one(labels, level)), last)
        return Extent((finest, finest), (widest, widest))

    def _one(self, members: Sequence[str], level: int) -> bool:
        above = {self.text.above(label, level) for label in members}
        return len(above) == 1 and None not in above


@dataclass(frozen=True)
class MaskText(LabelText):
    """Characters replaced by `*` from one side on."""

    side: str
    height = 1 << 30

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
        return None if moment is None else (_date if self.noun == "dates" else _time)(moment, part)

    def span(self, text: str) -> DateSpan | None:
        """The days of a label, or of a value; None where it is neither."""
        iso = text if self.levels(text)[1] else self._iso(text)
        return None if iso is None else DateSpan.of(iso)

    def _iso(self, text: str) -> str | None:
        """A value as ISO has it."""
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
        """That of a part of a date, or of a date as ISO has it; None for any other text."""
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


def _date(iso: str, part: str) -> str | None:
    """A part of a date, of one that is as fine or finer."""
    if part == "decade":
        return f"{iso[:3]}0s"
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


# --- of numbers -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumberLevels:
    """The levels of a hierarchy of numbers: intervals of some widths, or those of a file."""

    widths: Sequence[float] = ()
    listed: Listed | None = None

    @classmethod
    def of(cls, definition: QuasiIdentifier, tree: Tree | None) -> NumberLevels:
        """That of a column. `tree`: see `codes.Declared`."""
        if isinstance(definition.hierarchy, Intervals):
            return cls(definition.hierarchy.intervals)
        return cls(listed=None if tree is None else Listed(tree))

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.widths) + 1 if self.listed is None else self.listed.height

    def extent(self, text: str | None, low: float | None, high: float | None, without: tuple[bool, bool]) -> Extent:
        """That of a cell with these ends, infinite where they are open, of which it may be `without` one; or with a
        label."""
        if self.listed is not None and text is not None and text in self.listed.nodes:
            return self.listed.extent([text])
        if low is None or high is None:
            return UNKNOWN
        ends = self._ends if self.listed is None else self._listed_ends
        within = self._within if self.listed is None else self._listed_within
        first = low + without[0]  # of whole numbers, and only these can be told so
        fine = max((level for level in range(1, self.height) if ends(level, first, high, without[1])), default=0)
        wide = next((level for level in range(self.height) if within(level, low, high, without[1])), self.height)
        return Extent((0 if without[0] else fine, fine), (wide, wide))

    def _ends(self, level: int, low: float, high: float, half_open: bool) -> bool:
        """Whether an interval ends where intervals of a level do: of whole numbers, one before the next begins."""
        width = self.widths[level - 1]
        if isfinite(low) and not is_multiple(low, width):
            return False
        return not isfinite(high) or is_multiple(high if half_open else high + 1, width)

    def _within(self, level: int, low: float, high: float, half_open: bool) -> bool:
        """Whether an interval lies in one of a level; an open end shows nothing beyond the other one."""
        if not isfinite(low) or not isfinite(high):
            return True
        if level == 0:
            return low == high
        width = exact(self.widths[level - 1])
        first, last = exact(low) / width, exact(high) / width
        return floor(first) == (floor(last) - 1 if half_open and last.denominator == 1 else floor(last))

    @cached_property
    def _numbers(self) -> list[float | None]:
        """The number of each leaf."""
        assert self.listed is not None
        return [_number(path[0]) for path in self.listed.paths]

    @cached_property
    def _spans(self) -> list[list[tuple[float, float]]]:
        """(levels,) the lowest and the highest number under each node of a level."""
        assert self.listed is not None
        spans = []
        for level in range(self.height + 1):
            runs = [self._numbers[first : last + 1] for first, last in self.listed.runs[level]]
            some = [[number for number in run if number is not None] for run in runs]
            spans.append([(min(run), max(run)) for run in some if run])
        return spans

    def _listed_ends(self, level: int, low: float, high: float, half_open: bool) -> bool:
        starts, stops = zip(*self._spans[level], strict=True) if self._spans[level] else ((), ())
        return (not isfinite(low) or low in starts) and (not isfinite(high) or (high in stops and not half_open))

    def _listed_within(self, level: int, low: float, high: float, half_open: bool) -> bool:
        if not isfinite(low) or not isfinite(high):
            return True
        spans = self._spans[level]
        if half_open:  # nothing of another node lies before the end
            return any(first <= low <= last for first, last in spans) and not any(
                low < first < high for first, _ in spans
            )
        return any(first <= low and high <= last for first, last in spans)


def exact(number: float) -> Fraction:
    """A number as its shortest text says."""
    return Fraction(repr(number))


def is_multiple(number: float, step: float) -> bool:
    """Whether a number is a multiple of a step, as their texts say."""
    return (exact(number) / exact(step)).denominator == 1


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
