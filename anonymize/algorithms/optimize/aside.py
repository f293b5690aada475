"""One attribute set aside: what the classes of the others' intervals have at each of its places.

With it the best cut through that attribute is known for any splits of the others, as often as it is wanted. `lines`
makes the same of the cells of a node, with a sort for each; here one table is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anonymize.algorithms.optimize.costs import SizeRules
from anonymize.algorithms.optimize.lines import MOST, Arcs, sums
from anonymize.algorithms.optimize.sized import SizedCells
from anonymize.classes import Bools, Ints

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
        fitting = [each for each in every if each.span > 1 and each.span * (each.span + 1) // 2 * CLASSES <= MOST]
        most = max((each.span for each in fitting), default=0)
        return sorted((each for each in fitting if 2 * each.span >= most), key=lambda each: -each.span)

    @property
    def span(self) -> int:
        """Intervals of the attribute."""
        return int(self.cells.first[self.attribute + 1] - self.cells.first[self.attribute])

    def splits(self, attribute: int) -> Ints:
        """The splits of an attribute."""
        return self.cells.split[self.cells.first[attribute] + 1 : self.cells.first[attribute + 1]]

    @cached_property
    def places(self) -> Ints:
        """(attributes, cells) the interval of each cell, numbered from 0 in each attribute."""
        return self.cells.places - self.cells.first[:-1, None]

    def arcs(self, mask: Bools) -> Arcs | None:
        """What the classes of the other attributes' splits of a set have in each interval of the attribute; None where
        that would be too large a table."""
        key, size = self.places[self.attribute], self.span
        for other in range(len(self.cells.places)):
            chosen = mask[self.splits(other)]
            if other != self.attribute and chosen.any():
                number = np.concatenate(([0], np.cumsum(chosen)))
                key = key + number[self.places[other]] * size
                size *= int(number[-1]) + 1
        if size > TABLE:
            return None
        weights = (self.cells.counts, *self.cells.labels.T)
        tables = [np.bincount(key, each, size).astype(np.int64).reshape(-1, self.span) for each in weights]
        some = tables[0].any(axis=1)
        arcs = self.span * (self.span + 1) // 2
        if np.count_nonzero(some) * arcs * len(tables) > MOST:
            return None
        rows, *labels = (sums(table[some]) for table in tables)
        stacked = np.stack(labels, axis=-1) if labels else np.zeros((*rows.shape, 0), np.int64)
        return Arcs(self.rules, self.splits(self.attribute), rows, stacked, np.zeros(arcs, np.bool_))
