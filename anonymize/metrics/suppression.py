"""Suppression: the share of rows that are published suppressed or left out."""

from __future__ import annotations

from typing import Literal

from anonymize.metrics.base import View

ID = "suppression"
GOAL: Literal["lower", "higher"] = "lower"
BOUNDS: tuple[float, float | None] = (0.0, 1.0)


def compute(view: View) -> float | None:
    """Suppressed rows / rows."""
    return view.suppressed_rows / view.rows
