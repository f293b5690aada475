"""What the clustering methods do alike: rows are given up where they must be, groups that break a model are mended."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering.mend import Met, mend
from anonymize.algorithms.clustering.ncp import Corners, Penalty, codes_of
from anonymize.algorithms.feasibility import minimum_size, rows_to_suppress
from anonymize.classes import Bools, Integers, Ints, Partition
from anonymize.privacy import Groups, Histogram, Requirement, check
from anonymize.recoding import Regions
from anonymize.table import Table

Method = Callable[[Penalty, Corners, int], Partition]
"""(penalty, codes (attributes, n), k) -> the partition of rows 0 ... n - 1 into groups of at least k; n >= k."""


def cluster(table: Table, requirements: tuple[Requirement, ...], method: Method, context: Context) -> Regions:
    """The groups that the method finds, merged where they break a model."""
    suppressed = rows_to_suppress(table, requirements, context)
    rows = np.delete(np.arange(table.rows, dtype=np.uint32), suppressed)
    if not len(rows):
        return Regions(Partition.of_blocks([], []), suppressed)
    codes, penalty = codes_of(table.attributes, rows), Penalty.of(table.attributes)
    found = method(penalty, codes, minimum_size(requirements))
    if any(requirement.model != "k-anonymity" for requirement in requirements):
        found = mend(penalty, codes, found, met_by(table, requirements, rows))
    return Regions(Partition(rows[found.order], found.starts), suppressed)


def met_by(table: Table, requirements: tuple[Requirement, ...], rows: Integers) -> Met:
    """Whether groups of some of the table's rows, numbered 0 ... n - 1, meet every requirement."""
    asked = {requirement.attribute for requirement in requirements}
    columns = [(column, column.codes[rows]) for column in table.sensitive if column.name in asked]

    def met(of: Ints, groups: Ints, count: int) -> Bools:
        histograms = {
            column.name: Histogram.from_rows(groups, codes[of], count, column.size, column.missing, column.values)
            for column, codes in columns
        }
        return check(Groups(np.bincount(groups, minlength=count), histograms), requirements)

    return met
