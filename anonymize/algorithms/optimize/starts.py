"""Sets of splits to begin with, the cheapest to find first: none, greedy ones, and what other algorithms make of a
table, as far as one set of splits can show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from anonymize.algorithms.optimize.best import BestSplits
from anonymize.algorithms.optimize.moves import SplitProblem, cells_of
from anonymize.classes import Bools, Ints

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
        vector = nearest[int(np.argmin([_excess(problem, mask) for mask in masks]))]


def _lowered(vector: list[int], spot: int) -> list[int]:
    return [level + (place == spot) for place, level in enumerate(vector)]


def _excess(problem: SplitProblem, mask: Bools) -> int:
    """The cost of a set, whatever it suppresses."""
    return problem.view(mask, mask).cost
