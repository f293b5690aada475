"""A bound on what any release with equivalence classes has to lose: no gcp below it is possible.

Every class has at least k rows, and what it loses a row is at least what any two of its rows lose together: a region
that covers a class covers every pair of it.

The floor. A class has one label in each category, which costs what some row of it costs together with r; so for every r
it is one of a few vectors of labels above r. All its rows are under these, and its numbers span at least what they
differ from those of r. So r loses at least the least over all such vectors of their cost and the (k - 1)-th least
difference in numbers among the other rows under them. Vectors are looked at from the cheapest on, until the next costs
more than the best. Summed over rows this is a bound; but it lets every row choose its company, also rows that would
lose less among themselves.

The bound. Every row r gets a price y(r) >= 0 such that the prices of no class sum up to more than the class loses. As
classes part the rows, all prices together are then at most what any release loses (they are a solution of the dual of
the linear program that covers rows with classes; how good it is changes the bound, never whether it holds). Prices
begin at the floor. Then each row in turn, those of the highest floor first, is raised by what is left to every class it
can be in: a class of m rows loses at least the sum over its rows s of max(floor(r), floor(s), pair(r, s)), of which the
prices of the others are taken away; the least of that over all classes is reached by the k - 1 rows of which least is
left, and by further ones of which less than nothing is. A class of 2k rows and more can be cut in two without loss, so
that no more than 2k - 2 others count. Where rows may be suppressed, one that is loses all its quasi-identifiers, and no
price is higher than that.

It holds under further models, too: they only forbid some of the classes. It follows from the input: it is not for
publication.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import prod

import numpy as np

from anonymize.algorithms.feasibility import necessary_size
from anonymize.classes import Bools, Floats, Ints
from anonymize.privacy import Requirement
from anonymize.records import dataclass
from anonymize.table import Attribute, Table

LARGEST_TABLE = 512
"""With at most this many leaves, the costs of all pairs of leaves of an attribute are worked out once."""
MOST_PAIRS = 10_000_000_000
"""Pairs of cells that are looked at, at most: about a minute, and a table of 35,000 rows with 8 quasi-identifiers."""
MOST_VECTORS, VECTORS_OF_A_ROW = 4096, 64
"""Vectors of labels at most: so many that there may be, else the attributes of most labels count as numbers do; and so
many that are looked at for a row."""
ROUNDING = 1e-9
"""The share of the bound that is given away for rounding."""


@dataclass(frozen=True)
class LossBound:
    """Two figures that no release's gcp is below, the second never the lower one; None where they would take too much
    work. `k`: the fewest rows of a class."""

    floor: float | None
    bound: float | None
    k: int

    def block(self, gcp: float | None) -> dict[str, float | int | None]:
        """Its block in the report, along with the gcp of a release: `above` is by what share of the bound it is
        higher."""
        above = gcp / self.bound - 1 if gcp is not None and self.bound else None
        return {"k": self.k, "floor": self.floor, "gcp": self.bound, "above": above}


def loss_bound(table: Table, requirements: Sequence[Requirement], *, suppressing: bool = False) -> LossBound:
    """The bound on the gcp of every release of the table's rows; `suppressing`: also of those that suppress some.

    Takes time that grows with the square of the rows. Among rows with an equal floor, the first is raised first.
    """
    k, cells = necessary_size(requirements), table.rows * max(len(table.attributes), 1)
    if table.rows * cells > MOST_PAIRS:
        return LossBound(None, None, k)
    if not table.attributes or table.rows < max(k, 2):
        return LossBound(0.0, 0.0, k)
    pairs, most = PairCosts(table.attributes), float(len(table.attributes)) if suppressing else np.inf
    floor = np.array([_floor(pairs, row, k) for row in range(table.rows)])
    prices = _raised(pairs, floor, k, most)
    low, high = (float(each.sum()) / cells * (1 - ROUNDING) for each in (floor, prices))
    return LossBound(low, high, k)


class PairCosts:
    """What a row and every other row lose together, all attributes weighing the same: (rows,) by the row's number."""

    def __init__(self, attributes: Sequence[Attribute]) -> None:
        self._codes = [attribute.codes for attribute in attributes]
        self._costs = [_costs_of(attribute) for attribute in attributes]
        self._labelled = [index for index, each in enumerate(attributes) if each.domain.kind == "categorical"]
        self._vectors: dict[tuple[tuple[float, ...], ...], list[tuple[float, tuple[int, ...]]]] = {}
        self.rows = len(self._codes[0])

    def __call__(self, row: int) -> Floats:
        return self._of(row, range(len(self._codes)))

    def _of(self, row: int, attributes: Iterable[int]) -> Floats:
        total = np.zeros(self.rows)
        for index in attributes:
            codes = self._codes[index]
            total += self._costs[index](int(codes[row])).take(codes)
        return total

    def labels(self, row: int) -> Labels:
        """What labels above a row there are."""
        costs_of = {index: self._costs[index](int(self._codes[index][row])) for index in self._labelled}
        levels = {index: tuple(np.unique(costs).tolist()) for index, costs in costs_of.items()}
        while prod(map(len, levels.values())) > MOST_VECTORS:
            del levels[max(levels, key=lambda index: len(levels[index]))]
        key = tuple(levels.values())
        if key not in self._vectors:
            places = product(*(range(len(each)) for each in key))
            costs = [(sum(each[place] for each, place in zip(key, vector, strict=True)), vector) for vector in places]
            self._vectors[key] = sorted(costs)[: VECTORS_OF_A_ROW + 1]
        under = [
            [costs_of[index].take(self._codes[index]) <= most for most in costs[:-1]] for index, costs in levels.items()
        ]
        others = [index for index in range(len(self._codes)) if index not in levels]
        return Labels(self._vectors[key], under, self._of(row, others))


