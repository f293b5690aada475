"""Treatments: steps that change the values of single columns. One method, one file, one line in `TREATMENTS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl

from anonymize.algorithms.base import Registry
from anonymize.classes import Bools, Floats, Ints, mixed_radix, run_starts
from anonymize.errors import Caution, DataError, Problem, RowsError, counted
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.table.encode import Field, NumberColumn, is_text
from anonymize.table.kept import KeptColumn, KeptTexts
from anonymize.table.named import unnamed
from anonymize.table.roles import check_numbers, check_numeric, placed
from anonymize.table.source import Source

# --- method -----------------------------------------------------------------------------------------------------------
# What a method of treatment is: a module with a manual, an ID, and one function from columns to a change.
#
# What it is asked for is its entry of the spec (`anonymize.spec.treatments`). What it does is measured again from the
# written file by its twin in `anonymize.verify.treated`, which shares nothing with it.

MOST_DECIMALS = 9
"""Numbers with more decimals than this are taken as measured to all digits, and are rounded to none."""


@dataclass(frozen=True)
class InputColumn:
    """A column of the input as it came. `series` (rows,): its cells; `source`: where they stand, for messages."""

    series: pl.Series
    field: Field
    source: Source

    @classmethod
    def of(cls, spec: Spec, source: Source, series: pl.Series) -> InputColumn:
        """A column of the source that has been read as a whole."""
        name = series.name
        missing = spec.missing(source.format, name)
        return cls(series, Field(name, source.schema[name], missing, spec.notation(name)), source)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.field.name

    @cached_property
    def missing(self) -> Bools:
        """(rows,) whether the cell means missing."""
        frame = self.series.to_frame(self.name)
        text = self.field.text
        absent = frame.select((text.is_null() | text.is_in(list(self.field.missing.texts))).alias("")).to_series()
        return absent.fill_null(True).to_numpy()

    @cached_property
    def _read(self) -> tuple[Floats, bool]:
        check_numeric(self.source, self.field)
        column = NumberColumn(self.field, "number")
        column.add(self.series.to_frame(self.name).select(column.expressions))
        check_numbers(self.source, {self.name: column})
        values, codes, missing = column.encode()
        numbers = np.append(values.astype(np.float64), [] if missing is None else [np.nan])
        return numbers[codes], bool((values % 1 == 0).all())

    @property
    def numbers(self) -> Floats:
        """(rows,) the cells as numbers, nan where one is missing. Raises DataError, with line and count, for cells that
        are none."""
        return self._read[0]

    @property
    def whole(self) -> bool:
        """Whether every number is a whole one, however it is written: a column of floats may have nothing else."""
        return self._read[1]

    @cached_property
    def decimals(self) -> int | None:
        """The most decimals that a number has, by its value; None where some have more than `MOST_DECIMALS`."""
        values = np.unique(self.numbers[~self.missing])
        return next((many for many in range(MOST_DECIMALS + 1) if (np.round(values, many) == values).all()), None)

    @cached_property
    def kept(self) -> KeptColumn:
        """The column as its different cells and codes of them."""
        if self.series.dtype == pl.String:
            encoder = KeptTexts(self.field, "code")
            encoder.add(self.series.to_frame(self.name).select(encoder.expressions))
            return encoder.column()
        series = unnamed(self.series)
        cells = series.clear(1).append(series.unique().drop_nulls().sort())
        codes = series.rank("dense").fill_null(0).to_numpy().astype(np.min_scalar_type(len(cells)))
        return KeptColumn(cells, codes)

    def moved(self, rows: Ints) -> KeptColumn:
        """The column where row i shows the cell of row `rows[i]`."""
        return KeptColumn(self.kept.cells, self.kept.codes[rows])

    def renumbered(self, numbers: Floats, *, whole: bool) -> KeptColumn:
        """The column with other numbers (rows,) in place of its own, nan where one is missing: written with the decimal
        sign of the input, as the shortest texts that read back the same. `whole`: all of them are whole."""
        present = ~np.isnan(numbers)
        values, codes = np.unique(numbers[present], return_inverse=True)
        places = np.full(len(numbers), -1)
        places[present] = codes
        if is_text(self.field.dtype):
            written = pl.Series(values.astype(np.int64) if whole else values + 0.0).cast(pl.String)
            cells, sign = written.str.strip_suffix(".0"), self.field.notation.decimal
            cells = cells if sign == "." else cells.str.replace(".", sign, literal=True)
        else:
            cells = pl.Series(values.astype(np.int64) if whole and self.field.dtype.is_integer() else values)
        return self.with_cells(cells, places)

    def with_cells(self, cells: pl.Series, places: Ints) -> KeptColumn:
        """The column with other `cells`: `places` (rows,) which of them a row has, -1 where one is missing. A missing
        cell is the first text that means it."""
        lacking = [None, self.field.missing.text or None] if is_text(self.field.dtype) else [None, None]
        every = pl.concat([pl.Series(lacking, dtype=cells.dtype), cells])
        return KeptColumn(every, (places + 2).astype(np.min_scalar_type(len(every))))


@dataclass(frozen=True)
class Step:
    """What a method is given: the columns that it changes and those that it looks at, by name, all of the same rows.

    `random`: where random numbers come from. `key`: the secret by which a keyed method decides, None without one.
    `weights` (rows,): the sampling weights, where there are any. `spec`: what a release has to meet, and how cells are
    written; a method that looks at neither does without.
    """

    columns: Mapping[str, InputColumn]
    random: np.random.Generator
    key: bytes | None = None
    weights: Floats | None = None
    spec: Spec | None = None

    def parts(self, names: Sequence[str]) -> Ints:
        """(rows,) the part that each row is in by the cells of some columns, counted from 0; all in one where there are
        no columns."""
        rows = len(next(iter(self.columns.values())).series)
        if not names:
            return np.zeros(rows, np.int64)
        own = [self.columns[name] for name in names]  # missing is one part, whatever it reads
        codes = [np.where(each.missing, 0, each.kept.codes) for each in own]
        combinations, _ = mixed_radix(codes, [len(each.kept.cells) for each in own])
        return np.unique(combinations, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True)
class Change:
    """What a method made of its columns.

    `columns`: by name, as they are released. `declared`: what the manifest says in addition to the entry of the
    spec, as JSON. `private`: figures that are worked out from the input, for a private report.
    """

    columns: Mapping[str, KeptColumn]
    declared: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Caution, ...] = ()


class Method(Protocol):
    """The members of a method's module."""

    ID: str
    """What the spec calls it."""

    def run(self, entry: Any, step: Step) -> Change:
        """What it makes of its columns. `entry`: of the spec. Raises DataError for columns that it can do nothing with,
        InfeasibleError for what cannot be had of them."""


