"""Research value: full-domain generalization of the highest worth to a researcher, by weights and rules.

What it does. Every level of every quasi-identifier has a research value (see the metric `research_value`): the
attribute's weight, times how little its values are put together, times the share of its `keep_apart` rules that the
level keeps. A generalization string, which has one level for each attribute, has the sum of these. The safe string of
the highest research value is released; ties go to the one with the fewest attributes at their roots, then to the first
in lexicographic order. The report lists all safe strings that the search met, with both figures.

- Pre-pruning: levels at which an attribute by itself is not safe, with the levels below, are left out.
- `--search global`: the strings are sorted by research value, and the one in the middle of those left is checked. If it
  is safe, all of lower research value and all more general ones are dropped; if not, all more specific ones; until none
  is left.
- `--search local`: a binary search in all attributes at once, which balances them: after a safe string each goes half
  of the way that is left towards its values, else towards its root. A handful of checks.
- `--search hybrid`: local, then global among the strings that its checks have not settled.

What it guarantees. Every class meets every model of the spec within the suppression limit, or nothing is released.
Global and hybrid find the optimum as long as the strings fit in memory: nothing drops a string that could be better.
Local does not; where its own way meets no safe string, as may be where the top of the lattice is not safe, the global
search follows.

What prunes. That levels and strings below an unsafe one are unsafe too is concluded only where it holds: for monotone
models when no row may be suppressed and the spec has no `unit`, and else where too many rows fail k-anonymity, distinct
l-diversity or squared error diversity alone, as they then do at every string below. Any other unsafe string, such as
one that is unsafe by entropy l-diversity where rows may be suppressed, drops itself alone: the search stays exact and
checks more.

Memory. More strings than `--memory-limit` are not listed. The attributes are parted into subsets whose strings fit, in
the order of the spec; each is searched globally by itself, for a subset of a safe string is safe. The successes of the
subsets, evenly chosen where all their combinations would not fit, and always the most general string, are joined,
checked again and searched as above; the best goes down, step by step to the best safe string below, until none is safe.
What comes out is safe, and under monotone models minimal, and not always the optimum.

What a node stands for, and which of its rows are suppressed: as in `incognito`.

Recoding model. Full-domain generalization with suppression of rows.

Cost. Each check is a roll-up of distinct rows; the global search checks few strings, and sorts all of them.

Reference. Morton, Mahoui, Gibson, Yechuri: An enhanced utility-driven data anonymization method, sections 4 and 5.3,
figures 3 to 5. There the local search has no way to the most specific level of an attribute, and the joined successes
are not lowered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anonymize.algorithms.base import Context, Needs, option
from anonymize.algorithms.lattice.lattice import Vector
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.strings import StringSearch, every_string, joined, spread, subsets
from anonymize.errors import InfeasibleError, Problem
from anonymize.metrics.research_value import research_values
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.table import Table

ID = "research-value"
NEEDS = Needs(family="full-domain", uses=frozenset({"levels", "weights", "rules", "weights: correlation"}), units=True)


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    search: str = option("global", "How the strings are searched.", ("global", "local", "hybrid"))
    memory_limit: int = option(
        1_000_000, "Strings that fit in memory; more are searched in subsets of attributes.", minimum=1
    )


Choices = Sequence[Sequence[int]]
"""The levels of each attribute that are left, ascending."""


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Levels:
    """The best string that the search meets."""
    checker = Checker(table, requirements, context.suppression_limit, context.progress, context.published)
    choices = pre_pruned(checker)
    strings = search(checker, choices, options, research_values(table))
    successes = ranked(strings, checker.lattice.heights)
    if not successes:
        raise _infeasible(checker, parted=math.prod(map(len, choices)) > options.memory_limit)
    checker.settled(checker.total)
    return checker.recoding(successes[0], _chosen(table, strings, successes, choices))


def pre_pruned(checker: Checker) -> Choices:
    """The levels at which an attribute alone may be safe (figure 3): by the subset property, no string has others."""
    choices = []
    for index, height in enumerate(checker.lattice.heights):
        alone = _part(checker, [index])
        lowest = checker.lattice.bottom[index]
        unsafe = [level for level in range(lowest, height + 1) if alone.check((level,)).hopeless]
        choices.append(range(max(unsafe, default=lowest - 1) + 1, height + 1))
    return choices


def _part(checker: Checker, attributes: Sequence[int]) -> Checker:
    """The same check of strings of some attributes alone."""
    bottom = checker.bottom.restrict(attributes)
    return Checker.over(checker.table, bottom, checker.requirements, checker.suppression_limit)


def search(checker: Checker, choices: Choices, options: Options, values: Sequence[Any]) -> StringSearch:
    """All strings that the chosen search checks; none where an attribute has no level left."""
    size = math.prod(map(len, choices))
    strings = StringSearch(values, checker.check, lambda left: checker.settled(checker.total - left))
    if not size:
        return strings
    if options.search != "global":
        strings.locally(choices)
    if options.search == "local" and strings.successes:
        return strings
    if size <= options.memory_limit:
        strings.globally(every_string(choices))
    else:
        _in_parts(strings, checker, choices, options.memory_limit)
    return strings


def _in_parts(strings: StringSearch, checker: Checker, choices: Choices, limit: int) -> None:
    """The distributed version: subsets of attributes by themselves, their successes joined, the best one lowered."""
    parts = subsets([len(levels) for levels in choices], limit)
    count = max(1, math.floor(limit ** (1 / len(parts)) + 1e-9))
    lists = []
    for part in parts:
        alone = StringSearch([strings.values[index] for index in part], _part(checker, part).check)
        alone.globally(every_string([choices[index] for index in part]))
        top = tuple(choices[index][-1] for index in part)
        lists.append(spread([*(vector for vector in alone.successes if vector != top), top], count))
    strings.globally(joined(lists))
    if strings.successes:
        strings.lower(strings.successes[0], choices)


def ranked(strings: StringSearch, heights: Vector) -> list[Vector]:
    """The successes, the best first."""
    return sorted(strings.successes, key=lambda vector: (-strings.total(vector), roots(vector, heights), vector))


def roots(vector: Vector, heights: Vector) -> int:
    """How many attributes are at their roots."""
    return sum(level == height for level, height in zip(vector, heights, strict=True))


def _chosen(table: Table, strings: StringSearch, successes: list[Vector], choices: Choices) -> dict[str, Any]:
    """What the report says beside the levels."""
    heights = tuple(attribute.hierarchy.height for attribute in table.attributes)
    names = [attribute.name for attribute in table.attributes]
    listed = [
        {
            "levels": dict(zip(names, vector, strict=True)),
            "research_value": strings.total(vector),
            "root_attributes": roots(vector, heights),
        }
        for vector in successes
    ]
    best = {name: listed[0][name] for name in ("research_value", "root_attributes")}
    return {"strings": math.prod(map(len, choices)), **best, "successes": listed}


def _infeasible(checker: Checker, parted: bool) -> InfeasibleError:
    """Where strings were left out, it cannot be said that none is safe."""
    if not parted or checker.check(checker.lattice.top).hopeless:
        return checker.infeasible()
    message = "no safe generalization string was found among those that fit in memory"
    return InfeasibleError(Problem(message, hint="raise --memory-limit"))
