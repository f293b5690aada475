"""The parts of a DataFrame, each grown by a worker as one machine grows a table, and released there.

Rows are scattered by part, each with its codes in place of its quasi-identifiers, and with what passes through. A class
that is too large for a worker and is cut no further comes in pieces: what it shows is known from its counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.algorithms.mondrian import allowed_by
from anonymize.algorithms.splitting.batch import Batch
from anonymize.algorithms.splitting.grow import grow
from anonymize.algorithms.splitting.histograms import UpperStep
from anonymize.algorithms.splitting.upper import UpperClasses
from anonymize.classes import Codes, Integers, Ints, Partition, Runs
from anonymize.judging import Judge
from anonymize.recoding import Regions, Released, render
from anonymize.recoding.appearance import Appearance
from anonymize.recoding.regions import region_appearance
from anonymize.recoding.window import Tails, Window
from anonymize.rows import ReleasedRows
from anonymize.spark.cutting import Demands, labels_of
from anonymize.spark.engine import DataFrame, chunks, grouped, struct
from anonymize.spark.learned import Learned
from anonymize.spark.local import HASH, PartSearch, hashed, in_order_of
from anonymize.spec import Output, Role
from anonymize.spec.columns import WITHHELD
from anonymize.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

PART, PIECE = "part", "piece"
"""What rows are scattered by: their part, and the piece of it where it is one class."""


@dataclass(frozen=True)
class KnownTails(Tails):
    """Tails of a column of which only some rows are at hand; its `window` is known from the counts of all."""

    known: Window | None = None

    def window(self, codes: Codes, rows: NDArray[np.uint32], count: int) -> Window:
        """See `Tails`."""
        assert self.known is not None
        return self.known


@dataclass(frozen=True)
class PartRegions(Regions):
    """Regions of a part of a table. `windows`: of each attribute of the whole table, the ends that may be shown."""

    windows: tuple[Window | None, ...] = ()

    def appearances(self, table: Table, output: Output) -> list[Appearance]:
        """See `Recoding`."""
        pairs = zip(table.attributes, self.windows, strict=True)
        return [region_appearance(a, self.partition, output, KnownTails(None, 0, known=window)) for a, window in pairs]


@dataclass(frozen=True)
class EngineColumns:
    """The columns of a DataFrame: their `names` in order, the `roles` of these. Where rows have been scattered, codes
    of the quasi-identifiers are `q0`, ..., those of sensitive attributes `s0`, ..."""

    names: tuple[str, ...]
    roles: Mapping[str, Role]

    @property
    def passing(self) -> list[int]:
        """The places of the columns that are released as they are."""
        withheld = {*WITHHELD, "quasi-identifier"}
        return [place for place, name in enumerate(self.names) if self.roles[name] not in withheld]

    @property
    def released(self) -> list[int]:
        """The places of the columns of a release; a quasi-identifier stays one column."""
        return [place for place, name in enumerate(self.names) if self.roles[name] not in WITHHELD]

    @property
    def groups(self) -> tuple[list[str], list[str]]:
        """The columns of a release by their places: the quasi-identifiers, and what passes through."""
        passing = set(self.passing)
        return [f"c{place}" for place in self.released if place not in passing], [f"c{place}" for place in self.passing]


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
    local: PartSearch | None = None

    @property
    def codes(self) -> list[str]:
        """The columns of the codes, where rows have been scattered."""
        names = [f"q{place}" for place in range(len(self.learned.attributes))]
        return names + [f"s{place}" for place in range(len(self.learned.sensitive))]

    @property
    def beside(self) -> list[str]:
        """The columns that come with them as they are."""
        passing = [f"c{place}" for place in self.layout.passing]
        return passing if self.local is None else [HASH, *passing]


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
    released = released_schema(df, plan.layout)
    if plan.local is not None:
        df = hashed(df, [f"c{place}" for place in plan.layout.released])
    fields = {field.name: field for field in df.schema.fields}
    scattered = struct({PART: "long", PIECE: "long", **dict.fromkeys(plan.codes, "int")})
    for name in plan.beside:
        scattered = scattered.add(fields[name])
    rows = df.mapInArrow(partial(_scatter, plan), scattered)
    return grouped(rows, (PART, PIECE), partial(_release, plan), released)


def released_schema(df: DataFrame, layout: EngineColumns) -> Any:
    """The type of the rows of a release, whose generalized columns are texts."""
    fields, released = {field.name: field for field in df.schema.fields}, struct({})
    for place in layout.released:
        quasi = layout.roles[layout.names[place]] == "quasi-identifier"
        released = released.add(f"c{place}", "string") if quasi else released.add(fields[f"c{place}"])
    return released


def _scatter(plan: Plan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a partition with their codes, and the part that each is in."""
    import pyarrow as pa

    done = 0
    for table in chunks(batches):
        source = labels_of(plan.learned, plan.steps, table)
        piece = np.zeros(source.rows, np.int64)
        large = np.isin(source.labels, list(plan.boxes))
        piece[large] = (done + np.arange(np.count_nonzero(large))) // plan.piece_rows
        done += int(np.count_nonzero(large))
        coded = {name: pa.array(codes.astype(np.int32)) for name, codes in zip(plan.codes, source.columns, strict=True)}
        columns = {PART: pa.array(source.labels.astype(np.int64)), PIECE: pa.array(piece), **coded}
        yield from pa.table(columns | {name: table[name] for name in plan.beside}).to_batches()


