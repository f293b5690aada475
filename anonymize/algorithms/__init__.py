"""Algorithms: from a table and its requirements to a recoding. One algorithm, one file, one line in `ALGORITHMS`."""

from __future__ import annotations

from anonymize.algorithms import (
    bug,
    datafly,
    incognito,
    k_optimize,
    mingen,
    mondrian,
    mu_argus,
    research_value,
    samarati,
    tds,
)
from anonymize.algorithms.base import Algorithm, Context, Needs, reads_workload, why_not_reusable

__all__ = ["ALGORITHMS", "Algorithm", "Context", "Needs", "reads_workload", "why_not_reusable"]

ALGORITHMS: dict[str, Algorithm] = {
    mondrian.ID: mondrian,
    datafly.ID: datafly,
    mu_argus.ID: mu_argus,
    samarati.ID: samarati,
    mingen.ID: mingen,
    incognito.ID: incognito,
    research_value.ID: research_value,
    tds.ID: tds,
    bug.ID: bug,
    k_optimize.ID: k_optimize,
}
