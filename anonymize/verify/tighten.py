"""What the order of rows tells of their quasi-identifiers.

Where the rows of the original ascend in a quasi-identifier, no value is below the lower end of a cell before it, nor
above the upper end of a cell behind it: the running maximum of the lower ends and the running minimum of the upper ends
narrow what each cell can be. Where they descend the same holds the other way round, and where they are in order within
runs of rows that show the same in another released column, within these.

With the original at hand (`row_order: keep`) it is known which quasi-identifiers are in order. Without it, those are
taken for it whose running bounds contradict each other nowhere: in a table that is in no order they do at once.

What is not bounded: the position of a row itself, for whoever knows the order of the original in another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Literal

import polars as pl

from anonymize.records import dataclass
from anonymize.spec import POINT, Notation
from anonymize.verify.cells import LEFT_OUT, CellTemplates, number_of, with_point
from anonymize.verify.columns import NumberedColumn
from anonymize.verify.numbering import Numbering, paired, whole
from anonymize.verify.order import (
    SAMPLE,
    Cells,
    is_sample,
    is_sorted,
    keys_of,
    sample,
    shown_texts,
    stated_ends,
)
from anonymize.verify.table import TextRows, TextTable, numbered
from anonymize.verify.verdict import NarrowedAttribute

EVIDENCE = 20
"""Steps in one direction, and none in the other, by which rows are taken to be in order within runs."""

_BOTH_ENDS = dict.fromkeys(LEFT_OUT, pl.lit(False))

Direction = Literal["ascending", "descending"]


@dataclass(frozen=True)
class OriginalRows:
    """The rows that a release was made of, one for each of its rows and in the same order, once only those that are
    `kept` are left ((rows,) of true and false; None: all are). `missing`: what means missing there. `notations`: how
    numbers are written."""

    frame: pl.LazyFrame
    kept: pl.Series | None
    missing: Sequence[str]
    notations: Mapping[str, Notation] = field(default_factory=dict)


@dataclass(frozen=True)
class Ordering:
    """What is asked about the order of rows.

    `columns_of`: the columns that show each quasi-identifier. `judged`: whether what the order tells is judged.
    `original`: what the rows were made of, where it is there.
    """

    columns_of: Mapping[str, Sequence[str]]
    templates: CellTemplates
    judged: bool
    original: OriginalRows | None = None


@dataclass(frozen=True)
class OrderReading:
    """What the order tells: whether rows are `sorted` by what they show, the attributes that it narrows, and the rows
    by what they read then (None where nothing is narrowed)."""

    sorted: bool
    attributes: tuple[NarrowedAttribute, ...] = ()
    rows: TextRows | None = None


def read_order(table: TextTable, rows: TextRows, ordering: Ordering) -> OrderReading:
    """What the order of a table tells. `rows`: the table, read with its columns."""
    if ordering.original is None:
        if is_sorted(table, rows.columns, ordering.templates):
            return OrderReading(True)
        sequences = _consistent(table, rows, ordering)
    else:
        sequences = _in_order(table, rows, ordering, ordering.original)
    narrowed = [sequence for sequence in sequences if sequence.narrows]
    if not narrowed:
        return OrderReading(False)
    return OrderReading(False, tuple(each.summary for each in narrowed), _tightened(table, rows, ordering, narrowed))


# --- running bounds --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ordered:
    """The cells of a quasi-identifier whose rows are in order. `runs`: (rows,) the number of the run, from 0 upwards,
    within which they are; None: all rows are one."""

    cells: Cells
    direction: Direction
    within: str | None = None
    runs: pl.Series | None = None

    @cached_property
    def own(self) -> pl.DataFrame:
        """(rows,) `low`, `high`, `or_missing`, `derived` of the cells as shown."""
        return self.cells.keys.select(pl.all().gather(self.cells.codes))

    @cached_property
    def bounds(self) -> pl.DataFrame:
        """(rows,) `low` and `high` as the order narrows them; null where the value is missing.

        Keys lie in [0, top]. With the run's number times more than that added, no key of an earlier run exceeds one of
        a later run, so one running maximum over all rows starts anew with every run.
        """
        span, descending = self.cells.top + 1, self.direction == "descending"
        offset = pl.lit(0, pl.Int64) if self.runs is None else self.runs.cast(pl.Int64) * span
        if descending and self.runs is not None:
            offset = (whole(self.runs.max()) - self.runs.cast(pl.Int64)) * span
        certain = ~pl.col("or_missing")
        low, high = (
            pl.when(certain | pl.col(end).is_null()).then(pl.col(end)).otherwise(anything) + offset
            for end, anything in (("low", 0), ("high", span - 1))
        )
        lowest, highest = low.cum_max(reverse=descending) - offset, high.cum_min(reverse=not descending) - offset
        return self.own.select(
            low=pl.max_horizontal("low", pl.when(pl.col("low").is_not_null()).then(lowest)),
            high=pl.min_horizontal("high", pl.when(pl.col("high").is_not_null()).then(highest)),
        )

    @property
    def consistent(self) -> bool:
        """Whether the bounds contradict each other nowhere."""
        return bool((self.bounds["low"] <= self.bounds["high"]).all())

    @cached_property
    def changed(self) -> pl.Series:
        """(rows,) whether the order narrows a cell."""
        return (self.bounds["low"].ne_missing(self.own["low"])) | (self.bounds["high"].ne_missing(self.own["high"]))

    @property
    def narrows(self) -> bool:
        return bool(self.changed.any())

    @property
    def summary(self) -> NarrowedAttribute:
        rows, stated = max(len(self.own), 1), ~self.own["derived"]
        sides = ((self.own, stated), (self.bounds, self.changed | stated))
        exact = (ends["low"].eq(ends["high"]) & known & ~self.own["or_missing"] for ends, known in sides)
        shares = [whole(each.fill_null(False).sum()) / rows for each in exact]
        return NarrowedAttribute(self.cells.name, self.direction, self.within, *shares)

    @property
    def numbering(self) -> Numbering:
        """Numbers of the cells as they read once they are narrowed.

        A cell that says its ends reads as any other with the same ends; one whose text says something else, such as a
        label, reads as that text for as long as it is not narrowed.
        """
        span = self.cells.top + 1
        ends = self.bounds.with_columns(
            self.own.select("or_missing", "derived"), changed=self.changed, code=self.cells.codes.cast(pl.Int64)
        )
        by_ends = (pl.col("low") * span + pl.col("high")) * 2 + pl.col("or_missing").cast(pl.Int64)
        by_text = pl.col("code") + span * span * 2
        plain = pl.col("low").is_not_null() & (pl.col("changed") | ~pl.col("derived"))
        numbers = ends.select(pl.when(plain).then(by_ends).otherwise(by_text)).to_series()
        return Numbering(numbers, span * span * 2 + self.cells.keys.height).dense


def _tightened(table: TextTable, rows: TextRows, ordering: Ordering, narrowed: Sequence[Ordered]) -> TextRows:
    """The rows, by what they read once the cells are narrowed."""
    by_name = {each.cells.name: each.numbering for each in narrowed}
    numberings: list[Numbering] = []
    for name, columns in ordering.columns_of.items():
        if name in by_name:
            numberings.append(by_name[name])
        else:
            numberings += [rows.columns[table.quasi_identifiers.index(column)].numbers for column in columns]
    return replace(rows, classes=paired(numberings), hidden=None, columns=())


# --- from the file alone ---------------------------------------------------------------------------------------------


def _consistent(table: TextTable, rows: TextRows, ordering: Ordering) -> Iterator[Ordered]:
    """The quasi-identifiers whose running bounds contradict each other nowhere, in one direction alone: where they do
    so in neither, there is a value that every row can have, and nothing says that there is an order."""
    some = replace(rows, columns=sample(rows.columns))
    for name in ordering.columns_of:
        fitting = [each for each in _both_ways(table, some, ordering, name) if each.consistent]
        if fitting and not is_sample(rows.columns):
            fitting = [each for each in _both_ways(table, rows, ordering, name) if each.consistent]
        if len(fitting) == 1:
            yield fitting[0]


def _both_ways(table: TextTable, rows: TextRows, ordering: Ordering, name: str) -> list[Ordered]:
    texts = shown_texts(table, rows, ordering.columns_of[name])
    cells = _cells_of_text(name, *texts, ordering.templates)
    return [Ordered(cells, "ascending"), Ordered(cells, "descending")]


def _cells_of_text(name: str, codes: pl.Series, texts: pl.DataFrame, templates: CellTemplates) -> Cells:
    """The cells of a column, as numbers where every cell shows some (or is missing, or suppressed), else as texts."""
    stated = stated_ends(texts, templates).with_columns(derived=pl.lit(False))
    says = stated.filter(~pl.col("suppressed") & ~pl.col("absent"))
    numeric = says.height > 0 and says["low"].null_count() == 0 and says["high"].null_count() == 0
    keys, top = (
        keys_of(stated, "low", "high") if numeric else keys_of(stated.with_columns(**_BOTH_ENDS), "first", "last")
    )
    return Cells(name, codes, keys, top)


# --- with the original -----------------------------------------------------------------------------------------------


def _in_order(table: TextTable, rows: TextRows, ordering: Ordering, original: OriginalRows) -> Iterator[Ordered]:
    """The quasi-identifiers in which the original is in order, over all rows or within runs."""
    names = list(ordering.columns_of)
    values = numbered(TextTable(original.frame, (), (), None, normalize=table.normalize), names)
    runs = RunsOf(table, rows)
    for name, column in zip(names, values, strict=True):
        codes, texts = shown_texts(table, rows, ordering.columns_of[name])
        for ranks, ends in _readings(column, original, original.notations.get(name, POINT)):
            order = _order_of(ranks, runs, ordering.columns_of[name])
            if order is not None:
                yield Ordered(_cells_of_truth(name, codes, texts, ordering.templates, ranks, ends), *order)
                break


def _readings(
    column: NumberedColumn, original: OriginalRows, notation: Notation
) -> Iterator[tuple[pl.Series, pl.Series]]:
    """The values of a quasi-identifier in the original as numbers, if they are, and as texts: (rows,) their ranks, null
    where missing, and the value of each rank."""
    present = column.by_number.to_frame().select(pl.when(~pl.col("text").is_in(list(original.missing))).then("text"))
    number = present.select(number_of(with_point(pl.col("text"), notation))).to_series()
    codes = column.numbers.of_row
    if original.kept is not None:
        codes = codes.filter(original.kept)
    are_numbers = number.null_count() == present["text"].null_count()
    for values in (*([number] if are_numbers else []), present["text"]):
        ranks = (values.rank("dense").cast(pl.Int64) - 1).gather(codes)
        yield ranks.alias("rank"), values.drop_nulls().unique().sort().alias("end")


class RunsOf:
    """The runs of rows that show the same in one released column."""

    def __init__(self, table: TextTable, rows: TextRows) -> None:
        self.table, self.rows = table, rows
        self.columns = table.frame.collect_schema().names()

    def of(self, name: str, first: int | None = None) -> pl.Series:
        """(rows,) the number of the run, from 0; of the `first` rows alone, if they are enough."""
        if name in self.table.quasi_identifiers:
            numbers = self.rows.columns[self.table.quasi_identifiers.index(name)].numbers
            codes = numbers.of_row.head(first or self.rows.count)
        else:
            frame = self.table.frame if first is None else self.table.frame.head(first)
            codes = numbered(TextTable(frame, (), (), None), [name])[0].numbers.of_row
        return codes.rle_id()


def _order_of(
    ranks: pl.Series, runs: RunsOf, own: Sequence[str]
) -> tuple[Direction, str | None, pl.Series | None] | None:
    """In which direction ranks are in order, within the runs of which column (None: all rows), and these runs; None
    where they are not. Of several columns that with the fewest runs."""
    present = ranks.is_not_null()
    steps = ranks.filter(present).diff()[1:]
    falls, rises = steps < 0, steps > 0
    if not falls.any() or not rises.any():
        return ("ascending" if not falls.any() else "descending", None, None) if falls.any() or rises.any() else None
    best: tuple[Direction, str | None, pl.Series | None] | None = None
    for name in runs.columns:
        if name in own or min(_steps(ranks.head(SAMPLE), runs.of(name, SAMPLE))):
            continue
        ids = runs.of(name)
        if best is not None and best[2] is not None and whole(ids.max()) >= whole(best[2].max()):
            continue
        up, down = _steps(ranks, ids)
        if not min(up, down) and max(up, down) >= EVIDENCE:
            best = ("ascending" if up else "descending", name, ids)
    return best


def _steps(ranks: pl.Series, ids: pl.Series) -> tuple[int, int]:
    """How often ranks rise, and how often they fall, from one row of a run to the next that has a value."""
    present = ranks.is_not_null()
    steps, same = ranks.filter(present).diff()[1:], ids.filter(present).diff()[1:] == 0
    return int(((steps > 0) & same).sum()), int(((steps < 0) & same).sum())


def _cells_of_truth(
    name: str, codes: pl.Series, texts: pl.DataFrame, templates: CellTemplates, ranks: pl.Series, ends: pl.Series
) -> Cells:
    """What each cell's text says, as far as that is true of all rows that show it; else the lowest and the highest
    value of these: no less than whoever knows the hierarchy can say."""
    stated = stated_ends(texts, templates).with_row_index("code")
    numeric = ends.dtype == pl.Float64
    low, high = ("low", "high") if numeric else ("first", "last")
    if not numeric:
        stated = stated.with_columns(**_BOTH_ENDS)
    # A cell that stands for a missing value somewhere does not bound other rows.
    by_code = pl.DataFrame([codes.alias("code"), ranks]).group_by("code")
    values = by_code.agg(least=pl.col("rank").min(), most=pl.col("rank").max(), lacking=pl.col("rank").has_nulls())
    values = values.with_columns(
        pl.col("code").cast(pl.UInt32), least=ends.gather(values["least"]), most=ends.gather(values["most"])
    )
    stated = stated.join(values, on="code", how="left").sort("code")
    above, below = pl.col(low) < pl.col("least"), pl.col("most") < pl.col(high)
    within = above | (~pl.col("without_low") & (pl.col(low) == pl.col("least")))
    within &= below | (~pl.col("without_high") & (pl.col("most") == pl.col(high)))
    derived = ~within.fill_null(False) & pl.col("least").is_not_null() & ~pl.col("suppressed")
    stated = stated.with_columns(derived=derived).with_columns(
        pl.when("derived").then("least").otherwise(low).alias(low),
        pl.when("derived").then("most").otherwise(high).alias(high),
        **{name: pl.col(name) & ~pl.col("derived") for name in LEFT_OUT},
        absent=pl.col("absent") & ~pl.col("derived"),
        or_missing=pl.col("or_missing") | pl.col("lacking").fill_null(False),
    )
    keys, top = keys_of(stated.drop("code"), low, high)
    return Cells(name, codes, keys, top)
