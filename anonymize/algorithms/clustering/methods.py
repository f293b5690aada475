"""The two clustering methods: from all rows downward, and from the single rows upward."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anonymize.algorithms.clustering import Corners, GroupBoxes, Penalty, bisect, distances, seeds
from anonymize.algorithms.clustering.merging import Merging
from anonymize.classes import Bools, Floats, Ints, Partition, concatenated_ranges, starts_of
from anonymize.records import dataclass

# --- from all rows downward -------------------------------------------------------------------------------------------
# Groups are cut in two around rows that lie far apart, and small ones are mended: see `top_down` for the paper's
# method.
#
# **Split**: groups of at least 2k rows are cut into as many groups of at least k rows as they can make. Rows are put in
# the order of how much nearer they are to one of two far seeds than to the other, and the group is cut where the two
# sides lose least together. Again, until no group has 2k rows.
#
# **Adjust**: groups of fewer than k rows are brought to k by rows of a larger group, or by merging, whichever loses
# less. In rounds: at its turn every small group G that has not changed in the round weighs (a) to take the k - |G| rows
# it lacks from a group of at least 2k - |G|, those that enlarge its NCP least, one after the other, and (b) to merge
# with the group that makes the union of least NCP. It takes the way that leaves the lower total. A group gives rows
# once a round, as it was at the round's start, and is then left alone until the next. Groups that reach 2k rows are
# split after the round.

SCANS = 3


def split_large(penalty: Penalty, codes: Corners, partition: Partition, k: int) -> Partition:
    """The partition with every group of m >= 2k rows cut into floor(m / k) groups of at least k rows.

    `codes` (attributes, n) of the rows 0 ... n - 1, all of which the partition holds. All groups of one depth are cut
    together. Among equally good places the one nearest to the middle is taken, and the first of two such.
    """
    large = np.flatnonzero(partition.sizes >= 2 * k)
    if not len(large):
        return partition
    labels, count = partition.class_of(len(partition.order)), partition.count
    sizes = partition.sizes[large]
    rows = partition.order[concatenated_ranges(partition.starts[large], sizes)].astype(np.int64)
    while len(sizes):
        rows, sizes = _cut(penalty, codes[:, rows], rows, sizes, k)
        labels[rows] = count + np.repeat(np.arange(len(sizes)), sizes)
        count += len(sizes)
        again = sizes >= 2 * k
        rows, sizes = rows[np.repeat(again, sizes)], sizes[again]
    return Partition.of_labels(labels)


def _cut(penalty: Penalty, codes: Corners, rows: Ints, sizes: Ints, k: int) -> tuple[Ints, Ints]:
    """Every group cut in two: its rows in their new order, and the sizes of both sides, group after group."""
    starts = starts_of(sizes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    first, second = seeds(penalty, codes, starts, SCANS)
    nearer = distances(penalty, codes, group, first) - distances(penalty, codes, group, second)
    order = np.lexsort((rows, nearer, group))
    left = _best_place(_losses(penalty, codes[:, order], group, starts), starts, group, k)
    return rows[order], np.stack((left, sizes - left), axis=1).ravel()


def _losses(penalty: Penalty, codes: Corners, group: Ints, starts: Ints) -> Floats:
    """(n,) NCP of both sides of a cut after each row of its group."""
    after, place = starts[1:][group], np.arange(len(group))
    ahead = place + 1 - starts[:-1][group]
    low, high = _running(codes, group)
    loss = penalty(low, high) * ahead
    low, high = _running(codes[:, ::-1], group[-1] - group[::-1])
    behind = penalty(low, high)[::-1] * (after - place)
    loss[:-1] += np.where(group[:-1] == group[1:], behind[1:], 0.0)
    return loss


def _running(codes: Corners, group: Ints) -> tuple[Corners, Corners]:
    """(attributes, n) lowest and highest code among the rows of its group up to each row; groups ascend."""
    span = int(codes.max(initial=0)) + 1
    base = group * span
    high = np.maximum.accumulate(codes + base, axis=1) - base
    low = span - 1 - (np.maximum.accumulate(span - 1 - codes + base, axis=1) - base)
    return low.astype(np.int32), high.astype(np.int32)


def _best_place(loss: Floats, starts: Ints, group: Ints, k: int) -> Ints:
    """(groups,) rows ahead of the cut that loses least, of those that leave as many groups possible as there were."""
    sizes = np.diff(starts)[group]
    ahead = np.arange(len(group)) + 1 - starts[:-1][group]
    fine = (ahead >= k) & (sizes - ahead >= k) & (ahead // k + (sizes - ahead) // k == sizes // k)
    loss = np.where(fine, loss, np.inf)
    best = loss == np.minimum.reduceat(loss, starts[:-1])[group]
    off_middle = np.where(best, np.abs(2 * ahead - sizes), np.iinfo(np.int64).max)
    hits = np.flatnonzero(off_middle == np.minimum.reduceat(off_middle, starts[:-1])[group])
    return ahead[hits[np.searchsorted(hits, starts[:-1])]]


# --- groups of fewer than k rows --------------------------------------------------------------------------------------

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
    for group in merging.turns:
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


# --- from all rows ----------------------------------------------------------------------------------------------------

ROUNDS = 3
"""Scans for the two rows that a group is cut around."""
RISE = "rise"
"""A row joins the group whose NCP rises least."""


def top_down(
    penalty: Penalty,
    codes: Corners,
    k: int,
    seed: int,
    threads: int = 1,
    start: Partition | None = None,
    progress: Callable[[int], None] = lambda rows: None,
    rounds: int = ROUNDS,
    join: str = RISE,
) -> Partition:
    """The partition of rows 0 ... n - 1, n >= k, with codes (attributes, n), into groups of at least k rows.

    `start`: parts of these rows that are cut from there on, all at once; None for one part of all rows. Small groups
    merge across the borders of parts. The same for any number of threads.
    """
    if start is None:
        start = Partition.of_labels(np.zeros(codes.shape[1], np.int64))
    rng = np.random.default_rng(seed)
    groups = bisect(penalty, codes, start, k, rounds, join, rng, progress)
    return adjust(penalty, codes, groups, k, threads)


# --- from single rows upward ------------------------------------------------------------------------------------------
# Small groups merge with the nearest, round by round, until none is small: see `bottom_up` for the paper's method.


def bottom_up(
    penalty: Penalty,
    codes: Corners,
    k: int,
    threads: int = 1,
    progress: Callable[[int], None] = lambda rows: None,
) -> Partition:
    """The partition of rows 0 ... n - 1, n >= k, with codes (attributes, n), into groups of k to 2k - 1 rows.

    `progress` is called with the number of further rows that are in groups of k. The result is the same for any number
    of threads.
    """
    partition, progressed = split_large(penalty, codes, equal_rows(codes), k), 0
    while True:
        small = partition.sizes < k
        reached = int(partition.sizes[~small].sum())
        progress(max(reached - progressed, 0))
        progressed = max(reached, progressed)
        if not small.any() or partition.count == 1:
            return partition
        partition = split_large(penalty, codes, _merged(penalty, codes, partition, k, threads), k)


def equal_rows(codes: Corners) -> Partition:
    """Rows that agree in every attribute, each set of them one group."""
    order = np.lexsort(codes)
    differs = np.zeros(len(order), np.int64)
    differs[1:] = (codes[:, order[1:]] != codes[:, order[:-1]]).any(axis=0)
    labels = np.empty(len(order), np.int64)
    labels[order] = np.cumsum(differs)
    return Partition.of_labels(labels)


def _merged(penalty: Penalty, codes: Corners, partition: Partition, k: int, threads: int) -> Partition:
    """One round: the turn of every group of fewer than k rows."""
    boxes = GroupBoxes.of(codes, partition)
    small = np.flatnonzero(boxes.sizes < k)
    merging = Merging(penalty, boxes, small, threads)
    for group in merging.turns:
        if not merging.touched(group):
            nearest = merging.partner(group)
            if nearest is not None:
                merging.merge(group, nearest[1])
    return Partition.of_labels(merging.labels()[partition.class_of(codes.shape[1])])
