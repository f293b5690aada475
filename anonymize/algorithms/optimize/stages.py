"""How the search for the best set of splits goes on: what it begins with, and its stages, from coarse values without
suppression to all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from itertools import product

import numpy as np

from anonymize.algorithms import base, mondrian, optimize
from anonymize.algorithms.optimize.costs import BestSplits
from anonymize.algorithms.optimize.local import Annealed, LineBlocks, Local
from anonymize.algorithms.optimize.moves import SplitProblem, cells_of
from anonymize.algorithms.optimize.tree import Explored, SplitTree, SubtreeTask, explore
from anonymize.classes import Bools, Ints
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import InfeasibleError
from anonymize.privacy import Requirement
from anonymize.records import dataclass
from anonymize.table import Attribute, Table, model

# --- what a search begins with ----------------------------------------------------------------------------------------
# What a search begins with: what is known of a table beforehand, orders of siblings, and sets of splits.
#
# Known beforehand are the splits of each level of the hierarchies, and which splits a multidimensional recoding would
# want most.
#
# The order of siblings says which values an interval of categories may hold together. A hierarchy says what lies under
# one node, and not which of the nodes under it come side by side. The search takes them as they are listed; another
# order of the same hierarchies has other intervals, of which some may cost less. The orders that are tried: as listed;
# by their rows, the most frequent first; by their labels; then at random, by fixed seeds.
#
# The sets of splits to begin with, the cheapest to find first: none, greedy ones, and what other algorithms make of a
# table, as far as one set of splits can show it.


@dataclass(frozen=True)
class LevelSplits:
    """`levels`: per attribute, from its top level down to that which is searched, the splits of the level, among all
    splits. `stages`: the same for all attributes at once."""

    levels: Sequence[Sequence[Bools]]
    stages: Sequence[Bools]

    @classmethod
    def of(cls, table: Table, splits: optimize.Splits, level: int) -> LevelSplits:
        """The splits by level, of a table whose splits are those of a level."""
        highest = max([level, *(attribute.hierarchy.height for attribute in table.attributes)])
        stages = []
        for spot in range(highest, level - 1, -1):
            pairs = zip(splits.places, optimize.Splits.of_table(table, spot).places, strict=True)
            stages.append(np.concatenate([np.isin(own, places) for own, places in pairs]))
        owner = splits.attribute
        levels = [_distinct([mask & (owner == number) for mask in stages]) for number in range(len(splits.places))]
        return cls(levels, _distinct(stages))

    def within(self, allset: Bools) -> list[list[Bools]]:
        """The levels that have no splits beyond a set."""
        none = np.zeros_like(allset)
        return [[none, *(mask for mask in masks if mask.any() and not (mask & ~allset).any())] for masks in self.levels]


MOST_ROWS = 1 << 25
"""Rows at most that are made of rows which stand for several, for Mondrian to cut."""


def mondrian_splits(table: Table, requirements: tuple[Requirement, ...], splits: optimize.Splits, limit: int) -> Ints:
    """The splits at which Mondrian's classes begin, those of most rows first; none where it has no release."""
    rows = _row_by_row(table)
    if rows is None:
        return np.zeros(0, np.int64)
    try:
        partition = mondrian.run(rows, requirements, mondrian.Options(cut="widest"), base.Context(limit)).partition
    except InfeasibleError:
        return np.zeros(0, np.int64)
    weights = []
    for attribute, places in zip(rows.attributes, splits.places, strict=True):
        low = partition.boxes(attribute.codes)[0] if partition.count else np.zeros(0, np.int64)
        before = np.searchsorted(places, low, side="right")
        weights.append(np.bincount(before, partition.sizes, minlength=len(places) + 1)[1:])
    weight = np.concatenate(weights)
    ranks = np.argsort(-weight, kind="stable")
    return np.asarray(ranks[weight[ranks] > 0])


def _row_by_row(table: Table) -> Table | None:
    """The table without rows that stand for several: Mondrian cuts rows. None where they would be too many."""
    if table.counts is None:
        return table
    if table.counts.sum() > MOST_ROWS:
        return None
    rows = model.subset(table, np.repeat(np.arange(table.rows, dtype=np.uint32), table.counts))
    return replace(rows, attributes=tuple(replace(each, counts=None) for each in rows.attributes))


def _distinct(masks: Sequence[Bools]) -> list[Bools]:
    """Without those that are the same as the one before; one at least."""
    return [mask for spot, mask in enumerate(masks) if not spot or (mask != masks[spot - 1]).any()]


# --- orders of siblings -----------------------------------------------------------------------------------------------

LISTED = "listed"
"""The order that a hierarchy's file has."""


