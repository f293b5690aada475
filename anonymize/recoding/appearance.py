"""How one quasi-identifier appears in the classes of a release: categories as nodes or sets of values, numbers as
intervals, ends or points, and numbers as the numbers of a typed file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from anonymize.classes import Bools, Codes, Floats, Ints, KeyGroups, Partition, Runs, mixed_radix, starts_of
from anonymize.domain.cells import escaped
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.recoding.columns import ClassTexts, RecodedColumn, released_columns
from anonymize.recoding.spans import Spans, Tails, Window
from anonymize.records import dataclass
from anonymize.spec import Output, Spec

# --- one quasi-identifier ---------------------------------------------------------------------------------------------
# How one quasi-identifier appears in the classes of a release.
#
# Whatever depends on what a class shows has its place here: the texts, what showing them costs, and whatever else is to
# follow from them. A way of showing values is one subclass; nothing outside of it asks which one it is.

BOUNDS = ["_low", "_high"]
"""What is added to the name of a quasi-identifier that is released as two columns."""
MISSING = "_missing"
"""And of the third column, which says whether a number may be missing."""


class Appearance(ABC):
    """One quasi-identifier in all classes of a recoding."""

    @abstractmethod
    def columns(self) -> list[RecodedColumn]:
        """The column, or the two, that the quasi-identifier is released as; the class of suppressed rows comes last."""

    @abstractmethod
    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and Iyengar's loss of a cell of each class."""


@dataclass(frozen=True)
class InRegions(Appearance):
    """A quasi-identifier where every class is a region of its own, under the spec's `output`.

    `codes` (rows,): the values. `low`, `high` (classes,): the lowest and the highest code of each class's region.
    """

    name: str
    codes: Codes
    partition: Partition
    low: Codes
    high: Codes
    output: Output

    def _distinct(self) -> tuple[Ints, Ints, Ints]:
        """The ends of the distinct regions, and which of them each class has."""
        size = int(self.high.max(initial=0)) + 1
        groups = KeyGroups.of(*mixed_radix((self.low, self.high), (size, size)))
        first = groups.first
        return self.low[first].astype(np.int64), self.high[first].astype(np.int64), groups.group


# --- categories -------------------------------------------------------------------------------------------------------
# How categories appear where every class is a region of its own: as a node, as a set of values, or as two leaves.


@dataclass(frozen=True)
class CategoricalRegions(InRegions):
    """A categorical quasi-identifier in regions."""

    domain: Taxonomy

    def columns(self) -> list[RecodedColumn]:
        """The column, or the two, that the output's `categorical` asks for."""
        if self.output.categorical == "bounds":
            return released_columns(self.name, self._bounds(), BOUNDS, self.output.suppressed)
        one = self._sets() if self.output.categorical == "set" else self._nodes()
        return released_columns(self.name, [one], [""], self.output.suppressed)

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of the lowest node that covers each class, which is that of a set, too; of a label
        that several nodes have, those of the node that it is read as."""
        ncp, loss = self.domain.cost(self.low, self.high), self.domain.loss(self.low, self.high)
        if self.output.categorical == "node" and self.domain.twofold:
            labelled = self._labelled()
            ncp[labelled], loss[labelled] = self.domain.shown_cost(self.domain.lca(self.low, self.high)[labelled])
        return ncp, loss

    def _labelled(self) -> Bools:
        """(classes,) which classes read as a node."""
        return np.ones(len(self.low), np.bool_)

    def _nodes(self) -> ClassTexts:
        low, high, of_class = self._distinct()
        return self.domain.node_text(low, high), of_class

    def _bounds(self) -> list[ClassTexts]:
        """The first and the last leaf under each class's node."""
        low, high, of_class = self._distinct()
        node = self.domain.lca(low, high)
        return leaf_positions(self.domain, self.domain.start[node], self.domain.stop[node] - 1, of_class)

    def _sets(self) -> ClassTexts:
        """The values present in each class, in leaf order: `{a|b}`, or the one value alone.

        The distinct values of all classes are counted at once and come class by class in leaf order, so that joining
        the texts of each group gives its set.
        """
        labels = np.repeat(np.arange(self.partition.count), self.partition.sizes)
        codes = self.codes[self.partition.order]
        runs = Runs.count_values(labels, codes, self.partition.count, self.domain.size)
        leaves = pl.Series([escaped(text) for text in self.domain.leaf_text()])
        several = pl.col("count") > 1
        sets = (
            pl.DataFrame({"class": runs.classes, "text": leaves.gather(runs.codes)})
            .group_by("class", maintain_order=True)
            .agg(pl.col("text").str.join("|"), pl.len().alias("count"))
            .select(text=pl.when(several).then("{" + pl.col("text") + "}").otherwise("text"))
            .with_columns(number=pl.col("text").rank("dense") - 1)
        )
        return sets["text"].unique().sort().to_list(), sets["number"].cast(pl.Int64).to_numpy()


