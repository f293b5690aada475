"""Discernibility: every row is charged the number of rows that it cannot be told from.

A row of a class costs the class's size, a suppressed row the number of rows of the table.

Source: Bayardo and Agrawal, Data privacy through optimal k-anonymization, ICDE 2005.
"""

from __future__ import annotations

from typing import Literal

from anonymize.metrics.base import View

ID = "discernibility"
GOAL: Literal["lower", "higher"] = "lower"
BOUNDS: tuple[float, float | None] = (0.0, None)


def compute(view: View) -> float | None:
    """Sum of squared class sizes, plus rows x suppressed rows; a whole number."""
    return int((view.sizes**2).sum()) + view.rows * view.suppressed_rows
