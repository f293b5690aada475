"""Noise: random numbers are added to numbers, or multiplied with them."""

from __future__ import annotations

from anonymize.spec.treatments import Noise
from anonymize.treatments.base import Change, Step

ID = "noise"


def run(entry: Noise, step: Step) -> Change:
    """The numbers with noise."""
    columns = {}
    for name in entry.columns:
        column = step.columns[name]
        values = column.numbers
        spread = float(values[~column.missing].std())
        drawn = values + step.random.normal(0, entry.scale * spread, len(values))
        columns[name] = column.renumbered(drawn, whole=False)
    return Change(columns)