@dataclass(frozen=True)
class CategoricalIntervals(CategoricalRegions):
    """A categorical quasi-identifier whose classes are intervals of leaves that need not be nodes.

    An interval that is a node reads as the node, any other as the set of its values; as bounds it reads as its own
    ends, not as those of a node above it.
    """

    def _labelled(self) -> Bools:
        node = self.domain.lca(self.low, self.high)
        whole = (self.domain.start[node] == self.low) & (self.domain.stop[node] == self.high.astype(np.int64) + 1)
        return np.asarray(whole)

    def _nodes(self) -> ClassTexts:
        whole = self._labelled()
        labels, of_label = super()._nodes()
        if whole.all():
            return labels, of_label
        sets, of_set = self._sets()
        return labels + sets, np.where(whole, of_label, len(labels) + of_set)

    def _bounds(self) -> list[ClassTexts]:
        return leaf_positions(self.domain, *self._distinct())


def leaf_positions(domain: Taxonomy, first: Ints, last: Ints, of_class: Ints) -> list[ClassTexts]:
    """Two columns of leaves, counted from 0 in leaf order: the first and the last (n,) of each text.

    Both show the missing text where the missing leaf stands alone.
    """
    missing = (first == last) & (first == (-1 if domain.missing is None else domain.missing))
    columns: list[ClassTexts] = []
    for ends in domain.positions(first, last):
        texts = [str(leaf) for leaf in ends.tolist()]
        for index in np.flatnonzero(missing).tolist():
            texts[index] = domain.labels[int(first[index])]
        columns.append((texts, of_class))
    return columns


# --- numbers ----------------------------------------------------------------------------------------------------------
# How numbers appear where every class is a region of its own: as intervals, as their two ends, or as one point.


