"""A clustering method and what it begins with: its classes, refined, or those of another method that come to less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering.ncp import weighted_ncp
from anonymize.algorithms.clustering.run import Method, cluster
from anonymize.algorithms.refining.options import Refinable
from anonymize.algorithms.starts import Trial, starts_by_name
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.table import Table


def clustered(
    table: Table,
    requirements: tuple[Requirement, ...],
    name: str,
    method: Method,
    refinement: Refinable | None,
    context: Context,
) -> Regions:
    """The groups that a method makes, the algorithm of a `name`; `refinement`: how they, or what another method begins
    with, are refined, None for not at all."""
    regions = cluster(table, requirements, method, context)
    if refinement is None or not regions.partition.count:
        return regions
    starts = starts_by_name(table, requirements, np.sort(regions.partition.order), regions.suppressed)
    best = Trial(table, requirements, refinement, context).best(starts | {name: lambda context: regions})
    story = {"ncp_weighted_before": weighted_ncp(table.attributes, regions.partition), "start": best.name}
    regions = best.regions
    return replace(regions, refinement={**regions.refinement, **story}) if regions.refinement else regions
