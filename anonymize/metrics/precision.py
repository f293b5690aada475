"""Precision: how far up their hierarchies the attributes were left where they were.

Defined for full-domain generalization only, where each attribute has one level.

Source: Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, 2002.
"""

from __future__ import annotations

from typing import Literal

from anonymize.metrics.base import View

ID = "precision"
GOAL: Literal["lower", "higher"] = "higher"
BOUNDS: tuple[float, float | None] = (0.0, 1.0)


def compute(view: View) -> float | None:
    """1 - mean of level / height over the attributes; None for another recoding model."""
    if view.levels is None:
        return None
    return 1 - sum(level / height for level, height in view.levels) / len(view.levels)
