"""A saved recoding applied to rows: which class each of them falls into, and what falls outside.

A row is *outside* when one of these holds:

- the recoding does not know one of its values;
- one of its numbers lies beyond all that the recoding was made from;
- the release suppressed its class;
- its class does not span one of its values (regions cover all values, but what is released of a region spans only the
  values that it had);
- no class of the release has its combination of values.

Unknown values and suppressed classes make a row suppressed; the others are shown, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import polars as pl

from anonymize import __version__
from anonymize.classes import Bools, Floats, Ints, mixed_radix
from anonymize.errors import Problem, SpecError, UsageError
from anonymize.recoding.columns import CutTree, RecodedColumn, Released
from anonymize.recoding.saved import Attribute, Box, Indices, OutputBlock, Saved, SavedColumn, SavedTree, TableBlock
from anonymize.recoding.saved.attributes import MISSING, Places, places
from anonymize.records import dataclass
from anonymize.spec import POINT, Spec
from anonymize.spec.columns import WITHHELD
from anonymize.table import Table, encode

# --- saving -----------------------------------------------------------------------------------------------------------
# From what an algorithm found to a saved recoding: what differs between kinds, and the refusal to save one.


@dataclass(frozen=True)
class Contents:
    """The keys of `Saved` that depend on the kind of recoding."""

    kind: Literal["regions", "segments"]
    attributes: tuple[Attribute, ...]
    columns: tuple[SavedColumn, ...]
    boxes: dict[str, Box]
    tree: SavedTree | None = None
    classes: tuple[Indices, ...] = ()
    suppressed: tuple[Indices, ...] = ()


def refusal(reason: str) -> UsageError:
    """The error for a recoding that cannot be saved."""
    return UsageError(Problem(f"the recoding cannot be saved: {reason}", hint="leave out --save-recoding"))


def saved_columns(released: Released, class_of: Callable[[str], Ints]) -> tuple[SavedColumn, ...]:
    """The released columns; `class_of` an attribute gives the class of the release that each entry reads as, or -1."""
    columns = []
    for column in released.columns:
        classes = class_of(column.attribute)
        none: Bools = classes < 0
        texts = np.where(none, -1, column.of_class[classes].astype(np.int64))
        columns.append(
            SavedColumn(
                name=column.name,
                attribute=column.attribute,
                texts=tuple(column.texts.to_list()),
                shown=tuple(texts.tolist()),
            )
        )
    return tuple(columns)


class Savable(Protocol):
    """A recoding that knows what is saved of it."""

    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        """What depends on its kind. Raises UsageError where it cannot be saved."""


def save(recoding: Savable, table: Table, released: Released, spec: Spec, algorithm: str, *, drop: bool) -> Saved:
    """The recoding of a release as a function of the values of its quasi-identifiers.

    `released` is what it was rendered as, `drop` what `render` was given. The rows of the table, recoded with what is
    saved, show the same texts as in the release. Raises UsageError where no function of the values does that.
    """
    contents = recoding.contents(table, released, spec)
    return Saved(
        tool=__version__,
        algorithm=algorithm,
        table=_table(spec),
        output=OutputBlock(
            suppressed=spec.output.suppressed,
            suppressed_rows="drop" if drop else "keep",
            row_order=spec.output.row_order,
            numeric=spec.output.numeric,
            interval=spec.output.interval,
            open_high=spec.output.open_high,
            open_low=spec.output.open_low,
        ),
        **vars(contents),
    )


def _table(spec: Spec) -> TableBlock:
    roles = spec.roles()
    others = [name for name, role in roles.items() if role != "quasi-identifier" and role not in WITHHELD]
    table, notations = spec.input, {name: spec.notation(name) for name in spec.quasi_identifiers}
    return TableBlock(
        separator=table.separator,
        missing=table.missing,
        encoding=table.encoding,
        identifiers=tuple(name for name, role in roles.items() if role in WITHHELD),
        others=tuple(others),
        normalize=table.normalize,
        header=table.header,
        unnamed=table.unnamed,
        numbers={name: each.settings for name, each in notations.items() if each != POINT},
    )


# --- recoding ---------------------------------------------------------------------------------------------------------

NAMES = ("unknown", "out_of_range", "outside_interval")
"""What is counted for each attribute."""


@dataclass(frozen=True)
class Counts:
    """How many of some `rows` are `outside`, and why; a row may be outside for several reasons.

    `unknown`: a value that the recoding does not know. `out_of_range`: a number beyond all that it was made from.
    `suppressed_class`: a class that the release suppressed, or a value that it showed in no row. `outside_interval`: a
    value that the row's class does not span. `new_combination`: known values that no class of the release has together.
    `suppressed`: rows that are suppressed, `unknown` and `suppressed_class` together. `attributes`: the counts of
    NAMES, by attribute.
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
    """What becomes of rows.

    `class_of`, `lost`, `new` (rows,): the class, numbered in any way; whether the release suppressed it; whether it is
    a new combination. `entry` (attributes, rows): the index of each cell in `SavedColumn.text_of` and in the boxes.
    """

    class_of: Ints
    lost: Bools
    new: Bools
    entry: Ints


def recoder(saved: Saved, columns: Mapping[str, encode.DistinctValues]) -> Recoded:
    """Recodes rows, given as the columns (rows,) of all quasi-identifiers of the recoding, by name.

    Raises SpecError for numbers of the recoding that do not fit together, or fit into no array: nobody but who damaged
    the file can bring them about.
    """
    try:
        return _Application(saved, columns).recoded()
    except (LookupError, ValueError, TypeError, ArithmeticError):
        raise SpecError("the saved recoding is damaged: its numbers do not fit together") from None


