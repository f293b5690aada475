"""Disclosure risk beyond the figures of a verdict: which attributes distinguish people, and what a sample says about
the population it was drawn from.

Everything starts from the frequency set: the distinct combinations of the quasi-identifiers, each with its number of
rows. `subsets` walks the subsets of the attributes, `sample` and `population` estimate what the sample alone does not
show. Nothing here decides whether a table is safe; `anonymize.verify` does.
"""

from __future__ import annotations

from anonymize.risk.frequency import Sizes, TextFrequencySet, risk_before, sizes_before
from anonymize.risk.population import journalist
from anonymize.risk.records import before_and_after, households, record_risks
from anonymize.risk.sample import Text, merged, population_uniques, sampled
from anonymize.risk.subsets import Analysis, analyse

__all__ = [
    "Analysis",
    "Sizes",
    "Text",
    "TextFrequencySet",
    "analyse",
    "before_and_after",
    "households",
    "journalist",
    "merged",
    "population_uniques",
    "record_risks",
    "risk_before",
    "sampled",
    "sizes_before",
]
