"""The rows that a search works on: those that can be released at all once others have been given up, and, where a
spec declares highest levels, those of each part that no class may leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.base import Context
from anonymize.algorithms.deadline import Deadline
from anonymize.algorithms.feasibility import rows_to_suppress
from anonymize.classes import KeyGroups, Partition, mixed_radix
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.judging import Judge
from anonymize.privacy import MODELS, Assessment, Requirement
from anonymize.recoding import Regions
from anonymize.records import dataclass
from anonymize.table import Table, model

# --- rows -------------------------------------------------------------------------------------------------------------
# The rows that a search works on: those that can be released at all, once others have been given up.
#
# Every method that does not suppress whole classes begins here. It finds out whether the table can meet its
# requirements, gives up the fewest rows that mend it, and refuses what regions cannot promise.


@dataclass(frozen=True)
class Remaining:
    """`rows`: numbers of the rows that a search may release, ascending. `suppressed`: those of the others."""

    rows: NDArray[np.uint32]
    suppressed: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.rows)

    def renumbered(self, partition: Partition) -> Partition:
        """A partition of these rows, counted from 0 without the others, as one of the table's rows."""
        return partition.renumbered(self.rows)


def remaining(table: Table, requirements: tuple[Requirement, ...], context: Context) -> Remaining:
    """The rows that meet every requirement as one class. Raises InfeasibleError where too many would have to go."""
    suppressed = rows_to_suppress(table, requirements, context)
    return Remaining(np.delete(np.arange(table.rows, dtype=np.uint32), suppressed), suppressed)


def remaining_in_region(table: Table, requirements: tuple[Requirement, ...], context: Context) -> Remaining:
    """The rows that remain for a method whose classes are released as the regions around their rows.

    Raises UsageError for a model that regions cannot meet, and InfeasibleError where the region around all rows does
    not meet one.
    """
    _refuse_gaps(requirements)
    rows = remaining(table, requirements, context)
    _check_region(table, requirements, rows.rows)
    return rows


def _refuse_gaps(requirements: Iterable[Requirement]) -> None:
    """Raises UsageError for a model that needs everybody of a population to be in some class."""
    if any(MODELS[each.model].needs_everybody(each.parameters) for each in requirements):
        hint = "set min to 0, or use full-domain generalization, such as incognito"
        raise UsageError(Problem("delta-presence with min above 0: regions leave people between them", hint=hint))


def _check_region(table: Table, requirements: Iterable[Requirement], rows: NDArray[np.uint32]) -> None:
    """Raises InfeasibleError where the region around these rows has too few people of a population in it."""
    of_population = [requirement for requirement in requirements if requirement.population is not None]
    if not of_population or not len(rows):
        return
    groups = Judge(table, of_population, rows).groups(np.zeros(len(rows), np.int64), 1)
    assessments = [Assessment(groups, requirement) for requirement in of_population]
    failing = [assessment for assessment in assessments if not assessment.satisfied]
    if failing:
        hint = "full-domain generalization, such as incognito, may show everything, and meets it"
        reached = failing[0].achieved.items()
        figures = ", ".join(f"{name}={value:.6g}" for name, value in reached if isinstance(value, int | float))
        message = f"{failing[0].requirement} is not met by the region around all {len(rows)} rows, which reaches"
        raise InfeasibleError(Problem(f"{message} {figures}", hint=hint))


# --- parts of rows ----------------------------------------------------------------------------------------------------
# Rows parted by the nodes of the highest levels that a spec declares, so that no class spans two of them.
#
# Each part is searched by itself: its classes meet the requirements, compared with the distributions of the whole
# table. Rows of a part that can meet nothing are suppressed, as far as rows may be.

Rows = NDArray[np.uint32]


class RegionSearch(Protocol):
    """The function of an algorithm that makes regions."""

    def __call__(
        self, table: Table, requirements: tuple[Requirement, ...], options: Any, context: Context
    ) -> Regions: ...


def within_levels(run: RegionSearch) -> RegionSearch:
    """Confines a search to the parts that declared levels make of a table."""

    @wraps(run)
    def parted(table: Table, requirements: tuple[Requirement, ...], options: Any, context: Context) -> Regions:
        parts = parts_of(table)
        if len(parts) < 2:
            return run(table, requirements, options, context)
        if getattr(options, "mask_minimality", False):
            raise UsageError(
                "--mask-minimality: rows that levels.max parts are searched apart, and may give others away"
            )
        return _Parted(table, requirements, options, context, parts).searched(run)

    return parted


