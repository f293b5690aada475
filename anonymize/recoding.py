"""What an algorithm returns, and how it reads when it is released.

An algorithm finds a `Recoding`; `render` turns it into `Released`: for every released column of a quasi-identifier the
distinct texts it shows, and which of them each class shows. Rows are looked up through their class, so a text exists
once however many rows show it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Codes, Floats, Ints, Partition, Runs, run_starts
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.spec import Output
from anonymize.table import Attribute, Table


@dataclass(frozen=True)
class Regions:
    """Multidimensional and local recoding: every class is released as the smallest region around its own rows.

    `partition`: the classes. `suppressed` (s,) uint32: rows of no class, which the algorithm gave up. `cut`: the rule
    by which the classes were cut, where there was a choice. `refinement`: what refining them gained.
    """

    KIND: ClassVar[str] = "regions"

    partition: Partition
    suppressed: NDArray[np.uint32]
    cut: str | None = None
    refinement: dict[str, Any] | None = None

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        found = {"regions": self.partition.count, "suppressed_rows": len(self.suppressed)}
        told = {"cut": self.cut, "refinement": self.refinement}
        return {"kind": self.KIND, **{key: value for key, value in told.items() if value is not None}, **found}


@dataclass(frozen=True)
class Levels:
    """Full-domain generalization: every cell is released as its value's ancestor at a level of the hierarchy.

    `partition`: the classes; the rows of one have the same ancestors at its levels. `levels` (classes, attributes)
    int8: the level vector of each class, which all share unless the recoding is local. `suppressed` (s,) uint32: rows
    of no class. `chosen`: what else the report's `recoding` block says.
    """

    KIND: ClassVar[str] = "levels"

    partition: Partition
    levels: NDArray[np.int8]
    suppressed: NDArray[np.uint32]
    chosen: dict[str, Any] | None = None

    @property
    def vector(self) -> tuple[int, ...] | None:
        """The level vector that all classes share; None where there is none, or no class."""
        if not len(self.levels) or (self.levels != self.levels[0]).any():
            return None
        return tuple(self.levels[0].tolist())

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        return {"kind": self.KIND, **(self.chosen or {}), "suppressed_rows": len(self.suppressed)}


Recoding: TypeAlias = Regions | Levels


@dataclass(frozen=True)
class ReleasedColumn:
    """One released column: `texts`, the distinct texts in it, and `of_class` (classes,) which one each class shows."""

    name: str
    attribute: str
    texts: list[str]
    of_class: Ints


@dataclass(frozen=True)
class Released:
    """A release before it is written.

    Classes of the recoding that read the same are one class here, as they are to whoever reads the release. `class_of`
    (rows,) int32: class of each row of the input, -1 for a row that is dropped. `columns`: of each quasi-identifier one
    released column, or two. `sizes` (classes,). `ncp`, `loss`: per quasi-identifier, (classes,) unweighted normalized
    certainty penalty and Iyengar's loss of a cell of the class (the mean over its rows).

    Rows that are published suppressed, and classes that read the same, are one class after these, numbered
    `len(sizes)`; `suppressed_rows` counts them and the dropped ones, `dropped_rows` the latter.
    """

    class_of: NDArray[np.int32]
    columns: tuple[ReleasedColumn, ...]
    sizes: Ints
    ncp: tuple[Floats, ...]
    loss: tuple[Floats, ...]
    suppressed_rows: int
    dropped_rows: int

    def columns_of(self, attribute: str) -> list[ReleasedColumn]:
        """The released columns that a quasi-identifier became."""
        return [column for column in self.columns if column.attribute == attribute]


def render(recoding: Recoding, table: Table, output: Output, *, drop: bool) -> Released:
    """How a recoding reads under the spec's `output`; `drop` leaves the suppressed rows out of the release."""
    partition = recoding.partition
    class_of = partition.class_of(table.rows)
    if not drop:
        class_of[recoding.suppressed] = partition.count
    shown = _shown(recoding, table, output)
    costs = [each.costs() for each in shown]
    released = Released(
        class_of=class_of,
        columns=tuple(column for each in shown for column in each.columns()),
        sizes=partition.sizes,
        ncp=tuple(ncp for ncp, _ in costs),
        loss=tuple(loss for _, loss in costs),
        suppressed_rows=len(recoding.suppressed),
        dropped_rows=len(recoding.suppressed) if drop else 0,
    )
    return _united(released)


def _shown(recoding: Recoding, table: Table, output: Output) -> list[Showing | Generalized]:
    """What shows each quasi-identifier."""
    partition = recoding.partition
    if isinstance(recoding, Regions):
        return [Showing(a, partition, *partition.boxes(a.codes), output) for a in table.attributes]
    first = partition.order[partition.starts[:-1]]
    return [
        Generalized(attribute, attribute.codes[first], level, output)
        for attribute, level in zip(table.attributes, recoding.levels.T, strict=True)
    ]


