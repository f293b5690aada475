"""Weighted normalized certainty penalty: as `ncp`, every attribute's share times its weight in the spec.

Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, section 2.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from anonymize.metrics.base import View

ID = "ncp_weighted"
GOAL: Literal["lower", "higher"] = "lower"
BOUNDS: tuple[float, float | None] = (0.0, None)


def compute(view: View) -> float | None:
    """The weighted sum."""
    return float(view.attribute_ncp @ np.array([attribute.weight for attribute in view.attributes]))
