"""Algorithms: from a table and its requirements to a recoding. One algorithm, one file, one line in `ALGORITHMS`."""

from __future__ import annotations

from anonymize.algorithms import mondrian
from anonymize.algorithms.base import Algorithm, Context, Needs

__all__ = ["ALGORITHMS", "Algorithm", "Context", "Needs"]

ALGORITHMS: dict[str, Algorithm] = {mondrian.ID: mondrian}