def orders(table: Table, count: int) -> Iterator[tuple[str, Table]]:
    """So many orders, each by name with the table in it; those that change nothing are left out, but the first."""
    yield LISTED, table
    names = ["rows", "labels", *(f"random {seed}" for seed in range(count))]
    for name in names[: count - 1]:
        attributes = tuple(_reordered(each, name) for each in table.attributes)
        if any(one is not other for one, other in zip(attributes, table.attributes, strict=True)):
            yield name, replace(table, attributes=attributes)


def _reordered(attribute: Attribute, name: str) -> Attribute:
    """The attribute with its siblings in another order, or itself where that is the order that they have."""
    domain = attribute.domain
    if not isinstance(domain, Taxonomy):
        return attribute
    ranks = _ranks(domain, np.bincount(attribute.codes, attribute.counts, domain.size).astype(np.int64), name)
    leaves = np.lexsort([ranks[nodes] for nodes in domain.levels])  # the root's children decide first, the leaves last
    if (leaves == np.arange(domain.size)).all():
        return attribute
    place = np.empty(domain.size, np.int32)
    place[leaves] = np.arange(domain.size, dtype=np.int32)
    return replace(attribute, codes=place.astype(attribute.codes.dtype)[attribute.codes], domain=_moved(domain, leaves))


def _ranks(domain: Taxonomy, counts: Ints, name: str) -> Ints:
    """(nodes,) by what siblings are ordered; no two are equal. `counts` (leaves,): rows of each leaf."""
    count = len(domain.labels)
    if name.startswith("random"):
        return np.random.default_rng(int(name.split()[1])).permutation(count)
    rank = np.empty(count, np.int64)
    by_label = sorted(range(count), key=lambda node: (domain.labels[node], node))
    rank[by_label] = np.arange(count)
    if name == "rows":
        rows = np.append(0, np.cumsum(counts))
        frequent = np.lexsort([rank, rows[domain.start] - rows[domain.stop]])
        rank[frequent] = np.arange(count)
    return rank


def _moved(domain: Taxonomy, leaves: Ints) -> Taxonomy:
    """The hierarchy with its leaves in another order, in which the leaves under a node stay side by side."""
    nodes = np.arange(len(domain.labels))
    nodes[leaves] = np.arange(domain.size)
    old = np.argsort(nodes)
    missing = None if domain.missing is None else int(nodes[domain.missing])
    labels = [domain.labels[node] for node in old.tolist()]
    levels = nodes[domain.levels[:, leaves]].astype(np.int32)
    return Taxonomy(domain.name, levels, labels, missing, domain.weights[old])


# --- sets of splits ---------------------------------------------------------------------------------------------------

VECTORS = 128
"""Where there are no more level vectors than this, all of them are tried; else those that a greedy descent meets."""


def begin(
    problem: SplitProblem,
    allset: Bools,
    best: BestSplits,
    ranks: Ints,
    levels: Sequence[Sequence[Bools]],
    timely: Callable[[], bool],
) -> None:
    """Offers all of them as long as it is `timely`, and goes on until one is feasible. `ranks`: all splits, the most
    wanted first; `levels`: per attribute, from its top level down, the splits of that level. Splits beyond the `allset`
    are left out."""

    def goes_on() -> bool:
        return best.mask is None or timely()

    for mask in vectors(problem, levels, goes_on):
        _offer(problem, mask & allset, best)
    specialized(problem, allset, best, goes_on)
    generalized(problem, allset, best, goes_on)
    ranked(problem, ranks[allset[ranks]], best, goes_on)


def _offer(problem: SplitProblem, mask: Bools, best: BestSplits) -> tuple[int, int]:
    """Cost and suppressed rows of a set, which is offered if it is feasible."""
    view = problem.view(mask, mask)
    best.work += view.work
    if view.suppressed <= problem.allowed:
        best.offer(view.cost, mask)
    return view.cost, view.suppressed


def specialized(problem: SplitProblem, allset: Bools, best: BestSplits, goes_on: Callable[[], bool]) -> None:
    """From no splits, always the one that leaves the least cost, as long as that falls and few enough rows are
    suppressed. The first of several."""
    mask = np.zeros_like(allset)
    _offer(problem, mask, best)
    view = None
    while goes_on():
        view = problem.view(mask, allset, cells_of(view))
        best.work += view.work
        cost, suppressed = view.changes()
        fine = np.flatnonzero(allset & ~mask & (cost < 0) & (view.suppressed + suppressed <= problem.allowed))
        if not len(fine):
            return
        chosen = fine[np.argmin(cost[fine])]
        mask[chosen] = True
        best.offer(view.cost + int(cost[chosen]), mask)


def generalized(problem: SplitProblem, allset: Bools, best: BestSplits, goes_on: Callable[[], bool]) -> None:
    """From all splits, always without the one that leaves the least cost: until few enough rows are suppressed, and on
    as long as the cost falls. The first of several."""
    mask, view = allset.copy(), None
    while goes_on():
        view = problem.view(mask, mask, cells_of(view))
        best.work += view.work
        if view.suppressed <= problem.allowed:
            best.offer(view.cost, mask)
        cost, suppressed = view.removals()
        fine = np.flatnonzero(mask & ((cost < 0) | (view.suppressed > problem.allowed)))
        if not len(fine):
            return
        mask[fine[np.lexsort((cost[fine], suppressed[fine] * (view.suppressed > problem.allowed)))[0]]] = False


