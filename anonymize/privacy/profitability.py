"""Profitability: no attacker gains more from linking a record than it costs to try.

Guarantees: in the game of Wan and others (2015), an attacker who knows everything about it does not attack. A record
that is linked correctly is worth `attacker_gain`, each try costs `attacker_cost`, in one unit of money. The prosecutor
knows that the person is in the table, and is right with a chance of one over the rows of the class; the journalist
looks for the person among the people of the `population` who lie under what the class shows. Where a try costs at least
what it is expected to bring, nobody who reckons tries, and the publisher keeps what the release is worth.

Does not bound: attackers who do not reckon, or reckon otherwise: out of malice, for a story, with a gain that the
publisher has guessed too low, or at a cost that is shared between many records or falls next year. It bounds nothing of
the sensitive values that the rows of a class have in common, and the chances are those of attackers who know the
quasi-identifiers and nothing else.

Formula: attacker_gain / f <= attacker_cost for every class of f rows; of the journalist, with f the people of the
population under what the class shows, where there is one. That is k-anonymity, or k-map, with k = attacker_gain /
attacker_cost, rounded up.

The game has a second variant, in which attacks are allowed as long as the publisher gains more from the release than is
lost by them. It weighs the information that each class keeps; it is not built, and `allow_attack` is false. Without
attacks, what the publisher gains (`publisher_benefit`, of a record as it was) and loses (`publisher_loss`, by one that
is linked) does not decide, and is only carried into the report.

Parameters: `attacker_gain` and `attacker_cost` (above 0), `attacker` (prosecutor or journalist), beside the latter
`population` (a table with the same quasi-identifiers); `publisher_benefit`, `publisher_loss` (from 0), `allow_attack`
(false).

Example: with attacker_gain: 300, attacker_cost: 100, the class (flu, flu, flu) passes and the class (flu, cold) fails.

Monotone: yes. A merged class has the rows, and the people, of both.

Missing values: a missing quasi-identifier is a value like any other.

Reference: Z. Wan and others, "A game theoretic framework for analyzing re-identification risk", PLoS ONE 10(3), 2015;
F. Prasser and others, "An open source tool for game theoretic health data de-identification", AMIA 2017 (ARX).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from anonymize.privacy import base
from anonymize.privacy.groups import Groups
from anonymize.spec.base import Means, SpecPath

DEAREST = 1e8
"""The largest sum of money, so that figures stay numbers that can be told apart."""


class Parameters(base.Parameters):
    attacker_cost: float = Field(gt=1e-6, le=DEAREST, description="what the attacker pays for each try")
    attacker_gain: float = Field(gt=0, le=DEAREST, description="what a record that is linked correctly is worth to him")
    attacker: Literal["prosecutor", "journalist"] = Field(
        default="prosecutor", description="whether the attacker knows that the person is in the table"
    )
    population: Annotated[SpecPath | None, Means.POPULATION] = Field(
        default=None, description="for the journalist, a table of the population, with the same quasi-identifiers"
    )
    publisher_benefit: float | None = Field(
        default=None, ge=0, le=DEAREST, description="what a record as it was is worth to the publisher"
    )
    publisher_loss: float | None = Field(
        default=None, ge=0, le=DEAREST, description="what the publisher loses by a record that is linked"
    )
    allow_attack: Literal[False] = Field(
        default=False, description="whether attacks are allowed that the publisher can afford; not built: false"
    )

    @model_validator(mode="after")
    def _one_attacker(self) -> Self:
        if self.population is not None and self.attacker != "journalist":
            raise ValueError("population is for attacker: journalist")
        return self


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    """What a try is expected to bring, infinite where nobody of the population is under the class."""
    people = groups.sizes if parameters.population is None else groups.crowd(parameters.population).matched
    gains = np.full(len(people), np.inf)
    gains[people > 0] = parameters.attacker_gain / people[people > 0]
    return gains


class Profitability(base.ClassModel):
    """A class is measured by what a try brings; so many rows, or people, are enough."""

    def minimum_rows(self, parameters: Parameters) -> int:
        if parameters.population is not None:
            return 1
        ratio = parameters.attacker_gain / parameters.attacker_cost
        fewest = max(1, math.floor(ratio) - 1)
        while not base.at_most(np.array(parameters.attacker_gain / fewest), parameters.attacker_cost):
            fewest += 1
        return fewest


MODEL = Profitability(
    id="profitability",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("attacker_cost", "at most"),),
    given=("attacker_gain", "attacker", "publisher_benefit", "publisher_loss", "allow_attack"),
    sensitive="none",
    grows=True,
    by_size=True,
)