@dataclass(frozen=True)
class _Application:
    saved: Saved
    columns: Mapping[str, encode.DistinctValues]

    @cached_property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())).codes)

    def recoded(self) -> Recoded:
        columns = [(attribute, self.columns[attribute.name]) for attribute in self.saved.attributes]
        rows = [places(attribute, column, self.saved.output).of_rows(column.codes) for attribute, column in columns]
        segments = np.stack([each.segment for each in rows])
        fate = self._in_tree(segments) if self.saved.kind == "regions" else self._in_segments(segments)
        flags = self._flags(rows, fate)
        unknown = np.any([each["unknown"] for each in flags.values()], axis=0)
        lost = (fate.lost | self._unshown(fate.entry)) & ~unknown
        gone = unknown | lost
        for each in flags.values():
            each["outside_interval"] &= ~gone
        released = self._released(fate, gone)
        return Recoded(released, self._counts(flags, unknown, lost, fate.new & ~gone))

    def _flags(self, rows: Sequence[Places], fate: _Fate) -> dict[str, dict[str, Bools]]:
        """(rows,) by attribute and by the reasons of NAMES, whether each value is outside."""
        flags = {}
        for index, (attribute, place) in enumerate(zip(self.saved.attributes, rows, strict=True)):
            outside = self._outside(attribute.name, place, fate.entry[index])
            unknown = (place.segment < 0) | (place.near & outside)
            flags[attribute.name] = dict(zip(NAMES, (unknown, place.beyond, outside & ~unknown), strict=True))
        return flags

    # --- which class ---

    def _in_tree(self, segments: Ints) -> _Fate:
        """Down the tree; a row with an unknown value goes anywhere, as it will be suppressed."""
        assert self.saved.tree is not None
        parts = self.saved.tree.model_dump()
        tree = CutTree(**{name: np.array(part, np.int64) for name, part in parts.items()})
        class_of = tree.classes_of(segments)
        none = np.zeros(self.rows, np.bool_)
        return _Fate(class_of, none, none, np.broadcast_to(class_of, segments.shape))

    def _in_segments(self, segments: Ints) -> _Fate:
        """One class for each combination of segments; unknown values are combined as if they were in the first one.

        Rows and the combinations of the release get their numbers together, so that equal numbers mean equal segments.
        """
        entry = np.maximum(segments, 0)
        released, lost = (np.array(part, np.int64) for part in (self.saved.classes, self.saved.suppressed))
        both = np.concatenate((entry, released, lost), axis=1)
        key, _ = mixed_radix(list(both), [attribute.segments for attribute in self.saved.attributes])
        rows, kept_keys, suppressed = np.split(key, [self.rows, self.rows + released.shape[1]])
        is_lost = np.isin(rows, suppressed)
        return _Fate(rows, is_lost, ~is_lost & ~np.isin(rows, kept_keys), entry)

    # --- what is outside ---

    def _outside(self, name: str, place: Places, entry: Ints) -> Bools:
        """(rows,) whether each value lies outside what its class, or segment, spans."""
        box = self.saved.boxes.get(name)
        if box is None or not self.rows:
            return np.zeros(self.rows, np.bool_)
        low = _ends(box.low, -np.inf)[entry]
        high = _ends(box.high, np.inf)[entry]
        outside = (place.low < low) | (place.high > high)
        if box.missing:
            spanned = np.array(box.missing, np.bool_)[entry]
            outside = np.where(place.high == MISSING, ~spanned, outside)
        if box.nodes:  # a parent's number is above its children's
            outside |= place.near & (place.node > np.array(box.nodes)[entry])
        return np.asarray((place.segment >= 0) & outside)

    def _unshown(self, entry: Ints) -> Bools:
        """(rows,) whether a cell lies in a segment that the release did not show."""
        unshown = np.zeros(self.rows, np.bool_)
        for column in self.saved.columns:
            unshown |= (np.array(column.text_of, np.int64) < 0)[entry[self._number(column.attribute)]]
        return unshown

    def _number(self, name: str) -> int:
        return [attribute.name for attribute in self.saved.attributes].index(name)

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
        _, first, number = np.unique(fate.class_of, return_index=True, return_inverse=True)
        class_of = np.where(gone, len(first), number).astype(np.int32)
        drop = self.saved.output.suppressed_rows == "drop"
        if drop:
            class_of[gone] = -1
        count = int(gone.sum())
        return Released(
            class_of=class_of,
            columns=tuple(self._column(column, fate.entry[:, first]) for column in self.saved.columns),
            sizes=np.bincount(number[~gone], minlength=len(first)),
            ncp=(),
            loss=(),
            suppressed_rows=count,
            dropped_rows=count if drop else 0,
        )

    def _column(self, column: SavedColumn, entry: Ints) -> RecodedColumn:
        """A column, from the entry (attributes, classes) of a row of each class."""
        texts = pl.Series([*column.texts, self.saved.output.suppressed], dtype=pl.String)
        of_class = np.array(column.text_of, np.int64)[entry[self._number(column.attribute)]]
        return RecodedColumn(column.name, column.attribute, texts, np.append(of_class, len(texts) - 1))


def _ends(values: tuple[float | None, ...], none: float) -> Floats:
    return np.array([none if value is None else value for value in values], np.float64)