def _united(released: Released) -> Released:
    """The release with classes that read the same put together; the first of them gives the number."""
    count = len(released.sizes)
    key = _reading(released)
    visible = np.flatnonzero(key[:-1] != key[-1])
    _, first, inverse = np.unique(key[visible], return_index=True, return_inverse=True)
    if len(first) == count:
        return released
    number = np.full(count + 1, len(first))
    number[visible] = np.argsort(np.argsort(first))[inverse]
    order = np.argsort(number, kind="stable")
    starts = run_starts(number[order])[: len(first)]
    rows = np.append(released.sizes, 0)[order]
    sizes = np.add.reduceat(rows, np.append(starts, len(visible)))[:-1]

    def mean(of_class: Floats) -> Floats:
        sums = np.add.reduceat(np.append(of_class, 0)[order] * rows, np.append(starts, len(visible)))[:-1]
        return np.asarray(sums / sizes)

    shown = np.append(order[starts], count)
    return replace(
        released,
        class_of=np.append(number, -1).astype(np.int32)[released.class_of],
        columns=tuple(replace(column, of_class=column.of_class[shown]) for column in released.columns),
        sizes=sizes,
        ncp=tuple(mean(ncp) for ncp in released.ncp),
        loss=tuple(mean(loss) for loss in released.loss),
        suppressed_rows=released.suppressed_rows + int(released.sizes.sum() - sizes.sum()),
    )


def _reading(released: Released) -> Ints:
    """(classes + 1,) a number for how each class reads, the suppressed one last: the same for the same texts."""
    key, span = np.zeros(len(released.sizes) + 1, np.int64), 1
    for column in released.columns:
        if span * len(column.texts) >= 2**63:
            key, span = np.unique(key, return_inverse=True)[1], len(key)
        key, span = key * len(column.texts) + column.of_class, span * len(column.texts)
    return key


Shown: TypeAlias = tuple[list[str], Ints]
"""The distinct texts of a released column, and which of them each class shows (classes,)."""


@dataclass(frozen=True)
class Generalized:
    """One quasi-identifier at levels of its hierarchy: `codes` (classes,) of a row of each class, `level` (classes,).

    The spec's `output` says how suppressed rows read. A label stands where the attribute is numeric too; with `bounds`
    in both columns, so that a release has the same columns whatever the algorithm.
    """

    attribute: Attribute
    codes: Codes
    level: NDArray[np.int8]
    output: Output

    @cached_property
    def nodes(self) -> Ints:
        """(classes,) the node that each class shows."""
        generalization = self.attribute.generalization
        leaves = generalization.leaf_of(self.codes)
        return generalization.hierarchy.levels[self.level, leaves].astype(np.int64)

    def columns(self) -> list[ReleasedColumn]:
        """The column, or the two, that the attribute is released as."""
        nodes, first, of_class = np.unique(self.nodes, return_index=True, return_inverse=True)
        shown = self.attribute.generalization.text_of(self.codes[first], nodes), of_class
        two = self.attribute.domain.kind == "numeric" and self.output.numeric == "bounds"
        suffixes = ["_low", "_high"] if two else [""]
        return named(self.attribute.name, [shown] * len(suffixes), suffixes, self.output.suppressed)

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of each class's node."""
        generalization = self.attribute.generalization
        return generalization.ncp[self.nodes], generalization.loss[self.nodes]


def named(attribute: str, shown: list[Shown], suffixes: list[str], suppressed: str) -> list[ReleasedColumn]:
    """The columns, with the class of suppressed rows added after the others, and every text once."""
    columns = []
    for (texts, of_class), suffix in zip(shown, suffixes, strict=True):
        texts, of_class = [*texts, suppressed], np.append(of_class, len(texts))
        distinct = list(dict.fromkeys(texts))
        if len(distinct) < len(texts):
            number = {text: index for index, text in enumerate(distinct)}
            of_class = np.array([number[text] for text in texts])[of_class]
        columns.append(ReleasedColumn(attribute + suffix, attribute, distinct, of_class))
    return columns


