"""Disclosure: an attacker who guesses in proportion to the posterior is right with probability at most 1/l.

Guarantees: of a randomized table, the probability Pr(S | QI) that an attacker who guesses in proportion to the
posterior gets a person's sensitive value right is at most 1/l, for every combination of quasi-identifiers and every
value that occurs with it.

Does not bound: any other guess: an attacker who names the most frequent value of the reconstructed table instead is
right more often, nearly as often as in the original, and the private report says how often. The bound is an average
over the randomization; a single observed row may disclose more (see local-dp and amplification for bounds on that). It
is about one release: a second one of the same rows, or columns that pass through, may disclose the value. The
parameters of the distortion are computed from the table and published; the bound does not include what they disclose
about it.

Formula: R_QI(a) * share of u within a * R_S(u | a) <= 1/l; R_QI and R_S are the probabilities that the attacker, who
guesses in proportion to the posterior, gets the quasi-identifiers and then the sensitive value right; 1 for what is not
randomized.

Parameters: `l` (a number, at least 1), `values` (another l for single sensitive values).

Monotone: not defined; it is not a property of equivalence classes. Only `randomize` takes it, and `privacy.l` means
this there.

Missing values: a missing sensitive value is a value to be distorted like any other, but no disclosure; shares are of
the rows whose value is not missing.

Reference: L. Guo, X. Ying, X. Wu, "On attribute disclosure in randomization based privacy preserving data publishing",
ICDM Workshops 2010.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from anonymize.privacy import base


class Parameters(base.Parameters):
    l: float = Field(ge=1, description="1/l bounds the probability that a sensitive value is named correctly")  # noqa: E741
    values: dict[str, Annotated[float, Field(ge=1)]] = Field(
        default_factory=dict, exclude=True, description="Another l for single sensitive values: {HIV: 10}."
    )

    def __hash__(self) -> int:
        return hash((self.l, tuple(sorted(self.values.items()))))


MODEL = base.Model(
    about="channel",
    id="disclosure",
    parameters=Parameters,
    limits=(base.Limit("l"),),
)
