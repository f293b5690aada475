"""Distinct l-diversity: at least l different sensitive values in every class.

Guarantees: an attacker who finds a person's class, and knows nothing else, cannot narrow down the person's sensitive
value to fewer than l values.

Does not bound: how sure a guess is: of 100 rows, 99 may have the same value (see frequency and entropy l-diversity),
and a value that is rare in the table may be frequent in a class (see beta-likeness). The l values may be similar: l
kinds of cancer are still cancer. An attacker who knows the values of others in the class may exclude these, and columns
that pass through and other releases of the same people may exclude more. An attacker who knows the method may ask why a
class was generalized: if a smaller one would have had fewer than l values, its people share those few (minimality);
`--mask-minimality` leaves them l values, where an algorithm has it.

Formula: |{s : n(s) > 0}| >= l in every class, n(s) the rows of the class with the sensitive value s.

Parameters: `l`, values (a whole number, at least 1).

Example: with l: 2, the class (flu, flu, flu, cold) passes and the class (flu, flu, flu, flu) fails.

Monotone: yes. A merged class has the values of both.

Missing values: a missing sensitive value is not one more value; a class with nothing else measures 0. Values are
compared as numbers if the attribute is numeric (`1.0` is `1`), otherwise as text (`01234` is not `1234`).

Reference: A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity",
ICDE 2006 and TKDD 1(1), 2007.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups


class Parameters(base.Parameters):
    l: int = Field(ge=1, description="different sensitive values that every class has at least")  # noqa: E741


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    return groups.of(attribute).distinct().astype(np.float64)


MODEL = base.DiversityModel(
    id="distinct-l-diversity",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("l", count=True, rows=base.as_many),),
    grows=True,
)
