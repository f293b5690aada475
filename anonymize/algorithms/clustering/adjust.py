"""Groups of fewer than k rows, brought to k: by rows of a larger group, or by merging, whichever loses less.

In rounds. At its turn every small group G that has not changed in the round weighs (a) to take the k - |G| rows it
lacks from a group of at least 2k - |G|, those that enlarge its NCP least, one after the other, and (b) to merge with
the group that makes the union of least NCP. It takes the way that leaves the lower total. A group gives rows once a
round, as it was at the round's start, and is then left alone until the next. Groups that reach 2k rows are split after
the round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anonymize.algorithms.clustering.merging import Merging
from anonymize.algorithms.clustering.ncp import Corners, GroupBoxes, Penalty
from anonymize.algorithms.clustering.split import split_large
from anonymize.classes import Bools, Floats, Ints, Partition

PAIRS_AT_ONCE = 1 << 19
"""Cells of (small groups x larger groups), or x rows, that are worked on at once."""


def adjust(penalty: Penalty, codes: Corners, partition: Partition, k: int, threads: int = 1) -> Partition:
    """The partition of rows 0 ... n - 1, n >= k, brought to groups of k to 2k - 1 rows; `codes` (attributes, n)."""
    partition = split_large(penalty, codes, partition, k)
    while (partition.sizes < k).any() and partition.count > 1:
        partition = split_large(penalty, codes, _round(penalty, codes, partition, k, threads), k)
    return partition


def _round(penalty: Penalty, codes: Corners, partition: Partition, k: int, threads: int) -> Partition:
    """Every small group's turn."""
    boxes = GroupBoxes.of(codes, partition)
    small = np.flatnonzero(boxes.sizes < k)
    merging = Merging(penalty, boxes, small, threads)
    offers = Offers(penalty, codes, partition, boxes, k).to(small)
    ncp = boxes.ncp(penalty).tolist()
    moved: list[tuple[Ints, int]] = []
    for group in merging.turns():
        if merging.touched(group):
            continue
        best = merging.partner(group)
        merge_rise = np.inf if best is None else best[0] - ncp[best[1]]
        offer = next((offer for offer in offers[group] if not merging.touched(offer.giver)), None)
        if offer is not None and offer.total - ncp[offer.giver] < merge_rise:
            merging.give(offer.giver, group, codes[:, offer.rows])
            moved.append((offer.rows, group))
            ncp[group] = offer.ncp
        elif best is not None:
            ncp[merging.merge(group, best[1])] = best[0]
    labels = merging.labels()
    of_row = labels[partition.class_of(codes.shape[1])]
    for rows, group in moved:
        of_row[rows] = labels[group]
    return Partition.of_labels(of_row)


@dataclass(frozen=True)
class Offer:
    """Rows that a group could give to a small one: the NCP of the small one with them, and of both groups then."""

    ncp: float
    giver: int
    rows: Ints
    total: float


class Offers:
    """What the groups of more than k rows could give to small ones."""

    def __init__(self, penalty: Penalty, codes: Corners, partition: Partition, boxes: GroupBoxes, k: int) -> None:
        self.penalty, self.codes, self.partition, self.boxes, self.k = penalty, codes, partition, boxes, k
        self.givers = np.flatnonzero(boxes.sizes > k)
        width = int(boxes.sizes[self.givers].max(initial=0))
        positions = partition.starts[self.givers][:, None] + np.arange(width)
        self.there: Bools = positions < partition.starts[self.givers + 1][:, None]
        self.rows: Ints = partition.order[np.where(self.there, positions, 0)].astype(np.int64)

    def to(self, small: Ints) -> dict[int, list[Offer]]:
        """For each small group the offers that were worked out, best first: the best of all is among them."""
        offers_to: dict[int, list[Offer]] = {group: [] for group in small.tolist()}
        if not len(self.givers):
            return offers_to
        step = max(PAIRS_AT_ONCE // max(len(self.givers), self.rows.shape[1]), 1)
        for begin in range(0, len(small), step):
            self._work_out(small[begin : begin + step], offers_to)
        for offers in offers_to.values():
            offers.sort(key=lambda offer: (offer.ncp, offer.giver))
        return offers_to

    def _work_out(self, small: Ints, offers_to: dict[int, list[Offer]]) -> None:
        """Givers in order of the least that their rows could cost, until none can be better than the best so far."""
        bounds = self._bounds(small)
        order = np.argsort(bounds, axis=1, kind="stable")
        best = np.full(len(small), np.inf)
        for rank in range(len(self.givers)):
            giver = order[:, rank]
            going = np.flatnonzero(bounds[np.arange(len(small)), giver] < best)
            if not len(going):
                return
            offers = self._greedy(small[going], giver[going])
            for group, offer in zip(small[going].tolist(), offers, strict=True):
                offers_to[group].append(offer)
            best[going] = np.minimum(best[going], [offer.ncp for offer in offers])

    def _bounds(self, small: Ints) -> Floats:
        """(small, givers) what k rows cost at least, a row of the giver among them; inf where it has too few."""
        boxes, givers = self.boxes, self.givers
        low = np.minimum(boxes.low[:, small, None], boxes.high[:, None, givers])
        high = np.maximum(boxes.high[:, small, None], boxes.low[:, None, givers])
        able = boxes.sizes[givers] >= 2 * self.k - boxes.sizes[small, None]
        return np.where(able, self.k * self.penalty(low, high), np.inf)

    def _greedy(self, small: Ints, giver: Ints) -> list[Offer]:
        """The offer of each giver (an index into the givers) to each small group, in parallel arrays (p,). The pairs do
        not depend on each other, so each step takes one row for every pair that still lacks one."""
        rows, free = self.rows[giver], self.there[giver].copy()
        codes = self.codes[:, rows]
        low, high = self.boxes.low[:, small].copy(), self.boxes.high[:, small].copy()
        lacking = self.k - self.boxes.sizes[small]
        for step in range(int(lacking.max())):
            short = np.flatnonzero(lacking > step)
            lows = np.minimum(low[:, short, None], codes[:, short])
            highs = np.maximum(high[:, short, None], codes[:, short])
            pick = np.where(free[short], self.penalty(lows, highs), np.inf).argmin(axis=1)
            free[short, pick] = False
            low[:, short], high[:, short] = lows[:, np.arange(len(short)), pick], highs[:, np.arange(len(short)), pick]
        ncp = self.penalty(low, high) * self.k
        left = np.where(free, codes, np.iinfo(np.int32).max).min(axis=2), np.where(free, codes, -1).max(axis=2)
        total = ncp + self.penalty(*left) * free.sum(axis=1)
        given = self.there[giver] & ~free
        return [
            Offer(float(ncp[p]), int(self.givers[giver[p]]), rows[p][given[p]], float(total[p]))
            for p in range(len(small))
        ]
