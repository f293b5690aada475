"""Normalized certainty penalty of sets: as `ncp`, where a category shows the values that its class has.

A categorical cell costs 0 if its class has one value, else the number of different values in the class over all leaves,
without weights of nodes. Numeric cells and suppressed rows cost what they cost in `ncp`.

It is what `output.categorical: set` releases, and is computed whether or not that is asked for, so that both ways of
showing can be compared. Defined for multidimensional and local recoding, where a class is a region; a level of a
hierarchy shows nodes.

Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, section 3.2.2, shows the values present
and charges the leaves under their closest common ancestor, which is `ncp`.
"""

from __future__ import annotations

from typing import Literal

from anonymize.metrics.base import View

ID = "ncp_set"
GOAL: Literal["lower", "higher"] = "lower"
BOUNDS: tuple[float, float | None] = (0.0, None)


def compute(view: View) -> float | None:
    """The sum, between 0 and rows x quasi-identifiers; None for another recoding model."""
    return None if view.attribute_ncp_set is None else float(view.attribute_ncp_set.sum())
