"""At which levels of a hierarchy a released cell stands, as its text says: a reader of the second opinion's own.

Of a file, labels are looked up in it. Of a builder, they are known by how they read, so that no value of the original
is needed: masked characters and kept ones are counted, parts of dates and of times have each a form of its own, and the
ends of intervals are multiples of a width. Leaves that are counted from 0, as two columns of bounds have them, can be
placed only where the leaves are known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import floor, isfinite
from pathlib import Path

from anonymize.records import dataclass
from anonymize.spec import Codes, Intervals, Mask, NumberBands, Parts, Prefix, QuasiIdentifier, Rare, Zip3
from anonymize.verify import cells, label_texts
from anonymize.verify.verdict import Tree


@dataclass(frozen=True)
class Extent:
    """What a cell shows of a hierarchy. `finest`: the highest level of which it shows whole nodes; `widest`: the lowest
    level of which one node holds it all. Each from what is sure to what is possible, which differ where one label is
    that of several nodes; `known` is False where nothing is known."""

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
        """The extent of a cell which names some labels, or says the first and the last leaf under it."""


def reader_of(definition: QuasiIdentifier, tree: Tree | None, counts: Mapping[str, int] | None) -> LevelReader:
    """What reads the labels of a column of categories. `tree`, `counts`: see `codes.Declared`."""
    text: label_texts.LabelText = label_texts.FlatText()
    match definition.hierarchy:
        case Path():
            return Listed(tree or {})
        case Mask(mask=side):
            text = label_texts.MaskText(side)
        case Prefix(prefix=lengths):
            text = label_texts.PrefixText(lengths)
        case Parts() as parts:
            text = label_texts.MomentText(parts.KEY, parts.levels, parts.format, parts.utc)
        case Codes(codes=system):
            text = label_texts.CodeText(system)
        case Zip3(zip3=populations):
            text = label_texts.AreaText(populations)
        case Rare(rare=pool):
            text = label_texts.PooledText(pool.label, pool.below, counts)
    return BuiltLabels(text, tree)


# --- of a file --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelNode:
    """The leaves from `first` to `last`, and the highest level at which they are one node."""

    first: int
    last: int
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
            nodes.setdefault(label, []).append(LabelNode(first, last, max(levels)))
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

    @cached_property
    def ends(self) -> list[tuple[frozenset[int], frozenset[int]]]:
        """(levels,) the first leaves of the nodes of a level, and the last ones."""
        return [(frozenset(first for first, _ in runs), frozenset(last for _, last in runs)) for runs in self.runs]

    def extent(self, members: Sequence[str], positions: tuple[int, int] | None = None) -> Extent:
        """A label that several nodes have is read as the widest of them."""
        if positions is not None:
            return self.of_leaves(*positions)
        named = [self.nodes.get(label, []) for label in members]
        if not named or not all(named):
            return UNKNOWN
        widest = [max(nodes, key=lambda node: (node.last - node.first, node.high)) for nodes in named]
        finest = min(node.high for node in widest)
        above = self._above(min(node.first for node in widest), max(node.last for node in widest))
        return Extent((finest, finest), (above, above))

    def of_leaves(self, first: int, last: int) -> Extent:
        """The extent of all leaves from the first to the last; one more than there are is the missing one, which is
        exempt. Of all of them nothing is shown, as of a suppressed cell."""
        last -= last == len(self.paths) and first < last
        if first == 0 and last == len(self.paths) - 1:
            return Extent((self.height, self.height), (0, 0))
        if not 0 <= first <= last < len(self.paths):
            return UNKNOWN
        whole = (level for level, (starts, stops) in enumerate(self.ends) if first in starts and last in stops)
        level, above = max(whole, default=0), self._above(first, last)
        return Extent((level, level), (above, above))

    def _above(self, first: int, last: int) -> int:
        """The lowest level of which one node has all leaves from the first to the last."""
        paths = self.paths
        return next((level for level in range(self.height) if paths[first][level:] == paths[last][level:]), self.height)


# --- of a builder -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BuiltLabels(LevelReader):
    """A hierarchy whose labels say where they stand. `tree`: over the values of the original, where that is known."""

    text: label_texts.LabelText
    tree: Tree | None

    def extent(self, members: Sequence[str], positions: tuple[int, int] | None = None) -> Extent:
        if positions is not None:
            return UNKNOWN if self.tree is None else Listed(self.tree).of_leaves(*positions)
        levels = [self.text.levels(label) for label in members]
        known = [each for each in levels if each is not None]
        if not known or len(known) < len(levels):
            return UNKNOWN
        finest, widest = min(high for _, high in known), max(low for low, _ in known)
        if len(members) > 1:
            last = min(self.text.height, max(map(len, members)) + 1) if self.text.unbounded else self.text.height
            labels = self.text.aligned(members)
            widest = next((level for level in range(widest, last) if self._one(labels, level)), last)
        return Extent((finest, finest), (widest, widest))

    def _one(self, members: Sequence[str], level: int) -> bool:
        above = {self.text.above(label, level) for label in members}
        return len(above) == 1 and None not in above


# --- of numbers -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumberLevels:
    """The levels of a hierarchy of numbers: intervals of some widths, bands that begin at some numbers, or the nodes of
    a file."""

    widths: Sequence[float] = ()
    bands: Sequence[Sequence[float]] = ()
    listed: Listed | None = None

    @classmethod
    def of(cls, definition: QuasiIdentifier, tree: Tree | None) -> NumberLevels:
        """The declared levels of a numeric column. `tree`: see `codes.Declared`."""
        if isinstance(definition.hierarchy, Intervals):
            return cls(definition.hierarchy.intervals)
        if isinstance(definition.hierarchy, NumberBands):
            return cls(bands=definition.hierarchy.bands)
        return cls(listed=None if tree is None else Listed(tree))

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.widths or self.bands) + 1 if self.listed is None else self.listed.height

    def extent(self, text: str | None, low: float | None, high: float | None, without: tuple[bool, bool]) -> Extent:
        """The extent of a cell with these ends, infinite where open, of which it may be `without` one; or with a
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
        if self.bands:
            after = high if half_open else high + 1
            return all(not isfinite(end) or end in self.bands[level - 1] for end in (low, after))
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
        if self.bands:
            bounds = self.bands[level - 1]
            inside = half_open and high in bounds
            return bisect_right(bounds, low) == bisect_right(bounds, high) - inside
        width = exact(self.widths[level - 1])
        first, last = exact(low) / width, exact(high) / width
        return floor(first) == (floor(last) - 1 if half_open and last.denominator == 1 else floor(last))

    @cached_property
    def _numbers(self) -> list[float | None]:
        """The number of each leaf."""
        assert self.listed is not None
        return [cells.as_number(path[0]) for path in self.listed.paths]

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
