"""Marginals and pairwise associations, before and after.

The marginal of a column is how many rows are in each bin: before by their values, after by what their cells show (see
`spread`). The association of two columns is Cramér's V of their bins (Cramér, Mathematical Methods of Statistics, 1946,
section 21.9): 0 where they are independent, 1 where the one tells the other. Joint counts after take the
quasi-identifiers of a row for independent of each other within what its class shows, and a suppressed cell for
distributed as the shown ones are, which is all that a reader knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats, Integers, Ints
from anonymize.domain.numeric import Numeric
from anonymize.fidelity.bins import named_bins, unnamed_bins
from anonymize.fidelity.spread import ColumnCells
from anonymize.recoding import Released
from anonymize.spec import Spec
from anonymize.table import Attribute, SensitiveColumn, Table

COLUMNS = 10
"""Columns between which associations are measured, at most: the quasi-identifiers, then the sensitive attributes."""
TOGETHER = 1 << 16
"""Classes whose shares are in memory at once."""
ROWS = 200_000
"""Associations are measured over about so many rows at most: every second, third ... row of a larger table."""


def fidelity(table: Table, released: Released, spec: Spec, smallest: int, *, values: bool) -> dict[str, Any]:
    """The blocks `marginals`, `unbinned` (the columns without one, and why) and `associations` of a private report.

    `smallest`: rows that a bin with a label has at least. `values`: values of the input may be named.
    """
    rows, looked = _rows(released), _RowsLookedAt.of(table, released)
    blocks: dict[str, dict[str, Any] | str] = {}
    columns: dict[str, ColumnCells] = {}
    for attribute in table.attributes:  # of one after the other all cells are held, which may be as many as classes
        column = ColumnCells.of(attribute, released, spec)
        blocks[attribute.name] = _marginal(column, rows, smallest, values=values)
        columns[attribute.name] = column.of_classes(looked.classes)
    return {
        "marginals": {name: block for name, block in blocks.items() if not isinstance(block, str)},
        "unbinned": {name: block for name, block in blocks.items() if isinstance(block, str)},
        "associations": _associations(table, looked, columns),
    }


# --- marginals -------------------------------------------------------------------------------------------------------


def _marginal(column: ColumnCells, rows_of: Ints, smallest: int, *, values: bool) -> dict[str, Any] | str:
    """Labels, rows before and rows after in each bin, and rows that show nothing; or why no bins can be named.
    `rows_of` (classes + 1,): rows of each class."""
    attribute = column.attribute
    from_file = isinstance(column.spec.quasi_identifiers[attribute.name].hierarchy, Path)
    bins = named_bins(attribute, column.leaves, smallest, from_file=from_file, values=values)
    if isinstance(bins, str):
        return bins
    cells = column.over(bins)
    rows = np.bincount(column.of_class, rows_of, minlength=len(cells.shares))
    return {
        "bins": list(bins.labels or ()),
        "before": bins.counted(column.leaves).tolist(),
        "after": [round(each, 3) for each in (rows @ cells.shares).tolist()],
        "hidden": int(rows[cells.hidden].sum()),
    }


def _rows(released: Released) -> Ints:
    """(classes + 1,) rows of each class, that of published suppressed rows last."""
    published = released.class_of[released.class_of >= 0]
    return np.bincount(published, minlength=len(released.sizes) + 1).astype(np.int64)


# --- associations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    """A column over its bins: `before` (rows,) the bin of each row looked at; `after`, how its cells lie over them and
    which cell each class shows; None for a column that is released as it is."""

    name: str
    before: Ints
    bins: int
    after: _ShownShares | None


@dataclass(frozen=True)
class _ShownShares:
    """`shares` (n, bins): how the rows that show each text lie over bins; `of_class` (classes,): the text of each
    class."""

    shares: Floats
    of_class: Integers

    def filled(self, weights: Floats) -> _ShownShares:
        """The same, texts that show nothing being what the others show together: in place, as of many texts the shares
        are large. `weights` (classes,): rows."""
        total = np.bincount(self.of_class, weights, minlength=len(self.shares)) @ self.shares
        hidden = self.shares.sum(axis=1) == 0
        if hidden.any() and total.sum():
            self.shares[hidden] = total / total.sum()
        return self


@dataclass(frozen=True)
class _RowsLookedAt:
    """The rows between whose columns associations are measured: `places`, the `classes` that they are in, ascending,
    and the place among these of the class of each row, `class_of` (rows,), -1 for one of none. In a large table these
    classes are a part of all."""

    places: slice
    classes: Ints
    class_of: NDArray[np.int32]

    @classmethod
    def of(cls, table: Table, released: Released) -> _RowsLookedAt:
        """About `ROWS` of a table, at equal distances."""
        places = slice(None, None, max(-(-table.rows // ROWS), 1))
        class_of = released.class_of[places]
        occurs = np.zeros(len(released.sizes) + 2, np.bool_)
        occurs[class_of] = True
        numbers = np.cumsum(occurs[:-1], dtype=np.int32) - np.int32(1)
        return cls(places, np.flatnonzero(occurs[:-1]), np.append(numbers, np.int32(-1))[class_of])


def _associations(table: Table, looked: _RowsLookedAt, cells: Mapping[str, ColumnCells]) -> dict[str, Any]:
    """Cramér's V of every pair of columns, before and after. `rows`: how many were looked at. `cells`: of each
    quasi-identifier, by name, those of the classes of these rows."""
    numerous: tuple[Attribute | SensitiveColumn, ...] = (*table.attributes, *table.sensitive)
    columns: list[_Column] = [
        _quasi_identifier(cells[each.name], looked.places)
        if isinstance(each, Attribute)
        else _sensitive(each, looked.places)
        for each in numerous[:COLUMNS]
    ]
    after = _JointCounts(looked.class_of, len(looked.classes)).joint(columns)
    pairs = [
        {
            "columns": [columns[a].name, columns[b].name],
            "before": _v(_crosstab(columns[a], columns[b])),
            "after": _v(counts),
        }
        for (a, b), counts in after.items()
    ]
    return {"rows": len(looked.class_of), "left_out": [each.name for each in numerous[COLUMNS:]], "pairs": pairs}


def _quasi_identifier(column: ColumnCells, looked: slice) -> _Column:
    attribute = column.attribute
    bins = unnamed_bins(attribute.domain.size, column.leaves, isinstance(attribute.domain, Numeric))
    after = _ShownShares(column.over(bins).shares, column.of_class)
    return _Column(attribute.name, bins.of_leaf[attribute.codes[looked]], bins.count, after)


def _sensitive(column: SensitiveColumn, looked: slice) -> _Column:
    bins = unnamed_bins(column.size, np.bincount(column.codes, minlength=column.size), column.numeric)
    return _Column(column.name, bins.of_leaf[column.codes[looked]], bins.count, None)


def _crosstab(a: _Column, b: _Column) -> Floats:
    """(bins of a, bins of b) rows, by their values."""
    return np.bincount(a.before * b.bins + b.before, minlength=a.bins * b.bins).reshape(a.bins, b.bins).astype(float)


@dataclass(frozen=True)
class _JointCounts:
    """Joint counts of what is released; `class_of` (rows,), -1 for rows that are not."""

    class_of: NDArray[np.int32]
    classes: int

    @cached_property
    def _weights(self) -> Floats:
        """(classes,) rows of each class."""
        return np.bincount(self.class_of[self.class_of >= 0], minlength=self.classes).astype(np.float64)

    def joint(self, columns: Sequence[_Column]) -> dict[tuple[int, int], Floats]:
        """For each pair of columns of which the first is generalized, (bins of the one, bins of the other) the rows
        that are expected in each pair of bins: the sum over classes of what both show, as a product of matrices, for
        some classes after the other, as what all of them show would take more memory than anything else."""
        pairs = [(a, b) for a, b in combinations(range(len(columns)), 2) if columns[a].after is not None]
        joint = {(a, b): np.zeros((columns[a].bins, columns[b].bins)) for a, b in pairs}
        filled = [None if each.after is None else each.after.filled(self._weights) for each in columns]
        for start in range(0, self.classes, TOGETHER):
            some = slice(start, min(start + TOGETHER, self.classes))
            after = [None if each is None else each.shares[each.of_class[some]] for each in filled]
            weights = self._weights[some, None]
            shares = [
                self._counted(columns[i], some) if share is None else weights * share for i, share in enumerate(after)
            ]
            for a, b in pairs:
                joint[a, b] += np.asarray(after[a]).T @ shares[b]
        return joint

    def _counted(self, column: _Column, some: slice) -> Floats:
        """(classes, bins) rows of some classes in each bin of a column that is released as it is."""
        inside = (self.class_of >= some.start) & (self.class_of < some.stop)
        keys = (self.class_of[inside].astype(np.int64) - some.start) * column.bins + column.before[inside]
        size = some.stop - some.start
        return np.bincount(keys, minlength=size * column.bins).reshape(size, column.bins).astype(np.float64)


def _v(counts: Floats) -> float | None:
    """Cramér's V; None where a column has one value."""
    counts = counts[counts.sum(axis=1) > 1e-9][:, counts.sum(axis=0) > 1e-9]
    if min(counts.shape) < 2:
        return None
    total = counts.sum()
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    return round(float(np.sqrt(((counts - expected) ** 2 / expected).sum() / total / (min(counts.shape) - 1))), 6)
