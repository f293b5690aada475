"""Rows in classes, measured against requirements: individuals, sensitive values and populations are counted here."""

from __future__ import annotations

from anonymize.judging.judge import Extract, Judge
from anonymize.judging.suppression import Suppression
from anonymize.judging.tally import Tally, crowd_of_nodes, crowds_around

__all__ = ["Extract", "Judge", "Suppression", "Tally", "crowd_of_nodes", "crowds_around"]
