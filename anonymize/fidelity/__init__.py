"""What a release keeps of the distributions: of each quasi-identifier alone, and of pairs of columns together.

Before and after are counted over the same bins. `bins.py` says which, and how a released cell lies over them;
`comparison.py` says what follows. How far marginals of up to three columns are from each other is below.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from anonymize.classes import Bools, Floats, Ints, mixed_radix
from anonymize.fidelity import comparison
from anonymize.fidelity.bins import ColumnCells
from anonymize.fidelity.comparison import BothSides, ShownValues, fidelity
from anonymize.records import dataclass
from anonymize.table import Attribute

DISTRIBUTIONS = {"marginals": comparison, "associations": comparison}
"""The blocks of a report by what says for which meanings of columns they are defined."""

__all__ = ["DISTRIBUTIONS", "BothSides", "ColumnCells", "ShownValues", "fidelity", "total_variation"]


# --- total variation --------------------------------------------------------------------------------------------------
# The distance of two distributions is half the sum of the differences of their shares: the share of the rows that
# would have to change for one to become the other, from 0 to 1 (A. Gibbs and F. Su, "On choosing and bounding
# probability metrics", International Statistical Review 70, 2002). It is taken over the values of a column, or where
# these are more than `MOST_VALUES`, over as many parts of about equally many rows of the original, for numbers, or over
# the most frequent ones.
#
# A cell that shows an interval or a node counts in each value under it alike, and cells of one row are independent of
# each other within what they show, which is all that a reader knows: generalized, perturbed and synthetic tables are
# measured on one footing. Rows that were sampled from one distribution are about as far apart as the square root of
# cells over rows, so that a table with few rows is never near in many cells.

MOST_VALUES = 100
"""Values of a column that are distinguished, at most."""
WAYS = (1, 2, 3)
"""Of how many columns marginals are."""
MARGINALS = 200
"""Marginals of so many columns that are measured, at most; of more, some at equal distances."""
MOST_PRODUCTS = 4e9
"""Products of shares of cells that are summed for the marginals of so many columns, at most."""
BLOCK = 1 << 22
"""Of them at a time."""


@dataclass(frozen=True)
class _BinnedSides:
    """A column over its `bins`: `before` (rows,) the bin of each row. `after` (released rows,) which of the `texts`
    each row shows; `shares` (texts, bins): how such rows lie over the bins; None: each is in the bin of that number."""

    name: str
    bins: int
    before: Ints
    after: Ints
    shares: Floats | None = None

    @property
    def texts(self) -> int:
        """How many different cells there are."""
        return self.bins if self.shares is None else len(self.shares)


def total_variation(sides: BothSides) -> dict[str, Any]:
    """The block `variation` of a private report: for one, two and three columns how many `marginals` were measured, and
    how many `left_out`; the `mean` and the `worst` total variation, and the columns of that.

    What is left out is beyond `MARGINALS` or `MOST_PRODUCTS`. No figure is about rows that are not released.
    """
    if not sides.table.attributes and not sides.passing:
        return {"columns": [], "values": MOST_VALUES, "ways": []}
    attributes = [_of_attribute(sides, each) for each in sides.table.attributes]
    columns, rows = _different([*attributes, *map(_of_values, sides.passing)], sides.class_of >= 0)
    ways = [_of_way(columns, rows, way) for way in WAYS if way <= len(columns)]
    return {"columns": [each.name for each in columns], "values": MOST_VALUES, "ways": ways}


def _of_attribute(sides: BothSides, attribute: Attribute) -> _BinnedSides:
    """A quasi-identifier. What shows nothing is distributed as the rest, or evenly where everything shows nothing."""
    column = sides.column(attribute)
    if isinstance(column, ShownValues):
        return _of_values(column)
    bins = column.bins(MOST_VALUES)
    shares, after = column.over(bins), column.of_class[sides.class_of].astype(np.int64)
    whole = np.bincount(after[sides.class_of >= 0], minlength=len(shares)) @ shares
    whole = whole if whole.any() else np.bincount(bins.of_leaf, minlength=bins.count).astype(np.float64)
    shares[shares.sum(axis=1) == 0] = whole / whole.sum()
    return _BinnedSides(attribute.name, bins.count, bins.of_leaf[attribute.codes], after, shares)


def _of_values(column: ShownValues) -> _BinnedSides:
    """A column of which values are shown as they are."""
    bins = column.bins(MOST_VALUES)
    return _BinnedSides(column.name, bins.count, bins.of_leaf[column.original], bins.of_leaf[column.released])


def _different(columns: Sequence[_BinnedSides], own: Bools) -> tuple[list[_BinnedSides], Floats]:
    """The columns with the different rows of those that are released (`own`), and (those,) how many rows read so."""
    keys = mixed_radix([each.after[own] for each in columns], [each.texts for each in columns])[0]
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return [replace(each, after=each.after[own][first]) for each in columns], counts.astype(np.float64)


def _of_way(columns: Sequence[_BinnedSides], rows: Floats, way: int) -> dict[str, Any]:
    """The figures of all marginals of so many columns."""
    every = list(combinations(columns, way))
    some = every if len(every) <= MARGINALS else [every[i * len(every) // MARGINALS] for i in range(MARGINALS)]
    distances = dict(_distances(some, rows))
    worst = max(distances, key=lambda names: distances[names], default=())
    return {
        "columns": way,
        "marginals": len(distances),
        "left_out": len(every) - len(distances),
        "mean": round(math.fsum(distances.values()) / len(distances), 6) if distances else None,
        "worst": round(distances[worst], 6) if distances else None,
        "worst_of": list(worst),
    }


def _distances(marginals: Sequence[Sequence[_BinnedSides]], rows: Floats) -> Iterator[tuple[tuple[str, ...], float]]:
    """Names and total variation of each marginal, as far as the work goes."""
    left = MOST_PRODUCTS
    for columns in marginals:
        shape = [each.bins for each in columns]
        combined = _Combined.of(columns, rows)
        left -= combined.work
        if left < 0 or math.prod(shape) > BLOCK:
            continue
        before = np.bincount(mixed_radix([each.before for each in columns], shape)[0], minlength=math.prod(shape))
        after = combined.joint().ravel()
        if before.sum() and after.sum():
            difference = np.abs(before / before.sum() - after / after.sum()).sum()
            yield tuple(each.name for each in columns), float(difference / 2)


@dataclass(frozen=True)
class _Combined:
    """The different combinations of cells of some columns: `which` (columns, n), which cell of each; `rows` (n,)."""

    columns: Sequence[_BinnedSides]
    which: Ints
    rows: Floats

    @classmethod
    def of(cls, columns: Sequence[_BinnedSides], rows: Floats) -> _Combined:
        keys = mixed_radix([each.after for each in columns], [each.texts for each in columns])[0]
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        which = np.stack([each.after[first] for each in columns])
        return cls(columns, which, np.bincount(place, rows).astype(np.float64))

    @property
    def work(self) -> int:
        """How many products are summed."""
        return len(self.rows) * math.prod(each.bins for each in self.columns if each.shares is not None)

    def joint(self) -> Floats:
        """(*bins of the columns) rows: the sum over combinations of the outer product of what their cells show.

        Columns that are shown as they are say in which cells of theirs a product goes, the others which product."""
        joint = np.zeros([each.bins for each in self.columns])
        if not len(self.rows):
            return joint
        exact = [place for place, each in enumerate(self.columns) if each.shares is None]
        if len(exact) == len(self.columns):
            joint[tuple(self.which)] = self.rows
            return joint
        spread = [place for place in range(len(self.columns)) if place not in exact]
        order = np.lexsort(self.which[exact[::-1]]) if exact else np.arange(len(self.rows))
        changes = np.any(np.diff(self.which[exact][:, order], axis=1) != 0, axis=0) if exact else np.zeros(0)
        for some in np.split(order, np.flatnonzero(changes) + 1):
            where: list[Any] = [slice(None)] * len(self.columns)
            for place in exact:
                where[place] = self.which[place, some[0]]
            joint[tuple(where)] += self._product(spread, some)
        return joint

    def _product(self, spread: Sequence[int], some: Ints) -> Floats:
        """(*bins) the sum of the outer products of some combinations, in blocks, as products of matrices."""
        shares = [np.asarray(self.columns[place].shares) for place in spread]
        inner = math.prod(each.shape[1] for each in shares[:-1])
        total = np.zeros((inner, shares[-1].shape[1]))
        size = max(1, BLOCK // inner)
        for start in range(0, len(some), size):
            part = some[start : start + size]
            product = self.rows[part, None]
            for place, share in zip(spread[:-1], shares[:-1], strict=True):
                product = (product[:, :, None] * share[self.which[place, part]][:, None, :]).reshape(len(part), -1)
            total += product.T @ shares[-1][self.which[spread[-1], part]]
        return total.reshape([each.shape[1] for each in shares])
