"""How a released cell reads: the one reader outside the second opinion, which has its own.

A cell is, in this order: suppressed; missing; a number; an interval as the spec's template writes it, whose brackets
say which of its ends it includes (a last `]` may be `)`); an interval with one end, the other being open (`77+`, and of
two bounds an empty one); a set of escaped values, `{a|b}`; anything else is a label. Numbers and intervals may be
followed by `or` and a text that means missing. Where edges are rounded, the upper of two bounds of decimals, which are
written with a decimal point, is no part of the interval.
Nothing is looked up here: whether there is such a label, and which values an interval covers, is for the caller to say.

Cells are read column by column, and every distinct text should be passed once. A new way of showing numbers is a kind,
and a line in `_in_order`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain.numeric import readings
from anonymize.records import dataclass
from anonymize.spec import blocks, model

NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""The text of a number, without spaces around it. Every character fits in one way only, so that nothing is tried
twice: an interval is taken apart in a quarter of the time."""

BLANK = "missing"
"""What stands for the text of missing values behind a number where that is empty: `[20-60] or missing`."""

_MEMBER = re.compile(r"\\(.)|(\|)|([^\\|]+|\\\Z)", re.DOTALL)
"""An escaped character, a bar, or text in which neither occurs (a backslash at the very end stands for itself)."""
_SUFFIX = " or "
"""Parts a number that may be missing from the text of missing values."""
_FIRST = 1000
"""Cells that are looked at before all others."""
_CELLS_AT_ONCE = 500
"""Cells up to which all shapes are tried on all of them: one query for each shape takes longer than the work."""
_TEXTS_REMEMBERED = 1000
"""Texts of one format that are remembered with what they say."""

_ONE_TEXT = pl.col("low") == pl.col("high")
_NOTHING = pl.lit(None, pl.String)
_AS_WRITTEN = pl.QueryOptFlags.none()
"""On a few cells, to plan a query anew takes longer than the query."""
_NO_ENDS = pl.struct(first=_NOTHING, last=_NOTHING)


class CellKind(IntEnum):
    """What a cell is."""

    LABEL = 0
    SUPPRESSED = 1
    MISSING = 2
    NUMBER = 3
    INTERVAL = 4
    HALF_OPEN = 5
    SET = 6
    OPEN = 7
    LOW_OPEN = 8
    BOTH_OPEN = 9


INTERVALS = {
    (True, True): CellKind.INTERVAL,
    (True, False): CellKind.HALF_OPEN,
    (False, True): CellKind.LOW_OPEN,
    (False, False): CellKind.BOTH_OPEN,
}
"""Intervals between two numbers, by whether they include the lower and the upper one."""

NUMERIC = (CellKind.NUMBER, CellKind.OPEN, *INTERVALS.values())
"""The kinds of cells that show numbers."""


@dataclass(frozen=True)
class CellFormat:
    """How a release writes its cells: the template of intervals, with `{low}` and `{high}`; the text of a suppressed
    cell, None where there is none; the texts that mean missing; the templates of intervals with an open end; texts that
    may follow `or` and are values where they stand alone; whether edges are rounded. A null means missing as well."""

    interval: str
    suppressed: str | None
    missing: frozenset[str]
    open_high: str = "{low}+"
    open_low: str = "{high}-"
    or_missing: frozenset[str] = frozenset()
    rounded: bool = False

    @classmethod
    def of(cls, output: blocks.Output, missing: Iterable[str]) -> CellFormat:
        """The format of a release under a spec; `missing`: the texts that mean missing."""
        texts = output.interval, output.suppressed, frozenset(missing), output.open_high, output.open_low
        return cls(*texts, rounded=output.edges == "rounded")

    def decimal(self, low: pl.Series, high: pl.Series) -> bool:
        """Whether two columns of bounds are of decimals: any of their numbers is not whole, or has a decimal point that
        does not keep it from reading as one that means missing."""
        texts = pl.concat([low, high]).unique().str.strip_chars()
        numeric = texts.to_frame("text").filter(pl.col("text").str.contains(f"^{NUMBER}$"))
        plain = pl.col("text").str.replace(r"\.0*$", "")
        apart = (plain != pl.col("text")) & plain.is_in(list(self.missing)).not_()
        broken = pl.col("text").cast(pl.Float64) % 1 != 0
        return bool(numeric.select((apart | broken).any()).item())