def ranked(problem: SplitProblem, ranks: Ints, best: BestSplits, goes_on: Callable[[], bool]) -> None:
    """Splits in the order of their ranks, each of which stays if the cost falls with it and few enough rows are
    suppressed."""
    mask, lowest = np.zeros(problem.splits.count, np.bool_), None
    for split in ranks.tolist():
        if not goes_on():
            return
        mask[split] = True
        cost, suppressed = _offer(problem, mask, best)
        if suppressed > problem.allowed or (lowest is not None and cost >= lowest):
            mask[split] = False
        else:
            lowest = cost


def vectors(
    problem: SplitProblem, levels: Sequence[Sequence[Bools]], goes_on: Callable[[], bool] = lambda: True
) -> Iterator[Bools]:
    """The sets of full-domain generalizations."""
    if np.prod([float(len(each)) for each in levels]) <= VECTORS:
        for chosen in product(*levels):
            if not goes_on():
                return
            yield np.logical_or.reduce(chosen)
        return
    vector = [0] * len(levels)
    while nearest := [_lowered(vector, spot) for spot in range(len(levels)) if vector[spot] + 1 < len(levels[spot])]:
        masks = [
            np.logical_or.reduce([level[spot] for level, spot in zip(levels, each, strict=True)]) for each in nearest
        ]
        for mask in masks:
            if not goes_on():
                return
            yield mask
        vector = nearest[int(np.argmin([problem.view(mask, mask).cost for mask in masks]))]


def _lowered(vector: list[int], spot: int) -> list[int]:
    return [level + (place == spot) for place, level in enumerate(vector)]


# --- stages -----------------------------------------------------------------------------------------------------------
# The search in stages: first without suppression and for coarse values, where there is less to choose from.
#
# What a stage finds, every later one with more splits to choose from or more rows to suppress may have as well. It
# takes the best of them before each of its rounds, and gives nothing back. So what a stage does in its first n rounds
# depends on the earlier stages' first n rounds, and on nothing else: not on the later ones, nor on how many rounds
# follow. Hence a search is never worse than one with fewer rounds, with coarser values, or without suppression.

STEPS = 24
"""Steps of each kind of local search in a round that has some."""
EAGER, RARE = 4, 4
"""The first rounds have some, and of later ones one in so many: what is left then is the proof, more often than not."""


@dataclass
class Stage:
    """The sets within an `allset`, under the limit of a problem. `below`: the stages whose sets it may have too.
    `rounds`: how many there were."""

    problem: SplitProblem
    allset: Bools
    below: Sequence[Stage]
    best: BestSplits = field(init=False)
    rounds: int = 0

    def __post_init__(self) -> None:
        self.best = BestSplits(judge=self.problem.together)
        self.tree = SplitTree(self.allset, self.best)
        walks: list[Local | LineBlocks | Annealed] = [Local(self.problem, self.best, self.allset)]
        if self.problem.sized is not None:
            walks.append(LineBlocks(self.problem, self.best, self.allset))
            walks.append(Annealed(self.problem, self.best, self.allset))
        self.walks = walks

    @property
    def steps(self) -> int:
        """Steps of the local search so far."""
        return sum(walk.steps for walk in self.walks)

    @property
    def finished(self) -> bool:
        """Whether the best set is proved to be the best one."""
        return self.tree.finished

    def inherit(self) -> None:
        """Takes the best of the stages below."""
        for stage in self.below:
            if stage.best.cost is not None and stage.best.mask is not None:
                self.best.offer(stage.best.cost, stage.best.mask)

    def begin(self, starts: Callable[[Stage, Callable[[], bool]], None], left: Callable[[], bool]) -> None:
        """The sets to begin with, the root of the tree, and the local search until it gets no further."""
        starts(self, left)
        self.inherit()
        self.tree.round(lambda tasks: [explore(self.problem, task) for task in tasks], nodes=1)
        for walk in reversed(self.walks):
            walk.restart()
            while not (self.finished or walk.settled) and left():
                walk.step()

    def round(self, explored: Callable[[Stage, list[SubtreeTask]], list[Explored]], left: Callable[[], bool]) -> None:
        """Some nodes of the tree, and some steps of the local search."""
        self.inherit()
        if self.finished:
            return
        self.tree.round(lambda tasks: explored(self, tasks))
        self.rounds += 1
        for walk in self.walks if self.rounds <= EAGER or self.rounds % RARE == 0 else ():
            for _ in range(STEPS):
                if walk.stuck or self.finished or not left():
                    break
                walk.step()
