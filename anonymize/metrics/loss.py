"""Loss metric: the share of its domain that a cell could have come from, averaged over all cells.

A categorical cell costs (leaves under its node - 1) / (leaves - 1), a numeric one the width of its interval over the
range, a suppressed one 1.

Source: Iyengar, Transforming data to satisfy privacy constraints, KDD 2002.
"""

from __future__ import annotations

from typing import Literal

from anonymize.metrics.base import View

ID = "loss"
GOAL: Literal["lower", "higher"] = "lower"
BOUNDS: tuple[float, float | None] = (0.0, 1.0)


def compute(view: View) -> float | None:
    """The mean over all cells of the quasi-identifiers."""
    return float(view.attribute_loss.sum()) / (view.rows * len(view.attributes))
