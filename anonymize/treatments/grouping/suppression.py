"""Which cells are suppressed so that rows that read the same, suppressed cells being a value of their own, are enough.

Every row shows some of its cells, by one of the patterns that there are: no cell suppressed, one, two, and so on. Rows
that read the same are a group, which is safe or not. Rows are placed in groups in the order of what that costs: at each
of some limits, pattern by pattern from the cheapest, every group is made whose cells that are suppressed for each
row that had none yet do not cost more than the limit; a group that lacks rows borrows those that cost least of other
groups, which stay safe without them. What is left over joins whole groups in which everything is suppressed. Then rows
move to cheaper groups, and groups dissolve whose rows have better places in others, until nothing is gained; the groups
of small tables are refined as the classes of `bottom-up` are. That search by itself loses a few hundredths less on a
few thousand rows, and takes minutes on a hundred thousand, which is seconds here.

Rows of equal cells beyond twice as many as a safe group needs have no part in it. Cost: rows that are left x patterns x
limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.base import Context
from anonymize.algorithms.deadline import Refinable
from anonymize.algorithms.refining.refine import refined
from anonymize.classes import Bools, Floats, Ints, Partition, run_starts
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.tree import Tree
from anonymize.privacy import Requirement, k_anonymity
from anonymize.recoding import Regions
from anonymize.records import dataclass
from anonymize.table import Attribute, Table

Weights = NDArray[np.integer | np.floating]
Safe = Callable[[Ints, Weights], Bools]
"""(rows of each group (n,), the sum of their weights (n,)) -> (n,) whether it is safe; one with more rows is, too."""
Keys = NDArray[np.uint64]
"""(rows,) numbers that are the same where rows read the same."""

PATTERNS = 512
"""Patterns at most: with more columns, only those of few suppressed cells are tried, and those of all but few."""
LIMITS = (1, 4 / 3, 1.5, 5 / 3, 2, 7 / 3, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 15, 25, 50, 100)
"""What a row may cost at each turn, in units of the cheapest cell."""
MOST_SEARCHES = 4
"""Searches at most, for cells of other columns where one has lost all of its own."""
REFINED_ROWS = 5_000
"""Up to so many rows that have a part in the search, groups are refined."""
MIXING_COST = 4096.0
"""What mixing rows that may not be in one group costs in refinement, in units of the dearest cell."""


@dataclass(frozen=True)
class GroupTarget:
    """What groups have to be. `columns`: numbers of those that are suppressed and compared; `fixed` (rows,): numbers
    that are the same in rows that may share a group; `safe`: see `Safe`; `k`: where that is so many rows, else None."""

    columns: tuple[int, ...]
    fixed: Ints
    safe: Safe
    k: int | None = None


def suppressed(
    codes: Ints,
    importance: Floats,
    targets: Sequence[GroupTarget],
    weights: Floats,
    stricter: GroupTarget | None = None,
) -> Bools:
    """(columns, rows) which cells are suppressed so that every group of every target is safe.

    `codes` (columns, rows): a number above 0 for each value; `importance` (columns,): what a cell of each costs;
    `weights` (rows,); `stricter`: one that meets all of several others, and is taken where it needs less than they do
    one by one. All rows of one `fixed` number have to be a safe group. Targets are met one after the other,
    again and again as cells that are suppressed for one may leave groups of another too small. A single one is refined.
    Where a column loses all its cells, others are tried in its place, as if it were twice as important, and twice as
    much as that: what costs least by the importances that are given is taken.
    """
    sought, tried = importance, [_met(codes, importance, targets, weights)]
    while len(tried) < MOST_SEARCHES and (emptied := tried[-1].all(axis=1)).any() and not emptied.all():
        sought = np.where(emptied, 2 * sought, sought)
        tried.append(_met(codes, sought, targets, weights))
    if len(targets) > 1 and stricter is not None:
        tried.append(_met(codes, importance, [stricter], weights))
    return min(tried, key=lambda hidden: float(importance @ hidden.sum(axis=1)))


def _met(codes: Ints, importance: Floats, targets: Sequence[GroupTarget], weights: Floats) -> Bools:
    """(columns, rows) cells that are suppressed for the targets, one after the other."""
    hidden: Bools = np.zeros(codes.shape, np.bool_)
    while True:
        before = int(hidden.sum())
        for target in targets:
            own = list(target.columns)
            left = np.where(hidden[own], 0, codes[own])
            search = _Suppression.of(left, importance[own], target, weights)
            hidden[own] |= search.cells(refine=len(targets) == 1)
        if int(hidden.sum()) == before:
            return hidden


def patterns(importance: Floats) -> list[tuple[int, ...]]:
    """The sets of columns that are suppressed together, from the cheapest; none and all are among them."""
    count = len(importance)
    made: dict[tuple[int, ...], None] = {(): None, tuple(range(count)): None}
    order = np.argsort(importance, kind="stable").tolist()
    for size in range(1, count):
        if len(made) + comb(count, size) > PATTERNS:
            made |= {tuple(sorted(order[:many])): None for many in range(size, count)}
            break
        made |= dict.fromkeys(combinations(range(count), size))
    return sorted(made, key=lambda each: (float(importance[list(each)].sum()), len(each), each))


def limits(importance: Floats) -> list[float]:
    """What a row may cost at each turn, ascending: at last anything, so that no row loses more than it has to."""
    made = [float(importance.min()) * each for each in LIMITS]
    while made[-1] < LIMITS[-1] * importance.max():
        made.append(2 * made[-1])
    return [*made, float("inf")]


@dataclass(frozen=True)
class _Ranked:
    """Rows in the order of a number, run by run: what comes before each in its run, in rows and in weight."""

    order: Ints
    rows: Ints
    weight: Floats

    @classmethod
    def of(cls, labels: NDArray[np.generic], weights: Floats, *by: Floats) -> _Ranked:
        """Of rows by their labels, those of one label in the order of further numbers."""
        order = np.lexsort((*by[::-1], labels))
        starts = run_starts(labels[order])
        start = np.repeat(starts, np.diff(starts, append=len(order)))
        total = np.append(0.0, np.cumsum(weights[order]))
        return cls(order, np.arange(len(order)) - start, total[:-1] - total[start])


class _Suppression:
    """Rows, what each of them shows, and what that costs. `key` (rows,): the group; `pattern` (rows,): which of the
    patterns, -1 where a row has no place yet; `cost` (rows,)."""

    def __init__(self, codes: Ints, importance: Floats, fixed: Ints, target: GroupTarget, weights: Floats) -> None:
        self.codes, self.importance, self.fixed = codes, importance, fixed
        self.target, self.weights = target, weights
        self.patterns = patterns(importance)
        self.worth = np.array([importance[list(each)].sum() for each in self.patterns])
        self._masks: Bools = np.zeros((len(codes), len(self.patterns)), np.bool_)
        for number, columns in enumerate(self.patterns):
            self._masks[list(columns), number] = True
        self.base, self._hiding = _hashed(codes, fixed)
        rows = codes.shape[1]
        self.key, self.pattern, self.cost = self.base.copy(), np.full(rows, -1), np.zeros(rows)
        self.every: Ints = np.arange(rows)

    @classmethod
    def of(cls, codes: Ints, importance: Floats, target: GroupTarget, weights: Floats) -> _Suppression:
        """Of a table's cells, 0 where one is suppressed already; with the rows alone that have a part in it."""
        made = cls(codes, importance, target.fixed, target, weights)
        runs = _Ranked.of(made.base, weights)
        over = target.safe(runs.rows // 2, runs.weight / 2)
        group = np.cumsum(runs.rows == 0) - 1  # what is left out of a group has to be safe without the rest
        apart = target.safe(np.bincount(group, over), np.bincount(group, np.where(over, weights[runs.order], 0.0)))
        rows = np.sort(runs.order[~(over & apart[group])])
        part = cls(codes[:, rows], importance, target.fixed[rows], target, weights[rows])
        part.every, part._count = rows, codes.shape[1]
        return part

    _count = 0
    """Rows of the table."""

    # --- the search ---

    def cells(self, *, refine: bool) -> Bools:
        """(columns, rows of the table) which cells are suppressed."""
        for limit in limits(self.importance):
            for number in np.flatnonzero(self.worth <= limit + 1e-9):
                self._place(int(number), limit)
        self._absorb()
        while self._moved():
            pass
        hidden: Bools = np.zeros((len(self.codes), self._count), np.bool_)
        hidden[:, self.every] = self._refined(self._cells()) if refine else self._cells()
        return hidden

    def _cells(self) -> Bools:
        return np.asarray(self._masks[:, self.pattern] & (self.codes > 0))

    def _keys(self, number: int, rows: Ints) -> Keys:
        """(rows,) the group of some rows by a pattern."""
        key = self.base[rows]
        for column in self.patterns[number]:
            key = key + self._hiding[column][rows]
        return key

    def _costs(self, number: int, rows: Ints) -> Floats:
        """(rows,) what some rows cost by a pattern: cells that were suppressed before cost nothing."""
        columns = list(self.patterns[number])
        return np.asarray(self.importance[columns] @ (self.codes[columns][:, rows] > 0))

    def _put(self, rows: Ints, number: int, keys: Keys) -> None:
        self.pattern[rows], self.key[rows] = number, keys
        self.cost[rows] = self._costs(number, rows)

    def _spare(self) -> Bools:
        """(rows,) which may all leave their groups at once, and these stay safe."""
        placed = np.flatnonzero(self.pattern >= 0)
        runs = _Ranked.of(self.key[placed], self.weights[placed])
        spare: Bools = np.zeros(len(self.key), np.bool_)
        spare[placed[runs.order]] = self.target.safe(runs.rows, runs.weight)
        return spare

    def _place(self, number: int, limit: float) -> None:
        """Makes the groups by a pattern that cost no more than the limit for each row that has no place yet."""
        lacking = np.flatnonzero(self.pattern < 0)
        if not len(lacking):
            return
        groups, of_lacking = np.unique(self._keys(number, lacking), return_inverse=True)
        others, of_other = self._within(groups, np.flatnonzero(self.pattern >= 0), number)
        member = self.key[others] == groups[of_other]
        rows = np.bincount(of_lacking, minlength=len(groups)) + np.bincount(of_other[member], minlength=len(groups))
        weight = np.bincount(of_lacking, self.weights[lacking], len(groups))
        weight += np.bincount(of_other[member], self.weights[others[member]], len(groups))
        cost = np.bincount(of_lacking, self._costs(number, lacking), len(groups))
        open_to = ~member & ~self.target.safe(rows, weight)[of_other]
        lent, into, safe = others[open_to], of_other[open_to], self.target.safe(rows, weight)
        if len(lent):
            lent, into = self._lent(lent, into, number, rows, weight)
            rows = rows + np.bincount(into, minlength=len(groups))
            weight = weight + np.bincount(into, self.weights[lent], len(groups))
            cost += np.bincount(into, self._costs(number, lent) - self.cost[lent], len(groups))
            safe = self.target.safe(rows, weight)
        chosen = safe & (cost <= limit * np.bincount(of_lacking, minlength=len(groups)) + 1e-9)
        for some, of in ((lacking, of_lacking), (lent, into)):
            taken = chosen[of]
            self._put(some[taken], number, groups[of[taken]])

    def _within(self, groups: Keys, rows: Ints, number: int) -> tuple[Ints, Ints]:
        """Those of some rows that a pattern puts into one of the groups (ascending), and into which."""
        keys = self._keys(number, rows)
        place = np.minimum(np.searchsorted(groups, keys), len(groups) - 1)
        inside = groups[place] == keys
        return rows[inside], place[inside]

    def _lent(self, lent: Ints, into: Ints, number: int, rows: Ints, weight: Weights) -> tuple[Ints, Ints]:
        """The rows that groups borrow, those that cost least first, until they are safe; and which group each is for.
        `rows`, `weight` (groups,): what they have already."""
        spare = self._spare()[lent]
        lent, into = lent[spare], into[spare]
        runs = _Ranked.of(into, self.weights[lent], self._costs(number, lent) - self.cost[lent])
        lent, into = lent[runs.order], into[runs.order]
        needed = ~self.target.safe(rows[into] + runs.rows, weight[into] + runs.weight)
        return lent[needed], into[needed]

    def _absorb(self) -> None:
        """Suppresses all cells of rows that have no place, and of as many others as it takes: those of whole groups, of
        the fewest rows first."""
        lacking, last = np.flatnonzero(self.pattern < 0), len(self.patterns) - 1
        if not len(lacking):
            return
        rows = np.flatnonzero(np.isin(self.fixed, self.fixed[lacking]))
        _, group, size = np.unique(self.key[rows], return_inverse=True, return_counts=True)
        nothing = (self.pattern[rows] < 0) | (self.key[rows] == self._keys(last, rows))
        rank = np.where(nothing, -1.0, size[group] + group / (len(size) + 1.0))
        runs = _Ranked.of(self.fixed[rows], self.weights[rows], rank)
        short = ~self.target.safe(runs.rows, runs.weight)
        most = np.full(len(rows), -1.0)
        reach = np.full(int(self.fixed.max()) + 1, -1.0)
        most[runs.order[short]] = rank[runs.order[short]]
        np.maximum.at(reach, self.fixed[rows], most)
        joins = rows[rank <= reach[self.fixed[rows]]]
        self._put(joins, last, self._keys(last, joins))

    # --- moves ---

    def _moved(self) -> bool:
        """Moves rows that their groups can spare to cheaper ones, and dissolves groups whose rows are cheaper in
        others. Whether anything was gained."""
        before = float(self.cost.sum())
        rows = np.flatnonzero(self._spare() & (self.cost > 0))
        number, keys = self._alternatives(rows)
        self._move(rows, number, keys, self._costs_of(rows, number) < self.cost[rows] - 1e-9)
        rows = np.flatnonzero(np.isin(self.key, self.key[self.cost > 0]))
        number, keys = self._alternatives(rows)
        groups, of = np.unique(self.key[rows], return_inverse=True)
        gain = np.bincount(of, self.cost[rows] - self._costs_of(rows, number), len(groups))
        place = np.minimum(np.searchsorted(groups, keys), max(len(groups) - 1, 0))
        better = gain > 1e-9
        between = np.flatnonzero(better[of] & (groups[place] == keys) & better[place]) if len(rows) else rows
        one, other = of[between], place[between]
        better[np.where(gain[one] < gain[other], one, other)] = False
        self._move(rows, number, keys, better[of])
        return float(self.cost.sum()) < before - 1e-9

    def _costs_of(self, rows: Ints, number: Ints) -> Floats:
        """(rows,) what rows cost, each by a pattern of its own; infinite for none."""
        cost = self.importance @ (self._masks[:, number] & (self.codes[:, rows] > 0))
        return np.where(number < 0, np.inf, cost)

    def _move(self, rows: Ints, number: Ints, keys: Keys, which: Bools) -> None:
        for each in np.unique(number[which]):
            some = which & (number == each)
            self._put(rows[some], int(each), keys[some])

    def _alternatives(self, rows: Ints) -> tuple[Ints, Keys]:
        """(rows,) the cheapest pattern by which each is in another group that there is, -1 for none, and that group."""
        groups = np.unique(self.key)
        best, keys, left = np.full(len(rows), -1), np.zeros(len(rows), np.uint64), np.arange(len(rows))
        for number in range(len(self.patterns)):
            if not len(left):
                break
            some, place = self._within(groups, rows[left], number)
            other = groups[place] != self.key[some]
            into = np.searchsorted(rows, some[other])
            best[into], keys[into] = number, groups[place[other]]
            left = left[best[left] < 0]
        return best, keys

    # --- refinement ---

    def _refined(self, hidden: Bools) -> Bools:
        """The cells (columns, rows) after refinement of the groups, where that is made and loses less."""
        rows, k = self.codes.shape[1], self.target.k
        if not hidden.any() or k is None or rows > REFINED_ROWS:
            return hidden
        fixed = np.unique(self.fixed, return_inverse=True)[1]
        weights = [*self.importance.tolist(), MIXING_COST * float(self.importance.max())]
        attributes = tuple(map(_flat, map(str, range(len(weights))), [*self.codes, fixed], weights))
        table = Table(rows, attributes, (), (), None, ())  # type: ignore[arg-type]  # nothing is read of it
        start = Regions(Partition.of_labels(np.unique(self.key, return_inverse=True)[1]), np.empty(0, np.uint32))
        requirement = Requirement(k_anonymity.MODEL.id, None, k_anonymity.Parameters(k=k))
        partition = refined(table, (requirement,), start, Refinable(), replace(Context(), seed=0)).partition
        if _mixed(fixed, partition).any():
            return hidden
        own = np.stack([_mixed(column, partition) for column in self.codes]) & (self.codes > 0)
        return own if self._lost(own) < self._lost(hidden) else hidden

    def _lost(self, hidden: Bools) -> float:
        return float(self.importance @ hidden.sum(axis=1))


def _hashed(codes: Ints, fixed: Ints) -> tuple[Keys, list[Keys]]:
    """(rows,) a key of what rows show where nothing more is suppressed, and for each column what the key changes by
    where its cell is. Keys are sums of random numbers of 64 bits: that two of a million groups share one has a
    probability of one in ten million, and is found in the written file."""
    random = np.random.default_rng(0)
    key = _numbers(random, fixed)[fixed]
    hiding = []
    for column in codes:
        numbers = _numbers(random, column)
        key = key + numbers[column]
        hiding.append(numbers[0] - numbers[column])
    return key, hiding


def _numbers(random: np.random.Generator, codes: Ints) -> Keys:
    return random.integers(0, 1 << 64, int(codes.max(initial=0)) + 1, dtype=np.uint64)


def _mixed(codes: Ints, partition: Partition) -> Bools:
    """(rows,) whether the class of each row has several of the codes (rows,)."""
    own, starts = codes[partition.order], partition.starts[:-1]
    several = np.minimum.reduceat(own, starts) != np.maximum.reduceat(own, starts)
    return np.asarray(several[partition.class_of(len(codes))])


def _flat(name: str, codes: Ints, weight: float) -> Attribute:
    values, own = np.unique(codes, return_inverse=True)
    leaves = [str(value) for value in range(len(values))]
    return Attribute(name, own.astype(np.uint32), Taxonomy.of(name, Tree.from_steps(leaves, (), "*")), weight)
