"""Where refinement begins: at the classes of the method that comes to least, by a trial on the table itself.

No method loses least on every table, least of all under several models, and refinement does not leave the
neighbourhood of where it begins: what a start lacks after a few passes, it lacks at the end. So the classes of
`mondrian`, `top-down` and `bottom-up` are refined a little, but for one that loses so much more than another that it
cannot catch up; those that come near the least, once more, and again while they stay near; and what then loses least is
refined on. Which method is asked for does not matter to a small table: the starts are the same.

Which start is ahead after a few passes is no more than likely to be ahead at the end, and where classes are large, what
chance brings is one or two hundredths. So a small table is gone through several times, and one of a few hundred rows
once as `mondrian --refine` does it: no release by the other methods then loses more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms import clustering, mondrian
from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering.methods import RISE, ROUNDS, bottom_up, equal_rows, top_down
from anonymize.algorithms.clustering.run import Method, cluster, grouped, in_parts, parts
from anonymize.algorithms.deadline import Deadline, Refinable
from anonymize.algorithms.refining.refine import passes_of, refined, widened
from anonymize.classes import Partition
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.records import dataclass
from anonymize.table import Table

TOP_DOWN, BOTTOM_UP = "top-down", "bottom-up"
WHOLE_ROWS = 10_000
"""With more different rows than this, methods other than the one that was asked for work within Mondrian's parts. A row
of many columns counts for several."""
TRIAL_ROWS = 100_000
"""With more rows than this, starts are compared as they are, and only Mondrian's with that of the method."""
TRIAL_PASSES, PASSES_A_TRIAL = 3, 10
"""Passes of a trial at most, and the share of all passes that it takes: one in so many, rounded. Where that is none,
starts are compared as they are."""
NEAR_SHARE, TURNS = 0.03, 4
"""Starts that lose by no more than this share more than the least are refined once more, and of these, with half the
share, again: in so many turns at most before one is chosen."""
FAR_BEHIND = 1.3
"""A start that loses so many times as much as the least before its first pass is not refined: what clustering begins
with falls faster than what cutting does, but not by that much."""

REPEATED_ROWS, ROWS_A_RUN, MOST_RUNS = 2_000, 125, 3
"""A small table is refined in several runs, with other random numbers each, so that about `REPEATED_ROWS` rows are gone
through in all; but in no more than one run for every `ROWS_A_RUN` rows, as the smallest tables have little to find, and
in `MOST_RUNS` at most. A row of many columns counts for several (see `refine.WIDE`)."""
ALONE_ROWS = 500
"""Up to so many rows, Mondrian's classes are refined to the end without a trial, too: that takes from half to as long
again. A row of many columns counts for several."""
ANOTHER = 1 << 20
"""From the seed of one of these times to that of the next."""

Start = Callable[[Context], Regions]


def top_down_of(context: Context, within: bool, rounds: int = ROUNDS, join: str = RISE) -> Method:
    """The groups of top-down; `within`: Mondrian's parts."""

    def method(penalty: clustering.Penalty, codes: clustering.Corners, k: int) -> Partition:
        start = parts(penalty, codes, k, context.threads) if within else None
        return top_down(penalty, codes, k, context.seed or 0, context.threads, start, context.progress, rounds, join)

    return method


def bottom_up_of(context: Context, within: bool) -> Method:
    """The groups of bottom-up; `within`: Mondrian's parts."""

    def method(penalty: clustering.Penalty, codes: clustering.Corners, k: int) -> Partition:
        if not within:
            return bottom_up(penalty, codes, k, context.threads, context.progress)
        inside = partial(bottom_up, penalty, k=k, progress=context.progress)
        return in_parts(inside, codes, parts(penalty, codes, k, context.threads), context.threads)

    return method


def starts_by_name(
    table: Table,
    requirements: tuple[Requirement, ...],
    rows: NDArray[np.uint32],
    suppressed: NDArray[np.uint32],
) -> dict[str, Start]:
    """How each method finds its classes of the rows, ascending, that are released; Mondrian's first, and alone where
    there are too many rows for a trial."""

    def cut(context: Context) -> Regions:
        return Regions(mondrian.classes_to_refine(table, requirements, context).partition, suppressed)

    def by(method: Callable[[Context, bool], Method], context: Context) -> Regions:
        different = equal_rows(clustering.codes_of(table.attributes, rows)).count
        within = widened(different, len(table.attributes)) > WHOLE_ROWS
        return Regions(grouped(table, requirements, rows, method(context, within)), suppressed)

    starts: dict[str, Start] = {mondrian.ID: cut}
    if len(rows) <= TRIAL_ROWS:
        starts |= {TOP_DOWN: partial(by, top_down_of), BOTTOM_UP: partial(by, bottom_up_of)}
    return starts


@dataclass(frozen=True)
class Best:
    """What became of several starts. `name`: the one that was refined to the end, to `regions`; `losses`: the weighted
    NCP of each when it was last looked at."""

    name: str
    regions: Regions
    losses: dict[str, float]

    @property
    def lost(self) -> float:
        """The weighted NCP of the one that was chosen."""
        return self.losses[self.name]


