"""The rows that a search works on: those that can be released at all, once others have been given up.

Every method that does not suppress whole classes begins here. It finds out whether the table can meet its requirements,
gives up the fewest rows that mend it, and refuses what regions cannot promise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.base import Context
from anonymize.algorithms.feasibility import rows_to_suppress
from anonymize.classes import Partition
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.judging import Judge
from anonymize.privacy import MODELS, Requirement, assess
from anonymize.table import Table


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
    """The same for a method whose classes are released as the regions around their rows.

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
    assessments = [assess(groups, requirement) for requirement in of_population]
    failing = [assessment for assessment in assessments if not assessment.satisfied]
    if failing:
        hint = "full-domain generalization, such as incognito, may show everything, and meets it"
        reached = failing[0].achieved.items()
        figures = ", ".join(f"{name}={value:.6g}" for name, value in reached if isinstance(value, int | float))
        message = f"{failing[0].requirement} is not met by the region around all {len(rows)} rows, which reaches"
        raise InfeasibleError(Problem(f"{message} {figures}", hint=hint))