def parts_of(table: Table) -> list[Rows]:
    """The rows under each combination of the nodes of the highest levels, ascending; all of them where there are none.
    Missing values are under the node that the hierarchy has for them."""
    bounded = [each for each in table.attributes if each.bounded]
    if not bounded or not table.rows:
        return [np.arange(table.rows, dtype=np.uint32)]
    nodes = [each.hierarchy.levels[each.highest][each.generalization.leaf_of(each.codes)] for each in bounded]
    groups = KeyGroups.of(*mixed_radix(nodes, [len(each.hierarchy.labels) for each in bounded]))
    order = np.argsort(groups.group, kind="stable").astype(np.uint32)
    return np.split(order, np.flatnonzero(np.diff(groups.group[order])) + 1)


def remaining_within(table: Table, requirements: tuple[Requirement, ...], context: Context) -> Remaining:
    """The rows that meet every requirement where each part is one class. Raises InfeasibleError where too many would
    have to go."""
    left, parts = remaining(table, requirements, context), parts_of(table)
    if len(parts) < 2:
        return left
    part = np.empty(table.rows, np.int64)
    for number, rows in enumerate(parts):
        part[rows] = number
    meets = Judge(table, requirements, left.rows).grants(part[left.rows], len(parts))
    stays = meets[part[left.rows]]
    suppressed = np.sort(np.concatenate([left.suppressed, left.rows[~stays]]))
    if len(suppressed) > context.suppression_limit or not stays.any():
        reason = "which as one class do not meet them"
        raise InfeasibleError(_unmet(table, len(parts), int((~meets).sum()), len(suppressed), context, reason))
    return Remaining(left.rows[stays], suppressed)


def _unmet(table: Table, parts: int, failing: int, rows: int, context: Context, reason: str) -> Problem:
    """What binds, and what would mend it."""
    names, limit = ", ".join(each.name for each in table.attributes if each.bounded), context.suppression_limit
    message = (
        f"levels.max of {names} parts the rows into {parts}, and {failing} of these parts ({rows} rows) cannot meet "
        f"the requirements with at most {limit} rows suppressed: {reason}"
    )
    share = min(float(np.ceil((rows + limit) / table.rows * 1e4) / 1e4), 1.0)
    return Problem(message, hint=f"raise levels.max, or allow it with --suppression {share:g}")


@dataclass(frozen=True)
class _Parted:
    """A table whose parts are searched one after the other."""

    table: Table
    requirements: tuple[Requirement, ...]
    options: Any
    context: Context
    parts: list[Rows]

    def searched(self, run: RegionSearch) -> Regions:
        """The classes of all parts. Raises InfeasibleError where more rows would be suppressed than may be."""
        left, deadline = self.context.suppression_limit, Deadline(getattr(self.options, "time_limit", 0.0))
        classes: list[Regions] = []
        lost: list[tuple[Rows, InfeasibleError]] = []
        for rows, part in self._tables():
            context = replace(self.context, suppression_limit=max(left, 0), save=False)
            options = replace(self.options, time_limit=deadline.left) if deadline.given else self.options
            try:
                regions = run(part, self.requirements, options, context)
            except InfeasibleError as error:
                lost.append((rows, error))
                left -= len(rows)
                continue
            left -= len(regions.suppressed)
            classes.append(
                replace(regions, partition=regions.partition.renumbered(rows), suppressed=rows[regions.suppressed])
            )
        if left < 0 or not classes:
            count, reason = sum(len(each) for each, _ in lost), lost[0][1].problems[0].message
            raise InfeasibleError(_unmet(self.table, len(self.parts), len(lost), count, self.context, reason))
        return self._together(classes, [rows for rows, _ in lost])

    def _tables(self) -> Iterator[tuple[Rows, Table]]:
        whole = tuple(
            each
            if each.everywhere is not None
            else replace(each, everywhere=np.bincount(each.codes, minlength=each.size).astype(np.int64))
            for each in self.table.sensitive
        )
        table = replace(self.table, sensitive=whole)
        for rows in self.parts:
            yield rows, model.subset(table, rows)

    def _together(self, classes: list[Regions], lost: list[Rows]) -> Regions:
        """The classes of all parts; everything else in the recoding is that of the largest one."""
        largest = max(classes, key=lambda each: len(each.partition.order))
        partition = Partition.of_blocks(
            [each.partition.order for each in classes], [each.partition.sizes for each in classes]
        )
        suppressed = np.sort(np.concatenate([*(each.suppressed for each in classes), *lost]))
        return replace(largest, partition=partition, suppressed=suppressed, tree=None, parts=len(self.parts))
