"""The bins over which a column is counted before and after.

Numbers lie in about ten round intervals, the outer two of which are open, so that no extreme is named. Categories are
counted over the labels of one level of their hierarchy: the lowest with at most `MOST` of them. Only the leaves of a
hierarchy *file* are labels that the published spec names; leaves of a builder are values of the input, and are named
only where values may be shown.

What is named is a function of the spec, but for counts: a bin with fewer than k rows is merged with others, a number's
with its smaller neighbour, a category's with all others of the kind under `other`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats, Ints
from anonymize.domain.grid import Grid
from anonymize.domain.grid import texts as grid_texts
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.table import Attribute

MOST = 12
"""Bins of a column, at most, that of missing values aside."""

MISSING, OTHER = "missing", "other"

UNNAMED = "it has no labels but its values, which --show-values shows"
UNLABELLED = f"no level of its hierarchy has 2 to {MOST} labels"


@dataclass(frozen=True)
class Bins:
    """Bins of one column.

    `of_leaf` (leaves,) int64: the bin of each code of its domain. `labels`: how each bin reads; None where that would
    name values. `edges` (bins - 1,): of numbers, the ends between one bin and the next, in which the next begins.
    `missing`: the bin of missing values, which comes last; None where there are none.
    """

    of_leaf: Ints
    labels: tuple[str, ...] | None
    count: int
    edges: Floats | None = None
    missing: int | None = None

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


def unnamed_bins(codes_size: int, leaves: Ints, ordered: bool) -> Bins:
    """Bins that are counted and never named: of `ordered` values with about equally many rows each, of others the most
    frequent ones (of equally frequent ones the lower code), and one for the rest."""
    if codes_size <= MOST:
        return Bins(np.arange(codes_size), None, codes_size)
    if ordered:
        middle = np.cumsum(leaves) - leaves / 2
        of_leaf = np.minimum((middle * MOST / max(int(leaves.sum()), 1)).astype(np.int64), MOST - 1)
        return Bins(of_leaf, None, MOST)
    of_leaf = np.full(codes_size, MOST - 1, np.int64)
    of_leaf[np.argsort(-leaves, kind="stable")[: MOST - 1]] = np.arange(MOST - 1)
    return Bins(of_leaf, None, MOST)


# --- numbers ---------------------------------------------------------------------------------------------------------


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


# --- categories ------------------------------------------------------------------------------------------------------


def _level(taxonomy: Taxonomy, lowest: int) -> int | None:
    """The lowest level with 2 to `MOST` nodes; None where there is none below the root."""
    for level in range(lowest, taxonomy.height):
        if 2 <= len(np.unique(taxonomy.levels[level])) <= MOST:
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
