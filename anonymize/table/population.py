"""A table of the population: how many of its people lie under what a release shows of the quasi-identifiers.

The population has values that the table lacks. So it has domains of its own, over the values of both; what a class
shows, an interval of numbers or a node of a hierarchy, is looked up there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain import Codes, grid, taxonomy
from anonymize.domain.build import build, numeric_hierarchy
from anonymize.domain.generalization import CodedGeneralization, Generalization
from anonymize.domain.numeric import Numeric
from anonymize.errors import DataError, Problem
from anonymize.records import dataclass
from anonymize.spec.base import Means
from anonymize.spec.columns import QuasiIdentifier
from anonymize.spec.hierarchy import Rare
from anonymize.spec.model import Spec
from anonymize.table.columns import Attribute
from anonymize.table.encode import Field, NumberColumn, TextColumn
from anonymize.table.named import grouped
from anonymize.table.roles import by_rows, not_numbers, placed, rounded, rows_of_codes
from anonymize.table.source import Source

# --- points within boxes ----------------------------------------------------------------------------------------------

Ints = NDArray[np.int64]
LEAF = 16
"""Points that are looked at one by one, at most."""


@dataclass(frozen=True)
class BoxTree:
    """Points in a tree of boxes, each parted in two along one axis after the other. On every level `starts`: where the
    points of each box begin; `low`, `high` (boxes, axes): its extent; `sums`: what its points count."""

    points: Ints
    counts: Ints
    levels: tuple[tuple[Ints, Ints, Ints, Ints], ...]

    @classmethod
    def of(cls, points: Ints, counts: Ints) -> BoxTree:
        """The tree of points (P, axes) that count for `counts` (P,).

        Sorting by box, and within a box along one axis, lets one sort halve all boxes of a level at once.
        """
        order, starts = np.arange(len(points)), np.zeros(1, np.int64)
        bounds: list[Ints] = [starts]
        for depth in range(max(int(np.ceil(np.log2(max(len(points) / LEAF, 1)))), 0)):
            sizes = np.diff(np.append(starts, len(points)))
            box = np.repeat(np.arange(len(starts)), sizes)
            order = order[np.lexsort((points[order, depth % points.shape[1]], box))]
            starts = np.column_stack((starts, starts + sizes // 2)).ravel()
            bounds.append(starts)
        arranged, counted = points[order], counts[order]
        levels = tuple(
            (
                each,
                np.minimum.reduceat(arranged, each),
                np.maximum.reduceat(arranged, each),
                np.add.reduceat(counted, each),
            )
            for each in bounds
        )
        return cls(arranged, counted, levels)

    def count(self, starts: Ints, stops: Ints) -> Ints:
        """(C,) what the points count in the boxes from `starts` to `stops` (C, axes), both included.

        A box of the tree that lies within a query counts whole, and one apart from it not at all; only the others are
        looked into. All queries go down a level together.
        """
        totals = np.zeros(len(starts), np.int64)
        query, box = np.arange(len(starts)), np.zeros(len(starts), np.int64)
        for number, (_, low, high, sums) in enumerate(self.levels):
            apart = ((high[box] < starts[query]) | (low[box] > stops[query])).any(axis=1)
            inside = ~apart & ((low[box] >= starts[query]) & (high[box] <= stops[query])).all(axis=1)
            np.add.at(totals, query[inside], sums[box[inside]])
            open_ = ~apart & ~inside
            query, box = query[open_], box[open_]
            if number < len(self.levels) - 1:
                query, box = np.repeat(query, 2), np.column_stack((2 * box, 2 * box + 1)).ravel()
        self._single(totals, query, box, starts, stops)
        return totals

    def _single(self, totals: Ints, query: Ints, box: Ints, starts: Ints, stops: Ints) -> None:
        """Adds the points, one by one, of the last boxes that are partly within a query."""
        begins = self.levels[-1][0]
        ends = np.append(begins[1:], len(self.points))
        sizes = (ends - begins)[box]
        point = np.repeat(begins[box] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        whose = np.repeat(query, sizes)
        within = ((self.points[point] >= starts[whose]) & (self.points[point] <= stops[whose])).all(axis=1)
        np.add.at(totals, whose[within], self.counts[point[within]])


# --- population -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PopulationAxis:
    """One quasi-identifier of the population.

    `attribute`: the table's; `wide`: the hierarchy over the values of both. `codes` (P,): of each distinct row, the
    code in the wide domain. `place`, `last` (domain.size,): the first and the last wide code that each code of the
    table's domain covers: the same one, unless that is coded at a level. `rounded`: what is shown of numbers are
    rounded ends.
    """

    attribute: Attribute
    wide: Generalization
    codes: Ints
    place: Ints
    last: Ints
    rounded: RoundedPopulation | None = None

    @cached_property
    def leaves(self) -> Ints:
        """(P,) the leaf of the wide hierarchy of each distinct row."""
        leaves: Ints = self.wide.leaf_of(self.codes)
        return leaves

    def leaf_of(self, leaves: Ints) -> Ints:
        """(n,) the leaf of the wide hierarchy that each leaf (n,) of the table's hierarchy is."""
        generalization = self.attribute.generalization
        if isinstance(generalization, CodedGeneralization):
            leaves = generalization.declared_leaf(leaves)
        if generalization.of_file:
            return leaves  # which both have
        wide: Ints = self.wide.leaf_of(self.place[leaves])
        return wide

    @property
    def numeric(self) -> bool:
        return self.attribute.domain.kind == "numeric"

    def at_level(self, level: int, leaves: Ints) -> Ints:
        """(n,) the node of the wide hierarchy at a level of the table's, of some of its leaves (n,); the root is its
        root, whatever the levels below."""
        levels, level = self.wide.hierarchy.levels, max(level, self._coded)
        top = level >= self.attribute.hierarchy.height
        nodes: Ints = levels[-1 if top else min(level, len(levels) - 1)][leaves].astype(np.int64)
        return nodes

    @property
    def missing(self) -> int | None:
        """The code of a missing value in the table."""
        return self.attribute.domain.missing

    @property
    def _coded(self) -> int:
        """The level below which the table has nothing."""
        hierarchy = self.attribute.hierarchy
        return hierarchy.coded if isinstance(hierarchy, taxonomy.CodedTaxonomy) else 0

    def interval(self, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """The wide codes, both included, that lie under the region around codes of the table (C,)."""
        domain = self.attribute.domain
        if isinstance(domain, Numeric):
            first, last = self.place[low], self.last[high]
            return (first, last) if self.rounded is None else self.rounded.widened(domain, low, high, first, last)
        assert isinstance(domain, taxonomy.Taxonomy)
        node, wide = domain.lca(low, high), self.wide.hierarchy
        above = np.empty(len(node), np.int64)
        for level in np.unique(domain.level[node]).tolist():
            these = domain.level[node] == level
            above[these] = self.at_level(level, self.place[low[these]])
        above[node == domain.root] = wide.root
        return wide.start[above], wide.stop[above] - 1


@dataclass(frozen=True)
class RoundedPopulation:
    """Numbers that are shown between rounded ends. `wide`: those of both tables, ascending. `least`, `most`: the lowest
    and the highest code of the table that is shown as the end of an interval whatever rows are suppressed; around what
    lies beyond no more is counted than it spans, which is less than an open end shows."""

    wide: grid.Numbers
    least: int
    most: int

    @classmethod
    def of(cls, wide: grid.Numbers, domain: Numeric, codes: Codes, spec: Spec) -> RoundedPopulation:
        """That of a column of a table. Where several rows may be about one individual, no end is sure to be shown."""
        enough = spec.fewest + int(spec.privacy.suppression * len(codes))
        counts = np.bincount(codes, minlength=domain.size)[: len(domain.values)]
        below, above = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
        if spec.unit is not None:
            return cls(wide, len(counts), -1)
        return cls(wide, int(np.searchsorted(below, enough)), int(np.count_nonzero(above >= enough)) - 1)

    def widened(self, domain: Numeric, low: Ints, high: Ints, first: Ints, last: Ints) -> tuple[Ints, Ints]:
        """The wide codes (C,) `first` and `last` of what lies between two codes, moved to the rounded ends."""
        within = (low >= self.least) & (high <= self.most)
        begins, ends = domain.rounded(low[within], high[within]).closed()
        first[within] = np.searchsorted(self.wide, begins, "left")
        last[within] = np.searchsorted(self.wide, ends, "right") - 1
        return first, last


@dataclass(frozen=True)
class Population:
    """Distinct rows of a population, with how many people each stands for (P,)."""

    axes: tuple[PopulationAxis, ...]
    counts: Ints

    @property
    def total(self) -> int:
        """People."""
        return int(self.counts.sum())

    def restricted(self, attributes: Sequence[int]) -> Population:
        """The population, of which some of the attributes alone are looked at."""
        return replace(self, axes=tuple(self.axes[index] for index in attributes))

    def within(self, low: Sequence[Ints], high: Sequence[Ints], highest: Sequence[Ints]) -> Ints:
        """(C,) people under the regions around codes of the table, `low` and `high` (C,) for each attribute.

        `highest` (C,): of numbers, the highest that is not missing. A region of numbers and missing values is two
        boxes, so that one with m such attributes is counted as 2 ** m of them.
        """
        ends = [axis.interval(a, b) for axis, a, b in zip(self.axes, low, highest, strict=True)]
        starts, stops = (np.column_stack([end[side] for end in ends]) for side in (0, 1))
        owner = np.arange(len(starts))
        for index, axis in enumerate(self.axes):
            if axis.numeric and axis.missing is not None:
                mixed = np.flatnonzero(((high[index] == axis.missing) & (low[index] != axis.missing))[owner])
                other = axis.place[axis.missing]
                starts, stops = np.append(starts, starts[mixed], axis=0), np.append(stops, stops[mixed], axis=0)
                owner = np.append(owner, owner[mixed])
                starts[len(starts) - len(mixed) :, index] = stops[len(stops) - len(mixed) :, index] = other
        people = np.zeros(len(low[0]), np.int64)
        for first in range(0, len(starts), 1 << 14):
            piece = slice(first, first + (1 << 14))
            np.add.at(people, owner[piece], self._tree.count(starts[piece], stops[piece]))
        return people

    @cached_property
    def _tree(self) -> BoxTree:
        points = np.column_stack([axis.codes if axis.numeric else axis.leaves for axis in self.axes])
        return BoxTree.of(points, self.counts)


# --- reading ---------------------------------------------------------------------------------------------------------


def populations_of(spec: Spec) -> list[Path]:
    """The tables of populations that models of the spec name."""
    named = [entry.parameters.given(Means.POPULATION) for entry in spec.privacy.models]
    return [path for path in named if path is not None]


def read_population(spec: Spec, path: str | Path, attributes: Sequence[Attribute]) -> Population:
    """Reads the quasi-identifiers of a population, a table with names that is encoded and parted as the spec's input.

    Raises DataError where it lacks a column, has no rows, or has a value that is not a number or is outside its
    hierarchy.
    """
    with Source.open(spec.reading(header=True), path) as source:
        lacking = [attribute.name for attribute in attributes if attribute.name not in source.schema]
        if lacking:
            raise DataError([Problem(f"the population has no column {name!r}", source.name) for name in lacking])
        columns = [_column(spec, source, attribute, str(index)) for index, attribute in enumerate(attributes)]
        for batch in source.examine([expression for column in columns for expression in column.expressions]):
            for column in columns:
                column.add(batch)
        if not source.rows:
            raise DataError(Problem("the population has no rows", source.name))
        axes, errors = [], []
        for attribute, column in zip(attributes, columns, strict=True):
            definition = spec.quasi_identifiers[attribute.name]
            try:
                if isinstance(column, NumberColumn):
                    axes.append(_numbers(spec, definition, attribute, column))
                else:
                    axes.append(_texts(spec, definition, attribute, column))
            except DataError as error:
                errors.append((attribute.name, error))
        if errors:
            raise DataError(grouped(placed(errors, source)))
    frame = pl.DataFrame({str(index): axis.codes for index, axis in enumerate(axes)})
    distinct = frame.group_by(pl.all()).len().sort(pl.all())
    codes = [distinct[str(index)].to_numpy().astype(np.int64) for index in range(len(axes))]
    distinct_axes = tuple(replace(axis, codes=axis_codes) for axis, axis_codes in zip(axes, codes, strict=True))
    return Population(distinct_axes, distinct["len"].to_numpy().astype(np.int64))


def _column(spec: Spec, source: Source, attribute: Attribute, key: str) -> NumberColumn | TextColumn:
    name = attribute.name
    field = Field(name, source.schema[name], spec.missing(source.format), spec.notation(name))
    return NumberColumn(field, key) if attribute.domain.kind == "numeric" else TextColumn(field, key)


def _numbers(spec: Spec, definition: QuasiIdentifier, attribute: Attribute, column: NumberColumn) -> PopulationAxis:
    domain = attribute.domain
    assert isinstance(domain, Numeric)
    if column.bad.count:
        raise not_numbers(attribute.name, column.wrong)
    values, codes, missing = rounded(domain.coding, *column.encode())
    both = np.union1d(values, domain.values)
    absent = spec.input.missing_text if missing is not None or domain.missing is not None else None
    wide = Numeric(domain.name, both, absent, tuple(domain.taken), domain.coding)
    last = [len(both)]  # the code of missing, if there is any
    ends = domain.values if domain.bands is None else domain.bands.highs
    beyond = np.searchsorted(both, ends, "left" if domain.bands is not None and domain.bands.half_open else "right")
    place, until = (
        np.append(each, last * (domain.missing is not None)).astype(np.int64)
        for each in (np.searchsorted(both, domain.values), beyond - 1)
    )
    others = np.append(np.searchsorted(both, values), last * (missing is not None))
    output = spec.output
    with by_rows(partial(rows_of_codes, others[codes])):
        hierarchy = numeric_hierarchy(
            definition, wide, output.interval, output.suppressed, normalize=spec.input.normalize
        )
    rounds = output.edges == "rounded" and domain.bands is None
    axis = RoundedPopulation.of(both, domain, attribute.codes, spec) if rounds else None
    return PopulationAxis(attribute, hierarchy, others.astype(np.int64)[codes], place, until, axis)


def _texts(spec: Spec, definition: QuasiIdentifier, attribute: Attribute, column: TextColumn) -> PopulationAxis:
    coded = attribute.domain
    assert isinstance(coded, taxonomy.Taxonomy)
    domain = coded.declared if isinstance(coded, taxonomy.CodedTaxonomy) else coded
    texts, any_missing = column.distinct()
    leaves = [text for code, text in enumerate(domain.leaf_text()) if code != domain.missing]
    absent = spec.input.missing_text if any_missing or domain.missing is not None else None
    values = sorted({*texts, *leaves}) if not isinstance(definition.hierarchy, Path) else texts
    common = taxonomy.frequent_in(domain) if isinstance(definition.hierarchy, Rare) else ()
    suppressed, normalize = spec.output.suppressed, spec.input.normalize
    with by_rows(lambda places: column.rows_of({values[place] for place in places})):
        wide = build(domain.name, definition, values, absent, suppressed, normalize=normalize, frequent=common)
    code_of = {text: code for code, text in enumerate(wide.leaf_text())}
    place = np.array(
        [wide.missing if code == domain.missing else code_of[text] for code, text in enumerate(domain.leaf_text())]
    )
    place = place[domain.start[coded.origin[: coded.size]]] if isinstance(coded, taxonomy.CodedTaxonomy) else place
    codes = column.codes(code_of, wide.missing, wide.size).astype(np.int64)
    return PopulationAxis(attribute, Generalization.plain(wide), codes, place, place)
