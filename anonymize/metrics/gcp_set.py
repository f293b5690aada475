"""Global certainty penalty of sets: the mean of `ncp_set` over all cells of the quasi-identifiers.

Where no node has a weight below 1 it is at most `gcp`: a class has no more values than there are leaves under the
lowest node that covers them.
"""

from __future__ import annotations

from typing import Literal

from anonymize.metrics.base import View

ID = "gcp_set"
GOAL: Literal["lower", "higher"] = "lower"
BOUNDS: tuple[float, float | None] = (0.0, 1.0)


def compute(view: View) -> float | None:
    """`ncp_set` / (rows x quasi-identifiers); None for another recoding model."""
    if view.attribute_ncp_set is None:
        return None
    return float(view.attribute_ncp_set.sum()) / (view.rows * len(view.attributes))
