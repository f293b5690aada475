"""A saved recoding applied to rows: which class each of them falls into, and what falls outside.

A row is *outside* when a value of it is unknown to the recoding, a number lies beyond all that the recoding was made
from, its class is one that the release suppressed, its value is none of what its class spans (regions cover all values,
and what is released of one spans only the values that it had), or its combination of values is one that no class of the
release has. Unknown values and suppressed classes make a row suppressed; the others are shown, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from anonymize.classes import Bools, Floats, Ints, mixed_radix
from anonymize.recoding.columns import ReleasedColumn
from anonymize.recoding.released import Released
from anonymize.recoding.saved.model import Saved
from anonymize.recoding.saved.places import Places, places
from anonymize.recoding.tree import Tree
from anonymize.table.encode import DistinctValues

NAMES = ("unknown", "out_of_range", "outside_interval")
"""What is counted of each attribute."""


@dataclass(frozen=True)
class Counts:
    """Of some rows: how many are outside, and why; one may be outside for several reasons.

    `unknown`: a value that the recoding does not know. `out_of_range`: a number beyond all that it was made from.
    `suppressed_class`: a class that the release suppressed, or a value that it showed in no row. `outside_interval`: a
    value that is none of those its class spans. `new_combination`: values which are known, and which no class of the
    release has together. `suppressed`: rows that are suppressed, `unknown` and `suppressed_class` together.
    `attributes`: by name, the counts of NAMES.
    """

    rows: int
    outside: int
    unknown: int
    out_of_range: int
    suppressed_class: int
    outside_interval: int
    new_combination: int
    suppressed: int
    attributes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Recoded:
    """What rows become: the release as it is written, and how many are outside."""

    released: Released
    counts: Counts


@dataclass(frozen=True)
class _Fate:
    """(rows,) each: the class, numbered in any way; whether it was suppressed; whether it is a new combination.
    `entry` (attributes, rows): what of `Column.shown` and of the boxes each cell has."""

    of: Ints
    lost: Bools
    new: Bools
    entry: Ints


def recoder(saved: Saved, columns: Mapping[str, DistinctValues]) -> Recoded:
    """Recodes rows that come as the columns (rows,) of all quasi-identifiers of the recoding, by name."""
    return _Recoding(saved, columns).recoded()


@dataclass(frozen=True)
class _Recoding:
    saved: Saved
    columns: Mapping[str, DistinctValues]

    @cached_property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())).codes)

    def recoded(self) -> Recoded:
        attributes = self.saved.attributes
        found = [self._places(index) for index in range(len(attributes))]
        segments = np.stack([each.segment for each in found])
        fate = self._in_tree(segments) if self.saved.kind == "regions" else self._in_segments(segments)
        lost = fate.lost.copy()
        flags: dict[str, dict[str, Bools]] = {}
        for index, (attribute, place) in enumerate(zip(attributes, found, strict=True)):
            outside = self._outside(attribute.name, place, fate.entry[index])
            unknown = (place.segment < 0) | (place.near & outside)
            flags[attribute.name] = dict(zip(NAMES, (unknown, place.beyond, outside & ~unknown), strict=True))
        unknown = np.any([each["unknown"] for each in flags.values()], axis=0)
        lost = (fate.lost | self._unshown(fate.entry)) & ~unknown
        gone = unknown | lost
        for each in flags.values():
            each["outside_interval"] &= ~gone
        released = self._released(fate, gone)
        return Recoded(released, self._counts(flags, unknown, lost, fate.new & ~gone))

    def _places(self, index: int) -> Places:
        attribute = self.saved.attributes[index]
        column = self.columns[attribute.name]
        return places(attribute, column).of_rows(column.codes)

    # --- which class ---

    def _in_tree(self, segments: Ints) -> _Fate:
        """Down the tree; a row with an unknown value goes anywhere."""
        assert self.saved.tree is not None
        parts = self.saved.tree.model_dump()
        tree = Tree(**{name: np.array(part, np.int64) for name, part in parts.items()})
        of = tree.classes_of(segments)
        none = np.zeros(self.rows, np.bool_)
        return _Fate(of, none, none, np.broadcast_to(of, segments.shape))

    def _in_segments(self, segments: Ints) -> _Fate:
        """One class for each combination of segments; unknown values are combined as if they were the first."""
        entry = np.maximum(segments, 0)
        kept, lost = (np.array(found, np.int64) for found in (self.saved.classes, self.saved.suppressed))
        both = np.concatenate((entry, kept, lost), axis=1)
        key, _ = mixed_radix(list(both), [attribute.segments for attribute in self.saved.attributes])
        rows, known, suppressed = np.split(key, [self.rows, self.rows + kept.shape[1]])
        is_lost = np.isin(rows, suppressed)
        return _Fate(rows, is_lost, ~is_lost & ~np.isin(rows, known), entry)

    # --- what is outside ---

    def _outside(self, name: str, place: Places, entry: Ints) -> Bools:
        """(rows,) whether each value is none of those that its class, or segment, spans."""
        box = self.saved.boxes.get(name)
        if box is None or not self.rows:
            return np.zeros(self.rows, np.bool_)
        low = _ends(box.low, -np.inf)[entry]
        high = _ends(box.high, np.inf)[entry]
        outside = (place.low < low) | (place.high > high)
        if box.nodes:  # a parent's number is above its children's
            outside |= place.near & (place.node > np.array(box.nodes)[entry])
        return np.asarray((place.segment >= 0) & outside)

    def _unshown(self, entry: Ints) -> Bools:
        """(rows,) whether a cell lies in a segment that the release did not show."""
        found = np.zeros(self.rows, np.bool_)
        index = {attribute.name: at for at, attribute in enumerate(self.saved.attributes)}
        for column in self.saved.columns:
            found |= (np.array(column.shown, np.int64) < 0)[entry[index[column.attribute]]]
        return found

    def _counts(self, flags: Mapping[str, Mapping[str, Bools]], unknown: Bools, lost: Bools, new: Bools) -> Counts:
        of_rows = {name: np.any([each[name] for each in flags.values()], axis=0) for name in NAMES}
        outside = unknown | lost | new | of_rows["out_of_range"] | of_rows["outside_interval"]
        return Counts(
            rows=self.rows,
            outside=int(outside.sum()),
            unknown=int(unknown.sum()),
            out_of_range=int(of_rows["out_of_range"].sum()),
            suppressed_class=int(lost.sum()),
            outside_interval=int(of_rows["outside_interval"].sum()),
            new_combination=int(new.sum()),
            suppressed=int((unknown | lost).sum()),
            attributes={name: {reason: int(of.sum()) for reason, of in each.items()} for name, each in flags.items()},
        )

    # --- what it reads ---

    def _released(self, fate: _Fate, gone: Bools) -> Released:
        """The classes that have rows, numbered by their first row, and the suppressed one after them."""
        _, first, number = np.unique(fate.of, return_index=True, return_inverse=True)
        class_of = np.where(gone, len(first), number).astype(np.int32)
        drop = self.saved.output.suppressed_rows == "drop"
        if drop:
            class_of[gone] = -1
        count = int(gone.sum())
        return Released(
            class_of=class_of,
            columns=tuple(self._column(index, fate.entry[:, first]) for index in range(len(self.saved.columns))),
            sizes=np.bincount(number[~gone], minlength=len(first)),
            ncp=(),
            loss=(),
            suppressed_rows=count,
            dropped_rows=count if drop else 0,
        )

    def _column(self, index: int, entry: Ints) -> ReleasedColumn:
        """A column, from what each class (classes,) has of each attribute."""
        column = self.saved.columns[index]
        at = [attribute.name for attribute in self.saved.attributes].index(column.attribute)
        texts = [*column.texts, self.saved.output.suppressed]
        shown = np.array(column.shown, np.int64)[entry[at]]
        return ReleasedColumn(column.name, column.attribute, texts, np.append(shown, len(texts) - 1))


def _ends(values: tuple[float | None, ...], none: float) -> Floats:
    return np.array([none if value is None else value for value in values], np.float64)
