"""Global certainty penalty: the mean of the normalized certainty penalty over all cells of the quasi-identifiers.

0: nothing was generalized. 1: everything is suppressed. Tables of different size can be compared by it.

Source: Ghinita et al., Fast data anonymization with low information loss, VLDB 2007.
"""

from __future__ import annotations

from typing import Literal

from anonymize.metrics.base import View

ID = "gcp"
GOAL: Literal["lower", "higher"] = "lower"
BOUNDS: tuple[float, float | None] = (0.0, 1.0)


def compute(view: View) -> float | None:
    """`ncp` / (rows x quasi-identifiers)."""
    return float(view.attribute_ncp.sum()) / (view.rows * len(view.attributes))
