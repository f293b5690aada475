"""The cells of all tables of a run, as one system: groups are combinations of nodes of hierarchies, and a total is the
sum of the cells below it.

A cell has a node for each column that any table groups by, and the root for columns by which its own table does not
group. The same group therefore has the same number in every table, and tables that share totals share cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.levels import check_level
from anonymize.domain.numeric import Numeric
from anonymize.errors import Problem, UsageError
from anonymize.records import dataclass
from anonymize.spec import Spec, tabulation
from anonymize.table import Attribute, Table

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

MOST_CELLS = 1_000_000
"""Cells of all tables together."""


# --- columns ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupedColumn:
    """A column that tables group by.

    Attributes:
        name: the column's.
        labels: (nodes,) how each node reads, leaves first and the root, which is the total, last.
        parent: (nodes,) the node above each; -1 for the root.
        levels: (height + 1, leaves) the node of each leaf at each level.
        leaf: (rows,) the leaf of each row.
        paths: by a value as it is compared (a number as the shortest text of a float, None where it is missing), the
            labels of the nodes that it is counted in.
    """

    name: str
    labels: tuple[str, ...]
    parent: Ints
    levels: Ints
    leaf: Ints
    paths: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def root(self) -> int:
        """The node of the total."""
        return self.size - 1

    @cached_property
    def children(self) -> dict[int, Ints]:
        """The nodes right below each node that is no leaf."""
        return {int(node): np.flatnonzero(self.parent == node) for node in np.unique(self.parent[self.parent >= 0])}

    @classmethod
    def of(cls, spec: Spec, attribute: Attribute, total: str) -> GroupedColumn:
        definition = spec.quasi_identifiers[attribute.name]
        if definition.bins is not None and isinstance(attribute.domain, Numeric):
            texts, leaf = list(attribute.categories.texts), attribute.categories.of_code
            whole = np.vstack([np.arange(len(texts)), np.full(len(texts), len(texts))])
            labels = [*texts, total]
        else:
            check_level(attribute.generalization, definition)
            least = max(definition.level or 0, definition.least_level)
            whole, labels, leaf = _nodes(attribute, least, total)
        if attribute.domain.missing is not None:
            labels[int(whole[0, leaf[attribute.domain.missing]])] = spec.input.missing_text
        paths = {
            value: tuple(labels[node] for node in dict.fromkeys(whole[:, place].tolist()))
            for value, place in zip(_as_compared(attribute), leaf.tolist(), strict=True)
        }
        parent = _parents(whole, len(labels))
        return cls(attribute.name, tuple(labels), parent, whole, leaf[attribute.codes], paths)

    @classmethod
    def of_paths(cls, name: str, paths: Sequence[tuple[str, ...]], leaf: Ints) -> GroupedColumn:
        """That of leaves with the labels from each to the total. `leaf`: (rows,) that of each row."""
        height = max(map(len, paths))
        full = [(*path[:1] * (height - len(path)), *path) for path in paths]
        number: dict[tuple[str, ...], int] = {}
        for level in range(height):
            for path in full:
                number.setdefault(tuple(dict.fromkeys(path[level:])), len(number))
        labels = [node[0] for node in number]
        levels = np.array([[number[tuple(dict.fromkeys(path[level:]))] for path in full] for level in range(height)])
        known: dict[str | None, tuple[str, ...]] = {path[0]: tuple(dict.fromkeys(path)) for path in paths}
        return cls(name, tuple(labels), _parents(levels, len(labels)), levels, leaf, known)


def _nodes(attribute: Attribute, least: int, total: str) -> tuple[Ints, list[str], Ints]:
    """The levels from the least on over the different nodes of that level, the labels of all nodes, and the leaf of
    each code of the domain."""
    over = attribute.generalization
    levels = over.hierarchy.levels[min(least, over.hierarchy.height) :].astype(np.int64)
    _, first, place = np.unique(levels[0], return_index=True, return_inverse=True)
    levels = levels[:, first]
    nodes = np.unique(levels)
    ordered = sorted(nodes.tolist(), key=lambda node: int(np.argmax((levels == node).any(axis=1))))
    number = {node: index for index, node in enumerate(ordered)}
    written = [attribute.written.get(label, label) for label in over.hierarchy.labels]
    labels = [*(written[node] for node in ordered[:-1]), total]
    leaf = place[over.leaf_of(np.arange(attribute.domain.size))].astype(np.int64)
    return np.vectorize(number.__getitem__)(levels).astype(np.int64), labels, leaf


def _parents(levels: Ints, nodes: int) -> Ints:
    """(nodes,) the node above each: the next other one on the way of any of its leaves."""
    parent = np.full(nodes, -1, np.int64)
    for below, above in pairwise(levels):
        changes = below != above
        parent[below[changes]] = above[changes]
    return parent


def _as_compared(attribute: Attribute) -> list[str | None]:
    """(domain.size,) the values of a column, as a reader of the input compares them."""
    domain = attribute.domain
    if isinstance(domain, Numeric):
        return [*(repr(float(value)) for value in domain.values), *([] if domain.missing is None else [None])]
    return [None if code == domain.missing else text for code, text in enumerate(domain.leaf_text())]


# --- all tables together ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Equations:
    """Totals as sums: in each equation the coefficients of its cells come to 0. Three arrays of one length: the
    equation, the cell (its place in `cells`), and its coefficient, 1 of the total and -1 of what it is the sum of."""

    count: int
    row: Ints
    place: Ints
    sign: Floats


@dataclass(frozen=True)
class TableGrid:
    """The columns that tables group by, and the cells of any set of them."""

    columns: tuple[GroupedColumn, ...]

    @classmethod
    def of(cls, spec: Spec, tabulate: tabulation.Tabulation, table: Table) -> TableGrid:
        """Raises UsageError as `over` does."""
        columns = {each.name: GroupedColumn.of(spec, each, tabulate.total) for each in table.attributes}
        return cls.over(tuple(columns[name] for name in tabulate.grouped_by), tabulate)

    @classmethod
    def over(cls, columns: tuple[GroupedColumn, ...], tabulate: tabulation.Tabulation) -> TableGrid:
        """Of some columns. Raises UsageError where two nodes of a column read the same, and for more cells than there
        may be."""
        for each in columns:
            if len(set(each.labels)) < len(each.labels):
                message = f"{each.name}: two of its groups read the same, or as the total does"
                raise UsageError(Problem(message, hint="name the nodes of its hierarchy apart, or set tabulate.total"))
        sizes = {each.name: each.size for each in columns}
        cells = sum(prod(sizes[name] for name in table.by) for table in tabulate.tables)
        if cells > MOST_CELLS or prod(sizes.values()) >= 1 << 62:
            message = f"the tables have {cells:,} cells, at most {MOST_CELLS:,}"
            raise UsageError(Problem(message, hint="group by fewer columns, or by a higher `level` of them"))
        return cls(columns)

    @cached_property
    def _weights(self) -> list[int]:
        """What a node counts in the number of a cell, by column."""
        sizes = [each.size for each in self.columns]
        return [prod(sizes[place + 1 :]) for place in range(len(sizes))]

    @property
    def whole(self) -> int:
        """The cell of all rows."""
        return sum(column.root * weight for column, weight in zip(self.columns, self._weights, strict=True))

    def cells(self, by: Sequence[str]) -> Ints:
        """The cells of a table, an axis for each of the columns in `by`, in their order."""
        cells = np.zeros((1,) * len(by), np.int64)
        for column, weight in zip(self.columns, self._weights, strict=True):
            if column.name in by:
                shape = [1] * len(by)
                shape[by.index(column.name)] = column.size
                cells = cells + (np.arange(column.size) * weight).reshape(shape)
            else:
                cells = cells + column.root * weight
        return cells

    def cell_of(self, levels: Mapping[str, int]) -> Ints:
        """(rows,) the cell of each row, by the level of some columns."""
        cell = np.zeros(len(self.columns[0].leaf), np.int64)
        for column, weight in zip(self.columns, self._weights, strict=True):
            own = column.levels[levels[column.name]][column.leaf] if column.name in levels else column.root
            cell += own * weight
        return cell

    def cells_at(self, levels: Mapping[str, int]) -> Ints:
        """The cells of some levels, sorted, whether there is a row in them or not."""
        cells = np.zeros(1, np.int64)
        for column, weight in zip(self.columns, self._weights, strict=True):
            nodes = np.unique(column.levels[levels[column.name]]) if column.name in levels else np.array([column.root])
            cells = (cells[:, None] + nodes * weight).ravel()
        return np.sort(cells)

    def labels(self, by: Sequence[str]) -> dict[str, list[str]]:
        """How the cells of a table read, in the order of `cells`: of each column in `by` the labels."""
        named = {each.name: each for each in self.columns}
        places = np.indices([named[name].size for name in by]).reshape(len(by), -1)
        return {
            name: [named[name].labels[node] for node in nodes.tolist()] for name, nodes in zip(by, places, strict=True)
        }

    def rows_of(self, by: Sequence[str]) -> Iterator[Ints]:
        """(rows,) the cell of each row, for every combination of levels of the columns in `by`."""
        heights = [len(each.levels) if each.name in by else 1 for each in self.columns]
        for levels in product(*(range(height) for height in heights)):
            named = zip(self.columns, levels, strict=True)
            yield self.cell_of({column.name: level for column, level in named if column.name in by})

    def several(self, units: NDArray[np.integer], by: Iterable[str]) -> Iterator[tuple[str, int]]:
        """The columns of `by` of which an individual is in more than one finest group, and how many are. `units`:
        (rows,) whom each row is about."""
        for column in self.columns:
            if column.name in by:
                pairs = np.unique(units.astype(np.int64) * column.size + column.leaf)
                if many := int((np.unique(pairs // column.size, return_counts=True)[1] > 1).sum()):
                    yield column.name, many

    def equations(self, groups: Sequence[Sequence[str]], cells: Ints) -> Equations:
        """Those of the tables that group by each of `groups`, over `cells` (sorted), each once."""
        names, known = [each.name for each in self.columns], set[tuple[int, int]]()
        rows, places, signs = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for by in groups:
            table = self.cells(by)
            for axis, name in enumerate(by):
                index = names.index(name)
                for node, below in self.columns[index].children.items():
                    totals = np.take(table, node, axis=axis).ravel()
                    parts = np.take(table, below, axis=axis)
                    parts = np.moveaxis(parts, axis, 0).reshape(len(below), -1)
                    fresh = np.array([(total, index) not in known for total in totals.tolist()], np.bool_)
                    known |= {(total, index) for total in totals[fresh].tolist()}
                    first = len(known) - int(fresh.sum())
                    several = np.vstack([totals[fresh], parts[:, fresh]])
                    rows.append(np.broadcast_to(first + np.arange(several.shape[1]), several.shape).ravel())
                    places.append(np.searchsorted(cells, several.ravel()))
                    signs.append(np.where(np.arange(several.size) < several.shape[1], 1.0, -1.0))
        return Equations(len(known), np.concatenate(rows), np.concatenate(places), np.concatenate(signs))
