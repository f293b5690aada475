"""Frequency sets that have been made, so that a new one is rolled up from the smallest that will do."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from anonymize.algorithms.lattice.frequency import FrequencySet
from anonymize.algorithms.lattice.lattice import Vector

CELLS = 1 << 24
"""How many cells of frequency sets are kept besides those of the bottom."""


class Store:
    """The bottom's frequency set, and those used last as far as they fit."""

    def __init__(self, bottom: FrequencySet, cells: int = CELLS) -> None:
        self.bottom = bottom
        self._sets: OrderedDict[Vector, FrequencySet] = OrderedDict()
        self._room = cells
        self._vectors = np.empty((0, len(bottom.vector)), np.int16)
        self._sizes = np.empty(0, np.int64)

    def get(self, vector: Vector) -> FrequencySet:
        """The frequency set of a node; kept, or rolled up from the nearest that is kept."""
        if vector == self.bottom.vector:
            return self.bottom
        if vector in self._sets:
            self._sets.move_to_end(vector)
            return self._sets[vector]
        rolled_up = self.nearest(vector).roll_up(vector)
        self._keep(rolled_up)
        return rolled_up

    def nearest(self, vector: Vector) -> FrequencySet:
        """The set below a node that has the fewest distinct rows; ties go to the one made first."""
        under = np.flatnonzero((self._vectors <= np.array(vector, np.int16)).all(axis=1))
        if not len(under):
            return self.bottom
        best = under[np.argmin(self._sizes[under])]
        if self._sizes[best] >= self.bottom.size:
            return self.bottom
        return self._sets[tuple(self._vectors[best].tolist())]

    def _keep(self, frequency: FrequencySet) -> None:
        """Keeps a set; the least recently used ones are dropped where room is needed."""
        self._sets[frequency.vector] = frequency
        self._vectors = np.vstack([self._vectors, np.array([frequency.vector], np.int16)])
        self._sizes = np.append(self._sizes, frequency.size)
        self._room -= _cells(frequency)
        while self._room < 0 and self._sets:
            gone, dropped = self._sets.popitem(last=False)
            self._room += _cells(dropped)
            stays = (self._vectors != np.array(gone, np.int16)).any(axis=1)
            self._vectors, self._sizes = self._vectors[stays], self._sizes[stays]


def _cells(frequency: FrequencySet) -> int:
    return frequency.size * (len(frequency.columns) + 2) + frequency.tally.entries
