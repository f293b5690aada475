"""What classes show of a numeric quasi-identifier: an interval, of which an end may be open, or missing, or either;
and which ends may be shown: none in a tail of fewer than k rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Bools, Codes, Floats, Integers, Ints, KeyGroups, mixed_radix
from anonymize.domain.build import check_half_open
from anonymize.domain.cells import BLANK
from anonymize.domain.grid import RoundedEnds, decimal
from anonymize.domain.numeric import Numeric, template_parts
from anonymize.records import dataclass
from anonymize.spec import FEWEST, Output
from anonymize.table import Table

TEXTS_AT_ONCE = 1 << 17
"""Intervals whose texts are Python objects at the same time."""

# --- which ends may be shown ------------------------------------------------------------------------------------------
# Which ends of intervals may be shown: none in a tail of fewer than k rows.
#
# Counted are the rows of the classes, which are those that a release shows: where a row is suppressed, the rows beyond
# an end become fewer, so that hiding one outlier never shows the next one. As these rows are among those of the input,
# a shown end has at least as many rows of the input at or beyond it.


@dataclass(frozen=True)
class Window:
    """The lowest and the highest code that may be the end of an interval. None may where they cross."""

    low: int
    high: int

    @property
    def empty(self) -> bool:
        """Whether no end may be shown."""
        return self.low > self.high


@dataclass(frozen=True)
class Tails:
    """Whom the rows of a table are about (rows,), None where each is about somebody else; and how many of them have to
    be at or beyond an end. `counts` (rows,): how many rows each stands for; None: itself alone."""

    units: Codes | None
    least: int
    counts: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, table: Table) -> Tails:
        """The tails of a table's columns."""
        return replace(cls.of_k(table.largest_k), units=table.units, counts=table.counts)

    @classmethod
    def of_k(cls, largest_k: int | None) -> Tails:
        """The tails of rows each of which is about somebody else, where so large a k is required."""
        return cls(None, FEWEST if largest_k is None else largest_k)

    def window(self, codes: Codes, rows: NDArray[np.uint32], count: int) -> Window:
        """The window of the codes (rows,) of a column of which some rows are shown; codes from `count` on are no
        numbers."""
        present = codes[rows]
        lowest, highest = (present, present) if self.units is None else _extremes(present, self.units[rows], count)
        weights = None if self.counts is None else self.counts[rows]
        return self.of_counts(_counts(lowest, count, weights), _counts(highest, count, weights))

    def of_counts(self, lowest: NDArray[np.int64], highest: NDArray[np.int64]) -> Window:
        """The window of a column by how many individuals have each code (count,) as their lowest, and as their
        highest."""
        below, above = np.cumsum(lowest), np.cumsum(highest[::-1])[::-1]
        return Window(int(np.searchsorted(below, self.least)), int(np.count_nonzero(above >= self.least)) - 1)


