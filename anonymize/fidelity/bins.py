"""The bins over which a column is counted before and after, and how a released cell lies over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Bools, Floats, Integers, Ints
from anonymize.domain.cells import CellKind, ReadCells, cells_of
from anonymize.domain.grid import Grid
from anonymize.domain.grid import texts as grid_texts
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.reading import UNKNOWN, Category, CategoryReader, LabelledNodes
from anonymize.recoding import Released
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.table import Attribute

# --- bins -------------------------------------------------------------------------------------------------------------
# Numbers lie in about ten round intervals, the outer two of which are open, so that no extreme is named. Categories are
# counted over the labels of one level of their hierarchy: the lowest with at most `BINS` of them. Only the leaves of a
# hierarchy *file* are labels that the published spec names; leaves of a builder are values of the input, and are named
# only where values may be shown.
#
# What is named is a function of the spec, but for counts: a bin with fewer than k rows is merged with others, one of
# numbers with its smaller neighbour, one of categories with all others of few rows under `other`.

BINS = 12
"""Bins of a column at most, not counting that of missing values."""

COARSE = 0.5
"""The share of rows in a bin of all rare values from which such bins say little."""

MISSING, OTHER = "missing", "other"

UNNAMED = "it has no labels but its values, which --show-values shows"
UNLABELLED = f"no level of its hierarchy has 2 to {BINS} labels"


@dataclass(frozen=True)
class Bins:
    """Bins of one column.

    `of_leaf` (leaves,) int64: the bin of each code of its domain. `labels`: how each bin reads; None where that would
    name values. `edges` (bins - 1,): of numbers, the ends between one bin and the next, in which the next begins.
    `missing`: the bin of missing values, which comes last; None where there are none. `rest`: the share of the rows
    that are in a bin of all values but the most frequent ones.
    """

    of_leaf: Ints
    labels: tuple[str, ...] | None
    count: int
    edges: Floats | None = None
    missing: int | None = None
    rest: float = 0.0

    def counted(self, leaves: Ints) -> Ints:
        """(count,) how many rows are in each bin; `leaves` has how many have each code."""
        return np.bincount(self.of_leaf, leaves, minlength=self.count).astype(np.int64)


def named_bins(attribute: Attribute, leaves: Ints, smallest: int, *, from_file: bool, values: bool) -> Bins | str:
    """Bins with labels; or why there are none: values would have to be named, or all rows would be in one.

    `leaves` (domain.size,): rows with each code. `smallest`: rows that a bin has at least. `from_file`: the hierarchy
    is a file, whose leaves are labels. `values`: values of the input may be named.
    """
    domain = attribute.domain
    if isinstance(domain, Numeric):
        bins = _numbers(domain, leaves, smallest)
    else:
        assert isinstance(domain, Taxonomy)
        level = _level(domain, 0 if from_file or values else 1)
        if level is None:
            return UNNAMED if not from_file and _level(domain, 0) == 0 else UNLABELLED
        bins = _categories(domain, level, leaves, smallest, by_label=not from_file)
    return f"no two bins of at least {smallest} rows" if bins is None or bins.count < 2 else bins


def unnamed_bins(codes_size: int, leaves: Ints, ordered: bool, most: int = BINS, tree: Taxonomy | None = None) -> Bins:
    """Bins that are counted and never named, at `most` so many: of `ordered` values with about equally many rows each,
    of others the most frequent ones (of equally frequent ones the lower code), and one for the rest. Where that would
    have most of the rows, as of dates, the labels of the lowest level of the hierarchy (`tree`) with so few of them."""
    if codes_size <= most:
        return Bins(np.arange(codes_size), None, codes_size)
    if ordered:
        middle = np.cumsum(leaves) - leaves / 2
        of_leaf = np.minimum((middle * most / max(int(leaves.sum()), 1)).astype(np.int64), most - 1)
        return Bins(of_leaf, None, most)
    of_leaf = np.full(codes_size, most - 1, np.int64)
    of_leaf[np.argsort(-leaves, kind="stable")[: most - 1]] = np.arange(most - 1)
    rest = float(leaves[of_leaf == most - 1].sum() / max(int(leaves.sum()), 1))
    level = None if tree is None or rest <= COARSE else _level(tree, 1, most)
    if tree is None or level is None:
        return Bins(of_leaf, None, most, rest=rest)
    nodes, of_node = np.unique(tree.levels[level], return_inverse=True)
    return Bins(of_node.astype(np.int64), None, len(nodes))


def _numbers(domain: Numeric, leaves: Ints, smallest: int) -> Bins | None:
    values = domain.values.astype(np.float64)
    if len(values) < 2 or not domain.span:
        return None
    inner = round_edges(float(values[0]), float(values[-1]), whole=domain.whole)
    counts = np.bincount(np.searchsorted(inner, values, "right"), leaves[: len(values)], minlength=len(inner) + 1)
    edges = _merged(inner, counts, smallest)
    if domain.missing is not None and leaves[domain.missing] < smallest:
        return None
    of_leaf = np.searchsorted(edges, values, "right").astype(np.int64)
    labels, missing = _interval_labels(edges), None
    if domain.missing is not None:
        missing = len(labels)
        of_leaf, labels = np.append(of_leaf, missing), [*labels, MISSING]
    return Bins(of_leaf, tuple(labels), len(labels), edges, missing)


def round_edges(low: float, high: float, *, whole: bool) -> Floats:
    """Multiples of 1, 2 or 5 times a power of ten above `low`, up to `high`, about ten of them."""
    grid = Grid.near((high - low) / 10, at_least=1.0 if whole else 1e-300)
    first, last = np.floor(low / grid.step) + 1, np.floor(high / grid.step)
    if not np.isfinite(first) or last - first > 100:
        return np.zeros(0)
    return grid.points(np.arange(int(first), int(last) + 1))


def _merged(edges: Floats, counts: NDArray[np.number[Any]], smallest: int) -> Floats:
    """The edges that are left when every bin has at least so many rows, or there is one bin."""
    remaining, rows = edges.tolist(), counts.tolist()
    while len(rows) > 1 and min(rows) < smallest:
        least = rows.index(min(rows))
        left = least == len(rows) - 1 or (least > 0 and rows[least - 1] <= rows[least + 1])
        edge = least - 1 if left else least
        rows[edge : edge + 2] = [rows[edge] + rows[edge + 1]]
        del remaining[edge]
    return np.array(remaining, np.float64)


def _interval_labels(edges: Floats) -> list[str]:
    if not len(edges):
        return ["all"]
    ends = grid_texts(edges)
    inner = [f"{low} to <{high}" for low, high in pairwise(ends)]
    return [f"below {ends[0]}", *inner, f"{ends[-1]} and above"]


def _level(taxonomy: Taxonomy, lowest: int, most: int = BINS) -> int | None:
    """The lowest level with 2 to `most` nodes; None where there is none below the root."""
    for level in range(lowest, taxonomy.height):
        if 2 <= len(np.unique(taxonomy.levels[level])) <= most:
            return level
    return None


def _categories(taxonomy: Taxonomy, level: int, leaves: Ints, smallest: int, *, by_label: bool) -> Bins:
    """`by_label`: in the order of the labels, which is that of time where the texts of dates are in another."""
    nodes, of_leaf = np.unique(taxonomy.levels[level], return_inverse=True)
    of_leaf = of_leaf.astype(np.int64)
    absent = -1 if taxonomy.missing is None else taxonomy.missing
    labels = [MISSING if node == absent else taxonomy.labels[node] for node in nodes.tolist()]
    if by_label:
        order = sorted(range(len(labels)), key=lambda place: (labels[place] == MISSING, labels[place]))
        of_leaf, labels = np.argsort(order)[of_leaf], [labels[place] for place in order]
    counts = np.bincount(of_leaf, leaves, minlength=len(nodes)).astype(np.int64)
    return _pooled(of_leaf, labels, counts, smallest)


def _pooled(of_leaf: Ints, labels: Sequence[str], counts: Ints, smallest: int) -> Bins:
    """Labels of fewer rows than the `smallest` bin may have become one bin, with the next smaller ones where those are
    still too few together; of equal ones the first."""
    rare = counts < smallest
    if not rare.any():
        return Bins(of_leaf, tuple(labels), len(labels))
    order = np.argsort(counts, kind="stable")
    together = np.cumsum(counts[order])
    number = max(int(rare.sum()), int(np.searchsorted(together, smallest)) + 1)
    pooled = np.zeros(len(labels), np.bool_)
    pooled[order[:number]] = True
    position = np.where(pooled, int((~pooled).sum()), np.cumsum(~pooled) - 1)
    frequent = [label for label, rest in zip(labels, pooled.tolist(), strict=True) if not rest]
    return Bins(position[of_leaf], (*frequent, f"{OTHER} ({number} labels)"), len(frequent) + 1)


# --- how a cell lies over bins ----------------------------------------------------------------------------------------
# A reader who knows nothing else takes every value under a label, and every place in an interval, for equally likely: a
# cell counts in each bin with the share of its leaves, or of its width, that lies there. Whole numbers are as wide as
# the unit: `[18-19]` is two of them. An open end reaches to the extreme of the column. A number that may be missing
# counts as a number. What is suppressed is in no bin.

TOGETHER = 1 << 16
"""Cells that are worked on at once."""


@dataclass(frozen=True)
class ColumnCells:
    """The distinct cells of a released quasi-identifier, read once whatever bins they are counted over.

    `low`, `high` (n,): the same texts twice, or those of two bounds. `of_class` (classes + 1,): which of them each
    class shows, that of published suppressed rows last. `leaves` (domain.size,): rows of the input with each code.
    """

    attribute: Attribute
    low: pl.Series
    high: pl.Series
    of_class: Integers
    spec: Spec
    leaves: Ints
    read: ReadCells
    """The cells as what they are."""

    @classmethod
    def of(cls, attribute: Attribute, released: Released, spec: Spec) -> ColumnCells:
        """The cells of an attribute that a release shows."""
        columns = released.columns_of(attribute.name)[:2]
        low = high = columns[0].texts
        of_class = columns[0].of_class
        if len(columns) > 1:
            pairs = np.column_stack([each.of_class for each in columns])
            distinct, of_class = np.unique(pairs, axis=0, return_inverse=True)
            low, high = (each.texts.gather(distinct[:, side]) for side, each in enumerate(columns))
        return cls.of_texts(attribute, low, high, of_class.reshape(-1), spec)

    @classmethod
    def of_texts(
        cls, attribute: Attribute, low: pl.Series, high: pl.Series, of_class: Integers, spec: Spec
    ) -> ColumnCells:
        """The cells of distinct texts, and (classes,) which of them each class shows."""
        leaves = np.bincount(attribute.codes, minlength=attribute.domain.size)
        read = cells_of(spec, low, high, numeric=isinstance(attribute.domain, Numeric))
        return cls(attribute, low, high, of_class, spec, leaves, read)

    def of_classes(self, classes: Ints) -> ColumnCells:
        """The cells that some classes (m,) show, with which of them each of these does."""
        cells, of_class = np.unique(self.of_class[classes], return_inverse=True)
        low, high, read = self.low.gather(cells), self.high.gather(cells), self.read.gathered(cells)
        return replace(self, low=low, high=high, of_class=of_class, read=read)

    def bins(self, most: int = BINS) -> Bins:
        """The `unnamed_bins` of its attribute."""
        tree = self.attribute.domain if isinstance(self.attribute.domain, Taxonomy) else None
        return unnamed_bins(self.attribute.domain.size, self.leaves, tree is None, most, tree)

    def over(self, bins: Bins) -> Floats:
        """(n, bins) the shares of each cell that lie in bins: in sum 1, or 0 where nothing is shown."""
        shares = self._of_numbers(bins) if isinstance(self.attribute.domain, Numeric) else self._of_categories(bins)
        total = shares.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(shares, total, out=shares, where=total > 0), np.float64)

    # --- numbers ---

    def _of_numbers(self, bins: Bins) -> Floats:
        """(n, bins) the width that each cell has in each bin; a single number is all in its own."""
        domain = self.attribute.domain
        assert isinstance(domain, Numeric)
        if bins.edges is None:
            return _by_leaves(*self._codes, bins)
        least, most = float(domain.values[0]), float(domain.values[-1])
        low, high = (np.clip(ends, least, most) for ends in self._ends)
        shares = np.zeros((len(low), bins.count))
        for start in range(0, len(low), TOGETHER):
            some = slice(start, start + TOGETHER)
            widths = _widths(low[some], high[some], bins.edges, 1.0 if domain.whole else 0.0)
            shares[some, : len(bins.edges) + 1] = widths
        shares[~self._shows] = 0.0
        if bins.missing is not None:
            shares[self.read.of_kind(CellKind.MISSING), bins.missing] = 1.0
        return shares

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """(n,) the two ends of each cell; those of a label are the numbers under its node."""
        low, high = self.read.closed()
        labels = self.read.of_kind(CellKind.LABEL)
        if labels.any():
            numbers, taxonomy = self.attribute.generalization.numbers, self.attribute.hierarchy
            assert numbers is not None
            for index in np.flatnonzero(labels).tolist():
                node = taxonomy.by_label.get(self.low[index], [taxonomy.root])[-1]
                under = numbers[taxonomy.start[node] : taxonomy.stop[node]]
                low[index], high[index] = np.fmin.reduce(under, initial=np.inf), np.fmax.reduce(under, initial=-np.inf)
        return low, high

    @cached_property
    def _shows(self) -> Bools:
        """(n,) whether each cell shows anything. Where no cell is a label, no hierarchy has to be made."""
        nothing, labels = self.read.of_kind(CellKind.SUPPRESSED, CellKind.MISSING), self.read.of_kind(CellKind.LABEL)
        if labels.any():
            root = pl.lit(self.attribute.hierarchy.labels[self.attribute.hierarchy.root])
            top = self.low.to_frame("low").select((pl.col("low") == root).fill_null(False)).to_series().to_numpy()
            nothing = nothing | (labels & top)
        return np.asarray(~nothing)

    @cached_property
    def _codes(self) -> tuple[Ints, Ints]:
        """(n,) the leaves from `first` to before `stop` under each number; none where nothing is shown."""
        domain = self.attribute.domain
        assert isinstance(domain, Numeric)
        low, high = self._ends
        first = np.searchsorted(domain.values, low, "left")
        stop = np.searchsorted(domain.values, high, "right")
        # The mean of a class is not a value of the column: it counts as the value that follows it.
        between = stop <= first
        first = np.where(between, np.minimum(first, len(domain.values) - 1), first)
        stop = np.where(between, first + 1, stop)
        absent = self.read.of_kind(CellKind.MISSING)
        if domain.missing is not None:
            first, stop = np.where(absent, domain.missing, first), np.where(absent, domain.missing + 1, stop)
        shows = self._shows | (absent & (domain.missing is not None))
        return np.where(shows, first, 0), np.where(shows, stop, 0)

    # --- categories ---

    def _of_categories(self, bins: Bins) -> Floats:
        """(n, bins) the leaves that each cell has in each bin."""
        ends = [(category.first, category.last + 1) for category in self._categories]
        first, stop = np.array(ends, np.int64).reshape(-1, 2).T
        shows = first >= 0
        shares = _by_leaves(np.where(shows, first, 0), np.where(shows, stop, 0), bins)
        for index, category in enumerate(self._categories):
            if category.members is not None:
                shares[index] = np.bincount(bins.of_leaf[list(category.members)], minlength=bins.count)
        return shares

    @cached_property
    def _categories(self) -> list[Category]:
        """(n,) what each category stands for; nothing where it is suppressed, or shows the root."""
        taxonomy = self.attribute.domain
        assert isinstance(taxonomy, Taxonomy)
        nodes, output = LabelledNodes(self.attribute.generalization), self.spec.output
        reader = CategoryReader(taxonomy, nodes, self.spec.input.missing, output.categorical)
        cells = zip(self.read.kind.tolist(), self.low, self.high, strict=True)
        categories = [reader.category(kind, low or "", high or "") for kind, low, high in cells]
        hidden = self.read.of_kind(CellKind.SUPPRESSED).tolist()
        top = taxonomy.root if taxonomy.root >= taxonomy.size else None
        pairs = zip(categories, hidden, strict=True)
        return [UNKNOWN if hides or each.node == top else each for each, hides in pairs]


def _by_leaves(first: Ints, stop: Ints, bins: Bins) -> Floats:
    """(n, bins) leaves in each bin of those from `first` to before `stop`: running counts below the one end less those
    below the other."""
    is_in = np.zeros((len(bins.of_leaf) + 1, bins.count))
    is_in[np.arange(1, len(is_in)), bins.of_leaf] = 1.0
    below = is_in.cumsum(axis=0, out=is_in)
    shares = below[stop]
    for start in range(0, len(first), TOGETHER):
        shares[start : start + TOGETHER] -= below[first[start : start + TOGETHER]]
    return shares


def _widths(low: Floats, high: Floats, edges: Floats, unit: float) -> Floats:
    """(n, bins) what of each interval [low, high] lies in each bin; 1 in its own where an interval has no width."""
    begins, ends = np.concatenate(([-np.inf], edges)), np.concatenate((edges, [np.inf]))
    width = np.minimum(high[:, None] + unit, ends) - np.maximum(low[:, None], begins)
    shares = np.maximum(width, 0.0)
    points = high + unit <= low
    shares[points] = 0.0
    shares[np.flatnonzero(points), np.searchsorted(edges, low[points], "right")] = 1.0
    return np.asarray(shares)
