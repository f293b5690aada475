"""Classes of a release, cut further where the people of every part are enough: Mondrian from the cuts so far.

Each class is of one history. Its parts have to meet the guarantee, and to have the reserve beside k: a class that has
become small is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from anonymize.algorithms import mondrian
from anonymize.algorithms.cuts import RULES, CutRule
from anonymize.algorithms.splitting.batch import Batch
from anonymize.algorithms.splitting.grow import grow
from anonymize.classes import Bools, Ints, Partition, concatenated_ranges
from anonymize.request import Request
from anonymize.series.guarantee import PublishedValues
from anonymize.table import Table

WORK = 125_000
"""Rows that are looked at when new classes are refined, over all passes."""
MOST = 20
"""Passes, where the request leaves them to the search."""


Rule: TypeAlias = Callable[..., CutRule]
"""Makes a rule by which classes are cut, of what all rules are made with."""


def further_cut(request: Request) -> Rule | None:
    """What makes the rule by which classes of the release before are cut; None where they are taken as they were.
    In place of one that looks at more than the quasi-identifiers it is the first of those that do not."""
    if request.algorithm != mondrian.ID or request.options.mask_minimality:
        return None
    cut = request.options.cut if request.options.cut in mondrian.CANDIDATES else mondrian.CANDIDATES[0]
    return partial(RULES[cut], **mondrian.ties_of(cut, request.options.ties))


def lasting(request: Request, people: int) -> Request:
    """The request as it is run on people who come. Their classes last for as long as the series, so that Mondrian's are
    refined, in as many passes as `WORK` allows: classes of a series lie among each other in any case."""
    options = request.options
    if request.algorithm != mondrian.ID or options.mask_minimality or options.refine:
        return request
    passes = min(options.passes or MOST, WORK // people)
    return request if not passes else replace(request, options=replace(options, refine=True, passes=passes))


def finer(
    table: Table, published: PublishedValues, history: Ints, partition: Partition, cut: Rule, minimum: int
) -> Partition:
    """The classes that a rule, made by `cut`, cuts the larger ones of a partition into, beside the smaller ones.
    `history` (rows,): of each row of the table. A part is allowed where the models hold of any so many people of its
    history, so that no cut depends on who of them has which value."""
    large = partition.sizes >= 2 * minimum
    if not large.any():
        return partition
    rule = cut(
        domains=[attribute.domain for attribute in table.attributes],
        weights=[attribute.weight for attribute in table.attributes],
        minimum=minimum,
        relaxed=False,
    )

    def allowed(batch: Batch, part: Ints, parts: int) -> Bools:
        of_part = np.zeros(parts, np.int64)
        of_part[part] = history[batch.rows]
        return published.hold(of_part, np.bincount(part, minlength=parts))

    parts = grow(_batch(table, partition, np.flatnonzero(large)), rule, allowed, 1, lambda rows: None)
    rest = np.repeat(~large, partition.sizes)
    return Partition.of_blocks([parts.order, partition.order[rest]], [parts.sizes, partition.sizes[~large]])


def _batch(table: Table, partition: Partition, classes: Ints) -> Batch:
    """Some classes of a partition, none of them cut yet."""
    sizes = partition.sizes[classes]
    rows = partition.order[concatenated_ranges(partition.starts[:-1][classes], sizes)]
    shape = (len(classes), len(table.attributes))
    columns = tuple(attribute.codes[rows] for attribute in table.attributes)
    return Batch(rows, columns, (), sizes, np.zeros(shape, np.bool_), np.zeros(shape, np.uint8))
