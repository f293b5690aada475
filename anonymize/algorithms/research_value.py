"""Research value: full-domain generalization with the highest research value, from weights and rules.

What it does. Every level of every quasi-identifier has a research value (see the metric `research_value`): the value
given by an expert, or the attribute's weight times the detail that the level keeps times the share of the rules that it
keeps. A generalization string, which has one level for each attribute, has the sum of these. The safe string with the
highest research value is released; ties go to the one with the fewest attributes at their roots, then to the first
found in lexicographic order. The report lists all safe strings that the search found, with both figures, and `gap`: by
how much another string may have a higher research value at most (0 if none has).

- Pre-pruning: levels at which an attribute alone is not safe are left out, with the levels below.
- `--search global`: the strings are sorted by research value, and the one in the middle of those left is checked. If it
  is safe, all of lower research value and all more general ones are dropped; if not, all more specific ones; until none
  is left.
- `--search local`: a binary search in all attributes at once, which balances them (after a safe string each goes half
  of the way that is left towards its values, else towards its root); then descents, one attribute at a time, from there
  and from the root; then exchanges, in which one attribute goes back to its root so that others can come down; then
  restarts from strings that are disturbed at random, the same in every run. `--checks` bounds how many strings it
  looks at.
- `--search hybrid`: the binary search of local and one descent, then global among the strings that these have not
  settled, at a quarter of those left.
- `--search distributed`: for lattices whose strings do not fit in memory. Subsets of the attributes are searched by
  branch and bound, the others at their roots: the last attribute, the last two, and so on, each of which bounds what
  these attributes can add to any string. A local search gives it a good string to begin with. Global and hybrid search
  in this way where there are more strings than `--memory-limit`.

What it guarantees. Every class meets every model of the spec within the suppression limit, or nothing is released.
Global, hybrid and distributed find the optimum, unless `--time-limit` or `--work` ends them: then `gap` says how far
off they may be. Local search proves no optimum: its gap is relative to every attribute at the lowest level that is safe
by itself. If it finds no safe string, which may happen if the top of the lattice is not safe, the global search
follows. The same options give the same release, except with `--time-limit`.

What prunes. Levels and strings below an unsafe one are ruled out only if they are certainly unsafe: for monotone models
if no row may be suppressed and the spec has no `unit`, and otherwise if too many rows fail k-anonymity, distinct
l-diversity or squared error diversity alone, because they then also fail at every string below. Any other unsafe
string, such as one that violates entropy l-diversity where rows may be suppressed, rules out only itself: the search
stays exact and checks more.

If interrupted, it prints the best string so far and the gap on the terminal; nothing is written.

For the meaning of a node, the suppressed rows and `--mask-minimality`, see `incognito`.

Recoding model. Full-domain generalization with suppression of rows.

Cost. Each check is a roll-up of distinct rows; the global search checks few strings, and sorts all of them. Hybrid
checks more strings than global if its descent does not pay off: for 177 of 500 tables with small lattices, half a check
more on average; for a third of 30 tables with up to 4,096 nodes, though a quarter fewer in all. In the distributed
search a look at a string reads each distinct row once, whatever the number of attributes; how many strings are looked
at grows with the number of safe ones.

Reference. Morton, Mahoui, Gibson, Yechuri: An enhanced utility-driven data anonymization method, sections 4 and 5.3,
figures 3 to 5. There the local search has no way to the most specific level of an attribute, ends after its binary
search, and the distributed one divides the attributes into subsets and joins what is safe in each, which is not proved
to be the best. Verfaillie, Lemaitre, Schiex: Russian doll search, AAAI 1996.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from anonymize.algorithms import deadline, lattice, minimality
from anonymize.algorithms.base import Context, Needs, of_levels, option
from anonymize.algorithms.lattice.branch_and_bound import BranchAndBound
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.strings import CHECKS, DECIMALS, LocalSearch, StringSearch, every_string
from anonymize.algorithms.minimality.descent import masked
from anonymize.errors import InfeasibleError, Problem
from anonymize.metrics.research_value import research_values
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.records import dataclass
from anonymize.table import Table

ID = "research-value"
NEEDS = Needs.of_full_domain("weights", "weights: correlation", "rules")

LOCAL = 1 << 32
"""Cells (distinct rows x attributes) that the local search reads where nothing else is asked for: a look at a string
reads all of them."""
READ_CELLS = 5_000
"""Million cells that the distributed search reads where nothing else is asked for."""
BELOW = 0.25
"""Where the hybrid search goes on among the strings that are left: they are all better than one that is known, and most
of them are not safe, which a string of lower research value settles for more of them."""


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    search: str = option("global", "How the strings are searched.", ("global", "local", "hybrid", "distributed"))
    memory_limit: int = option(
        1_000_000,
        "Strings that fit in memory; more are searched by branch and bound.",
        minimum=1,
        only_with={"search": ("global", "hybrid")},
    )
    checks: int = option(
        0,
        f"Strings that the local search looks at; 0: {CHECKS} for each level above the lowest, fewer of large tables.",
        minimum=0,
        only_with={"search": ("local", "distributed")},
    )
    work: int = option(
        0,
        f"Stop the distributed search after so many million cells read; 0: {READ_CELLS}, no limit with --time-limit.",
        minimum=0,
        only_with={"search": ("global", "hybrid", "distributed")},
    )
    time_limit: float = option(0.0, "Seconds after which the best string so far is taken; 0: no limit.", minimum=0)
    mask_minimality: bool = minimality.mask_option()


Choices = Sequence[Sequence[int]]
"""The levels of each attribute that are left, ascending."""


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Levels:
    """The best string that the search meets."""
    if options.mask_minimality:
        return masked(table, requirements, context, lambda checker: searched(checker, options, context).ranked[0])
    checker = Checker(table, requirements, context.suppression_limit, context.progress, context.published)
    search = searched(checker, options, context)
    return checker.recoding(search.ranked[0], _chosen(search))


def searched(checker: Checker, options: Options, context: Context) -> Search:
    """The search, done. Raises InfeasibleError where it met no safe string."""
    search = Search(checker, options)
    context.best_so_far.describe = search.described
    search.run()
    if not search.strings.successes:
        raise _infeasible(search)
    checker.settled(checker.total)
    return search


def pre_pruned(checker: Checker) -> Choices:
    """The levels at which an attribute alone may be safe (figure 3): by the subset property, no string has others."""
    choices = []
    for index, (low, high) in enumerate(zip(checker.lattice.bottom, checker.lattice.top, strict=True)):
        alone = Checker.over(
            checker.table, checker.bottom.restrict([index]), checker.requirements, checker.suppression_limit
        )
        unsafe = [level for level in range(low, high + 1) if alone.check((level,)).ruled_out]
        choices.append(range(max(unsafe, default=low - 1) + 1, high + 1))
    return choices


class Search:
    """The search that the options name. `strings`: what it checked, and the bound that it proved."""

    def __init__(self, checker: Checker, options: Options) -> None:
        self.checker, self.options = checker, options
        self.deadline = deadline.Deadline(options.time_limit)
        self.choices = pre_pruned(checker)
        self.size = math.prod(map(len, self.choices))
        self.strings = StringSearch(
            research_values(checker.table), checker.check, lambda left: checker.settled(checker.total - left)
        )
        self.bounded: BranchAndBound | None = None
        if self.size:
            lowest = zip(self.strings.values, self.choices, strict=True)
            self.strings.bound = sum(float(value[levels[0]]) for value, levels in lowest)

    def run(self) -> None:
        """Checks strings until the search ends; none where an attribute has no level left."""
        if not self.size:
            return
        way, fits = self.options.search, self.size <= self.options.memory_limit
        local = LocalSearch(self.strings, self.choices, self._local_left)
        if way == "hybrid" and fits:
            local.begin()
        if way in ("local", "distributed") or not fits:
            local.run()
        if way == "local" and self.strings.successes:
            return
        if way == "distributed" or not fits:
            self._branch_and_bound()
        else:
            share = BELOW if way == "hybrid" else 0.5
            self.strings.globally(every_string(self.choices), lambda: self.deadline.passed, share)

    def _local_left(self, checked: int) -> bool:
        levels = sum(len(levels) - 1 for levels in self.choices)
        late = self.deadline.passed and bool(self.strings.successes)
        cells = max(self.checker.bottom.size * len(self.choices), 1)
        return checked < (self.options.checks or min(CHECKS * max(levels, 1), max(LOCAL // cells, 1))) and not late

    def _branch_and_bound(self) -> None:
        million = self.options.work or (0 if self.options.time_limit else READ_CELLS)
        work = math.ceil(million * 1e6 / self.checker.bottom.size) if million else math.inf
        self.bounded = BranchAndBound(self.checker, self.strings, self.choices, work, self.deadline)
        self.bounded.run()

    @property
    def ranked(self) -> list[lattice.Vector]:
        """The successes, the best first."""
        total, heights = self.strings.total, self.checker.lattice.heights
        return sorted(self.strings.successes, key=lambda vector: (-total(vector), roots(vector, heights), vector))

    @property
    def late(self) -> bool:
        """Whether the deadline ended the search."""
        return self.deadline.passed and self.gap > 0

    @property
    def gap(self) -> float:
        """By how much at most another string may have a higher research value."""
        best = self.strings.total(self.strings.successes[0])
        return max(0.0, round(self.strings.bound - best, DECIMALS))

    def described(self) -> str | None:
        """The best so far in a sentence."""
        if not self.strings.successes:
            return None
        best = self.ranked[0]
        return of_levels(self.checker.named(best), f"research value {self.strings.total(best):.6g}", self.gap)


def roots(vector: lattice.Vector, heights: lattice.Vector) -> int:
    """How many attributes are at their roots."""
    return sum(level == height for level, height in zip(vector, heights, strict=True))


def _chosen(search: Search) -> dict[str, Any]:
    heights = search.checker.lattice.heights
    listed = [
        {
            "levels": search.checker.named(vector),
            "research_value": search.strings.total(vector),
            "root_attributes": roots(vector, heights),
        }
        for vector in search.ranked
    ]
    best = {name: listed[0][name] for name in ("research_value", "root_attributes")}
    bounded = {} if search.bounded is None else search.bounded.account
    ended = deadline.stopped(search.late)
    return {"strings": search.size, **best, "gap": search.gap, **ended, **bounded, "successes": listed}


def _infeasible(search: Search) -> InfeasibleError:
    """Where strings were left out, it cannot be said that none is safe."""
    checker, unfinished = search.checker, search.bounded is not None and not search.bounded.proved
    if not unfinished or checker.check(checker.lattice.top).ruled_out:
        return checker.infeasible()
    message = "the distributed search met no safe generalization string before its limit"
    return InfeasibleError(Problem(message, hint="raise --work, or --time-limit"))