Random = np.random.Generator


# --- rows by part -----------------------------------------------------------------------------------------------------
# Rows by the part that they are in, and what methods say of rows that they could not change.


def members(parts: Ints) -> list[Ints]:
    """The rows of each part, in their order. `parts` (rows,): numbers of parts, all from 0 occurring."""
    if not len(parts):
        return []
    if not parts.any():
        return [np.arange(len(parts))]
    order = np.argsort(parts, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(parts[order])) + 1)


def unchanged(method: str, columns: str, count: int, reason: str) -> Caution:
    """Rows that are as they were, although the step is of them. `reason`: a sentence."""
    text = f"{method} of {columns}: {counted(count, 'row')} unchanged, as {reason}"
    return Caution.of(text, "fewer strata (`by`), another method, or leaving them out before")


def equal_cells(method: str, column: InputColumn, donors: Ints) -> list[Caution]:
    """A warning where every row shows a cell equal to its own, such as in a constant column. `donors` (rows,): the row
    whose cell each row shows."""
    codes, present = column.kept.codes, ~column.missing
    if not present.any() or (codes != codes[donors]).any():
        return []
    return [unchanged(method, column.name, int(present.sum()), "the cells of the other rows are equal")]


def wrong_rows(column: InputColumn, rows: Ints, text: str, hint: str | None = None) -> DataError:
    """Rows whose cells a method can do nothing with; the line of the first is looked up. `text`: what is wrong, behind
    the number of rows."""
    said = f"column {column.name!r}: {text} in {counted(len(rows), 'row')}"
    error = RowsError(Problem(said, hint=hint), int(rows[0]))
    return DataError([problem for _, problem in placed([(column.name, error)], column.source)])


def names_of(columns: Sequence[InputColumn]) -> str:
    """The columns, as a message has them."""
    return ", ".join(column.name for column in columns)


# --- rows that swap ---------------------------------------------------------------------------------------------------
# Rows that take each other's cells: what the methods that swap have in common.

ROUNDS = 8
"""How often partners are drawn at random, before all that are left are gone through."""


def cycled(groups: Ints, random: Random) -> Ints:
    """(rows,) the row whose cells each row gets, within groups (rows,) at random, such that all rows of a group that
    are not alone get those of another one.

    The rows of a group are put into a circle in random order, and each takes what the next one has. Groups are numbers
    of which floats hold the halves exactly.
    """
    order = np.argsort(groups + random.random(len(groups)))
    sorted_groups = groups[order]
    ends = np.append(np.diff(sorted_groups) != 0, True) if len(groups) else np.zeros(0, bool)
    starts = np.flatnonzero(np.append(True, ends[:-1])) if len(groups) else np.zeros(0, np.int64)
    following = np.arange(1, len(groups) + 1)
    following[ends] = starts
    donors = np.empty(len(groups), np.int64)
    donors[order] = order[following]
    return donors


