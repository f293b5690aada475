"""mu-Argus: generalizes rare combinations of two and three values, then suppresses single cells.

What it does. The spec says how identifying an attribute is: `identifying: most | more | yes` (by default yes).

1. Each attribute is generalized separately to the lowest level at which each of its values is safe: the rows that show
   it, taken as one class, meet every requirement (under k-anonymity, there are k of them). For requirements on the
   table as a whole (`risk: marketer`, `sample-uniqueness`), no value is unsafe if all values, taken as the classes of a
   table, meet them.
2. Combinations of values of two and of three attributes are tested in the same way. As in Sweeney's description these
   are: yes and more; yes and most; more and most; most and most; yes, more and most; yes, most and most; more, most and
   most; most, most and most. So two attributes that are only `more` are never tested with each other. If all attributes
   are equally identifying, all pairs and triples are tested.
3. The data holder of the paper decides whether to generalize further. Here: while more rows than allowed have an unsafe
   combination or would lose a cell in step 4, the attribute in most unsafe combinations (the first in the spec of
   several) goes up one level, in all rows.
4. Then cells are suppressed. The value in most unsafe combinations (of several, that of the first attribute in the
   spec, the first in its hierarchy) is suppressed in the rows that have one of these, until no combination is left.
   Since fewer rows show the remaining combinations, others can become unsafe: they are tested again until all are safe.

The allowed rows of step 3 are the share `privacy.suppression`, which is 0 unless the spec says otherwise (then
generalization alone removes all unsafe combinations); with `--outliers k` it is k, whatever the spec's limit (without a
k, the smallest allowed class size). Rows that lose some cells do not count as suppressed rows.

`--time-limit` shortens step 3: once the time is up, attributes are generalized to their root at once, and the report's
`recoding` block has `stopped_early`. The release may then show less than without the limit. If interrupted, the levels
so far are printed on the terminal, and nothing is written.

What it guarantees. Every combination that is tested and shows no suppressed cell is safe, and no more rows than allowed
lose a cell. It does NOT guarantee k-anonymity or any other model of the spec: a combination of four attributes may
single out a person although no three of them do, some pairs and triples are not tested, and a row with suppressed cells
may be unique. The check of the release detects this: the command ends with exit code 1 and writes nothing, unless
`--allow-unsafe` is given. The report's `recoding` block counts the remaining `unsafe_combinations` of shown values by
their size (1 to 4, tested or not; a single value may have become rare by suppression), and the classes and rows that
fail.

Recoding model. Full-domain generalization, and suppression of single cells: a suppressed cell reads as the root of its
hierarchy. If even the whole table as one class fails, rows with the most frequent sensitive values are suppressed
first; they count among the allowed ones.

Cost. At most as many rounds of tests as the sum of the heights of the hierarchies, each sorting the distinct rows for
every pair and triple. A search that would sort more than 69 billion rows is refused: with hierarchies of three levels,
that is more than 50 equally identifying quasi-identifiers, however few the rows are.

Reference. Hundepool, Willenborg: mu- and tau-Argus, software for statistical disclosure control, 1996; as described in
Sweeney: Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5), 2002.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from anonymize.algorithms.base import CELL_SUPPRESSION, Context, Needs, of_levels, option
from anonymize.algorithms.deadline import INTERRUPTED, Deadline, ended_by
from anonymize.algorithms.feasibility import allowed_rows, outliers_option
from anonymize.algorithms.lattice import FrequencySet, Lattice, Vector
from anonymize.algorithms.remaining import Remaining, remaining
from anonymize.algorithms.tested import Subset, Value, check_tests, lost_values, tested
from anonymize.classes import Bools, Ints, KeyGroups, Partition, mixed_radix
from anonymize.errors import InfeasibleError, Problem
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.records import dataclass
from anonymize.table import Table

ID = "mu-argus"
NEEDS = Needs(
    CELL_SUPPRESSION,
    guarantees=False,
    units=True,
    reusable=False,
    uses=frozenset({"identifying"}),
    counted=True,
    levels=True,
)

COUNTED = (1, 2, 3, 4)
"""Sizes of the combinations that the report counts."""


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    outliers: str = outliers_option("lose cells", share="suppression")
    time_limit: float = option(0.0, "Seconds after which attributes go up to their roots; 0: no limit.", minimum=0)


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Levels:
    """The generalization and the suppressed cells that leave no tested combination unsafe. Raises UsageError for more
    tests than can be made."""
    allowed = allowed_rows(options.outliers, requirements, context)
    rows = remaining(table, requirements, replace(context, suppression_limit=min(allowed, context.suppression_limit)))
    identifying = [attribute.identifying or "yes" for attribute in table.attributes]
    distinct, row_of = FrequencySet.with_classes(table, requirements, rows.rows)
    check_tests(identifying, sum(hierarchy.height for hierarchy in distinct.hierarchies), distinct.size)
    subsets = tested(identifying)
    start, merged = distinct.rolled(_safe_alone(distinct))
    gone = len(rows.suppressed)
    climb = ArgusClimb(subsets, allowed - gone, context.suppression_limit - gone, Deadline(options.time_limit), context)
    context.best_so_far.describe = climb.described
    cells, into, counted = climb.run(ShownCells.of(start))
    climb.tell(table.rows)
    chosen = {"allowed_rows": allowed, "tested_subsets": len(subsets), **counted, **_left_unsafe(cells)}
    if options.time_limit:
        chosen["stopped_early"] = climb.late
    if climb.late and ended_by() == INTERRUPTED:
        chosen["stopped"] = INTERRUPTED
    return _recoding(table, rows, cells, into[merged[row_of]], chosen)


# --- what rows show, and what is unsafe about it ----------------------------------------------------------------------


@dataclass(frozen=True)
class Combinations:
    """The values that distinct rows show in some attributes.

    `subset`: the attributes. `of_row` (rows,) number of each row's combination, -1 for a row with a suppressed cell
    among them. `first` (combinations,) a row of each. `safe` (combinations,).
    """

    subset: Subset
    of_row: Ints
    first: Ints
    safe: Bools

    @property
    def unsafe(self) -> Ints:
        """Numbers of the unsafe ones."""
        return np.flatnonzero(~self.safe)

    @property
    def rows(self) -> Bools:
        """(rows,) whether each row has an unsafe one."""
        return np.asarray(~np.append(self.safe, True)[self.of_row])


@dataclass(frozen=True)
class ShownCells:
    """The distinct rows at a level vector, and which of their cells are suppressed, (rows, attributes).

    The cells of an attribute that is at its root show nothing: they are part of no combination, suppressed or not.
    """

    frequency_set: FrequencySet
    suppressed: Bools

    @classmethod
    def of(cls, frequency_set: FrequencySet) -> ShownCells:
        """These rows without any suppressed cell."""
        return cls(frequency_set, np.zeros((frequency_set.size, len(frequency_set.vector)), np.bool_))

    def combinations(self, subset: Subset) -> Combinations:
        """The values shown in some attributes, each combination tested as one class of the rows that show it."""
        rows = np.flatnonzero(~self.suppressed[:, subset].any(axis=1))
        columns = [self.frequency_set.columns[index][rows] for index in subset]
        sizes = [self.frequency_set.hierarchies[index].sizes[self.frequency_set.vector[index]] for index in subset]
        grouping = KeyGroups.of(*mixed_radix(columns, sizes))
        of_row = np.full(self.frequency_set.size, -1)
        of_row[rows] = grouping.group
        safe = self.frequency_set.meets(of_row, len(grouping.starts))
        return Combinations(subset, of_row, rows[grouping.first], safe)

    def unsafe(self, subsets: Iterable[Subset]) -> list[Combinations]:
        """The combinations of the subsets that have unsafe ones, and whose attributes are all below their roots."""
        levels = list(zip(self.frequency_set.vector, self.frequency_set.hierarchies, strict=True))
        below = {index for index, (level, hierarchy) in enumerate(levels) if level < hierarchy.height}
        by_subset = (self.combinations(subset) for subset in subsets if below.issuperset(subset))
        return [each for each in by_subset if not each.safe.all()]

    def as_read(self) -> tuple[Ints, int]:
        """(rows,) which class of the release each distinct row is in, and how many classes there are."""
        columns = [
            np.where(hidden, hierarchy.sizes[level], column)
            for column, hidden, hierarchy, level in zip(
                self.frequency_set.columns,
                self.suppressed.T,
                self.frequency_set.hierarchies,
                self.frequency_set.vector,
                strict=True,
            )
        ]
        sizes = [
            hierarchy.sizes[level] + 1
            for hierarchy, level in zip(self.frequency_set.hierarchies, self.frequency_set.vector, strict=True)
        ]
        grouping = KeyGroups.of(*mixed_radix(columns, sizes))
        return grouping.group, len(grouping.starts)

    @property
    def losing(self) -> int:
        """Rows of the table that have a suppressed cell."""
        return self.rows_with(np.asarray(self.suppressed.any(axis=1)))

    @property
    def _hiding(self) -> Bools:
        """(rows,) which show nothing: each cell is suppressed, or at its root."""
        pairs = zip(self.frequency_set.vector, self.frequency_set.hierarchies, strict=True)
        at_root = [level == hierarchy.height for level, hierarchy in pairs]
        return np.asarray((self.suppressed | np.array(at_root)).all(axis=1))

    @property
    def hidden(self) -> int:
        """Rows of the table that show nothing."""
        return self.rows_with(self._hiding)

    @property
    def blank(self) -> bool:
        """Whether all do."""
        return bool(self._hiding.all())

    def rows_with(self, which: Bools) -> int:
        """Rows of the table that some of the distinct rows (rows,) stand for."""
        return int(self.frequency_set.counts[which].sum())


def _safe_alone(distinct: FrequencySet) -> Vector:
    """Step 1: for each attribute the lowest level, of those that may be shown, at which each of its values is safe; the
    highest where none is."""
    vector, lattice = [], Lattice.between([hierarchy.attribute for hierarchy in distinct.hierarchies])
    for index, (low, high) in enumerate(zip(lattice.bottom, lattice.top, strict=True)):
        alone = distinct.restrict([index])
        rolled = (alone.roll_up((level,)) for level in range(low, high))
        safe = (bool(each.meets(np.arange(each.size), each.size).all()) for each in rolled)
        vector.append(next((level for level, each in enumerate(safe, low) if each), high))
    return tuple(vector)


# --- generalization, and then suppression -----------------------------------------------------------------------------


class ArgusClimb:
    """Steps 2 to 4. `allowed`: rows that may lose cells; `hidden`: rows that may lose them all. `late`: whether the
    deadline was met before the end; then an attribute goes up to its root at once."""

    def __init__(self, subsets: list[Subset], allowed: int, hidden: int, deadline: Deadline, context: Context) -> None:
        self.subsets, self.allowed, self.hidden = subsets, allowed, hidden
        self.deadline, self.late = deadline, False
        self._context, self._reported, self._unsafe = context, 0, 0
        self._cells: ShownCells | None = None

    def run(self, cells: ShownCells) -> tuple[ShownCells, Ints, dict[str, Any]]:
        """What is shown in the end, (rows,) which distinct row each at the start became, and figures."""
        into, steps = np.arange(cells.frequency_set.size), 0
        unsafe = self._tested(cells)
        at_first = self._unsafe
        while True:
            affected = cells.rows_with(np.any([each.rows for each in unsafe], axis=0)) if unsafe else 0
            if affected <= self.allowed:
                mended = _suppress(cells, unsafe, self.subsets)
                if mended.losing <= self.allowed and (mended.hidden <= self.hidden or mended.blank):
                    return mended, into, {"tested_unsafe": at_first, "generalizations": steps}
            self.late = self.late or self.deadline.passed
            if not any(_to_climb(cells.frequency_set)):
                message = (
                    "levels: mu-argus found no release in which no column is above its highest level, and at most "
                    f"{self.allowed} rows lose cells"
                )
                raise InfeasibleError(Problem(message, hint="raise levels.max, or allow more with --outliers"))
            frequency_set, group = cells.frequency_set.rolled(_raised(cells.frequency_set, unsafe, whole=self.late))
            cells, into, steps = ShownCells.of(frequency_set), group[into], steps + 1
            unsafe = self._tested(cells)

    def _tested(self, cells: ShownCells) -> list[Combinations]:
        """The unsafe combinations; tells the progress how far the attributes have come."""
        unsafe = cells.unsafe(self.subsets)
        self._cells, self._unsafe = cells, sum(len(each.unsafe) for each in unsafe)
        heights = sum(hierarchy.height for hierarchy in cells.frequency_set.hierarchies)
        rows = int(cells.frequency_set.counts.sum())
        self.tell(rows * sum(cells.frequency_set.vector) // max(heights, 1))
        return unsafe

    def tell(self, rows: int) -> None:
        """Tells the progress that so many rows are as good as done."""
        self._context.progress(max(rows - self._reported, 0))
        self._reported = max(rows, self._reported)

    def described(self) -> str | None:
        """How far it has come, in a sentence."""
        if self._cells is None:
            return None
        frequency_set = self._cells.frequency_set
        named = {
            hierarchy.attribute.name: level
            for hierarchy, level in zip(frequency_set.hierarchies, frequency_set.vector, strict=True)
        }
        return of_levels(named, f"{self._unsafe} tested combinations of values are still unsafe", None)


def _to_climb(frequency_set: FrequencySet) -> list[int]:
    """How many levels each attribute can still go up."""
    highest = Lattice.between([hierarchy.attribute for hierarchy in frequency_set.hierarchies]).top
    return [top - level for top, level in zip(highest, frequency_set.vector, strict=True)]


def _raised(frequency_set: FrequencySet, unsafe: list[Combinations], *, whole: bool) -> Vector:
    """One level up, or the `whole` way, in the attribute in most unsafe combinations, the first of several, among those
    that can go up."""
    vector, left = frequency_set.vector, _to_climb(frequency_set)
    counts = [
        sum(len(each.unsafe) for each in unsafe if index in each.subset) if left[index] else -1
        for index in range(len(vector))
    ]
    most = counts.index(max(counts))
    level = vector[most] + (left[most] if whole else 1)
    return (*vector[:most], level, *vector[most + 1 :])


def _suppress(cells: ShownCells, unsafe: list[Combinations], subsets: list[Subset]) -> ShownCells:
    """Step 4: cells suppressed until no combination is unsafe; `unsafe` are those that are."""
    while unsafe:
        suppressed = cells.suppressed.copy()
        lost = iter(lost_values([values for each in unsafe for values in _values(cells, each)]))
        for each in unsafe:
            of_combination = np.full(len(each.safe) + 1, -1)
            of_combination[each.unsafe] = [next(lost) for _ in each.unsafe]
            loses = of_combination[each.of_row]
            suppressed[loses >= 0, loses[loses >= 0]] = True
        cells = ShownCells(cells.frequency_set, suppressed)
        unsafe = cells.unsafe(subsets)
    return cells


def _values(cells: ShownCells, combined: Combinations) -> list[tuple[Value, ...]]:
    rows = combined.first[combined.unsafe]
    columns = [
        [(index, value) for value in cells.frequency_set.columns[index][rows].tolist()] for index in combined.subset
    ]
    return list(zip(*columns, strict=True))


# --- what comes out ---------------------------------------------------------------------------------------------------


def _left_unsafe(cells: ShownCells) -> dict[str, Any]:
    """What is unsafe in the end: combinations of shown values by size, tested or not, and classes as they read."""
    attributes = range(len(cells.frequency_set.vector))
    unsafe = {}
    for size in COUNTED:
        if size <= len(attributes):
            failing = cells.unsafe(combinations(attributes, size))
            unsafe[str(size)] = sum(len(each.unsafe) for each in failing)
    of_row, count = cells.as_read()
    safe = cells.frequency_set.meets(of_row, count)
    return {
        "unsafe_combinations": unsafe,
        "failing_classes": int(np.count_nonzero(~safe)),
        "failing_rows": cells.rows_with(~safe[of_row]),
        "rows_with_suppressed_cells": cells.losing,
    }


def _recoding(table: Table, rows: Remaining, cells: ShownCells, row_of: Ints, chosen: Any) -> Levels:
    """The release: rows that read the same form a class, and a suppressed cell is at its root. `row_of` (remaining,):
    the distinct row of each row."""
    of_row, _ = cells.as_read()
    partition = Partition.of_labels(of_row[row_of])
    first = row_of[partition.order[partition.starts[:-1]]]
    top = [hierarchy.height for hierarchy in cells.frequency_set.hierarchies]
    levels = np.where(cells.suppressed[first], top, cells.frequency_set.vector).astype(np.int16)
    names = [attribute.name for attribute in table.attributes]
    chosen = {"levels": dict(zip(names, cells.frequency_set.vector, strict=True)), **chosen}
    return Levels(rows.renumbered(partition), levels, rows.suppressed, chosen)
