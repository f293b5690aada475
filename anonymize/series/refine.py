"""Classes of a release, cut further where the people of every part are enough: Mondrian from the cuts so far.

Each class is of one history. Its parts have to meet the guarantee, and to have the reserve beside k: a class that has
become small is left as it is.
"""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.cuts import RULES
from anonymize.algorithms.splitting.batch import Batch
from anonymize.algorithms.splitting.grow import grow
from anonymize.classes import Bools, Ints, Partition, concatenated_ranges
from anonymize.series.guarantee import Guarantee
from anonymize.table import Table


def refined(
    table: Table, guarantee: Guarantee, partition: Partition, cut: str, minimum: int, threads: int
) -> Partition:
    """The classes that a rule cuts the larger ones of a partition into, beside the smaller ones."""
    large = partition.sizes >= 2 * minimum
    if not large.any():
        return partition
    rule = RULES[cut](
        domains=[attribute.domain for attribute in table.attributes],
        weights=[attribute.weight for attribute in table.attributes],
        minimum=minimum,
        relaxed=False,
    )
    released = np.sort(partition.order)

    def allowed(batch: Batch, part: Ints, parts: int) -> Bools:
        return guarantee.meets(part, parts, batch.rows.astype(np.int64), released)

    finer = grow(_batch(table, partition, np.flatnonzero(large)), rule, allowed, threads, lambda rows: None)
    rest = np.repeat(~large, partition.sizes)
    return Partition.of_blocks([finer.order, partition.order[rest]], [finer.sizes, partition.sizes[~large]])


def _batch(table: Table, partition: Partition, classes: Ints) -> Batch:
    """Some classes of a partition, none of them cut yet."""
    sizes = partition.sizes[classes]
    rows = partition.order[concatenated_ranges(partition.starts[:-1][classes], sizes)]
    shape = (len(classes), len(table.attributes))
    columns = tuple(attribute.codes[rows] for attribute in table.attributes)
    return Batch(rows, columns, (), sizes, np.zeros(shape, np.bool_), np.zeros(shape, np.uint8))
