"""A clustering method and what it begins with: its classes, refined, or those of another method that come to less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering.ncp import weighted_ncp
from anonymize.algorithms.clustering.run import Method, cluster
from anonymize.algorithms.refining.resources import Refinable
from anonymize.algorithms.starts import Trial, starts_by_name
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.table import Table


def clustered(
    table: Table,
    requirements: tuple[Requirement, ...],
    name: str,
    method: Callable[[Context], Method],
    refinement: Refinable | None,
    context: Context,
) -> Regions:
    """The groups that a method makes, the algorithm of a `name`; `refinement`: how they, or what another method begins
    with, are refined, None for not at all."""
    groups = cluster(table, requirements, method(context), context)
    if refinement is None or not groups.partition.count:
        return groups

    def own(other: Context) -> Regions:
        """The groups where chance is that of another seed."""
        alike = (other.seed or 0) == (context.seed or 0)
        return groups if alike else cluster(table, requirements, method(other), other)

    starts = starts_by_name(table, requirements, np.sort(groups.partition.order), groups.suppressed)
    best = Trial(table, requirements, refinement, context).best(starts | {name: own})
    story = {"ncp_weighted_before": weighted_ncp(table.attributes, groups.partition), "start": best.name}
    account = best.regions.refinement
    return replace(best.regions, refinement={**account, **story}) if account else best.regions
