"""Rare values of a column, pooled under one label.

Which values are rare is measured, so that the pool tells something by itself: a value that is shown has so many rows,
and whoever knows all rows but one may tell from a value's being in the pool or not whether that row has it. Nothing
that is pooled is told apart, and the pool never stands for one value or for fewer rows than are asked for: where the
rare values are too few, the next rarest join them, all of one count together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import groupby

import numpy as np

from anonymize.domain.taxonomy import Taxonomy


def frequent(counts: Mapping[str, int], below: int) -> frozenset[str]:
    """The values that stay out of the pool, given the rows of each value.

    >>> sorted(frequent({"cook": 40, "clerk": 30, "nun": 3, "judge": 2}, 5))
    ['clerk', 'cook']
    >>> sorted(frequent({"cook": 40, "clerk": 30, "nun": 3}, 5))
    ['cook']
    """
    pooled: list[str] = []
    rows = 0
    for count, values in groupby(sorted(counts, key=lambda value: counts[value]), key=lambda value: counts[value]):
        if count >= below and (not pooled or (rows >= below and len(pooled) > 1)):
            break
        ordered = list(values)
        pooled += ordered
        rows += count * len(ordered)
    return frozenset(counts).difference(pooled)


def frequent_in(hierarchy: Taxonomy) -> Collection[str]:
    """The values that a hierarchy with a pool has left out of it."""
    alone = hierarchy.levels[1] == np.arange(hierarchy.size)
    return {text for text, single in zip(hierarchy.leaf_text(), alone.tolist(), strict=True) if single}
