"""Disclosure risk beyond the figures of a verdict: which attributes tell people apart, and what a sample says of the
population it was drawn from.

Everything starts from the frequency set: the distinct combinations of the quasi-identifiers, each with its number of
rows. `subsets` walks the subsets of the attributes, `individual` and `population` estimate what the sample alone does
not show. Nothing here decides whether a table is safe; `anonymize.verify` does.
"""

from __future__ import annotations

from anonymize.risk.frequency import Sizes, TextFrequencySet, risk_before, sizes_before
from anonymize.risk.population import Journalist, journalist
from anonymize.risk.records import before_and_after, households, record_risks
from anonymize.risk.sample import (
    Estimate,
    PopulationUniqueness,
    Text,
    estimate,
    individual_risk,
    merged,
    population_uniques,
    sampled,
)
from anonymize.risk.subsets import Analysis, Subset, analyse, feasible_size

__all__ = [
    "Analysis",
    "Estimate",
    "Journalist",
    "PopulationUniqueness",
    "Sizes",
    "Subset",
    "Text",
    "TextFrequencySet",
    "analyse",
    "before_and_after",
    "estimate",
    "feasible_size",
    "households",
    "individual_risk",
    "journalist",
    "merged",
    "population_uniques",
    "record_risks",
    "risk_before",
    "sampled",
    "sizes_before",
]
