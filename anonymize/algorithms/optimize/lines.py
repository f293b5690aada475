"""The best cut through one attribute, while those through all others stay: exactly, and as a bound.

With the other attributes' intervals given, what a class costs depends on its own interval of the attribute alone. So
the cost is a sum over the intervals that the attribute is cut into, and the best cut is a shortest path through its
places: an arc from one place to another is an interval, and as long as all classes within it cost. That is how one
attribute of many values, such as age, is settled without trying its splits one by one.

Where others' splits are still open, an arc is as long as its classes cost at least, however they are parted further: a
class of n rows in an interval leaves n // k classes at most, and no more than it has cells of the others; each of these
cells costs at least what its rows in the interval do. The shortest path is then a bound. Most cells have so few rows
that these cost the same one by one, and are counted with their class; only the others are looked at one by one.

A search that changes the splits of all other attributes sets one aside: what the classes of the others' intervals have
at each of its places is counted in one table, so that its best cut is known for any splits of the others.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from anonymize.algorithms.optimize import SizedCells, stacked
from anonymize.algorithms.optimize.costs import SizeRules
from anonymize.classes import Bools, Ints
from anonymize.records import dataclass

BIG = 1 << 54
"""The length of an arc that must not be taken."""
ARC_NUMBERS = 1 << 21
"""Numbers that a table of arcs may hold."""


@dataclass(frozen=True)
class Arcs:
    """An attribute, with some classes of the others' intervals. `splits`: those of the attribute that there are. `rows`
    (classes, arcs), `labels` (classes, arcs, labels): what each class has in each interval. `crossed` (arcs,): whether
    an interval must not be, as a split that has to stay is inside."""

    rules: SizeRules
    splits: Ints
    rows: Ints
    labels: Ints
    crossed: Bools

    def best(self) -> tuple[int, Ints]:
        """The least cost with no further splits of the others, and the splits of the attribute that have it. Where rows
        may be suppressed, more of them may be than is allowed."""
        return self._path(self.rules.cost.class_cost(self.rows, self.labels))

    def _path(self, costs: Ints) -> tuple[int, Ints]:
        failing = self.rules.fails(self.rows)
        costs = self.rules.charged(failing, self.rows, costs).sum(axis=0)
        if not self.rules.allowed:
            costs[(failing & (self.rows > 0)).any(axis=0)] = BIG
        costs[self.crossed] = BIG
        length, places = shortest(costs, len(self.splits) + 1)
        return length, self.splits[places - 1]


@dataclass(frozen=True)
class Line(Arcs):
    """The arcs of a node of the search: the classes are of the others' head, and an interval must not cross the head's
    splits. `counts` (classes,): how many cells of the others' allset there are in each; `least` (classes, arcs): what
    these cost at least there."""

    counts: Ints
    least: Ints

    @classmethod
    def of(cls, rules: SizeRules, cells: SizedCells, head: Bools, attribute: int) -> Line | None:
        """The line through a node; None where its tables would be too large."""
        splits = cells.splits(attribute)
        span = len(splits) + 1
        free = np.ones_like(head)
        free[splits] = False
        others, cell_of = cells.joined(free)
        classes, class_of = others.joined(head & free)
        uneven = np.flatnonzero(~rules.cost.linear(others.counts, others.labels))
        if (len(uneven) + len(classes.counts)) * span * (span + 1) // 2 * (cells.labels.shape[1] + 1) > ARC_NUMBERS:
            return None
        place = cells.places[attribute] - cells.first[attribute]
        rows, labels = _summed(_tables(cells, class_of[cell_of] * span + place, len(classes.counts), span))
        least = rules.cost.single * rows
        number = np.full(len(others.counts), len(uneven))  # the others are left out
        number[uneven] = np.arange(len(uneven))
        tables = _tables(cells, number[cell_of] * span + place, len(uneven) + 1, span)
        parts, part_labels = _summed([table[:-1] for table in tables])
        np.add.at(least, class_of[uneven], rules.cost.least(parts, part_labels) - rules.cost.single * parts)
        begin, end = _ends(span)
        fixed = np.concatenate(([0], np.cumsum(head[splits]), [0]))
        return cls(
            rules=rules,
            splits=splits,
            rows=rows,
            labels=labels,
            counts=np.bincount(class_of, minlength=len(classes.counts)),
            least=least,
            crossed=fixed[end - 1] > fixed[begin],
        )

    @property
    def alone(self) -> bool:
        """Whether all splits that are open are of this attribute."""
        return bool((self.counts == 1).all())

    def bound(self) -> int:
        """No set below costs less."""
        whole = self.rules.cost.whole
        pieces = np.minimum(self.rows // self.rules.minimum, self.counts[:, None])
        return self._path(np.maximum(whole(self.rows, self.labels, pieces), self.least))[0]


def _tables(cells: SizedCells, key: Ints, groups: int, span: int) -> list[Ints]:
    """(groups, span) the rows of the cells of each group at each place, and those of each label; `key` (m,): group x
    span + place."""
    weights = (cells.counts, *cells.labels.T)
    return [np.bincount(key, each, groups * span).astype(np.int64).reshape(-1, span) for each in weights]


def _summed(tables: list[Ints]) -> tuple[Ints, Ints]:
    """(groups, arcs) rows and (groups, arcs, labels) labels, from those at single places."""
    rows, *labels = (sums(table) for table in tables)
    return rows, stacked(labels, rows)


def shortest(costs: Ints, span: int) -> tuple[int, Ints]:
    """The shortest path from the first place to the last over `span` steps, given the cost (arcs,) of each arc in the
    order of `_ends`; and the places in between that it touches, ascending. Of several, the one of the earliest last
    place, and so on back from the end."""
    back = [0]
    lengths = np.zeros(span + 1, np.int64)
    for end in range(1, span + 1):
        ways = lengths[:end] + costs[end * (end - 1) // 2 : end * (end + 1) // 2]
        back.append(int(ways.argmin()))
        lengths[end] = min(int(ways[back[-1]]), BIG)
    reach: list[int] = []
    place = back[span]
    while place:
        reach.append(place)
        place = back[place]
    return int(lengths[span]), np.array(reach[::-1], np.int64)


@lru_cache(maxsize=256)
def _ends(span: int) -> tuple[Ints, Ints]:
    """(arcs,) where each interval begins, and where it ends: by their ends, then by where they begin."""
    end = np.arange(1, span + 1).repeat(np.arange(1, span + 1))
    begin = np.arange(len(end)) - end * (end - 1) // 2
    return begin, end


def sums(table: Ints) -> Ints:
    """(cells, arcs) sums over intervals, from those of single places (cells, places)."""
    total = np.zeros((len(table), table.shape[1] + 1), np.int64)
    table.cumsum(axis=1, out=total[:, 1:])
    begin, end = _ends(table.shape[1])
    return total[:, end] - total[:, begin]


# --- an attribute that is set aside -----------------------------------------------------------------------------------

TABLE = 1 << 20
"""How many numbers a table of classes and places may hold."""
CLASSES = 16
"""So many classes must fit."""


@dataclass(frozen=True)
class SetAside:
    """Cells of which one attribute is set aside."""

    rules: SizeRules
    cells: SizedCells
    attribute: int

    @classmethod
    def widest(cls, rules: SizeRules, cells: SizedCells) -> list[SetAside]:
        """With each attribute set aside that has half as many splits as any, or more, the one of most splits first; an
        attribute of so many that no arcs of it fit is none of them."""
        every = [cls(rules, cells, number) for number in range(len(cells.places))]
        fitting = [
            each for each in every if each.span > 1 and each.span * (each.span + 1) // 2 * CLASSES <= ARC_NUMBERS
        ]
        most = max((each.span for each in fitting), default=0)
        return sorted((each for each in fitting if 2 * each.span >= most), key=lambda each: -each.span)

    @property
    def span(self) -> int:
        """Intervals of the attribute."""
        return int(self.cells.first[self.attribute + 1] - self.cells.first[self.attribute])

    @cached_property
    def places(self) -> Ints:
        """(attributes, cells) the interval of each cell, numbered from 0 in each attribute."""
        return self.cells.places - self.cells.first[:-1, None]

    def arcs(self, mask: Bools) -> Arcs | None:
        """What the classes of the other attributes' splits of a set have in each interval of the attribute; None where
        that would be too large a table."""
        key, size = self.places[self.attribute], self.span
        for other in range(len(self.cells.places)):
            chosen = mask[self.cells.splits(other)]
            if other != self.attribute and chosen.any():
                number = np.concatenate(([0], np.cumsum(chosen)))
                key = key + number[self.places[other]] * size
                size *= int(number[-1]) + 1
        if size > TABLE:
            return None
        tables = _tables(self.cells, key, size // self.span, self.span)
        some = tables[0].any(axis=1)
        arcs = self.span * (self.span + 1) // 2
        if np.count_nonzero(some) * arcs * len(tables) > ARC_NUMBERS:
            return None
        rows, labels = _summed([table[some] for table in tables])
        return Arcs(self.rules, self.cells.splits(self.attribute), rows, labels, np.zeros(arcs, np.bool_))
