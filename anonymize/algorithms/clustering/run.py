"""What the clustering methods do alike: rows are given up where they must be, groups that break a model are mended."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering.mend import Met, mend
from anonymize.algorithms.clustering.ncp import Corners, Penalty, codes_of
from anonymize.algorithms.crowds import check_region, crowds_of, refuse_gaps
from anonymize.algorithms.feasibility import beyond_size, minimum_size, rows_to_suppress
from anonymize.classes import Bools, Ints, Partition
from anonymize.privacy import Groups, Histogram, Requirement, Whole, check, sizes_of
from anonymize.recoding import Regions
from anonymize.table import Table

Method = Callable[[Penalty, Corners, int], Partition]
"""(penalty, codes (attributes, n), k) -> the partition of rows 0 ... n - 1 into groups of at least k; n >= k."""


def cluster(table: Table, requirements: tuple[Requirement, ...], method: Method, context: Context) -> Regions:
    """The groups that the method finds, merged where they break a model."""
    refuse_gaps(requirements)
    suppressed = rows_to_suppress(table, requirements, context)
    rows = np.delete(np.arange(table.rows, dtype=np.uint32), suppressed)
    if not len(rows):
        return Regions(Partition.of_blocks([], []), suppressed)
    check_region(table, requirements, rows)
    codes, penalty = codes_of(table.attributes, rows), Penalty.of(table.attributes)
    found = method(penalty, codes, minimum_size(requirements))
    if beyond_size(table, requirements):
        found = mend(penalty, codes, found, met_by(table, requirements, rows))
    return Regions(Partition(rows[found.order], found.starts), suppressed)


def met_by(table: Table, requirements: tuple[Requirement, ...], rows: NDArray[np.uint32]) -> Met:
    """Whether groups of some of the table's rows, numbered 0 ... n - 1, meet every requirement.

    These rows are all that is released: distributions are compared with theirs.
    """
    asked = {requirement.attribute for requirement in requirements}
    columns = [
        (column, column.codes[rows], Whole.of(column, rows, table.units))
        for column in table.sensitive
        if column.name in asked
    ]

    def met(of: Ints, groups: Ints, count: int) -> Bools:
        whom = None if table.units is None else table.units[rows[of]]
        histograms = {
            column.name: Histogram.of(column, groups, count, codes[of], whole, whom) for column, codes, whole in columns
        }
        found = [attribute.codes[rows[of]] for attribute in table.attributes] if table.populations else []
        crowds = crowds_of(table, found, groups, count)
        return check(Groups(sizes_of(groups, count, whom), histograms, crowds), requirements)

    return met
