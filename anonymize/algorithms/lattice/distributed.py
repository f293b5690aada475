"""The distributed search: subsets of the attributes in processes of their own, and the best string of all of them.

1. The attributes, those first that can gain most, are parted into consecutive subsets whose strings fit. Each subset by
   itself, the other attributes at their roots, has its whole frontier of minimal strings that are not ruled out, and
   the best of its first attributes, of its first two, and so on.
2. Joined, all attributes are searched by branch and bound, the last ones first (Russian doll search). What a table of
   a subset rules out is not looked at. A subproblem's search is parted into branches, which the processes take;
   branches of a round know the best of the rounds before, whichever process takes them.

What is left to gain is bounded at all times: by the subproblem that is solved, and the subsets of the attributes before
it.
The search is exact when it ends by itself. Tables only leave out what would have been looked at in vain, so with larger
subsets it is as far after as much work, or further.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from anonymize.algorithms.lattice.branch_and_bound import GAIN_TOLERANCE, Diver, Gains, Outcome, Partial, SearchBranch
from anonymize.algorithms.lattice.frontiers import Frontier, StringClassifier, frontier
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.strings import StringSearch
from anonymize.parallel import Workers, workers
from anonymize.records import dataclass

STRINGS = 1 << 16
"""The most strings of a subset, whatever fits."""
ROUND = 32
"""Branches of a round."""
WORTH = 20_000_000
"""Cells read by a subproblem, or the strings of all subsets times the distinct rows, from which on other processes
help."""


class StringSubset(NamedTuple):
    """A subset by itself. `bounds` (attributes + 1,): what its first ones can gain at the most; 0 of none."""

    frontier: Frontier
    bounds: tuple[float, ...]


@dataclass(frozen=True)
class Limits:
    """`memory`: strings of a subset. `work`: refinements of the join. `until`: the time at which it ends, 0 for none.
    `processes`: how many."""

    memory: int
    work: int
    until: float = 0.0
    processes: int = 1

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return bool(self.until) and time.time() > self.until


class Subproblem(NamedTuple):
    """A problem of the attributes from a place on; see `SearchBranch` for the rest."""

    place: int
    floor: float
    bounds: tuple[float, ...]
    safe: bool


@dataclass
class StringJoin:
    """The joined search. `gain`: of the `best` string that is known to be safe, -inf where there is none. `accept`:
    whether a string is safe, to be asked of those that may become the best. `report`: takes the place that the
    subproblems have come to, and what any string can gain at the most."""

    classifier: StringClassifier
    gains: Gains
    limits: Limits
    gain: float
    accept: Callable[[Partial], bool]
    report: Callable[[int, float], None]
    best: Partial = ()
    subsets: list[StringSubset] = field(default_factory=list)
    work: int = 0
    proved: bool = False
    bound: float = float("inf")

    def run(self) -> None:
        """Searches until the best string is proved, or a limit is reached."""
        parts = list(parted(self.gains, self.limits.memory))
        shared = (self.classifier, self.gains)
        with workers(self.limits.processes, _subset_tools, *shared) as pool:
            strings = sum(_strings(self.gains, part) for part in parts)
            worth = strings * self.classifier.distinct > WORTH and len(parts) > 1
            self.subsets = pool.map(_solved, [(part, self.limits.until) for part in parts], worth=worth)
        with workers(self.limits.processes, _diver, *shared, [each.frontier for each in self.subsets]) as pool:
            self._subproblems(pool)

    def _subproblems(self, pool: Workers) -> None:
        """One subproblem after the other, the last attribute's first; each bounds the next. In the end, strings have to
        be safe."""
        count, last = len(self.gains.order), 0
        bounds = [0.0] * (count + 1)
        for place in range(count - 1, 0, -1):
            self._tell(place + 1, bounds[place + 1])
            bounds[place] = self._most(place, bounds)
            floor = max(bounds[place + 1], self._inside(place))
            subproblem = Subproblem(place, floor, tuple(bounds), safe=False)
            outcome = self._solve(pool, subproblem, worth=last * self.classifier.distinct > WORTH)
            if not outcome.complete:
                return
            bounds[place], last = outcome.gain, outcome.work
            self._take(outcome)
        self._tell(1, bounds[1])
        bounds[0] = self._most(0, bounds)
        for place in range(count):
            subproblem = Subproblem(place, self.gain, tuple(bounds), safe=True)
            outcome = self._solve(pool, subproblem, worth=last * self.classifier.distinct > WORTH)
            self._take(outcome)
            if not outcome.complete:
                return
        self.proved = True
        self._tell(0, self.gain)

    def _take(self, outcome: Outcome) -> None:
        """The best string of a subproblem, where it is safe, may be the best of all."""
        if outcome.best is not None and outcome.gain > self.gain + GAIN_TOLERANCE and self.accept(outcome.best):
            self.best, self.gain = outcome.best, outcome.gain

    def _solve(self, pool: Workers, subproblem: Subproblem, *, worth: bool) -> Outcome:
        """The best string of a subproblem, round by round."""
        best, floor, before, complete = None, subproblem.floor, self.work, True
        for branches in rounds(branched(self.gains, subproblem.place)):
            left = self.limits.work - self.work
            complete = left > 0 and not self.limits.late
            if not complete:
                break
            tasks = [
                SearchBranch(each, spot, floor, subproblem.bounds, subproblem.safe, left, self.limits.until)
                for each, spot in branches
            ]
            outcomes = pool.map(_dived, tasks, worth=worth)
            self.work += sum(each.work for each in outcomes)
            for outcome in outcomes:
                if outcome.best is not None and outcome.gain > floor + GAIN_TOLERANCE:
                    best, floor = outcome.best, outcome.gain
            complete = all(each.complete for each in outcomes)
            if not complete:
                break
        return Outcome(best, floor, self.work - before, complete)

    def _most(self, place: int, bounds: Sequence[float]) -> float:
        """What the attributes from a place on can gain at the most, given what those after it can."""
        return min(bounds[place + 1] + self.gains.most(self.gains.order[place]), self._outside(place))

    def _inside(self, place: int) -> float:
        """What the best known string gains by the attributes from a place on: with the others at their roots, it is
        not ruled out."""
        inner = set(self.gains.order[place:])
        return self.gains.total(tuple((index, level) for index, level in self.best if index in inner))

    def _outside(self, place: int) -> float:
        """What the attributes from a place on can gain at the most by the subsets alone, where they are whole ones."""
        total, spot = 0.0, 0
        for subset in self.subsets:
            size = len(subset.frontier.attributes)
            total += subset.bounds[size] if spot + size > place else 0.0
            spot += size
        return total

    def _tell(self, place: int, bound: float) -> None:
        """Takes note of what all attributes can gain, given what those from a place on can."""
        spot = 0
        for subset in self.subsets:
            within = min(max(place - spot, 0), len(subset.frontier.attributes))
            bound += subset.bounds[within]
            spot += len(subset.frontier.attributes)
        self.bound = max(min(self.bound, bound), self.gain)
        self.report(place, self.bound)


# --- subsets ----------------------------------------------------------------------------------------------------------


def parted(gains: Gains, limit: int) -> Iterator[tuple[int, ...]]:
    """Consecutive attributes of the order whose strings, with all levels, are no more than the limit; one attribute
    alone is always a subset."""
    part: list[int] = []
    for index in gains.order:
        if part and _strings(gains, [*part, index]) > min(limit, STRINGS):
            yield tuple(part)
            part = []
        part.append(index)
    yield tuple(part)


def _strings(gains: Gains, part: Sequence[int]) -> int:
    size = 1
    for index in part:
        size *= len(gains.of[index])
    return size


def _subset_tools(classifier: StringClassifier, gains: Gains) -> tuple[StringClassifier, Gains]:
    return classifier, gains


def _solved(tools: tuple[StringClassifier, Gains], part: tuple[Sequence[int], float]) -> StringSubset:
    """The frontier of a subset, and the best of its first attributes: subproblems in the opposite order."""
    (classifier, gains), (attributes, until) = tools, part
    table = frontier(classifier, attributes, gains.choices)
    backwards = Gains(tuple(reversed(attributes)), gains.choices, gains.of)
    diver, count = Diver(classifier, backwards, [table]), len(attributes)
    bounds = [0.0] * (count + 1)
    for place in reversed(range(count)):
        most = bounds[place + 1] + gains.most(backwards.order[place])
        bounds[place] = most
        bounds[place] = _subproblem_alone(diver, backwards, place, bounds, until)
    return StringSubset(table, tuple(reversed(bounds)))


def _subproblem_alone(diver: Diver, gains: Gains, place: int, bounds: Sequence[float], until: float) -> float:
    """The most that attributes from a place on can gain, or what bounds it where the time is up."""
    floor = bounds[place + 1]
    for each, spot in branched(gains, place):
        outcome = diver.dive(SearchBranch(each, spot, floor, tuple(bounds), False, WORTH, until))
        if not outcome.complete:
            return bounds[place]
        floor = outcome.gain
    return floor


# --- branches ---------------------------------------------------------------------------------------------------------


def branched(gains: Gains, place: int) -> Iterator[tuple[Partial, int]]:
    """A subproblem's branches with the place at which each goes on: its first attribute at each level, with the next
    attribute that is not at its root at each of its own, or with none."""
    first = gains.order[place]
    for level in gains.choices[first]:
        for spot in range(place + 1, len(gains.order)):
            for other in gains.choices[gains.order[spot]]:
                yield ((first, level), (gains.order[spot], other)), spot + 1
        yield ((first, level),), len(gains.order)


def rounds(branches: Iterator[tuple[Partial, int]]) -> Iterator[list[tuple[Partial, int]]]:
    """The branches, so many at a time."""
    group: list[tuple[Partial, int]] = []
    for each in branches:
        group.append(each)
        if len(group) == ROUND:
            yield group
            group = []
    if group:
        yield group


def _diver(classifier: StringClassifier, gains: Gains, frontiers: Sequence[Frontier]) -> Diver:
    return Diver(classifier, gains, frontiers)


def _dived(diver: Diver, branch: SearchBranch) -> Outcome:
    return diver.dive(branch)


# --- the search on strings --------------------------------------------------------------------------------------------


class Distributed:
    """The search over the strings of `choices`, ascending levels of each attribute that has any.

    What is met is noted in `strings`, whose best success so far is where it begins, and whose bound it lowers.
    """

    def __init__(
        self, checker: Checker, strings: StringSearch, choices: Sequence[Sequence[int]], limits: Limits
    ) -> None:
        self.checker, self.strings, self.limits = checker, strings, limits
        self.top = checker.lattice.top
        values = [value.tolist() for value in strings.values]
        self._least = sum(value[-1] for value in values)
        of = [[value - each[-1] for value in each] for each in values]
        lower = [[level for level in levels if level < top] for levels, top in zip(choices, self.top, strict=True)]
        gains = Gains((), lower, of)
        order = sorted(range(len(values)), key=lambda index: (-gains.most(index), index))
        self.join = StringJoin(
            StringClassifier.of(checker),
            Gains(tuple(order), lower, of),
            limits,
            -math.inf,
            self._accepted,
            self._report_progress,
        )

    @property
    def proved(self) -> bool:
        """Whether the best string is proved."""
        return self.join.proved

    def run(self) -> None:
        """Searches from the best string that is known, or from the top of the lattice if that is safe."""
        safe_vectors = self.strings.successes[:1] or [each for each in (self.top,) if self.strings.check(each).safe]
        for vector in safe_vectors:
            chosen = dict(enumerate(vector))
            self.join.best = tuple(
                (index, chosen[index]) for index in self.join.gains.order if chosen[index] < self.top[index]
            )
            self.join.gain = self.join.gains.total(self.join.best)
        self.join.run()

    @property
    def account(self) -> dict[str, Any]:
        """For the report."""
        names = [attribute.name for attribute in self.checker.table.attributes]
        subsets = [
            {
                "attributes": [names[index] for index in each.frontier.attributes],
                "minimal_strings": each.frontier.minimal,
                "whole": each.frontier.whole,
            }
            for each in self.join.subsets
        ]
        looked = self.join.work + sum(each.frontier.work for each in self.join.subsets)
        return {"optimal": self.proved, "strings_looked_at": looked, "subsets": subsets}

    def _accepted(self, partial: Partial) -> bool:
        chosen = dict(partial)
        return self.strings.check(tuple(chosen.get(index, top) for index, top in enumerate(self.top))).safe

    def _report_progress(self, place: int, bound: float) -> None:
        """The further the subproblems are, the more is settled."""
        self.strings.bound = self._least + bound
        count = len(self.top)
        self.checker.settled(self.checker.total * (count - place) // (count + 1))
