"""Algorithms: from a table and its requirements to a recoding. One algorithm, one file, one line in `ALGORITHMS`."""

from __future__ import annotations

from anonymize.algorithms.base import (
    Algorithm,
    Context,
    Needs,
    Registry,
    draws,
    files_of,
    parse_options,
    reads_workload,
    to_be_reusable,
    why_not_reusable,
    without_effect,
    wrong_values,
)

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Context",
    "Needs",
    "draws",
    "files_of",
    "parse_options",
    "reads_workload",
    "to_be_reusable",
    "why_not_reusable",
    "without_effect",
    "wrong_values",
]

ALGORITHMS: Registry[Algorithm] = Registry(
    __name__,
    {
        "release": "recommended",
        "mondrian": "mondrian",
        "top-down": "top_down",
        "bottom-up": "bottom_up",
        "datafly": "datafly",
        "mu-argus": "mu_argus",
        "samarati": "samarati",
        "mingen": "mingen",
        "incognito": "incognito",
        "research-value": "research_value",
        "tds": "tds",
        "bug": "bug",
        "k-optimize": "k_optimize",
        "anatomy": "anatomy",
        "randomize": "randomize",
        "perturb": "perturb",
        "synthesize": "synthesize",
        "safepub": "safepub",
    },
)
"""By ID, and the module of each, which is imported when it is first asked for."""
