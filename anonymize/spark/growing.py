"""The parts of a DataFrame, each grown by a worker as one machine grows a table, and released there.

Rows are scattered by part, with the keys of their quasi-identifiers in place of these, and with what passes through,
which stays in the engine. A class that is too large for a worker and is cut no further comes in pieces: what it shows
is known from its counts.

Local recoding, and Mondrian where rows of equal value may part, work on every part by itself, with the code of one
machine. A part is a class that upper cuts make: it meets every requirement as one class, and models compare its classes
with the whole DataFrame. So a release by parts is as safe as any; what it loses is near what a search of all rows
loses, as only rows near the borders of parts would have gone elsewhere.

What such a search finds depends on the order of its rows, of which a DataFrame has none. They are put in the order of a
hash of all that counts in them: the same wherever they come from, and rows that are equal in their quasi-identifiers do
not go to classes by what else they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.algorithms import ALGORITHMS, Context, splitting
from anonymize.algorithms.mondrian import allowed_by
from anonymize.algorithms.splitting.grow import grow
from anonymize.algorithms.splitting.parts import UpperClasses, UpperStep
from anonymize.classes import Codes, Ints, Partition, Runs
from anonymize.judging import Judge
from anonymize.privacy import Requirement
from anonymize.recoding import Regions, Released, appearance, base, render, spans
from anonymize.records import dataclass
from anonymize.spark.cutting import Demands, label_expression, labels_of
from anonymize.spark.engine import CHUNK, Columns, DataFrame, beside, hash_of, joined
from anonymize.spark.learned import Learned
from anonymize.spec import Output, Role
from anonymize.spec.columns import WITHHELD
from anonymize.table import Table
from anonymize.writing.rows import RowLayout

LOCAL_ROWS = 1 << 15
"""Rows of a part at most, unless they are one class: as many as refinement goes over thirty times by default."""
ORDER = ("h0", "h1")


def part_classes(
    algorithm: str, options: Any, requirements: tuple[Requirement, ...], seed: int | None, table: Table
) -> Partition:
    """The classes of a part that is searched by itself. `options`: the algorithm's own. Chance begins in every part
    with the same `seed`; None: with 0."""
    regions = ALGORITHMS[algorithm].run(table, requirements, options, Context(seed=seed))
    assert isinstance(regions, Regions)
    assert not len(regions.suppressed), "a part that does not meet the requirements: this is probably a bug"
    return regions.partition


def order_keys(columns: Sequence[str]) -> list[str]:
    """Expressions of the columns `ORDER`, by which rows are put in order: hashes of some columns, as texts, as no two
    values of a column that are not equal read alike. The first decides, but for a collision."""
    texts = ", ".join(f"cast({name} as string)" for name in columns)
    return [f"xxhash64({texts}) as {ORDER[0]}", f"{hash_of(columns, 'again')} as {ORDER[1]}"]


# --- columns ----------------------------------------------------------------------------------------------------------
# The columns of a DataFrame and of its release, by their places, and what the generalized ones of some rows read.


@dataclass(frozen=True)
class EngineColumns:
    """The columns of a DataFrame: the `places` and `roles` of their names, in order."""

    places: Mapping[str, str]
    roles: Mapping[str, Role]

    @property
    def released(self) -> dict[str, str]:
        """The places of the columns of a release, by their names; a quasi-identifier stays one column."""
        return {name: place for name, place in self.places.items() if self.roles[name] not in WITHHELD}

    @property
    def generalized(self) -> dict[str, str]:
        """The places of the quasi-identifiers, by their names."""
        return {name: place for name, place in self.released.items() if self.roles[name] == "quasi-identifier"}

    @property
    def made(self) -> dict[str, str]:
        """The quasi-identifiers by their places, with the type that they are released as (see `struct`)."""
        return dict.fromkeys(self.generalized.values(), "string")

    @property
    def passing(self) -> list[str]:
        """The places of the columns that are released as they are."""
        return [place for name, place in self.released.items() if self.roles[name] != "quasi-identifier"]


@dataclass(frozen=True)
class CellTexts:
    """What the quasi-identifiers of some rows read, put in bit by bit: of each, by its place, the `texts` that occur,
    and (rows,) `which` of these each row has."""

    texts: Mapping[str, list[pl.Series]]
    which: Mapping[str, NDArray[np.uint32]]

    @classmethod
    def of_rows(cls, rows: int, layout: EngineColumns) -> CellTexts:
        """Of so many rows, of which nothing is known yet."""
        return cls({place: [] for place in layout.made}, {place: np.empty(rows, np.uint32) for place in layout.made})

    def put(self, released: Released, layout: EngineColumns, rows: Ints, class_of: NDArray[Any]) -> None:
        """Takes in what classes show. `rows` (n,): those that are in them; `class_of` (n,): the class of each."""
        cells = RowLayout(released, layout.roles, list(layout.released)).cells
        for name, place in layout.generalized.items():
            (column,) = released.columns_of(name)
            known = sum(map(len, self.texts[place]))
            self.which[place][rows] = column.of_class[class_of].astype(np.uint32) + np.uint32(known)
            self.texts[place].append(cells[column.name])

    def frames(self, rows: int = CHUNK) -> Iterator[pl.DataFrame]:
        """The rows, about so many at a time."""
        texts = {place: pl.concat(parts) for place, parts in self.texts.items()}
        for first in range(0, max(map(len, self.which.values())), rows):
            some = slice(first, first + rows)
            yield pl.DataFrame([texts[place].gather(which[some]).alias(place) for place, which in self.which.items()])


# --- parts, each grown by a worker ------------------------------------------------------------------------------------

LOT = "lot"
"""What rows are scattered by: their part, and the piece of it where it is one class."""
MOST_PIECES = 1 << 24
"""Pieces of a part."""
SPREAD, FEW = 4, 200
"""Partitions for each lot, and four times as many of those as long as there are few: lots come to partitions by a hash,
and a worker holds all of its partition at once, of which hardly any are to have two."""


@dataclass(frozen=True)
class KnownTails(spans.Tails):
    """Tails of a column of which only some rows are at hand; its `window` is known from the counts of all."""

    known: spans.Window | None = None

    def window(self, codes: Codes, rows: NDArray[np.uint32], count: int) -> spans.Window:
        assert self.known is not None
        return self.known


@dataclass(frozen=True)
class PartRegions(Regions):
    """Regions of a part of a table. `windows`: of each attribute of the whole table, the ends that may be shown."""

    windows: tuple[spans.Window | None, ...] = ()

    def appearances(self, table: Table, output: Output) -> list[appearance.Appearance]:
        pairs = zip(table.attributes, self.windows, strict=True)
        return [
            base.region_appearance(a, self.partition, output, KnownTails(None, 0, known=window)) for a, window in pairs
        ]


@dataclass(frozen=True)
class Plan:
    """What a worker knows. `parts`: those that rows are scattered by; `steps`: the cuts that lead to them; `boxes`: of
    the parts that are one class, the codes that occur in each attribute. `local`: the search of every part by itself;
    None: parts are grown as the whole search would grow them."""

    learned: Learned
    demands: Demands
    layout: EngineColumns
    output: Output
    steps: tuple[UpperStep, ...]
    parts: UpperClasses
    boxes: Mapping[int, Sequence[Ints]]
    piece_rows: int
    local: Callable[[Table], Partition] | None = None

    @property
    def orders(self) -> tuple[str, ...]:
        """The columns that put the rows of a part in order, where a search depends on that."""
        return () if self.local is None else ORDER

    @property
    def pieces(self) -> dict[int, int]:
        """How many pieces each part comes in that is one class."""
        sizes = zip(self.parts.numbers.tolist(), self.parts.sizes.tolist(), strict=True)
        return {number: -(-size // self.piece_rows) for number, size in sizes if number in self.boxes}

    @property
    def lots(self) -> int:
        """How many parts there are, or pieces of these."""
        return len(self.parts.numbers) - len(self.boxes) + sum(self.pieces.values())

    @property
    def partitions(self) -> int:
        """How many partitions lots are put into."""
        return max(SPREAD * self.lots, min(4 * SPREAD * self.lots, FEW)) if self.lots > 1 else 1

    def lots_of(self, labels: Ints, done: int) -> Ints:
        """(rows,) the lot that each of some rows is in, by the class that is its part. `done`: rows of the partition
        before these. Rows of a class that comes in pieces take turns."""
        piece = np.zeros(len(labels), np.int64)
        for number, count in self.pieces.items():
            piece[labels == number] = (done + np.flatnonzero(labels == number)) % count
        return np.asarray(labels * MOST_PIECES + piece)


def boxes_of(parts: Ints, runs: Sequence[Runs]) -> dict[int, list[Ints]]:
    """The codes of each attribute that occur in some parts, by their numbers. `runs`: the counts of each attribute."""
    return {number: [own.codes[own.classes == place] for own in runs] for place, number in enumerate(parts.tolist())}


def as_one_class(plan: Plan) -> Plan:
    """The plan of a release in which all rows are one class."""
    shape = (1, len(plan.learned.attributes))
    everyone = np.array([plan.learned.rows])
    one = UpperClasses(np.zeros(1, np.int64), everyone, np.ones(shape, np.bool_), np.zeros(shape, np.uint8))
    box = [np.flatnonzero(counts) for counts in plan.learned.counts[: shape[1]]]
    return replace(plan, steps=(), parts=one, boxes={0: box})


def released_rows(df: DataFrame, plan: Plan) -> DataFrame:
    """The rows of the release, of any order, their columns by their places. `df`: see `engine`."""
    layout, learned = plan.layout, plan.learned
    orders = order_keys([*layout.released.values()]) if plan.local is not None else []
    rows = learned.keyed(df, *layout.passing, *orders)
    scattered = _with_lots(rows, plan).repartition(plan.partitions, LOT)
    made = beside(scattered, [LOT, *plan.orders, *learned.keys], partial(_release, plan), layout.made)
    return made.select(*layout.released.values())


def _with_lots(rows: DataFrame, plan: Plan) -> DataFrame:
    label = None if plan.boxes else label_expression(plan.learned.books, plan.steps)
    if label is None:
        return beside(rows, plan.learned.keys, partial(_scatter, plan), {LOT: "long"})
    return rows.selectExpr("*", f"cast({label} as bigint) * {MOST_PIECES} as {LOT}")


def _scatter(plan: Plan, chunks: Iterable[Columns]) -> Iterator[pl.DataFrame]:
    done = 0
    for keys in chunks:
        labels = labels_of(plan.learned, plan.steps, keys).labels
        yield pl.DataFrame({LOT: plan.lots_of(labels.astype(np.int64), done)})
        done += len(labels)


def _release(plan: Plan, chunks: Iterable[Columns]) -> Iterator[pl.DataFrame]:
    """What the quasi-identifiers of the rows of a partition read as, which has one lot, or several."""
    lots, orders, coded = [], [], []
    first = 1 + len(plan.orders)
    for columns in chunks:
        lots.append(columns[0])
        orders.append(columns[1:first])
        coded.append(plan.learned.codes(columns[first:]))
    if not lots:
        return
    lot = np.concatenate(lots)
    codes, order = joined(coded), joined(orders)
    texts = CellTexts.of_rows(len(lot), plan.layout)
    for rows in _by_lot(lot):
        if plan.local is not None:
            rows = rows[np.lexsort([each[rows] for each in (*reversed(codes), *reversed(order))])]
        released = _released(plan, int(lot[rows[0]]) // MOST_PIECES, [own[rows] for own in codes])
        texts.put(released, plan.layout, rows, released.class_of[: len(rows)])
    yield from texts.frames()


def _by_lot(lots: Ints) -> Iterator[Ints]:
    if lots.min() == lots.max():
        yield np.arange(len(lots))
        return
    order = np.argsort(lots, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(lots[order])) + 1)


def _released(plan: Plan, number: int, codes: Sequence[Codes]) -> Released:
    """The rows of a part, or of a piece of one, by their codes, the classes of further rows last."""
    learned = plan.learned
    count = len(learned.attributes)
    table = learned.part(codes[:count], codes[count:], len(codes[0]))
    if number in plan.boxes:
        return _in_box(plan, table, plan.boxes[number])
    partition = _grown(plan, table, number) if plan.local is None else plan.local(table)
    return render(_regions(plan, partition), table, plan.output, drop=False)


def _grown(plan: Plan, table: Table, number: int) -> Partition:
    """The classes of a part, as the search of the whole table makes them."""
    judge = Judge(table, plan.demands.beyond_size)
    (place,) = np.flatnonzero(plan.parts.numbers == number)
    whole = splitting.Batch.whole(
        np.arange(table.rows, dtype=np.uint32),
        tuple(attribute.codes for attribute in table.attributes),
        tuple(column.codes for column in judge.columns),
    )
    one = slice(place, place + 1)
    part = replace(whole, closed=plan.parts.closed[one].copy(), attempts=plan.parts.attempts[one].copy())
    return grow(part, plan.demands.rule(plan.learned), allowed_by(judge), 1, lambda rows: None)


def _regions(plan: Plan, partition: Partition) -> PartRegions:
    return PartRegions(partition, np.zeros(0, np.uint32), plan.demands.cut, windows=plan.learned.windows)


def _in_box(plan: Plan, table: Table, box: Sequence[Ints]) -> Released:
    """Rows of one class, of which others are elsewhere: rendered together with rows that have, between them, every code
    that occurs in the class, and that come last."""
    further = max(map(len, box))
    codes = [
        np.concatenate((attribute.codes, np.resize(own, further).astype(attribute.codes.dtype)))
        for attribute, own in zip(table.attributes, box, strict=True)
    ]
    sensitive: list[Any] = [np.resize(column.codes, table.rows + further) for column in table.sensitive]
    together = plan.learned.table(codes, sensitive, table.rows + further)
    everyone = np.arange(together.rows, dtype=np.uint32)
    partition = Partition(everyone, np.array([0, together.rows], np.int64))
    return render(_regions(plan, partition), together, plan.output, drop=False)