@dataclass(frozen=True)
class NumericRegions(InRegions):
    """A numeric quasi-identifier in regions.

    `tails`: what may be shown of the column's ends. `highest` (classes,): the highest code of the numbers of each
    class; None: of a class with missing values that of the column.
    """

    domain: Numeric
    tails: Tails
    highest: Codes | None = None

    @cached_property
    def window(self) -> Window | None:
        """The ends that may be shown; None: all, as those of declared levels may."""
        if self.output.edges == "tight" or self.domain.bands is not None:
            return None
        return self.tails.window(self.codes, self.partition.order, len(self.domain.values))

    @cached_property
    def spans(self) -> Spans:
        """What each class spans, as far as it is shown; where that is one point, as its values do."""
        window = self.window if self.output.numeric in ("interval", "bounds") else None
        return Spans.of(self.domain, self.low, self.high, self.highest, window)

    def columns(self) -> list[RecodedColumn]:
        """The column, or the columns, that the output's `numeric` asks for."""
        how, output = self.output.numeric, self.output
        if how not in ("interval", "bounds"):
            return released_columns(self.name, [self._points()], [""], output.suppressed)
        spans, of_class = self.spans.distinct()
        texts = [spans.intervals(output)] if how == "interval" else spans.bounds(output)
        suffixes = [""] if how == "interval" else [*BOUNDS, MISSING][: len(texts)]
        return released_columns(self.name, [(each, of_class) for each in texts], suffixes, output.suppressed)

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of what each class spans; of the widened one where edges are shown, and rounded."""
        rounded = self.output.edges == "rounded" and self.output.numeric in ("interval", "bounds")
        width = self.spans.costs(rounded=rounded)
        return width, width

    def _points(self) -> ClassTexts:
        """The mean or the median of the numbers of each class, as far as they may be shown; 0 for one without any."""
        values = self.domain.values.astype(np.float64)
        if self.window is not None and not self.window.empty:
            values = np.clip(values, values[self.window.low], values[self.window.high])
        points, (present, which) = np.zeros(self.partition.count), _present(self.domain, self.codes, self.partition)
        if len(which):
            points_of = _class_means if self.output.numeric == "mean" else _class_medians
            points[which] = points_of(values, self.codes, present)
        keys = np.stack([points, self.spans.missing, self.spans.empty, self.spans.hidden])
        different, first, of_class = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        numbers = [format_number(number) for number in different[0].tolist()]
        texts = self.domain.spelled_texts(pl.Series(numbers, dtype=pl.String))
        parts = ("low", "high", "below", "above", "missing", "empty")
        spans = replace(self.spans, **{name: getattr(self.spans, name)[first] for name in parts})
        if self.window is not None and self.window.empty:
            nothing = ~spans.empty
            spans = replace(spans, below=nothing, above=nothing)
        return spans.with_missing(texts, self.output.suppressed), of_class.reshape(-1)


def format_number(number: float) -> str:
    """At most six decimals, without an exponent, a trailing zero or a bare decimal point.

    >>> format_number(1e6), format_number(2.50), format_number(-0.0000001)
    ('1000000', '2.5', '0')
    """
    text = np.format_float_positional(number, precision=6, unique=True, fractional=True, trim="-")
    return "0" if text == "-0" else text


def _present(domain: Numeric, codes: Codes, partition: Partition) -> tuple[Partition, Ints]:
    """The classes that have numbers, without their missing values, and which classes these are."""
    if domain.missing is None:
        return partition, np.arange(partition.count)
    some = codes[partition.order] != domain.missing
    sizes = np.bincount(partition.labels[some], minlength=partition.count)
    which = np.flatnonzero(sizes)
    return Partition(partition.order[some], starts_of(sizes[which])), which


def _class_means(values: Floats, codes: Codes, partition: Partition) -> Floats:
    """(classes,) mean of each class.

    What is averaged are distances from the first row of the class, each divided by the size of the class before they
    are added up, so that sums neither overflow nor lose digits.
    """
    values = values[codes[partition.order]]
    first = values[partition.starts[:-1]]
    with np.errstate(over="ignore", invalid="ignore"):
        offsets = (values - np.repeat(first, partition.sizes)) / np.repeat(partition.sizes, partition.sizes)
    return np.asarray(first + np.add.reduceat(offsets, partition.starts[:-1]))


def _class_medians(values: Floats, codes: Codes, partition: Partition) -> Floats:
    """(classes,) median of each class: the mean of the two middle values where their number is even.

    The class stands in the upper 32 bits of a number and the code in the lower ones, so that one sort puts the values
    of every class in order and leaves each class where it was.
    """
    labels = np.repeat(np.arange(partition.count, dtype=np.uint64), partition.sizes)
    arranged = np.sort(labels << np.uint64(32) | codes[partition.order]) & np.uint64(0xFFFFFFFF)
    lower = partition.starts[:-1] + (partition.sizes - 1) // 2
    upper = partition.starts[:-1] + partition.sizes // 2
    return np.asarray((values[arranged[lower].astype(np.int64)] + values[arranged[upper].astype(np.int64)]) / 2)


# --- numbers as numbers -----------------------------------------------------------------------------------------------
# Numbers as numbers: the columns of a release that a typed file, Parquet or Arrow, stores as such.


@dataclass(frozen=True)
class NumberColumns:
    """Which released columns show numbers: `names`. `blank`: texts that stand there where there is no number."""

    names: frozenset[str]
    blank: frozenset[str]

    @classmethod
    def of(cls, spec: Spec, form: str) -> NumberColumns:
        """The number columns of a release in a format: bounds, means and medians of quasi-identifiers; none in a
        CSV."""
        numeric = [name for name, definition in spec.quasi_identifiers.items() if definition.type == "numeric"]
        suffixes = {"interval": [], "bounds": BOUNDS}.get(spec.output.numeric, [""])
        names = [] if form.startswith("csv") else [name + suffix for name in numeric for suffix in suffixes]
        return cls(frozenset(names), frozenset({"", spec.output.suppressed, *spec.input.missing}))

    def of_type(self, schema: Mapping[str, pl.DataType]) -> NumberColumns:
        """The columns that hold numbers in a table, and not labels as text."""
        numeric = frozenset(name for name in self.names if name in schema and schema[name].is_numeric())
        return NumberColumns(numeric, self.blank)

    def column(self, name: str, texts: pl.Series) -> pl.Series | None:
        """The distinct texts of a column as numbers, null where there is none: whole numbers if all are. None for a
        column that shows something else, such as the labels of a hierarchy."""
        if name not in self.names:
            return None
        frame = texts.alias("text").to_frame()
        cells = frame.select(pl.when(~pl.col("text").is_in(sorted(self.blank))).then("text")).to_series()
        whole, broken = cells.cast(pl.Int64, strict=False), cells.cast(pl.Float64, strict=False)
        if broken.null_count() > cells.null_count():
            return None
        return whole if whole.null_count() == cells.null_count() else broken