@dataclass(frozen=True)
class Labels:
    """Vectors of labels above a row, the cheapest first, by cost and place of each label among those of its attribute.

    `under`: of each attribute and each of its labels but the last, which covers all, (rows,) the rows under it. `apart`
    (rows,): what each row and this one lose together on all other attributes.
    """

    vectors: list[tuple[float, tuple[int, ...]]]
    under: list[list[Bools]]
    apart: Floats

    def rows_under(self, vector: tuple[int, ...]) -> Bools:
        """(rows,) which rows are under all labels."""
        some = [each[label] for each, label in zip(self.under, vector, strict=True) if label < len(each)]
        return np.logical_and.reduce(some) if some else np.ones(len(self.apart), np.bool_)


def _costs_of(attribute: Attribute) -> Callable[[int], Floats]:
    """A function of a leaf: (leaves,) the cost of it together with each leaf."""
    domain = attribute.domain
    leaves: Ints = np.arange(domain.size)

    def costs(leaf: int) -> Floats:
        each = domain.cost(np.minimum(leaves, leaf), np.maximum(leaves, leaf))
        if domain.kind == "numeric" and domain.missing is not None:  # with missing ones, one number has no width
            other = np.arange(domain.size) != leaf
            if leaf == domain.missing:
                each[other] = 1 / domain.size
            else:
                each[domain.missing] = 1 / domain.size
        return each

    if domain.size > LARGEST_TABLE:
        return costs
    table = [costs(leaf) for leaf in range(domain.size)]
    return table.__getitem__


def _floor(pairs: PairCosts, row: int, k: int) -> float:
    """What a row loses at least, in a class of k rows; 0 where it needs no others."""
    if k < 2:
        return 0.0
    labels, least = pairs.labels(row), np.inf
    for number, (cost, vector) in enumerate(labels.vectors):
        if cost >= least or number == VECTORS_OF_A_ROW:
            return float(min(least, cost))
        apart = labels.apart[labels.rows_under(vector)]
        if len(apart) >= k:  # the row itself is the least of all, so the (k - 1)-th of the others is the k-th
            least = min(least, cost + float(np.partition(apart, k - 1)[k - 1]))
    return float(least)


def _raised(pairs: PairCosts, floor: Floats, k: int, most: float) -> Floats:
    """(rows,) prices, each from the floor (rows,) to `most`."""
    prices, last = floor.copy(), min(2 * k - 2, len(floor) - 1)
    if k < 2:
        return prices
    for row in np.argsort(-floor, kind="stable").tolist():
        left = np.maximum(pairs(row), floor)
        np.maximum(left, floor[row], out=left)
        left -= prices
        left[row] = np.inf
        least = np.sort(np.partition(left, last - 1)[:last]) if last < len(left) else np.sort(left)[:last]
        price = floor[row] + float(least[: k - 1].sum()) + float(np.minimum(least[k - 1 :], 0.0).sum())
        prices[row] = min(max(price, prices[row]), most)
    return prices