@dataclass(frozen=True)
class Showing:
    """One quasi-identifier under the spec's `output`, with the ends (classes,) of the classes' regions."""

    attribute: Attribute
    partition: Partition
    low: Codes
    high: Codes
    output: Output

    def columns(self) -> list[ReleasedColumn]:
        """The column, or the two, that the attribute is released as."""
        domain = self.attribute.domain
        if isinstance(domain, Taxonomy):
            shown = [self._sets(domain) if self.output.categorical == "set" else self._nodes(domain)]
            return self._named(shown, [""])
        assert isinstance(domain, Numeric)
        if self.output.numeric == "bounds":
            return self._named(self._bounds(domain), ["_low", "_high"])
        if self.output.numeric == "interval":
            return self._named([self._interval(domain)], [""])
        points = _means if self.output.numeric == "mean" else _medians
        return self._named([self._points(domain, points(domain, self.attribute.codes, self.partition))], [""])

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of each class's region; of the widened one where edges are rounded."""
        domain = self.attribute.domain
        if isinstance(domain, Numeric) and self.output.edges == "rounded":
            width = domain.rounded_cost(self.low, self.high)
            return width, width
        return domain.cost(self.low, self.high), domain.loss(self.low, self.high)

    def _named(self, shown: list[Shown], suffixes: list[str]) -> list[ReleasedColumn]:
        return named(self.attribute.name, shown, suffixes, self.output.suppressed)

    def _distinct(self) -> tuple[Ints, Ints, Ints]:
        """The ends of the distinct regions, and which of them each class has."""
        keys, of_class = np.unique(self.low.astype(np.uint64) << np.uint64(32) | self.high, return_inverse=True)
        return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64), of_class

    def _nodes(self, domain: Taxonomy) -> Shown:
        low, high, of_class = self._distinct()
        return domain.node_text(low, high), of_class

    def _interval(self, domain: Numeric) -> Shown:
        low, high, of_class = self._distinct()
        output = self.output
        return domain.interval_text(low, high, output.interval, output.edges, output.suppressed), of_class

    def _bounds(self, domain: Numeric) -> list[Shown]:
        low, high, of_class = self._distinct()
        return [(texts, of_class) for texts in domain.bounds_text(low, high, self.output.edges, self.output.suppressed)]

    def _sets(self, domain: Taxonomy) -> Shown:
        """The values present in each class, in leaf order: `{a|b}`, or the one value alone."""
        labels = np.repeat(np.arange(self.partition.count), self.partition.sizes)
        codes = self.attribute.codes[self.partition.order]
        runs = Runs.count_values(labels, codes, self.partition.count, domain.size)
        leaves = pl.Series([escaped(text) for text in domain.leaf_text()])
        several = pl.col("count") > 1
        shown = (
            pl.DataFrame({"class": runs.classes, "text": leaves.gather(runs.codes)})
            .group_by("class", maintain_order=True)
            .agg(pl.col("text").str.join("|"), pl.len().alias("count"))
            .select(text=pl.when(several).then("{" + pl.col("text") + "}").otherwise("text"))
            .with_columns(number=pl.col("text").rank("dense") - 1)
        )
        return shown["text"].unique().sort().to_list(), shown["number"].cast(pl.Int64).to_numpy()

    def _points(self, domain: Numeric, points: Floats) -> Shown:
        """One number a class; suppressed or missing where the interval is."""
        numbers, of_class = np.unique(points, return_inverse=True)
        texts = [format_number(number) for number in numbers.tolist()]
        texts += [self.output.suppressed, domain.missing_text or ""]
        of_class = np.where(domain.suppressed(self.low, self.high), len(texts) - 2, of_class)
        if domain.missing is not None:
            of_class = np.where(self.low == domain.missing, len(texts) - 1, of_class)
        return texts, of_class


def escaped(text: str) -> str:
    """A value as it stands in a set: backslash, `|`, `{` and `}` behind a backslash."""
    return text.translate({ord(character): "\\" + character for character in "\\|{}"})


def format_number(number: float) -> str:
    """At most six decimals, without an exponent, a trailing zero or a bare decimal point."""
    text = np.format_float_positional(number, precision=6, unique=True, fractional=True, trim="-")
    return "0" if text == "-0" else text


def _values(domain: Numeric) -> Floats:
    values = domain.values.astype(np.float64)
    return values if domain.missing is None else np.append(values, 0.0)


def _means(domain: Numeric, codes: Codes, partition: Partition) -> Floats:
    """(classes,) mean of each class, of distances from its first row so that sums do not overflow or lose digits.

    A class with missing values has one too, which is not shown.
    """
    values = _values(domain)[codes[partition.order]]
    first = values[partition.starts[:-1]]
    with np.errstate(over="ignore", invalid="ignore"):
        offsets = (values - np.repeat(first, partition.sizes)) / np.repeat(partition.sizes, partition.sizes)
    return np.asarray(first + np.add.reduceat(offsets, partition.starts[:-1]))


def _medians(domain: Numeric, codes: Codes, partition: Partition) -> Floats:
    """(classes,) median of each class: the mean of the two middle values where their number is even."""
    labels = np.repeat(np.arange(partition.count, dtype=np.uint64), partition.sizes)
    arranged = np.sort(labels << np.uint64(32) | codes[partition.order]) & np.uint64(0xFFFFFFFF)
    values = _values(domain)
    lower = partition.starts[:-1] + (partition.sizes - 1) // 2
    upper = partition.starts[:-1] + partition.sizes // 2
    return np.asarray((values[arranged[lower].astype(np.int64)] + values[arranged[upper].astype(np.int64)]) / 2)
