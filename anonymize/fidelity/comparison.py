"""Marginals and pairwise associations, before and after.

The marginal of a column is how many rows are in each bin: before by their values, after by what their cells show (see
`spread`). The association of two columns is Cramér's V of their bins (Cramér, Mathematical Methods of Statistics, 1946,
section 21.9): 0 where they are independent, 1 where the one tells the other. Joint counts after take the
quasi-identifiers of a row for independent of each other within what its class shows, and a suppressed cell for
distributed as the shown ones are, which is all that a reader knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats, Integers, Ints
from anonymize.domain.numeric import Numeric
from anonymize.fidelity.bins import BINS, COARSE, Bins, ColumnCells, named_bins, unnamed_bins
from anonymize.recoding import Released
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.table import Attribute, Table

DEFINED_FOR = frozenset({"exact", "spans", "detached"})
COLUMNS = 10
"""Columns between which associations are measured, at most: the quasi-identifiers, then the sensitive attributes."""
TOGETHER = 1 << 16
"""Classes whose shares are in memory at once."""
SAMPLED_ROWS = 200_000
"""Associations are measured over about so many rows at most: every second, third ... row of a larger table."""


@dataclass(frozen=True)
class ShownValues:
    """A column whose values are shown as they are, or `detached` from their rows: those of a class, in any order.
    `original` (rows,), `released` (released rows,): codes below `size` that mean the same. `ordered`: of numbers."""

    name: str
    original: Integers
    released: Integers
    size: int
    ordered: bool
    detached: bool = False

    def bins(self, most: int = BINS) -> Bins:
        """Its `unnamed_bins`."""
        return unnamed_bins(self.size, np.bincount(self.original, minlength=self.size), self.ordered, most)


@dataclass(frozen=True)
class BothSides:
    """A table and its release. `class_of` (released rows,): the class or group of each, below `classes`; -1 if not
    released. `cells`: how a quasi-identifier not in `exact` is shown; `passing`: the sensitive attributes that are
    released."""

    table: Table
    spec: Spec
    class_of: Integers
    classes: int
    cells: Callable[[Attribute], ColumnCells] | None = None
    exact: Mapping[str, ShownValues] = field(default_factory=dict)
    passing: Sequence[ShownValues] = ()

    @classmethod
    def of(cls, table: Table, released: Released, spec: Spec) -> BothSides:
        """Both sides of a release that is being made. The class of suppressed rows comes last."""
        passing = [ShownValues(each.name, each.codes, each.codes, each.size, each.numeric) for each in table.sensitive]
        cells = partial(ColumnCells.of, released=released, spec=spec)
        return cls(table, spec, released.class_of, len(released.sizes) + 1, cells, passing=passing)

    @classmethod
    def of_groups(
        cls, table: Table, spec: Spec, groups: Integers, codes: Mapping[str, Integers], detached: Integers
    ) -> BothSides:
        """Both sides of a bucketized release. `groups` (released rows,): from 0, -1 for a row left out; `codes`: of
        quasi-identifiers, by name; `detached`: of the sensitive attribute, in any order within a group."""
        exact = [
            ShownValues(each.name, each.codes, codes[each.name], each.domain.size, isinstance(each.domain, Numeric))
            for each in table.attributes
        ]
        (each,) = table.sensitive
        passing = ShownValues(each.name, each.codes, detached, each.size, each.numeric, detached=True)
        classes, by_name = int(groups.max(initial=-1)) + 1, {each.name: each for each in exact}
        return cls(table, spec, groups, classes, exact=by_name, passing=[passing])

    def column(self, attribute: Attribute) -> ShownValues | ColumnCells:
        """How a quasi-identifier is shown."""
        if self.cells is None or attribute.name in self.exact:
            return self.exact[attribute.name]
        return self.cells(attribute)


def fidelity(sides: BothSides, smallest: int, *, values: bool) -> dict[str, Any]:
    """The blocks `marginals`, `unbinned` (the columns without one, and why) and `associations` of a private report.

    `smallest`: rows that a bin with a label has at least. `values`: values of the input may be named.
    """
    rows = np.bincount(sides.class_of[sides.class_of >= 0], minlength=sides.classes).astype(np.int64)
    sampled = _SampledRows.of(sides)
    blocks: dict[str, dict[str, Any] | str] = {}
    columns: list[_Column] = []
    for attribute in sides.table.attributes:  # one by one, as there may be as many cells as classes
        column = sides.column(attribute)
        blocks[attribute.name] = _marginal(sides, attribute, column, rows, smallest, values=values)
        columns.append(sampled.column_of(column))
    return {
        "marginals": {name: block for name, block in blocks.items() if not isinstance(block, str)},
        "unbinned": {name: block for name, block in blocks.items() if isinstance(block, str)},
        "associations": sampled.associations([*columns, *map(sampled.column_of, sides.passing)]),
    }


def _marginal(
    sides: BothSides,
    attribute: Attribute,
    column: ShownValues | ColumnCells,
    rows_of: Ints,
    smallest: int,
    *,
    values: bool,
) -> dict[str, Any] | str:
    """Labels, rows before and rows after in each bin, and rows that show nothing; or why no bins can be named.
    `rows_of` (classes,): rows of each class."""
    from_file = isinstance(sides.spec.quasi_identifiers[attribute.name].hierarchy, Path)
    leaves = np.bincount(attribute.codes, minlength=attribute.domain.size)
    bins = named_bins(attribute, leaves, smallest, from_file=from_file, values=values)
    if isinstance(bins, str):
        return bins
    if isinstance(column, ShownValues):
        published = column.released[sides.class_of >= 0]
        after, hidden = bins.counted(np.bincount(published, minlength=column.size)).astype(np.float64), 0
    else:
        shares = column.over(bins)
        rows = np.bincount(column.of_class, rows_of, minlength=len(shares))
        after, hidden = rows @ shares, int(rows[shares.sum(axis=1) == 0].sum())
    return {
        "bins": list(bins.labels or ()),
        "before": bins.counted(leaves).tolist(),
        "after": [round(each, 3) for each in after.tolist()],
        "hidden": hidden,
    }


@dataclass(frozen=True)
class _Column:
    """A column over its bins: `before` (rows,) the bin of each sampled row; `after`, the shares of its cells, None for
    a column released as it is, with `released` (rows,), the bin of each sampled row. `rest`: the share of rows in a bin
    of rare values."""

    name: str
    before: Ints
    bins: int
    after: _ShownShares | None
    released: Ints | None = None
    rest: float = 0.0


@dataclass(frozen=True)
class _ShownShares:
    """`shares` (n, bins): how the rows that show each text lie over bins; `of_class` (classes,): the text of
    each class."""

    shares: Floats
    of_class: Integers

    def filled(self, weights: Floats) -> _ShownShares:
        """Fills texts that show nothing, in place, with what others show, by the rows of classes, `weights`
        (classes,)."""
        total = np.bincount(self.of_class, weights, minlength=len(self.shares)) @ self.shares
        hidden = self.shares.sum(axis=1) == 0
        if hidden.any() and total.sum():
            self.shares[hidden] = total / total.sum()
        return self


@dataclass(frozen=True)
class _SampledRows:
    """The rows whose associations are measured: their places `before` and `after`, the `classes` they are in,
    ascending, and (rows,) the place of each released row's class among these, -1 for none. In a large table they are a
    part."""

    before: slice
    after: slice
    classes: Ints
    class_of: NDArray[np.int32]

    @classmethod
    def of(cls, sides: BothSides) -> _SampledRows:
        """About `SAMPLED_ROWS` of a table, and of its release, at equal distances."""
        before, after = (
            slice(None, None, max(-(-rows // SAMPLED_ROWS), 1)) for rows in (sides.table.rows, len(sides.class_of))
        )
        class_of = sides.class_of[after]
        occurs = np.zeros(sides.classes + 1, np.bool_)
        occurs[class_of] = True
        numbers = np.cumsum(occurs[:-1], dtype=np.int32) - np.int32(1)
        return cls(before, after, np.flatnonzero(occurs[:-1]), np.append(numbers, np.int32(-1))[class_of])

    def column_of(self, column: ShownValues | ColumnCells) -> _Column:
        """A column over its bins."""
        bins = column.bins()
        if isinstance(column, ColumnCells):
            cells, attribute = column.of_classes(self.classes), column.attribute
            after = _ShownShares(cells.over(bins), cells.of_class)
            before = bins.of_leaf[attribute.codes[self.before]]
            return _Column(attribute.name, before, bins.count, after, rest=bins.rest)
        before, released = bins.of_leaf[column.original[self.before]], bins.of_leaf[column.released[self.after]]
        if not column.detached:
            return _Column(column.name, before, bins.count, None, released, bins.rest)
        classes = len(self.classes)
        counts = self._counted(released, bins.count, slice(0, classes))
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        return _Column(column.name, before, bins.count, _ShownShares(shares, np.arange(classes)), rest=bins.rest)

    def associations(self, numerous: Sequence[_Column]) -> dict[str, Any]:
        """Cramér's V of every pair of columns, before and after. `rows`: how many were sampled; `coarse`: columns with
        most rows in one bin, whose figures mean little."""
        columns = numerous[:COLUMNS]
        pairs = []
        for (a, b), counts in self._joint(columns).items():
            one, other = columns[a], columns[b]
            before = np.bincount(one.before * other.bins + other.before, minlength=one.bins * other.bins)
            figures = {"before": _v(before.reshape(one.bins, other.bins).astype(float)), "after": _v(counts)}
            pairs.append({"columns": [one.name, other.name], **figures})
        rows = len(columns[0].before) if columns else len(self.class_of)
        coarse = [each.name for each in columns if each.rest > COARSE]
        block = {"rows": rows, "left_out": [each.name for each in numerous[COLUMNS:]], "pairs": pairs}
        return block | ({"coarse": coarse} if coarse else {})

    def _joint(self, columns: Sequence[_Column]) -> dict[tuple[int, int], Floats]:
        """For each pair of columns that are not both released as they are, (bins, bins) the expected rows: summed over
        classes, a product of matrices for some classes at a time, as all of them would take more memory than anything
        else."""
        classes = len(self.classes)
        rows_of = np.bincount(self.class_of[self.class_of >= 0], minlength=classes).astype(np.float64)
        as_it_is = [each.after is None for each in columns]
        pairs = [(a, b) for a, b in combinations(range(len(columns)), 2) if not (as_it_is[a] and as_it_is[b])]
        joint = {(a, b): np.zeros((columns[a].bins, columns[b].bins)) for a, b in pairs}
        filled = [None if each.after is None else each.after.filled(rows_of) for each in columns]
        for start in range(0, classes, TOGETHER):
            some = slice(start, min(start + TOGETHER, classes))
            after = [None if each is None else each.shares[each.of_class[some]] for each in filled]
            rows = [
                rows_of[some, None] * share if share is not None else self._counted(each.released, each.bins, some)
                for each, share in zip(columns, after, strict=True)
            ]
            for a, b in pairs:
                one, other = (rows[a], after[b]) if as_it_is[a] else (after[a], rows[b])
                joint[a, b] += np.asarray(one).T @ np.asarray(other)
        return joint

    def _counted(self, released: Ints | None, bins: int, some: slice) -> Floats:
        """(classes, bins) rows of some classes in each bin, given the bin of each released row."""
        assert released is not None
        inside = (self.class_of >= some.start) & (self.class_of < some.stop)
        keys = (self.class_of[inside].astype(np.int64) - some.start) * bins + released[inside]
        size = some.stop - some.start
        return np.bincount(keys, minlength=size * bins).reshape(size, bins).astype(np.float64)


def _v(counts: Floats) -> float | None:
    """Cramér's V; None where a column has one value."""
    counts = counts[counts.sum(axis=1) > 1e-9][:, counts.sum(axis=0) > 1e-9]
    if min(counts.shape) < 2:
        return None
    total = counts.sum()
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    return round(float(np.sqrt(((counts - expected) ** 2 / expected).sum() / total / (min(counts.shape) - 1))), 6)
