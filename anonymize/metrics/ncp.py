"""Normalized certainty penalty: what the release leaves uncertain, summed over rows and quasi-identifiers, unweighted.

A numeric cell costs (high - low) of its interval over (max - min) of the input's column. A categorical cell costs 0 for
a leaf, else the leaves under its node over all leaves, times the node's weight where the hierarchy gives it one, 1 at
most. With `output.categorical: set` the node is the lowest that covers the set; see `ncp_set`. A suppressed cell costs
1.

Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, section 2.
"""

from __future__ import annotations

from typing import Literal

from anonymize.metrics.base import View

ID = "ncp"
GOAL: Literal["lower", "higher"] = "lower"
BOUNDS: tuple[float, float | None] = (0.0, None)


def compute(view: View) -> float | None:
    """The sum, between 0 and rows x quasi-identifiers."""
    return float(view.attribute_ncp.sum())
