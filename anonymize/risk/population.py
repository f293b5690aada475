"""Population uniqueness: the share of a population that is unique on the quasi-identifiers, estimated from a sample.

Two estimators, Zayatz and Pitman, which `anonymize.privacy.uniques` has. Which one is better depends on the fraction;
the rule is that of Dankar and others: Pitman up to a tenth, if its fit converges, else Zayatz. (For larger fractions
their rule takes the smaller one of Zayatz and the shifted negative binomial. Here Zayatz alone answers, on the safe
side; the model population-uniqueness has the whole rule, and each estimator by itself.)

F. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the re-identification risk of clinical data sets", BMC Medical
Informatics and Decision Making 12, 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anonymize.privacy.uniques import SMALL_FRACTION, share_of_uniques
from anonymize.risk.frequency import Ints


@dataclass(frozen=True)
class PopulationUniqueness:
    """`share` of the population that is unique, by an estimator, for a sampling fraction."""

    fraction: float
    share: float
    estimator: str
    """none, zayatz or pitman."""

    def as_dict(self) -> dict[str, Any]:
        """The estimate in a report."""
        return {"sampling_fraction": self.fraction, "uniques": self.share, "estimator": self.estimator}


def population_uniques(counts: Ints, fraction: float) -> PopulationUniqueness:
    """The estimate for classes of `counts` (C,) rows in a sample that is a share of the population, in (0, 1].

    A sample without uniques gives 0. ValueError for any other fraction.
    """
    if not 0 < fraction <= 1:
        raise ValueError("a sampling fraction is above 0 and at most 1")
    share, estimator = share_of_uniques(counts, fraction, "pitman" if fraction <= SMALL_FRACTION else "zayatz")
    return PopulationUniqueness(fraction, share, estimator)
