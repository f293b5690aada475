"""Risk thresholds: the probability that a record of the release is linked to a person, by three kinds of attacker.

Guarantees: each bound whose parameter is given. An attacker who knows that the person is in the table links no record
with a probability above `prosecutor_max`; one who does not know it, above `journalist_max`. An attacker who links all
records is expected to link at most the share `marketer` correctly. At most the share `records_at_risk` has a prosecutor
risk above `threshold`. These attackers know the quasi-identifiers and nothing else.

Does not bound: anything about the sensitive values that the rows of a class have in common. `marketer` is a mean, and
`records_at_risk` a share: the rows that they allow for may be alone in their class. An attacker who also knows columns
that pass through, recognizes other people of the class, or has several releases of the same people may link rows with a
higher probability than any of the four.

Formula: with classes of sizes f and N rows, prosecutor risk of a row = 1 / f; prosecutor_max its maximum; marketer its
mean = classes / N; records_at_risk = rows with 1 / f > threshold, over N. The journalist's risk is 1 / F, F the rows of
the `population` whose quasi-identifiers lie under what the class shows, as in k-map; without a population it is the
prosecutor's, which is never lower where everybody in the table is in the population.

How a search enforces it. The two maxima bound the size of every class, that of the journalist its people in the
population, where there is one. `marketer` and `records_at_risk` belong to the table as a whole. Full-domain methods
that choose one node for all rows (`incognito`, `samarati`, `mingen`, `datafly`, `research-value`) compute them for the
table, and suppress the smallest classes within the limit; so do `k-optimize` and `bug`, which choose one cut for all
rows. `tds` computes them for the table and suppresses no classes; `mu-argus` for each attribute and combination that it
tests. The others, and `incognito --iterate`, require of every class a sufficient size: 1 / marketer rows, and 1 /
threshold rows. The check and `audit` also accept a release with some smaller classes within the bound; such a search
does not find it.

Parameters: at least one of `prosecutor_max`, `journalist_max` (probabilities, above 0, at most 1), `marketer` (a share,
above 0, at most 1), `records_at_risk` (a share, from 0 to 1) with its `threshold` (a probability, above 0, at most 1);
beside `journalist_max`, `population` (a table with the same quasi-identifiers).

Example: with prosecutor_max: 0.4, the class (flu, flu, flu) passes and the class (flu, cold) fails.

Monotone: yes. A merged class has the rows of both, and there is one class less.

Missing values: a missing quasi-identifier is a value like any other.

Reference: K. El Emam, "Guide to the de-identification of personal health information", CRC Press 2013; F. Dankar,
K. El Emam, "A method for evaluating marketer re-identification risk", PAIS 2010.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from anonymize.classes import Bools, Ints
from anonymize.privacy import base
from anonymize.privacy.groups import Groups
from anonymize.spec.base import Means, SpecPath


class Parameters(base.Parameters):
    prosecutor_max: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="highest risk of a row, if the attacker knows that it is in the table",
    )
    journalist_max: float | None = Field(
        default=None, gt=0, le=1, description="highest risk of a row, if the attacker does not know it"
    )
    marketer: float | None = Field(
        default=None, gt=0, le=1, description="share of the rows that may be expected to be linked correctly"
    )
    records_at_risk: float | None = Field(
        default=None, ge=0, le=1, description="share of the rows whose risk may be above the threshold"
    )
    threshold: float | None = Field(
        default=None, gt=0, le=1, description="risk above which a row counts in records_at_risk"
    )
    population: Annotated[SpecPath | None, Means.POPULATION] = Field(
        default=None, description="for journalist_max, a table of the population, with the same quasi-identifiers"
    )

    @model_validator(mode="after")
    def _some_bound(self) -> Parameters:
        if (self.records_at_risk is None) != (self.threshold is None):
            raise ValueError("records_at_risk and threshold go together: give both")
        if self.population is not None and self.journalist_max is None:
            raise ValueError("population is for journalist_max: give that, too")
        if not self.model_dump(exclude_none=True):
            raise ValueError("give at least one of prosecutor_max, journalist_max, marketer, records_at_risk")
        return self


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    people = groups.sizes if parameters.population is None else groups.crowd(parameters.population).matched
    return np.column_stack((groups.sizes, people)).astype(np.float64)


OF_TABLE = {"marketer": None, "records_at_risk": None, "threshold": None}
"""The parameters that bound figures of the table, left out."""


class Risk(base.Model):
    """A class is measured by its rows and its people, the table by the risks that follow from them."""

    def minimum_rows(self, parameters: Parameters) -> int:
        bounds = [parameters.prosecutor_max, parameters.marketer]
        if parameters.population is None:
            bounds.append(parameters.journalist_max)
        if parameters.records_at_risk is not None and parameters.records_at_risk < 1:
            bounds.append(parameters.threshold)
        return max([1, *(base.one_in(bound) for bound in bounds if bound is not None)])

    def necessary_rows(self, parameters: Parameters) -> int:
        return self.minimum_rows(parameters.model_copy(update=OF_TABLE))

    def satisfied(self, measured: base.Measured, parameters: Parameters) -> Bools:
        rows, people = measured.T
        fewest = 0 if parameters.journalist_max is None else base.one_in(parameters.journalist_max)
        return np.asarray((rows >= self.minimum_rows(parameters)) & (people >= fewest))

    def asks_table(self, parameters: Parameters) -> bool:
        return parameters.marketer is not None or parameters.records_at_risk is not None

    def necessary(self, measured: base.Measured, parameters: Parameters) -> Bools:
        return self.satisfied(measured, parameters.model_copy(update=OF_TABLE))

    def rows_over(self, sizes: Ints, rows: int, parameters: Parameters) -> int:
        fewest = 0
        if parameters.marketer is not None:
            fewest = int(np.sort(sizes)[: base.beyond(len(sizes), rows, parameters.marketer)].sum())
        if parameters.records_at_risk is not None:
            at_risk = sizes[~base.at_most(1 / sizes, parameters.threshold or 1)].sum()
            fewest = max(fewest, base.beyond(int(at_risk), rows, parameters.records_at_risk))
        return fewest

    def achieved(self, measured: base.Measured, parameters: Parameters) -> base.Achieved:
        sizes, people = measured[measured[:, 0] > 0].T
        rows = float(sizes.sum())
        nobody = bool((people == 0).any())
        at_risk = ~base.at_most(1 / sizes, parameters.threshold or 1)
        risks: base.Achieved = {
            "prosecutor_max": float((1 / sizes).max()) if rows else None,
            "journalist_max": float((1 / people).max()) if rows and not nobody else None,
            "marketer": sizes.size / rows if rows else None,
            "records_at_risk": float(sizes[at_risk].sum()) / rows if rows else None,
            "threshold": parameters.threshold,
        }
        return {name: value for name, value in risks.items() if getattr(parameters, name) is not None}


MODEL = Risk(
    id="risk",
    parameters=Parameters,
    measure=measure,
    limits=tuple(
        base.Limit(name, "at most") for name in ("prosecutor_max", "journalist_max", "marketer", "records_at_risk")
    ),
    given=("threshold",),
    about="table",
    sensitive="none",
    grows=True,
    by_size=True,
)
