"""Normalized average class size: how many times larger than needed the classes are.

Suppressed rows are counted neither among the rows nor as a class.

Source: LeFevre, DeWitt and Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006.
"""

from __future__ import annotations

from typing import Literal

from anonymize.metrics.base import View

ID = "c_avg"
GOAL: Literal["lower", "higher"] = "lower"
BOUNDS: tuple[float, float | None] = (1.0, None)


def compute(view: View) -> float | None:
    """Rows / (classes x k); None of no classes."""
    return float(view.sizes.sum()) / (len(view.sizes) * view.k) if len(view.sizes) else None
