"""Groups of rows grown greedily in many pools at once, a row of every pool at a time. Pools do not share rows, so one
step for all pools gives the same groups as one pool after the other."""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.refining.measure import BoxMeasure, Places, Singles
from anonymize.classes import Floats, Ints

TAKEN = np.float32(1e9)
"""Added to the penalty of places that hold no free row."""


class GreedyGroups:
    """Pools whose rows are put into groups.

    `rows` (pools, places): rows in random order, as many as `held` (pools,) says; the places after them are padding.
    Every pool makes `groups` (pools,) groups of at least k rows; groups x k <= held.

    Attributes:
        group: (pools, places) number of each row's group within its pool; -1 where there is no row.
    """

    def __init__(self, measure: BoxMeasure, rows: Ints, held: Ints, groups: Ints, k: int) -> None:
        self.measure, self.groups, self.k = measure, groups, k
        self.places = measure.places_of(rows)
        self.taken = np.where(np.arange(rows.shape[1]) < held[:, None], np.float32(0), TAKEN)
        self.group = np.full(rows.shape, -1)
        shape = (len(rows), int(groups.max()))
        self.low: list[Places] = [np.zeros(shape, axis.dtype) for axis in self.places]
        self.high: list[Places] = [np.zeros(shape, axis.dtype) for axis in self.places]
        self.sizes = np.zeros(shape, np.int64)

    def grow(self) -> Floats:
        """Puts every row into a group; (pools,) weighted NCP of the groups, summed over rows."""
        for number in range(self.sizes.shape[1]):
            self._grow_one(number)
        cost = self.measure.cost(self.low, self.high)
        while len(left := np.flatnonzero((self.taken == 0).any(axis=1))):
            self._place_one(left, cost)
        return np.asarray((cost.astype(np.float64) * self.sizes).sum(axis=1))

    def _grow_one(self, number: int) -> None:
        """Grows the group of that number in all pools that have one: the first free row, then those that cost least."""
        pools = np.flatnonzero(self.groups > number)
        places, taken = [axis[pools] for axis in self.places], self.taken[pools]
        low: list[Places] = []
        high: list[Places] = []
        for size in range(self.k):
            cost = self.measure.joined(low, high, places) + taken if size else taken
            chosen = cost.argmin(axis=1)
            taken[np.arange(len(pools)), chosen] = TAKEN
            self.group[pools, chosen] = number
            place = [axis[np.arange(len(pools)), chosen, None] for axis in places]
            low = [np.minimum(end, row) for end, row in zip(low or place, place, strict=True)]
            high = [np.maximum(end, row) for end, row in zip(high or place, place, strict=True)]
        self.taken[pools] = taken
        self.sizes[pools, number] = self.k
        for axis, (left, right) in enumerate(zip(low, high, strict=True)):
            self.low[axis][pools, number], self.high[axis][pools, number] = left[:, 0], right[:, 0]

    def _place_one(self, pools: Ints, cost: Singles) -> None:
        """Puts the first free row of each of some pools into the group whose NCP it raises least."""
        chosen = self.taken[pools].argmin(axis=1)
        place = [axis[pools, chosen] for axis in self.places]
        low, high = [end[pools] for end in self.low], [end[pools] for end in self.high]
        joined = self.measure.joined(low, high, [row[:, None] for row in place])
        sizes = self.sizes[pools]
        rise = np.where(sizes > 0, joined * (sizes + 1) - cost[pools] * sizes, np.inf)
        group = rise.argmin(axis=1)
        for axis, each in enumerate(place):
            self.low[axis][pools, group] = np.minimum(self.low[axis][pools, group], each)
            self.high[axis][pools, group] = np.maximum(self.high[axis][pools, group], each)
        cost[pools, group] = joined[np.arange(len(pools)), group]
        self.sizes[pools, group] += 1
        self.taken[pools, chosen] = TAKEN
        self.group[pools, chosen] = group
