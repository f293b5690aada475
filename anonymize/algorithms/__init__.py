"""Algorithms: from a table and its requirements to a recoding. One algorithm, one file, one line in `ALGORITHMS`."""

from __future__ import annotations

from anonymize.algorithms import (
    anatomy,
    bottom_up,
    bug,
    datafly,
    incognito,
    k_optimize,
    mingen,
    mondrian,
    mu_argus,
    randomize,
    recommended,
    research_value,
    samarati,
    tds,
    top_down,
)
from anonymize.algorithms.base import (
    Algorithm,
    Context,
    Needs,
    draws,
    files_of,
    reads_workload,
    why_not_reusable,
    without_effect,
    wrong_values,
)
from anonymize.algorithms.parsing import parse_options

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Context",
    "Needs",
    "draws",
    "files_of",
    "parse_options",
    "reads_workload",
    "why_not_reusable",
    "without_effect",
    "wrong_values",
]

ALGORITHMS: dict[str, Algorithm] = {
    recommended.ID: recommended,
    mondrian.ID: mondrian,
    top_down.ID: top_down,
    bottom_up.ID: bottom_up,
    datafly.ID: datafly,
    mu_argus.ID: mu_argus,
    samarati.ID: samarati,
    mingen.ID: mingen,
    incognito.ID: incognito,
    research_value.ID: research_value,
    tds.ID: tds,
    bug.ID: bug,
    k_optimize.ID: k_optimize,
    anatomy.ID: anatomy,
    randomize.ID: randomize,
}
