"""Population uniqueness: at most a given share of the population is unique, estimated from the table as a sample of it.

Guarantees: the table is a random sample of a population. If everybody in the population were released in the same way,
the estimated share of people whose released values are unique would be at most `share`.

Does not bound: anything for a single row, which may be unique in the population, nor for rows that a few people share.
It is an estimate from a model of how large classes are: the estimators differ, sometimes by a factor of ten, and hold
for random samples alone. A person who is known to be in the table is protected by sample uniqueness or k-anonymity, not
by this model. It does not cover sensitive values that a class has in common, columns that pass through or several
releases of the same people.

Formula: by `estimator`, from the number of classes of each size and the sampling `fraction`; 0 if no row is alone in
its class. `zayatz`: the probability that a class of one row is unique in the population, if population classes had the
sizes of the sample's. `pitman`: Pitman's sampling formula, fitted by maximum likelihood. `snb`: a shifted negative
binomial distribution, fitted to the classes of one and of two rows. `dankar`: pitman up to a fraction of 0.1, else the
smaller one of zayatz and snb. If another estimator has no fit, zayatz is used.

How a search enforces it. The figure belongs to the table as a whole. Full-domain methods that choose one node for all
rows (`incognito`, `samarati`, `mingen`, `datafly`, `research-value`) compute it for the table, and suppress unique rows
within the limit; so do `k-optimize` and `bug`, which choose one cut for all rows. `tds` computes it for the table and
suppresses no classes; `mu-argus` for each attribute and combination that it tests. The others, and `incognito
--iterate`, require two rows in every class, unless the share is 1. This is sufficient but not necessary: the check and
`audit` also accept a release with some unique rows within the share.

Parameters: `share` (from 0 to 1), `fraction` (the share of the population that is in the table, at least 1e-10, at
most 1), `estimator` (dankar, zayatz, pitman or snb; dankar if left out).

Example: with share: 0, fraction: 0.1, the class (flu, flu) passes and the class (flu) fails.

Monotone: yes, where a search requires it of every class. The estimate itself may rise when classes are merged.

Missing values: a missing quasi-identifier is a value like any other.

Reference: F. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the re-identification risk of clinical data sets",
BMC Medical Informatics and Decision Making 12, 2012.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from anonymize.classes import Bools
from anonymize.privacy import base, uniques
from anonymize.privacy.groups import Groups


class Parameters(base.Parameters):
    share: float = Field(ge=0, le=1, description="estimated share of the population that may be unique")
    fraction: float = Field(ge=base.SMALLEST_FRACTION, le=1, description="share of the population that is in the table")
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = Field(
        default="dankar", description="how the share is estimated"
    )


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    return groups.sizes.astype(np.float64)


class PopulationUniquesModel(base.Model):
    """A class is measured by its rows, the table by what they let expect of the population."""

    def satisfied(self, measured: base.Measured, parameters: Parameters) -> Bools:
        return measured >= self.minimum_rows(parameters)

    def achieved(self, measured: base.Measured, parameters: Parameters) -> base.Achieved:
        sizes = measured[measured > 0].astype(np.int64)
        share = uniques.share_of_uniques(sizes, parameters.fraction, parameters.estimator)[0] if sizes.size else None
        return {"share": share, "fraction": parameters.fraction, "estimator": parameters.estimator}


MODEL = PopulationUniquesModel(
    id="population-uniqueness",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("share", "at most", rows=lambda share: 1 + (share < 1)),),
    given=("fraction", "estimator"),
    about="table",
    sensitive="none",
    grows=True,
    by_size=True,
)
