"""What the clustering methods have in common: giving up rows where necessary, and mending groups that break a model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering.mend import Met, mend
from anonymize.algorithms.clustering.ncp import Corners, Penalty, codes_of
from anonymize.algorithms.feasibility import beyond_size, minimum_size
from anonymize.algorithms.remaining import remaining_in_region
from anonymize.classes import Bools, Ints, Partition
from anonymize.judging import Judge
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.table import Table

Method = Callable[[Penalty, Corners, int], Partition]
"""(penalty, codes (attributes, n), k) -> the partition of rows 0 ... n - 1 into groups of at least k; n >= k."""


def cluster(table: Table, requirements: tuple[Requirement, ...], method: Method, context: Context) -> Regions:
    """The groups that the method finds, merged where they break a model."""
    rows = remaining_in_region(table, requirements, context)
    if not len(rows):
        return Regions(Partition.of_blocks([], []), rows.suppressed)
    return Regions(grouped(table, requirements, rows.rows, method), rows.suppressed)


def grouped(table: Table, requirements: tuple[Requirement, ...], rows: NDArray[np.uint32], method: Method) -> Partition:
    """The groups that the method finds among some rows of the table, ascending, merged where they break a model."""
    codes, penalty = codes_of(table.attributes, rows), Penalty.of(table.attributes)
    partition = method(penalty, codes, minimum_size(requirements))
    if beyond_size(table, requirements):
        partition = mend(penalty, codes, partition, met_by(table, requirements, rows))
    return partition.renumbered(rows)


def met_by(table: Table, requirements: tuple[Requirement, ...], rows: NDArray[np.uint32]) -> Met:
    """Whether groups of some of the table's rows, numbered 0 ... n - 1, meet every requirement.

    These rows are all that is released: distributions are compared with theirs.
    """
    judge = Judge(table, requirements, rows)

    def met(numbers: Ints, groups: Ints, count: int) -> Bools:
        return judge.meets(groups, count, judge.pick(rows[numbers]))

    return met