@dataclass(frozen=True)
class Trial:
    """What starts are refined with. `options`: of the refinement that the best of them gets; what a trial takes is
    part of its passes."""

    table: Table
    requirements: tuple[Requirement, ...]
    options: Refinable
    context: Context

    def best(self, starts: Mapping[str, Start]) -> Best:
        """The best of some starts, refined to the end; between equal ones the first. Small tables are gone through
        several times, and once with Mondrian's start alone. With a time limit, what does not begin within a third of it
        is left out."""
        end, third = Deadline(self.options.time_limit), Deadline(self.options.time_limit / 3)
        first = self._best(starts, self.context.seed or 0)
        rows = len(first.regions.partition.order)
        counted = widened(max(rows, 1), len(self.table.attributes))
        for run in range(1, min(int(REPEATED_ROWS / counted), rows // ROWS_A_RUN, MOST_RUNS)):
            if third.passed:
                break
            other = self._best(starts, (self.context.seed or 0) + run * ANOTHER)
            first = min(first, other, key=lambda best: best.lost)
        if len(starts) > 1 and counted <= ALONE_ROWS and not third.passed:
            first = min(first, self._alone(starts, first.losses, end), key=lambda best: best.lost)
        return first

    def _alone(self, starts: Mapping[str, Start], losses: Mapping[str, float], end: Deadline) -> Best:
        """Mondrian's start refined to the end as `mondrian --refine` does; `losses`: of others."""
        start = starts[mondrian.ID](replace(self.context, progress=lambda rows: None, save=False))
        left = replace(self.options, time_limit=end.left)
        regions = refined(self.table, self.requirements, start, left, self.context)
        return Best(mondrian.ID, regions, {**losses, mondrian.ID: self._loss(regions)})

    def _best(self, starts: Mapping[str, Start], seed: int) -> Best:
        end, third = Deadline(self.options.time_limit), Deadline(self.options.time_limit / 3)
        context = replace(self.context, seed=seed, progress=lambda rows: None, save=False)
        tried: dict[str, Regions] = {}
        for name, start in starts.items():
            if not tried or not third.passed:
                tried[name] = start(context)
        rows = len(next(iter(tried.values())).partition.order)
        total, passed = self.options.passes or passes_of(rows, len(self.table.attributes)), 0
        passes = min(TRIAL_PASSES, (total + PASSES_A_TRIAL // 2) // PASSES_A_TRIAL)
        losses = {name: self._loss(regions) for name, regions in tried.items()}
        if len(tried) > 1 and rows <= TRIAL_ROWS and passes:
            for turn in range(min(TURNS, total // passes)):
                most = (1 + NEAR_SHARE / 2 ** max(turn - 1, 0)) * min(losses.values())
                near = [
                    name for name in tried if losses[name] <= (most if passed else FAR_BEHIND * min(losses.values()))
                ]
                if (passed and len(near) == 1) or third.passed:
                    break
                tried |= {name: self._refined(tried[name], passes, context, passed) for name in near}
                losses |= {name: self._loss(tried[name]) for name in near}
                passed += passes
        chosen = min(losses, key=lambda name: losses[name])
        left = replace(self.options, passes=max(total - passed, 1), time_limit=end.left)
        regions = refined(self.table, self.requirements, tried[chosen], left, context, passed)
        return Best(chosen, regions, losses | {chosen: self._loss(regions)})

    def _loss(self, regions: Regions) -> float:
        return clustering.weighted_ncp(self.table.attributes, regions.partition)

    def _refined(self, regions: Regions, passes: int, context: Context, passed: int) -> Regions:
        silent = replace(context, refining=lambda count, total: None)
        few = Refinable(passes=passes, sweeps=2, time_limit=self.options.time_limit / 9)
        return refined(self.table, self.requirements, regions, few, silent, passed)


# --- a clustering method and its start --------------------------------------------------------------------------------
# A clustering method and what it begins with: its classes, refined, or those of another method that come to less.


def clustered(
    table: Table,
    requirements: tuple[Requirement, ...],
    name: str,
    method: Callable[[Context], Method],
    refinement: Refinable | None,
    context: Context,
) -> Regions:
    """The groups that a method makes, the algorithm of a `name`; `refinement`: how they, or what another method begins
    with, are refined, None for not at all."""
    groups = cluster(table, requirements, method(context), context)
    if refinement is None or not groups.partition.count:
        return groups

    def own(other: Context) -> Regions:
        """The groups where chance is that of another seed."""
        alike = (other.seed or 0) == (context.seed or 0)
        return groups if alike else cluster(table, requirements, method(other), other)

    starts = starts_by_name(table, requirements, np.sort(groups.partition.order), groups.suppressed)
    best = Trial(table, requirements, refinement, context).best(starts | {name: own})
    story = {"ncp_weighted_before": clustering.weighted_ncp(table.attributes, groups.partition), "start": best.name}
    account = best.regions.refinement
    return replace(best.regions, refinement={**account, **story}) if account else best.regions
