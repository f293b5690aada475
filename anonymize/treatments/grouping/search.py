"""Groups of least sum of squares: rows change places between near groups, by chance, at a temperature that falls.

MDAV gives groups to begin with, of a large table in blocks of near rows. Then groups are paired with near ones, in
sweeps, and of each pair one exchange or move of a row is drawn by the exact change of the sum of squares (`exchanges`,
the machinery of refinement with another loss); in small tables two or three small groups at once are divided anew
(`redivision`). Groups that lie far out lose a thousand times as much as those of the crowd, so the temperature falls
from what the former lose to what the latter do. In rounds after that, the groups are parted into pools around some
drawn at random; each pool has a temperature of its own, and is kept as it was where it did not get better.

All sums are compared in double precision in the end. Work is counted in sweeps, by a formula of rows, columns and k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.deadline import Resources
from anonymize.algorithms.refining import Singles
from anonymize.algorithms.refining.block import ALL_UNIONS, Met, least_of, nearest_to
from anonymize.algorithms.refining.exchanges import WEIGHED, ClassRows, drawn, matched, possible
from anonymize.classes import Floats, Ints, Partition, concatenated_ranges, run_starts
from anonymize.records import dataclass
from anonymize.treatments.grouping import ROWS_WITH_DISTANCES, Redivision, mdav_in_blocks, mdav_of_blocks

START_CELLS = 500_000_000
"""Values that MDAV compares with those of another row, about: of all rows, or within blocks that are as large as that
allows."""
BLOCK_ROWS = 1 << 8
"""Rows of a block at least."""
LEAST_SWEEPS, MOST_SWEEPS = 20, 400
"""Sweeps of all groups, at least and at most."""
WEIGHED_CELLS = 350_000_000
"""Exchanges times columns that are weighed in all sweeps together, about."""
FIRST_HEAT, LAST_HEAT = 0.15, 0.3
"""The first and the last temperature, in shares of the loss of a row: of groups weighted by what they lose, and of the
middle one."""
SLOW_SWEEPS = 60
"""With fewer sweeps the first temperature is that much lower: there is no time to mend what it spoils."""
PARTNERS, CANDIDATES = 16, 16
"""Partners that a group has, and how many of the groups nearest by their means they are looked for among, where groups
are many."""
PARTNER_SWEEPS = 25
"""Sweeps after which partners are looked for again."""
EXCHANGES_AT_ONCE = 1 << 17
"""Exchanges that are weighed at once."""
POOL_GROUPS = 8
"""Groups of a pool, about."""
ROUND_SWEEPS = 40
"""Sweeps of a round of pools."""
SWEEPS_IN_ROUNDS = 0.8
"""Sweeps in rounds of pools, for each of those of all groups."""
REDIVISION_SWEEPS, REDIVISION_SHARE = 1000, 0.4
"""Sweeps at most, and those in rounds for each of them, where groups are divided anew: a sweep is cheaper then, and
finds more by itself."""
THINNED_SHARE = 0.5
"""The share of pools in which a group is given up at the beginning of a round."""
POOL_HEAT = (0.3, 0.01)
"""The first and the last temperature of a pool, in shares of what its rows lose on average."""


def searched(values: Floats, k: int, rng: np.random.Generator, effort: float = 1.0) -> Ints:
    """(rows,) the group of each row, from 0, given the values (rows, columns); they never lose more than those of MDAV.

    `effort`: how much work it is, in shares of the usual.
    """
    labels = _start(values, k)
    if not labels.any():
        return labels
    search = _Annealing(values, k, labels, Resources(rng))
    most, rounds = (REDIVISION_SWEEPS, REDIVISION_SHARE) if search.redivision else (MOST_SWEEPS, SWEEPS_IN_ROUNDS)
    rows, columns = values.shape
    usual = WEIGHED_CELLS / (rows * min(k, WEIGHED) * (columns + 4) / 2)  # over what a sweep of all groups weighs
    sweeps = max(int(effort * min(max(usual, LEAST_SWEEPS), most) + 0.5), 1)
    search.anneal(sweeps)
    for _ in range(round(sweeps * rounds / ROUND_SWEEPS)):
        search.anneal_pools()
    return search.best


def _start(values: Floats, k: int) -> Ints:
    """(rows,) groups to begin with: k equal rows or more are groups, and MDAV groups the others, or all where these are
    too few; of a large table in blocks of near rows."""
    order = np.lexsort(values.T)
    arranged = values[order]
    begins = np.flatnonzero(np.append(True, (arranged[1:] != arranged[:-1]).any(axis=1)))
    sizes = np.diff(begins, append=len(values))
    few = np.repeat(sizes < k, sizes)
    rest = np.sort(order[few])
    if len(rest) < k:
        rest, few = np.arange(len(values)), np.ones(len(values), np.bool_)
    labels = np.full(len(values), -1)
    block = int(START_CELLS * k / max(len(rest) * values.shape[1], 1))
    labels[rest] = mdav_in_blocks(values[rest], k, max(block, BLOCK_ROWS))
    equal, sizes = order[~few], sizes[~few[begins]]
    begins = np.cumsum(sizes) - sizes
    part = np.minimum((np.arange(len(equal)) - np.repeat(begins, sizes)) // k, np.repeat(sizes // k - 1, sizes))
    first = np.cumsum(sizes // k) - sizes // k
    labels[equal] = labels[rest].max() + 1 + np.repeat(first, sizes) + part
    return labels


class _Annealing:
    """Groups that change, and the best there have been, `best` (rows,), whose sum of squares is `least`."""

    def __init__(self, values: Floats, k: int, labels: Ints, resources: Resources) -> None:
        self.values, self.k, self.resources = values, k, resources
        self.squares = _Squares(np.ascontiguousarray(values.T, dtype=np.float32), k)
        self.best, self.least = labels, np.inf
        self.several = Redivision.most(k) if len(values) <= ROWS_WITH_DISTANCES else 0
        self.redivision = Redivision(values, k, resources.rng) if self.several else None
        self._take(labels)
        self.noise = self.members.noise(resources.rng)

    def _take(self, labels: Ints) -> None:
        """Goes on with groups, once those of 2k rows are parted; they are kept if they are the best."""
        labels = _parted(self.values, labels, self.k)
        self.groups = int(labels.max()) + 1
        self.members = ClassRows.of(self.squares, Partition.of_labels(labels), np.arange(self.groups), 2 * self.k)
        self._state(self._labels())

    def _labels(self) -> Ints:
        labels = np.empty(len(self.values), np.int64)
        labels[self.members.rows[self.members.there]] = np.repeat(np.arange(self.groups), self.members.sizes)
        return labels

    def _state(self, labels: Ints) -> _GroupMeans:
        state = _GroupMeans.of(self.values, labels)
        if state.lost.sum() < self.least and self.members.sizes.max() < 2 * self.k:
            self.best, self.least = labels, float(state.lost.sum())
        return state

    def anneal(self, sweeps: int) -> None:
        """Sweeps of all groups."""
        lost = self._state(self._labels()).lost
        of_row = lost / self.members.sizes
        if not lost.any() or self.groups < 2:
            return
        first = FIRST_HEAT * min(sweeps / SLOW_SWEEPS, 1.0)
        heat = first * float((of_row * lost).sum() / lost.sum()), LAST_HEAT * float(np.median(of_row[lost > 0]))
        near = np.empty((0, 0), np.int64)
        for sweep in range(sweeps):
            if sweep % PARTNER_SWEEPS == 0:
                near = self._state(self._labels()).partners(self.members.sizes)
            groups = matched(near, self.resources.rng, 1 + sweep % max(self.several - 1, 1))
            self._sweep(groups, np.float32(_cooled(heat, sweep, sweeps)))
        self._take(self._labels())

    def anneal_pools(self) -> None:
        """A round of pools, of which each is kept as it was where it loses no less."""
        if self.groups < 2:
            return
        before, rng = self._labels(), self.resources.rng
        state = _GroupMeans.of(self.values, before)
        pool = _pools(state.means, max(self.groups // POOL_GROUPS, 1), rng)
        lost = np.bincount(pool, state.lost)
        unit = lost / np.bincount(pool, self.members.sizes)
        thinned, pool_of = _thinned(self.values, before, state.means, pool, self.k, rng)
        self._take(thinned)
        self._sweep_pools(pool_of[self.members.rows[:, 0]], unit)
        after = self._labels()
        worse = np.bincount(pool_of, _lost_by(self.values, after)) >= lost
        self._take(
            np.unique(np.where(worse[pool_of], before, len(lost) + before.max() + after), return_inverse=True)[1]
        )

    def _sweep_pools(self, pool: Ints, unit: Floats) -> None:
        """Sweeps within pools, given that of each group, and what a row of each pool loses on average."""
        rng, order, sizes = self.resources.rng, np.argsort(pool, kind="stable"), np.bincount(pool)
        begins = (np.cumsum(sizes) - sizes)[pool]
        for sweep in range(ROUND_SWEEPS):
            near = order[begins + (rng.random(self.groups) * sizes[pool]).astype(np.int64)]
            pairs = matched(near[:, None], rng)
            heat = unit[pool[pairs[:, 0]]] * _cooled(POOL_HEAT, sweep, ROUND_SWEEPS)
            self._sweep(pairs, heat.astype(np.float32))

    def _sweep(self, groups: Ints, temperature: np.float32 | Singles) -> None:
        """A sweep of groups (n, two or three): divided anew where there are few divisions, else pairs exchange rows."""
        heat = np.broadcast_to(np.asarray(temperature, np.float32), len(groups))
        if self.redivision is not None:
            left = ~self.redivision.divide(self.members, groups, heat)
            groups, heat = groups[left], heat[left]
        if len(groups) and groups.shape[1] == 2:
            self.members.sweep(groups, heat, self.noise, self.resources, EXCHANGES_AT_ONCE)


def _parted(values: Floats, labels: Ints, k: int) -> Ints:
    """(rows,) labels of which groups of 2k rows are parted in two."""
    large = np.flatnonzero(np.bincount(labels) == 2 * k)
    if not len(large):
        return labels
    rows = np.flatnonzero(np.isin(labels, large))
    blocks = np.sort(rows[np.argsort(labels[rows], kind="stable")].reshape(len(large), 2 * k), axis=1)
    result = labels.copy()
    result[blocks] += (int(labels.max()) + 1) * mdav_of_blocks(values, blocks, k)
    return np.unique(result, return_inverse=True)[1]


def _thinned(
    values: Floats, labels: Ints, means: Floats, pool: Ints, k: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """(rows,) labels once one group of about half of the pools has given its rows to the nearest others that have room;
    and the pool of each row. Where there is no room for one of them, the group stays."""
    pools, sizes = int(pool.max()) + 1, np.bincount(labels)
    lot = rng.random(len(pool))
    first = np.lexsort((lot, pool))
    gone = first[run_starts(pool[first])]
    gone = gone[(rng.random(pools) < THINNED_SHARE) & (np.bincount(pool) > 2)]
    room = 2 * k - 1 - sizes
    room[gone] = 0
    result, leaves = labels.copy(), np.isin(labels, gone)
    rows = np.flatnonzero(leaves)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    turn = np.arange(len(rows)) - np.repeat(run_starts(labels[rows]), sizes[np.sort(gone)])
    order = np.argsort(pool, kind="stable")
    begins, count = np.searchsorted(pool[order], np.arange(pools)), np.bincount(pool)
    for number in range(int(turn.max(initial=-1)) + 1):
        some = rows[turn == number]
        of = pool[labels[some]]
        others = order[concatenated_ranges(begins[of], count[of])]
        mine = np.repeat(np.arange(len(some)), count[of])
        apart = np.square(values[some[mine]] - means[others]).sum(axis=1)
        apart[room[others] <= 0] = np.inf
        by_distance = np.lexsort((apart, mine))
        nearest = by_distance[run_starts(mine[by_distance])]
        to = np.where(np.isfinite(apart[nearest]), others[nearest], labels[some])
        result[some] = to
        np.subtract.at(room, to, 1)
    back = np.zeros(len(pool), np.bool_)
    back[labels[rows[result[rows] == labels[rows]]]] = True
    result = np.where(back[labels], labels, result)
    return np.unique(result, return_inverse=True)[1], pool[labels]


def _lost_by(values: Floats, labels: Ints) -> Floats:
    """(rows,) squared distance of each row from the mean of its group."""
    sizes = np.bincount(labels)
    return sum(
        (np.square(each - (np.bincount(labels, each) / sizes)[labels]) for each in values.T), np.zeros(len(labels))
    )


def _cooled(heat: tuple[float, float], sweep: int, sweeps: int) -> float:
    """The temperature of a sweep: from the first to the second, and 0 in the last tenth."""
    falling = sweeps - max(sweeps // 10, 1)
    return 0.0 if sweep >= falling else heat[0] * (heat[1] / heat[0]) ** (sweep / max(falling - 1, 1))


def _pools(means: Floats, count: int, rng: np.random.Generator) -> Ints:
    """(groups,) the pool of each group: that of the nearest of so many drawn at random."""
    seeds = means[rng.choice(len(means), count, replace=False)]
    if len(means) <= ALL_UNIONS:
        nearest = (np.square(seeds).sum(axis=1) - 2 * means @ seeds.T).argmin(axis=1)
    else:
        from scipy.spatial import cKDTree

        nearest = cKDTree(seeds).query(means)[1]
    return np.unique(nearest, return_inverse=True)[1]


@dataclass(frozen=True)
class _GroupMeans:
    """`means` (groups, columns), `lost` (groups,): the sum of squares of each group."""

    means: Floats
    lost: Floats

    @classmethod
    def of(cls, values: Floats, labels: Ints) -> _GroupMeans:
        """The means of groups, given the group of each row (rows,)."""
        sizes = np.bincount(labels)
        lost, means = np.zeros(len(sizes)), np.empty((len(sizes), values.shape[1]))
        for index, column in enumerate(values.T):
            means[:, index] = np.bincount(labels, column) / sizes
            lost += np.bincount(labels, np.square(column - means[labels, index]))
        return cls(means, lost)

    def partners(self, sizes: Ints) -> Ints:
        """(groups, partners) the groups whose union with each raises the sum of squares least, that first."""
        groups, means = len(sizes), self.means.astype(np.float32)
        everyone, size = np.arange(groups), sizes.astype(np.float32)
        if groups > ALL_UNIONS:
            others = nearest_to(self.means, CANDIDATES)
            apart = np.square(means[others] - means[:, None]).sum(axis=2)
        else:
            others = everyone[None]
            length = np.square(means).sum(axis=1)
            apart = length[:, None] + length - 2 * means @ means.T
        apart *= size[:, None] * size[others] / (size[:, None] + size[others])
        apart[others == everyone[:, None]] = np.inf
        return least_of(apart, others, min(PARTNERS, apart.shape[1] - (groups <= ALL_UNIONS)))


@dataclass(frozen=True)
class _Squares:
    """What exchanges change of the sum of squares. `columns` (columns, rows)."""

    columns: Singles
    k: int
    met: Met | None = None

    def weighed(self, members: ClassRows, pairs: Ints, rng: np.random.Generator) -> tuple[Singles, Ints, Ints]:
        """By how much exchanges change the sum of squares, and which rows go.

        From the mean of the one group as origin, with m the mean of the other and c the sum of one over each size, an
        exchange of row x for row y changes the sum of squares by 2 (y - x) m - c |y - x|^2. A row at the distance d
        from the mean of its n rows takes n / (n - 1) d^2 from their sum, and adds n / (n + 1) d^2 to that of n others.
        """
        sizes = members.sizes[pairs].T
        room = int(sizes.max())
        free = room > self.k
        sides = [_Rows.of(self, members, pairs[:, side], room, rng) for side in (0, 1)]
        origin, mean = sides[0].mean, sides[1].mean - sides[0].mean
        one, other = (side.values - origin[:, None] for side in sides)
        c = (1 / sizes[0] + 1 / sizes[1]).astype(np.float32)
        change = np.zeros((len(sides[0].place), len(sides[1].place), len(pairs)), np.float32)
        swaps = change[: one.shape[1], : other.shape[1]]
        work = np.empty(swaps.shape, np.float32)
        for first, second in zip(one, other, strict=True):
            np.multiply(first[:, None], second[None], out=work)
            swaps += work
        swaps *= 2 * c
        swaps -= (one * (c * one + 2 * mean[:, None])).sum(axis=0)[:, None]
        swaps -= (other * (c * other - 2 * mean[:, None])).sum(axis=0)[None]
        if free:
            change[:-1, -1] = _moved(one, mean, sizes[0], sizes[1])
            change[-1, :-1] = _moved(other - mean[:, None], -mean, sizes[1], sizes[0])
            full = tuple(size >= members.rows.shape[1] for size in sizes)
            places = sides[0].place, sides[1].place
            change[~possible(places, (sizes[0], sizes[1]), (full[0], full[1]), self.k)] = np.inf
        return change, sides[0].place, sides[1].place


def _moved(rows: Singles, mean: Singles, size: Ints, other: Ints) -> Singles:
    """(weighed, pairs) what moves change, of rows (columns, weighed, pairs) from their mean to another."""
    own, their = np.square(rows).sum(axis=0), np.square(rows - mean[:, None]).sum(axis=0)
    leaves = size / np.maximum(size - 1, 1)
    return np.asarray(their * (other / (other + 1)).astype(np.float32) - own * leaves.astype(np.float32))


@dataclass(frozen=True)
class _Rows:
    """One group of each of some pairs, and the rows of it that are weighed. `place` (weighed, pairs): see `Losses`;
    `values` (columns, rows weighed, pairs), none left out; `mean` (columns, pairs)."""

    place: Ints
    values: Singles
    mean: Singles

    @classmethod
    def of(cls, squares: _Squares, members: ClassRows, groups: Ints, room: int, rng: np.random.Generator) -> _Rows:
        """Groups of at most `room` rows."""
        rows, sizes = members.rows[groups, :room].T, members.sizes[groups]
        place: NDArray[np.int64] = np.repeat(np.arange(room)[:, None], len(groups), axis=1)
        values = squares.columns.take(rows, axis=1)
        if (sizes == room).all():
            mean = values.mean(axis=1)
        else:
            filled = place < sizes
            mean = (values * filled).sum(axis=1) / sizes.astype(np.float32)
            place = np.where(filled, place, -2)
        if room > WEIGHED:
            place = drawn(-np.square(values - mean[:, None]).sum(axis=0), place >= 0, rng)
            values = np.take_along_axis(values, np.maximum(place, 0)[None], 1)
        if room > squares.k:
            place = np.append(place, np.full((1, len(groups)), -1), 0)
        return cls(place, values, mean)
