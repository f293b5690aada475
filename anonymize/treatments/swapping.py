"""Rows that take each other's cells: what the methods that swap have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anonymize.classes import Bools, Ints
from anonymize.treatments.base import Random

ROUNDS = 8
"""How often partners are drawn at random, before all that are left are gone through."""


def cycled(groups: Ints, random: Random) -> Ints:
    """(rows,) the row whose cells each row gets, within groups (rows,) at random, such that all rows of a group that
    are not alone get those of another one.

    The rows of a group are put into a circle in random order, and each takes what the next one has. Groups are numbers
    of which floats hold the halves exactly.
    """
    order = np.argsort(groups + random.random(len(groups)))
    sorted_groups = groups[order]
    ends = np.append(np.diff(sorted_groups) != 0, True) if len(groups) else np.zeros(0, bool)
    starts = np.flatnonzero(np.append(True, ends[:-1])) if len(groups) else np.zeros(0, np.int64)
    following = np.arange(1, len(groups) + 1)
    following[ends] = starts
    donors = np.empty(len(groups), np.int64)
    donors[order] = order[following]
    return donors


@dataclass(frozen=True)
class Pairing:
    """Pairs of units of the same group and of different regions.

    `groups`, `regions` (units,): numbers; `free` (units,): who may be in a pair.
    """

    groups: Ints
    regions: Ints
    free: Bools

    def of(self, wanted: Bools, random: Random) -> tuple[Ints, Ints]:
        """Random pairs, each unit in one of them at most, until every wanted unit is in one or nobody is left for it.

        First, wanted units draw random units of their group; who draws somebody of the same region, or somebody drawn
        by another, draws again. Those that have had no luck are then paired with all that are left of their group.
        """
        free, pairs = self.free.copy(), []
        pool = np.flatnonzero(free & np.isin(self.groups, np.unique(self.groups[wanted])))
        rank, groups = _grouped(self.groups[pool], random)
        pool, starts = pool[rank], np.flatnonzero(np.append(True, np.diff(groups) != 0)) if len(pool) else rank
        sizes = np.diff(np.append(starts, len(pool)))
        of_group = np.repeat(np.arange(len(starts)), sizes)
        left = np.flatnonzero(wanted[pool])
        for offset in random.random(ROUNDS):
            if not len(left):
                break
            own = of_group[left]
            nth = np.arange(len(left)) - np.searchsorted(own, own)
            turned = nth + (offset * sizes[own]).astype(np.int64)
            drawn = pool[starts[own] + turned % sizes[own]]
            pairs.append(self._accepted(pool[left], drawn, free, random))
            free[np.concatenate(pairs[-1])] = False
            left = left[free[pool[left]]]
        if len(left):
            pairs += self._exhaustive(pool, free, wanted, random)
        one, other = zip(*pairs, strict=True) if pairs else ((), ())
        empty = np.zeros(0, np.int64)
        return np.concatenate([empty, *one]), np.concatenate([empty, *other])

    def _accepted(self, one: Ints, other: Ints, free: Bools, random: Random) -> tuple[Ints, Ints]:
        """Those of some pairs that can be, of several of one unit the one that comes first by chance. No unit stands
        twice on the same side."""
        good = free[one] & free[other] & (self.regions[one] != self.regions[other])
        one, other = one[good], other[good]
        turn = random.permutation(len(one))
        first = np.full((2, len(free)), len(one))
        first[0, one], first[1, other] = turn, turn
        best = (first[1, one] > turn) & (first[0, other] > turn)
        return one[best], other[best]

    def _exhaustive(self, pool: Ints, free: Bools, wanted: Bools, random: Random) -> list[tuple[Ints, Ints]]:
        """Pairs of what is left, until no wanted unit has anybody.

        The free units of a group stand in a row, region by region, and each is paired with the one half a row further
        on: that is of another region, unless one region has more than half. That region then stands first, and units
        are paired over its whole length. Wanted units come first in their region, the region with the most of them
        first otherwise: so each turn pairs at least one, if any has a partner. Pairs without a wanted unit are left.
        """
        pairs: list[tuple[Ints, Ints]] = []
        while True:
            concerned = np.unique(self.groups[pool[free[pool] & wanted[pool]]])
            own = pool[free[pool] & np.isin(self.groups[pool], concerned)]
            if not len(own):
                return pairs
            one, other = self._turned(own, wanted, random)
            good = (self.regions[one] != self.regions[other]) & (wanted[one] | wanted[other])
            if not good.any():
                return pairs
            pairs.append((one[good], other[good]))
            free[np.concatenate(pairs[-1])] = False

    def _turned(self, own: Ints, wanted: Bools, random: Random) -> tuple[Ints, Ints]:
        """Units, and the one that each is paired with by its place in its group's row."""
        groups = np.unique(self.groups[own], return_inverse=True)[1]
        cells = np.unique(np.column_stack([groups, self.regions[own]]), axis=0, return_inverse=True)[1].reshape(-1)
        sizes, most = np.bincount(groups), np.zeros(int(groups.max()) + 1, np.int64)
        in_cell = np.bincount(cells)
        np.maximum.at(most, groups, in_cell[cells])
        wanted_in_cell = np.bincount(cells, wanted[own])
        large = most > sizes // 2
        before = np.where(large[groups], in_cell[cells], wanted_in_cell[cells])
        order = np.lexsort((random.random(len(own)), ~wanted[own], cells, -before, groups))
        starts = np.cumsum(sizes) - sizes
        row = np.arange(len(own))
        reach = np.where(large, most, sizes // 2)[groups[order]]
        has = row + reach < (starts + sizes)[groups[order]]
        has &= large[groups[order]] | (row - starts[groups[order]] < reach)
        return own[order[row[has]]], own[order[(row + reach)[has]]]


def _grouped(groups: Ints, random: Random) -> tuple[Ints, Ints]:
    """(rows,) an order of rows by group, random within each, and the groups in it."""
    ranks = np.unique(groups, return_inverse=True)[1]
    order = np.argsort(ranks + random.random(len(ranks)))
    return order, groups[order]
