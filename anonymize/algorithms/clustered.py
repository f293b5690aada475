"""Where refinement begins: at the classes that come to less, the method's own or those of Mondrian.

No method loses least on every table, least of all under several models, and refinement does not leave the
neighbourhood of where it begins. So both are refined a little, and what then loses less is refined on.
"""

from __future__ import annotations

from dataclasses import replace

from anonymize.algorithms import mondrian
from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering.ncp import weighted_ncp
from anonymize.algorithms.clustering.run import Method, cluster
from anonymize.algorithms.refining.refine import Refinable, refined
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.table import Table

TRIAL_ROWS = 100_000
"""In a table of more rows, starts are compared as they are."""
TRIAL = Refinable(passes=2, sweeps=2)


def clustered(
    table: Table, requirements: tuple[Requirement, ...], method: Method, refinement: Refinable | None, context: Context
) -> Regions:
    """The groups that a method makes; `refinement`: how they, or Mondrian's classes, are refined, None for not at
    all."""
    regions = cluster(table, requirements, method, context)
    if refinement is None or not regions.partition.count:
        return regions
    begin = _better(table, requirements, regions, refinement, context)
    made = refined(table, requirements, begin, refinement, context)
    story = {**(made.refinement or {}), "ncp_weighted_before": weighted_ncp(table.attributes, regions.partition)}
    return replace(made, refinement=story) if made.refinement else made


def _better(
    table: Table, requirements: tuple[Requirement, ...], own: Regions, refinement: Refinable, context: Context
) -> Regions:
    """The method's classes, or Mondrian's where these come to less."""
    other = mondrian.classes_to_refine(table, requirements, context)
    silent = replace(context, refining=lambda done, total: None)
    tried = [own, replace(own, partition=other.partition)]
    if len(own.partition.order) <= TRIAL_ROWS:
        trial = replace(TRIAL, time_limit=refinement.time_limit / 10)
        tried = [refined(table, requirements, each, trial, silent) for each in tried]
    losses = [weighted_ncp(table.attributes, each.partition) for each in tried]
    return tried[1] if losses[1] < losses[0] else tried[0]
