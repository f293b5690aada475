"""Treatments: steps that change the values of single columns. One method, one file, one line in `TREATMENTS`."""

from __future__ import annotations

from anonymize.algorithms.base import Registry
from anonymize.treatments.base import Method

__all__ = ["TREATMENTS", "Method"]

TREATMENTS: Registry[Method] = Registry(
    __name__,
    {
        "microaggregation": "microaggregation",
        "pram": "pram",
        "rank-swap": "rank_swap",
        "random-swap": "random_swap",
        "record-swap": "record_swap",
        "noise": "noise",
        "shuffle": "shuffle",
        "suppress": "suppress",
        "date-shift": "date_shift",
    },
)
"""By name, and the module of each, which is imported when it is first taken."""