@dataclass(frozen=True)
class ReadCells:
    """What n cells say. `kind` (n,) uint8, of `CellKind`. `low`, `high` (n,): texts of the two ends of a number or an
    interval, which are equal for a number; null for an open end, and for every other kind. `maybe` (n,): whether a
    number or an interval may be missing instead."""

    kind: NDArray[np.uint8]
    low: pl.Series
    high: pl.Series
    maybe: NDArray[np.bool_]

    def of_kind(self, *kinds: CellKind) -> NDArray[np.bool_]:
        """(n,) whether each cell is of one of the kinds."""
        is_one = np.zeros(len(CellKind), np.bool_)
        is_one[list(kinds)] = True
        return is_one[self.kind]

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """(n,) whether each cell shows a number or an interval."""
        return self.of_kind(*NUMERIC)

    def gathered(self, places: NDArray[np.integer[Any]]) -> ReadCells:
        """The cells at some places."""
        return ReadCells(self.kind[places], self.low.gather(places), self.high.gather(places), self.maybe[places])

    @property
    def ends(self) -> tuple[pl.Series, pl.Series]:
        """(n,) the numbers that `low` and `high` are, infinite where they are null."""
        low, high = (texts.cast(pl.Float64) for texts in (self.low, self.high))
        return low.fill_null(-np.inf), high.fill_null(np.inf)

    @property
    def excluded(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(n,) whether each cell is an interval without its lower end, and without its upper one."""
        without_low = self.of_kind(CellKind.LOW_OPEN, CellKind.BOTH_OPEN)
        return without_low, self.of_kind(CellKind.HALF_OPEN, CellKind.BOTH_OPEN)

    def closed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n,) the lowest and the highest number that each cell can stand for; from -inf to inf where it shows none."""
        low, high = (ends.to_numpy().copy() for ends in self.ends)
        without_low, without_high = self.excluded
        low[without_low] = np.nextafter(low[without_low], np.inf)
        high[without_high] = np.nextafter(high[without_high], -np.inf)
        return np.where(self.numeric, low, -np.inf), np.where(self.numeric, high, np.inf)


def read_cells(
    low: pl.Series, high: pl.Series, written: CellFormat, *, numeric: bool, maybe: pl.Series | None = None
) -> ReadCells:
    """Reads the cells of one released column (n,), passed twice, or of a pair of columns with the two bounds.

    `numeric`: whether cells may be numbers and intervals; otherwise they may be sets. A pair of bounds is suppressed or
    missing where both are, and a label where they do not go together. `maybe`: the column beside bounds that says
    `maybe` where numbers may be missing instead.
    """
    alone = low is high
    texts = low.cast(pl.String)
    shapes = _shapes(written, numeric=numeric, alone=alone)
    if alone and maybe is None and len(texts) <= _CELLS_AT_ONCE:
        few: list[str | None] = texts.to_list()
        if not numeric or not any(_SUFFIX in text for text in few if text is not None):
            return _one_by_one(few, shapes)
    frame = pl.DataFrame({"low": texts, "high": texts if alone else high.cast(pl.String)})
    frame = frame.with_columns(suffixed=pl.lit(False))
    if numeric and _any_has(frame["low"], _SUFFIX):
        frame = _without_suffix(frame, written)
    cells = _at_once(frame, shapes) if len(frame) <= _CELLS_AT_ONCE else _by_shape(frame, shapes.tried)
    kind, suffixed = cells["kind"].to_numpy(), cells["suffixed"].to_numpy()
    if not alone and written.rounded and numeric and written.decimal(frame["low"], frame["high"]):
        wide = (kind == CellKind.INTERVAL) & frame["low"].ne_missing(frame["high"]).to_numpy()
        kind = np.where(wide, np.uint8(CellKind.HALF_OPEN), kind)
    shows = np.isin(kind, NUMERIC)
    if suffixed.any():
        kind = np.where(suffixed & ~shows, np.uint8(CellKind.LABEL), kind)
    uncertain = suffixed if maybe is None else (maybe.cast(pl.String) == "maybe").fill_null(False).to_numpy()
    return ReadCells(kind, cells["low"], cells["high"], uncertain & shows)


def cells_of(spec: model.Spec, low: pl.Series, high: pl.Series, *, numeric: bool) -> ReadCells:
    """The cells of a release that is written under a spec; see `read_cells`."""
    return read_cells(low, high, CellFormat.of(spec.output, spec.input.missing), numeric=numeric)


def _one_by_one(texts: Sequence[str | None], shapes: _Shapes) -> ReadCells:
    """The cells that few texts are. What a text says does not depend on the others, and the few texts of a release are
    read again and again."""
    read = {text: shapes.known[text] for text in texts if text in shapes.known}
    if new := [text for text in dict.fromkeys(texts) if text not in read]:
        frame = pl.DataFrame({"low": pl.Series(new, dtype=pl.String), "suffixed": False})
        cells = _at_once(frame.with_columns(high="low"), shapes).select("kind", "low", "high")
        fresh = dict(zip(new, cells.iter_rows(), strict=True))
        read |= fresh
        if len(shapes.known) + len(new) <= _TEXTS_REMEMBERED:
            shapes.known.update(fresh)
    kinds, lows, highs = zip(*(read[text] for text in texts), strict=True) if texts else ((), (), ())
    low, high = pl.Series("low", lows, dtype=pl.String), pl.Series("high", highs, dtype=pl.String)
    return ReadCells(np.array(kinds, np.uint8), low, high, np.zeros(len(texts), np.bool_))


def _at_once(frame: pl.DataFrame, shapes: _Shapes) -> pl.DataFrame:
    """What each of few cells says: the first shape that fits, all being tried. Three queries are planned in less time
    than one of three steps, in which every step asks for the types of the one before."""
    return frame.select("suffixed", "low", "high", *shapes.ends).with_columns(shapes.fits).select(shapes.says)


def _by_shape(frame: pl.DataFrame, shapes: Iterable[_Shape]) -> pl.DataFrame:
    """What each cell says: `suffixed`, `kind`, `low`, `high`. The first shape that fits decides, so their order is that
    of the manual; each is tried on the cells that none before it fits."""
    left, pieces = frame.with_row_index("place"), []
    digits = _any_has(frame["low"], "[0-9]") or _any_has(frame["high"], "[0-9]")
    for shape in shapes:
        if shape.kind in NUMERIC and not digits:
            continue
        ends = left.lazy().select("place", "suffixed", shape.ends.alias("ends"), "low", "high").unnest("ends")
        fitting = shape.fits(pl.col("first"), pl.col("last")).fill_null(False)
        marked = ends.with_columns(fits=fitting).collect(optimizations=_AS_WRITTEN)
        fits = marked["fits"]
        if not fits.any() and not left.is_empty():
            continue
        kind, every = pl.lit(shape.kind.value, pl.UInt8).alias("kind"), fits.all()
        of_shape = marked if every else marked.filter(fits)
        pieces.append(of_shape.select("place", "suffixed", kind, low="first", high="last"))
        if every:
            break
        left = left.filter(~fits)
    return pieces[0] if len(pieces) == 1 else pl.concat(pieces).sort("place")  # the rows of one piece are in order


def _any_has(texts: pl.Series, pattern: str) -> bool:
    """Whether a pattern is in any text; where it is in one of the first, the others are not looked at."""
    parts = (texts,) if len(texts) <= _FIRST else (texts.head(_FIRST), texts.slice(_FIRST))
    return any(bool(some.str.contains(pattern).any()) for some in parts)


def _without_suffix(frame: pl.DataFrame, written: CellFormat) -> pl.DataFrame:
    """The cells without ` or ?`, and which of them had it (`suffixed`)."""
    texts = {*written.missing, *written.or_missing, BLANK}
    words = "|".join(re.escape(word) for word in sorted(texts, key=len, reverse=True) if word)
    bare = pl.when(_ONE_TEXT).then(pl.col("low").str.extract(f"(?s)^(.*) or (?:{words})$"))
    return frame.with_columns(low=pl.coalesce(bare, "low"), high=pl.coalesce(bare, "high"), suffixed=bare.is_not_null())


def numbers(texts: pl.Series) -> pl.Series:
    """(n,) texts as numbers: null for what is not a finite number, spaces around it aside."""
    value = pl.col("text").str.strip_chars().cast(pl.Float64, strict=False)
    frame = texts.cast(pl.String).to_frame("text")
    return frame.select(pl.when(value.is_finite()).then(value)).to_series().alias(texts.name)


def members(text: str) -> list[str]:
    """The values in the braces of a set, without their escapes."""
    values = [""]
    for escaped, bar, plain in _MEMBER.findall(text[1:-1]):
        if bar:
            values.append("")
        else:
            values[-1] += escaped or plain
    return values


def escaped(text: str) -> str:
    """A value as it stands in a set: backslash, `|`, `{` and `}` behind a backslash."""
    return text.translate({ord(character): "\\" + character for character in "\\|{}"})


def unescaped(text: str) -> str:
    """A value that stands alone, where a set would be if there were several."""
    return "".join(map("".join, _MEMBER.findall(text)))


# --- shapes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shape:
    """A way for cells to read: the texts of their two `ends` (`first`, `last`), and by these which cells it `fits`."""

    kind: CellKind
    fits: Callable[[pl.Expr, pl.Expr], pl.Expr]
    ends: pl.Expr = _NO_ENDS


@dataclass(frozen=True)
class _Shapes:
    """Shapes in the order in which they are `tried`; and for all of them at once, their `ends` as columns by number,
    which of them `fits`, and what a cell `says` by the first that does: `suffixed`, `kind`, `low`, `high`. `known`:
    kind and ends of texts that were read before; it only grows, so that threads may share it."""

    tried: Sequence[_Shape]
    ends: Sequence[pl.Expr]
    fits: Sequence[pl.Expr]
    says: Sequence[pl.Expr]
    known: dict[str | None, tuple[int, str | None, str | None]] = field(default_factory=dict)


@lru_cache(64)
def _shapes(written: CellFormat, *, numeric: bool, alone: bool) -> _Shapes:
    tried = _in_order(written, numeric=numeric, alone=alone)
    low, high = ([pl.col(str(n)).struct.field(end) for n in range(len(tried))] for end in ("first", "last"))
    values = {"kind": [pl.lit(shape.kind.value, pl.UInt8) for shape in tried], "low": low, "high": high}
    return _Shapes(
        tried,
        [shape.ends.alias(str(n)) for n, shape in enumerate(tried)],
        [shape.fits(low[n], high[n]).alias(f"fits {n}") for n, shape in enumerate(tried)],
        [pl.col("suffixed"), *(_of_first(each).alias(name) for name, each in values.items())],
    )


def _of_first(values: Sequence[pl.Expr]) -> pl.Expr:
    """Of the values of all shapes, the one of the first shape that fits; the last shape fits all cells."""
    chosen = values[-1]
    for number in range(len(values) - 2, -1, -1):
        chosen = pl.when(pl.col(f"fits {number}")).then(values[number]).otherwise(chosen)
    return chosen


def _in_order(written: CellFormat, *, numeric: bool, alone: bool) -> list[_Shape]:
    """Every way for cells to read, the last of which fits them all. `alone`: cells of one column, whose two texts are
    the same; where both ends are numbers that is a number, and no end is empty by itself."""
    empty = [_of_texts(CellKind.MISSING, lambda text: text.is_null() | text.is_in(list(written.missing)))]
    if written.suppressed is not None:
        empty.insert(0, _of_texts(CellKind.SUPPRESSED, lambda text: text == pl.lit(written.suppressed, pl.String)))
    label = _Shape(CellKind.LABEL, lambda first, last: pl.lit(True))
    if not numeric:
        members_alone = _of_texts(CellKind.SET, lambda text: text.str.contains(r"(?s)^\{.*\}$") & _ONE_TEXT)
        return [*empty, members_alone, label]
    bare = [pl.col(side).str.strip_chars() for side in ("low", "high")]
    low, high = (pl.when(text.str.contains(f"^{NUMBER}$")).then(text) for text in bare)
    beside = [text.is_null() | text.is_in(["", *written.missing]) for text in bare]
    number = _Shape(CellKind.NUMBER, lambda first, last: _finite(first), _pair(low, low))
    same = _of_numbers(CellKind.NUMBER, _pair(low, pl.when(low == high).then(high)))
    return [
        *empty,
        *([number] if alone else [same, _of_numbers(CellKind.INTERVAL, _pair(low, high))]),
        *(_of_numbers(INTERVALS[within], _two_ends(text)) for text, within in readings(written.interval)),
        _above(_one_end(written.open_high, "{low}")),
        _below(_one_end(written.open_low, "{high}")),
        *([] if alone else [_above(pl.when(beside[1]).then(low)), _below(pl.when(beside[0]).then(high))]),
        label,
    ]


def _of_texts(kind: CellKind, test: Callable[[pl.Expr], pl.Expr]) -> _Shape:
    """The shape of cells of which both texts pass a test."""
    return _Shape(kind, lambda first, last: test(pl.col("low")) & test(pl.col("high")))


def _of_numbers(kind: CellKind, ends: pl.Expr) -> _Shape:
    """The shape of cells of which both ends are numbers."""
    return _Shape(kind, lambda first, last: _finite(first) & _finite(last), ends)


def _above(low: pl.Expr) -> _Shape:
    """The shape of cells with a lower end alone."""
    return _Shape(CellKind.OPEN, lambda first, last: _finite(first), _pair(low, _NOTHING))


def _below(high: pl.Expr) -> _Shape:
    """The shape of cells with an upper end alone."""
    return _Shape(CellKind.OPEN, lambda first, last: _finite(last), _pair(_NOTHING, high))


def _finite(text: pl.Expr) -> pl.Expr:
    return text.cast(pl.Float64, strict=False).is_finite()


def _pair(low: pl.Expr, high: pl.Expr) -> pl.Expr:
    return pl.struct(low.alias("first"), high.alias("last"))


def _two_ends(interval: str) -> pl.Expr:
    """The texts of the ends of cells that read as a template; null for other cells."""
    escaped = re.escape(interval).replace(re.escape("{low}"), f"(?<first>{NUMBER})", 1)
    pattern = escaped.replace(re.escape("{high}"), f"(?<last>{NUMBER})", 1)
    return pl.when(_ONE_TEXT).then(pl.col("low")).str.extract_groups(f"^{pattern}$")


def _one_end(open_interval: str, end: str) -> pl.Expr:
    """The text of the end of cells that read as a template with one end; null for other cells."""
    before, _, after = open_interval.partition(end)
    text = pl.when(_ONE_TEXT).then(pl.col("low"))
    return text.str.extract(f"^{re.escape(before)}({NUMBER}){re.escape(after)}$", 1)