def _release(plan: Plan, rows: pa.Table) -> pa.Table:
    """The rows of a part, or of a piece of one, as they are released."""
    number = int(rows[PART][0].as_py())
    if plan.local is not None:
        rows = in_order_of(rows, [*plan.beside, *plan.codes])
    table = _coded(plan, rows)
    if number in plan.boxes:
        released = _in_box(plan, table, plan.boxes[number])
    else:
        partition = _grown(plan, table, number) if plan.local is None else plan.local.partition(table)
        released = render(_regions(plan, partition), table, plan.output, drop=False)
    return as_released(released, plan.layout, released.class_of[: rows.num_rows], rows)


def as_released(released: Released, layout: EngineColumns, class_of: Integers, rows: pa.Table) -> pa.Table:
    """Some rows as they are released. `class_of` (rows,); `rows`: what passes through, by its places."""
    import pyarrow as pa

    names = [layout.names[place] for place in layout.released]
    cells = ReleasedRows(released, layout.roles, names).cells
    columns = {}
    for place in layout.released:
        name = layout.names[place]
        if layout.roles[name] == "quasi-identifier":
            (column,) = released.columns_of(name)
            texts = cells[column.name].gather(column.of_class[class_of])
            columns[f"c{place}"] = texts.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())
        else:
            columns[f"c{place}"] = rows[f"c{place}"]
    return pa.table(columns)


def _coded(plan: Plan, rows: pa.Table) -> Table:
    """Scattered rows as a table."""
    learned = plan.learned

    def codes(letter: str, place: int) -> Codes:
        number = place if letter == "q" else len(learned.attributes) + place
        kind = np.min_scalar_type(max(learned.sizes[number] - 1, 0))
        return np.asarray(rows[f"{letter}{place}"].to_numpy(zero_copy_only=False).astype(kind))

    return learned.part(
        [codes("q", place) for place in range(len(learned.attributes))],
        [codes("s", place) for place in range(len(learned.sensitive))],
        rows.num_rows,
    )


def _grown(plan: Plan, table: Table, number: int) -> Partition:
    """The classes of a part, as the search of the whole table makes them."""
    judge = Judge(table, plan.demands.beyond_size)
    (place,) = np.flatnonzero(plan.parts.numbers == number)
    whole = Batch.whole(
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
