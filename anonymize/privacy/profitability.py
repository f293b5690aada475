"""Profitability: no attacker gains more from linking a record than the attempt costs.

Guarantees: in the game of Wan and others (2015), an attacker who knows everything about it does not attack; or, with
`allow_attack`, the publisher loses nothing by an attack. A record that is linked correctly is worth `attacker_gain`,
each attempt costs `attacker_cost`, in the same unit of money. The prosecutor knows that the person is in the table, and
is right with a chance of one over the rows of the class; the journalist looks for the person among the people of the
`population` who lie under what the class shows. If an attempt costs at least its expected gain, no rational attacker
tries, and the publisher keeps the value of the release.

Does not bound: attackers who are not rational or calculate differently: out of malice, for a story, with a gain that
the publisher has underestimated, or at a cost that is shared between many records or falls next year. It does not bound
what the rows of a class have in common in sensitive values, and the chances are those of attackers who know the
quasi-identifiers and nothing else. With `allow_attack` people are linked: the game includes their loss only as far as
the publisher pays for it, and single rows may be released as they are.

Formula: attacker_gain / f <= attacker_cost for every class of f rows; of the journalist, with f the people of the
population under what the class shows, where there is one. That is k-anonymity, or k-map, with k = attacker_gain /
attacker_cost, rounded up. With `allow_attack`, a class that does not meet this still passes if publisher_benefit x (1 -
IL) >= publisher_loss / f: the value of its records to the publisher is no less than the expected loss by attacks on
them. IL is the share of the information that a record has lost: the logarithm of the number of combinations of leaves
that its class may stand for, over that of all combinations.

The game assumes that the publisher moves first and the attacker sees the release; that every record is attacked
separately, for the same gain, at the same cost; that both know all four sums; that the value of a record depends only
on the number of leaves that its cells stand for, and falls with it; and that a suppressed record is worth nothing and
costs nothing. With `allow_attack` suppressed rows are therefore left out, merging two classes can break the model (it
loses information and may not deter anybody), and only the full-domain searches accept it, as they do not rely on
merging. The information of a class is measured with the values of the input; a check without these says so. `incognito
--metric publisher-payout` looks for the release that pays the publisher most, and with `--iterate` for a local one.

Parameters: `attacker_gain` and `attacker_cost` (above 0), `attacker` (prosecutor or journalist), beside the latter
`population` (a table with the same quasi-identifiers); `publisher_benefit` (of a record as it was) and `publisher_loss`
(by one that is linked), from 0, which decide with `allow_attack` (false) and are only carried into the report without.

Example: with attacker_gain: 300, attacker_cost: 100, the class (flu, flu, flu) passes and the class (flu, cold) fails.

Monotone: yes, a merged class has the rows, and the people, of both; but not with `allow_attack`.

Missing values: a missing quasi-identifier is a value like any other.

Reference: Z. Wan and others, "A game theoretic framework for analyzing re-identification risk", PLoS ONE 10(3), 2015;
F. Prasser and others, "An open source tool for game theoretic health data de-identification", AMIA 2017 (ARX).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from anonymize.classes import Floats
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
    allow_attack: bool = Field(default=False, description="whether attacks are allowed that the publisher can afford")

    @model_validator(mode="after")
    def _one_attacker(self) -> Self:
        if self.population is not None and self.attacker != "journalist":
            raise ValueError("population is for attacker: journalist")
        if self.allow_attack and (self.publisher_benefit is None or self.publisher_loss is None):
            raise ValueError("allow_attack needs publisher_benefit and publisher_loss")
        return self


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    """What a try is expected to bring, infinite where nobody of the population is under the class; 0 where the
    publisher can afford it, if attacks are allowed."""
    gains = parameters.attacker_gain * chances(groups, parameters)
    if parameters.allow_attack:
        gains[affordable(groups, parameters)] = 0.0
    return gains


def chances(groups: Groups, parameters: Parameters) -> Floats:
    """(C,) the chance that a try at a record of each class links it correctly."""
    people = groups.sizes if parameters.population is None else groups.crowd(parameters.population).matched
    chance = np.full(len(people), np.inf)
    chance[people > 0] = 1 / people[people > 0]
    return chance


def payouts(groups: Groups, parameters: Parameters) -> Floats:
    """(C,) what the publisher is expected to keep of a record of each class, if an attacker who gains by it tries."""
    chance = chances(groups, parameters)
    tried = ~base.at_most(parameters.attacker_gain * chance, parameters.attacker_cost)
    return np.asarray(worth(groups, parameters) - np.where(tried, losses(groups, parameters), 0.0))


def worth(groups: Groups, parameters: Parameters) -> Floats:
    """(C,) what a record of each class is worth to the publisher, whom nobody attacks."""
    if groups.kept is None:
        raise TypeError("classes without what they keep: this is probably a bug")
    return np.asarray((parameters.publisher_benefit or 0) * groups.kept)


def losses(groups: Groups, parameters: Parameters) -> Floats:
    """(C,) what the publisher is expected to lose by a try at a record of each class."""
    return np.asarray((parameters.publisher_loss or 0) * np.minimum(chances(groups, parameters), 1.0))


def affordable(groups: Groups, parameters: Parameters) -> NDArray[np.bool_]:
    """(C,) whether the publisher loses no more by tries at each class than its records are worth."""
    slack = base.TOLERANCE * (parameters.publisher_benefit or 0) + base.NEGLIGIBLE
    return losses(groups, parameters) - worth(groups, parameters) <= slack


class Profitability(base.Model):
    """A class is measured by what a try brings; so many rows, or people, are enough."""

    def weighs(self, parameters: Parameters) -> bool:
        return parameters.allow_attack

    def minimum_rows(self, parameters: Parameters) -> int:
        if parameters.population is not None or parameters.allow_attack:
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
