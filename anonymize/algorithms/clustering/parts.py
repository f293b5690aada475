"""Two stages: Mondrian cuts the table into parts, and what is quadratic in the rows is done inside each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from anonymize.algorithms.clustering.ncp import Corners, Penalty
from anonymize.algorithms.cuts import RULES
from anonymize.algorithms.splitting.batch import Batch
from anonymize.algorithms.splitting.grow import grow
from anonymize.classes import Ints, Partition

STARTS = WHOLE, MONDRIAN = "whole", "mondrian"
PART_ROWS = 1 << 10
"""Rows of a part at least; it has fewer than twice as many where values can be parted."""
SEVERAL = 16

Inside = Callable[[Corners], Partition]
"""codes (attributes, n) -> the partition of rows 0 ... n - 1."""


def parts(penalty: Penalty, codes: Corners, k: int, threads: int) -> Partition:
    """The parts of rows 0 ... n - 1, cut by Mondrian with the rule `rate`; each is large enough for several classes of
    k rows."""
    count, least = codes.shape[1], max(PART_ROWS, SEVERAL * k)
    whole = Batch.whole(np.arange(count, dtype=np.uint32), tuple(codes.astype(np.uint32)), ())
    rule = RULES["rate"](list(penalty.domains), list(penalty.weights), least, False)
    return grow(whole, rule, None, threads, lambda rows: None)


def in_parts(inside: Inside, codes: Corners, divided: Partition, threads: int) -> Partition:
    """The partition that `inside` makes of each part, side by side."""

    def labelled(part: int) -> Ints:
        rows = divided.order[divided.starts[part] : divided.starts[part + 1]]
        return inside(codes[:, rows]).class_of(len(rows)).astype(np.int64)

    labels, count = np.empty(codes.shape[1], np.int64), 0
    with ThreadPoolExecutor(threads) as executor:
        for part, group in enumerate(executor.map(labelled, range(divided.count))):
            labels[divided.order[divided.starts[part] : divided.starts[part + 1]]] = group + count
            count += int(group.max()) + 1
    return Partition.of_labels(labels)