def _counts(codes: Integers, count: int, weights: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return np.bincount(codes, weights, minlength=count + 1)[:count].astype(np.int64)


def _extremes(codes: Codes, units: Codes, count: int) -> tuple[Integers, Integers]:
    """The lowest and the highest code of each individual of some rows; `count` for one who has none."""
    present = codes < count
    lowest = np.full(int(units.max(initial=0)) + 1, count, np.int64)
    highest = np.full(len(lowest), -1, np.int64)
    np.minimum.at(lowest, units[present], codes[present].astype(np.int64))
    np.maximum.at(highest, units[present], codes[present].astype(np.int64))
    highest[highest < 0] = count
    return lowest, highest


# --- what is shown ----------------------------------------------------------------------------------------------------
# What classes show of a numeric quasi-identifier: an interval, of which an end may be open, or missing, or either.
#
# An interval ends where its values do, or where that is rounded to (see `anonymize.domain.grid`). Where neither is to
# be shown (see `anonymize.recoding.spans`, and bottom and top codes in `anonymize.domain.grid`) the end is open, and
# the interval goes as far as the column does.


@dataclass(frozen=True)
class Spans:
    """What n classes span. All arrays are (n,).

    `low`, `high`: codes of the lowest and the highest number, as far as they are shown: an open end is that of the
    column. `below`, `above`: whether the lower, the upper end is open; what is open on both sides shows nothing.
    `missing`: whether there are missing values, `empty`: whether there is nothing else. `window`: the ends that may be
    shown of the column.
    """

    domain: Numeric
    low: Ints
    high: Ints
    below: Bools
    above: Bools
    missing: Bools
    empty: Bools
    window: Window

    @classmethod
    def of(
        cls,
        domain: Numeric,
        low: Integers,
        high: Integers,
        highest: Integers | None = None,
        window: Window | None = None,
    ) -> Spans:
        """From the lowest and highest code of each class, the missing leaf included. `highest`: the highest code of
        its numbers; None: of a class with missing values that of the column. `window`: the ends that may be shown;
        None: all."""
        last = max(len(domain.values) - 1, 0)
        missing = np.zeros(len(low), np.bool_) if domain.missing is None else np.asarray(high == domain.missing)
        empty = missing & (low == high)
        least, most = (
            low.astype(np.int64),
            np.where(missing, last if highest is None else highest, high).astype(np.int64),
        )
        least[empty] = most[empty] = 0
        window = Window(0, last) if window is None else window
        below = ~empty & ((least < window.low) | window.empty | (domain.lowest_open & (least == 0)))
        above = ~empty & ((most > window.high) | window.empty | (domain.highest_open & (most == last)))
        # An end that is shown next to an open one may lie beyond the window, too: it is then that of the window.
        least, most = (
            np.where(above, np.minimum(least, window.high), least),
            np.where(below, np.maximum(most, window.low), most),
        )
        least[below], most[above] = 0, last
        return cls(domain, least, most, below, above, missing, empty, window)

    @property
    def hidden(self) -> Bools:
        """Whether a class shows nothing, and reads as suppressed."""
        return self.below & self.above

    @property
    def mixed(self) -> Bools:
        """Whether a class reads as an interval or missing."""
        return self.missing & ~self.empty & ~self.hidden

    def distinct(self) -> tuple[Spans, Ints]:
        """The different ones, and which of them each class has."""
        flags = [self.below, self.above, self.missing, self.empty]
        size = max(len(self.domain.values), 1)
        columns = [self.low, self.high, *(flag.astype(np.int64) for flag in flags)]
        groups = KeyGroups.of(*mixed_radix(columns, [size, size, 2, 2, 2, 2]))
        parts = ("low", "high", "below", "above", "missing", "empty")
        return replace(self, **{name: getattr(self, name)[groups.first] for name in parts}), groups.group

    def costs(self, *, rounded: bool = False) -> Floats:
        """NCP of each class: of the interval as far as it goes, and a leaf's share more where values may be missing; 1
        where nothing is shown, and at most."""
        width = (
            self.domain.share_of(*self.ends_shown())
            if rounded and self.rounded is not None
            else self.domain.cost(self.low, self.high)
        )
        cost = np.minimum(width + self.missing / max(self.domain.size, 1), 1.0)
        return np.where(self.empty, 0.0, np.where(self.hidden, 1.0, cost))

    @cached_property
    def rounded(self) -> RoundedEnds | None:
        """The rounded ends of what each spans within the window; None: of declared levels, which have their own."""
        last = len(self.domain.values) - 1
        if self.domain.bands is not None or last < 0:
            return None
        first, final = (0, last) if self.window.empty else (self.window.low, self.window.high)
        return self.domain.rounded(np.clip(self.low, first, final), np.clip(self.high, first, final))

    def ends_shown(self) -> tuple[Floats, Floats]:
        """The numbers that rounded ends show, those of the column where one is open."""
        assert self.rounded is not None
        least, most = self.domain.values[0], self.domain.values[-1]
        return np.where(self.below, least, self.rounded.low), np.where(self.above, most, self.rounded.high)

    @property
    def half_open(self) -> bool:
        """Whether upper ends that are rounded are no part of their intervals."""
        return not self.domain.whole

    # --- texts ---

    def intervals(self, output: Output) -> pl.Series:
        """(n,) how each reads in one column."""
        half_open = not self.domain.whole and (self.domain.bands is not None or output.edges == "rounded")
        head, middle, tail = map(pl.lit, template_parts(output.interval, half_open=half_open))
        coding, (lefts, rights) = self.domain.coding, self._ends(output)
        ends = pl.DataFrame(
            {"left": lefts, "right": rights, "one": self.domain.spelled_texts(lefts)}
            | {"above": self.above, "below": self.below}
        )
        whole = pl.concat_str(head, "left", middle, "right", tail)
        texts = ends.select(
            pl.when("below")
            .then(_filled(coding.open_low, "{high}", "right"))
            .when("above")
            .then(_filled(coding.open_high, "{low}", "left"))
            .when(pl.col("left") == pl.col("right"))
            .then("one")
            .otherwise(whole)
        )
        return self.with_missing(texts.to_series(), output.suppressed)

    def _ends(self, output: Output) -> tuple[pl.Series, pl.Series]:
        """(n,) the texts of the two ends. Raises SpecError where intervals could not show that they leave one out."""
        if output.edges != "rounded" or self.rounded is None:
            return self.domain.ends(self.low, self.high)
        wide = ~(self.rounded.single | self.below | self.above | self.empty)
        if wide.any() and output.numeric == "interval":
            check_brackets(self.domain, output)
        fractions = wide & (self.half_open and output.numeric == "bounds")
        none, starts = [pl.Series([], dtype=pl.String)], range(0, len(wide), TEXTS_AT_ONCE)
        lows = (self._side(RoundedEnds.low_texts, start, fractions) for start in starts)
        highs = (self._side(RoundedEnds.high_texts, start, fractions) for start in starts)
        return pl.concat([*none, *lows]).rechunk(), pl.concat([*none, *highs]).rechunk()

    def _side(self, texts_of: Callable[[RoundedEnds], list[str]], start: int, fractions: Bools) -> pl.Series:
        """The texts of one end of some neighbouring intervals; those of `fractions` have a decimal point."""
        assert self.rounded is not None
        texts = texts_of(self.rounded.piece(start, TEXTS_AT_ONCE))
        for place in np.flatnonzero(fractions[start : start + TEXTS_AT_ONCE]).tolist():
            texts[place] = decimal(texts[place])
        return pl.Series(texts, dtype=pl.String)

    def with_missing(self, texts: pl.Series, suppressed: str) -> pl.Series:
        """The texts of numbers (n,), as they read where values are missing or nothing is shown."""
        cells = self._without_numbers(texts, suppressed)
        if not self.mixed.any():
            return cells
        either = cells + f" or {self.domain.missing_text or BLANK}"
        return pl.select(pl.when(pl.Series(self.mixed)).then(either).otherwise(cells)).to_series()

    def bounds(self, output: Output) -> list[pl.Series]:
        """(n,) how each reads in a column for each end, an open one being empty; and, where numbers and missing values
        are mixed anywhere, in one that says whether a value may be missing."""
        sides = []
        for ends, is_open in zip(self._ends(output), (self.below, self.above), strict=True):
            texts = self.domain.spelled_texts(ends)
            cells = pl.select(pl.when(pl.Series(is_open)).then(pl.lit("")).otherwise(texts)).to_series()
            sides.append(self._without_numbers(cells, output.suppressed))
        if not self.mixed.any():
            return sides
        words = np.where(self.empty, "yes", np.where(self.missing, "maybe", "no"))
        return [*sides, pl.Series(np.where(self.hidden, output.suppressed, words).tolist(), dtype=pl.String)]

    def _without_numbers(self, texts: pl.Series, suppressed: str) -> pl.Series:
        if not (self.empty.any() or self.hidden.any()):
            return texts
        hidden, empty = pl.Series(self.hidden), pl.Series(self.empty)
        absent = pl.lit(self.domain.missing_text or "")
        return pl.select(pl.when(hidden).then(pl.lit(suppressed)).when(empty).then(absent).otherwise(texts)).to_series()


def check_brackets(domain: Numeric, output: Output) -> None:
    """Raises SpecError where rounded intervals of the column leave out their upper end, and no bracket says so."""
    otherwise = "; or set output.edges: open, whose ends belong to their intervals"
    check_half_open(domain.name, output.interval, whole=domain.whole, otherwise=otherwise)


def _filled(template: str, place: str, column: str) -> pl.Expr:
    """A template with the texts of a column in its place."""
    first, *rest = template.split(place)
    return pl.concat_str(pl.lit(first), *(each for part in rest for each in (pl.col(column), pl.lit(part))))
