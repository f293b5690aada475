"""Refinement of the classes that lose most, where there is not the work for one pass over all of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering.ncp import GroupBoxes, Penalty, codes_of
from anonymize.algorithms.clustering.run import met_by
from anonymize.algorithms.feasibility import beyond_size, minimum_size
from anonymize.algorithms.refining.block import Met
from anonymize.algorithms.refining.options import Refinable
from anonymize.algorithms.refining.refine import Refinement
from anonymize.classes import Bools, Ints, Partition
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.table import Table


def refined_partly(
    table: Table,
    requirements: tuple[Requirement, ...],
    regions: Regions,
    options: Refinable,
    context: Context,
    share: float,
) -> Regions:
    """The same rows, of which those in the classes of highest weighted NCP a row, at most `share` of all, are in
    classes that lose no more. Between equal classes the first is taken. Distributions stay compared with all rows."""
    rows = np.sort(regions.partition.order)
    labels = regions.partition.class_of(table.rows)[rows].astype(np.int64)
    some = np.flatnonzero(_worst(table, regions.partition, share)[labels])
    if len(np.unique(labels[some])) < 2:
        return regions
    met = met_by(table, requirements, rows) if beyond_size(table, requirements) else None
    search = Refinement(
        table.attributes, rows[some], minimum_size(requirements), None if met is None else _of_some(met, some), context
    )
    with ThreadPoolExecutor(context.threads) as executor:
        partition, story = search.run(Partition.of_labels(labels[some]), options, executor)
    labels[some] = regions.partition.count + partition.class_of(len(some))
    together = Partition.of_labels(np.unique(labels, return_inverse=True)[1])
    return replace(regions, partition=together.renumbered(rows), refinement={**story, "rows": len(some)}, tree=None)


def _of_some(met: Met, some: Ints) -> Met:
    """`met` of rows that are numbered within some of them."""

    def met_of(numbers: Ints, groups: Ints, count: int) -> Bools:
        return met(some[numbers], groups, count)

    return met_of


def _worst(table: Table, partition: Partition, share: float) -> Bools:
    """(classes,) which lose most a row, as many as have at most a share of the rows."""
    codes = codes_of(table.attributes, np.arange(table.rows, dtype=np.uint32))
    loss = GroupBoxes.of(codes, partition).ncp(Penalty.of(table.attributes)) / partition.sizes
    order = np.argsort(-loss, kind="stable")
    chosen = np.zeros(partition.count, np.bool_)
    chosen[order[np.cumsum(partition.sizes[order]) <= share * len(partition.order)]] = True
    return chosen