@dataclass(frozen=True)
class Pairing:
    """Pairs of units of the same group and of different regions.

    `groups`, `regions` (units,): numbers; `free` (units,): who may be in a pair.
    """

    groups: Ints
    regions: Ints
    free: Bools

    def of(self, wanted: Bools, random: Random) -> tuple[Ints, Ints]:
        """Random pairs, each unit in one of them at most, until every wanted unit is in one or nobody is left for it.

        First, wanted units draw random units of their group; who draws somebody of the same region, or somebody drawn
        by another, draws again. Those that have had no luck are then paired with all that are left of their group.
        """
        free, pairs = self.free.copy(), []
        pool = np.flatnonzero(free & np.isin(self.groups, np.unique(self.groups[wanted])))
        rank, groups = _grouped(self.groups[pool], random)
        pool, starts = pool[rank], run_starts(groups)
        sizes = np.diff(np.append(starts, len(pool)))
        of_group = np.repeat(np.arange(len(starts)), sizes)
        left = np.flatnonzero(wanted[pool])
        for offset in random.random(ROUNDS):
            if not len(left):
                break
            own = of_group[left]
            nth = np.arange(len(left)) - np.searchsorted(own, own)
            turned = nth + (offset * sizes[own]).astype(np.int64)
            drawn = pool[starts[own] + turned % sizes[own]]
            pairs.append(self._accepted(pool[left], drawn, free, random))
            free[np.concatenate(pairs[-1])] = False
            left = left[free[pool[left]]]
        if len(left):
            pairs += self._exhaustive(pool, free, wanted, random)
        one, other = zip(*pairs, strict=True) if pairs else ((), ())
        empty = np.zeros(0, np.int64)
        return np.concatenate([empty, *one]), np.concatenate([empty, *other])

    def _accepted(self, one: Ints, other: Ints, free: Bools, random: Random) -> tuple[Ints, Ints]:
        """The pairs that can be swapped, of several of one unit the one that comes first by chance. No unit stands
        twice on the same side."""
        good = free[one] & free[other] & (self.regions[one] != self.regions[other])
        one, other = one[good], other[good]
        turn = random.permutation(len(one))
        first = np.full((2, len(free)), len(one))
        first[0, one], first[1, other] = turn, turn
        best = (first[1, one] > turn) & (first[0, other] > turn)
        return one[best], other[best]

    def _exhaustive(self, pool: Ints, free: Bools, wanted: Bools, random: Random) -> list[tuple[Ints, Ints]]:
        """Pairs of what is left, until no wanted unit has anybody.

        The free units of a group stand in a row, region by region, and each is paired with the one half a row further
        on: that is of another region, unless one region has more than half. That region then stands first, and units
        are paired over its whole length. Wanted units come first in their region, the region with the most of them
        first otherwise: so each turn pairs at least one, if any has a partner. Pairs without a wanted unit are left.
        """
        pairs: list[tuple[Ints, Ints]] = []
        while True:
            concerned = np.unique(self.groups[pool[free[pool] & wanted[pool]]])
            own = pool[free[pool] & np.isin(self.groups[pool], concerned)]
            if not len(own):
                return pairs
            one, other = self._turned(own, wanted, random)
            good = (self.regions[one] != self.regions[other]) & (wanted[one] | wanted[other])
            if not good.any():
                return pairs
            pairs.append((one[good], other[good]))
            free[np.concatenate(pairs[-1])] = False

    def _turned(self, own: Ints, wanted: Bools, random: Random) -> tuple[Ints, Ints]:
        """Units, and the one that each is paired with by its place in its group's row."""
        groups = np.unique(self.groups[own], return_inverse=True)[1]
        cells = np.unique(np.column_stack([groups, self.regions[own]]), axis=0, return_inverse=True)[1].reshape(-1)
        sizes, most = np.bincount(groups), np.zeros(int(groups.max()) + 1, np.int64)
        in_cell = np.bincount(cells)
        np.maximum.at(most, groups, in_cell[cells])
        wanted_in_cell = np.bincount(cells, wanted[own])
        large = most > sizes // 2
        before = np.where(large[groups], in_cell[cells], wanted_in_cell[cells])
        order = np.lexsort((random.random(len(own)), ~wanted[own], cells, -before, groups))
        starts = np.cumsum(sizes) - sizes
        row = np.arange(len(own))
        reach = np.where(large, most, sizes // 2)[groups[order]]
        has = row + reach < (starts + sizes)[groups[order]]
        has &= large[groups[order]] | (row - starts[groups[order]] < reach)
        return own[order[row[has]]], own[order[(row + reach)[has]]]


def _grouped(groups: Ints, random: Random) -> tuple[Ints, Ints]:
    """(rows,) an order of rows by group, random within each, and the groups in it."""
    ranks = np.unique(groups, return_inverse=True)[1]
    order = np.argsort(ranks + random.random(len(ranks)))
    return order, groups[order]


# --- registry ---------------------------------------------------------------------------------------------------------

TREATMENTS: Registry[Method] = Registry(
    __name__,
    {
        "microaggregation": "microaggregation",
        "pram": "pram",
        "rank-swap": "rank_swap",
        "random-swap": "random_swap",
        "record-swap": "record_swap",
        "noise": "noise",
        "shuffle": "shuffle",
        "suppress": "suppress",
        "date-shift": "date_shift",
    },
)
"""By name, and the module of each, which is imported when it is first taken."""
