"""k-anonymity: everybody looks like at least k - 1 others in the quasi-identifiers.

Guarantees: every combination of quasi-identifier values in the release is shared by at least k rows, so that an
attacker who knows these values of a person, and nothing else, links the person to a row with probability at most 1/k.

Does not bound: what the k rows have in common: if all have the same disease, everybody's disease is known (see the
models of l-diversity). An attacker who also knows a column that passes through, or who recognizes other people of the
class, may be left with fewer than k rows. Two releases of the same people may both be k-anonymous and single somebody
out together.

Formula: the size of every class >= k.

Parameters: `k`, rows (a whole number, at least 1).

Example: with k: 3, the class (flu, flu, flu) passes and the class (flu, cold) fails.

Monotone: yes. A merged class has the rows of both.

Missing values: a missing quasi-identifier is a value like any other. A table that is k-anonymous only if missing
matches anything is not k-anonymous to an attacker who knows better.

Reference: P. Samarati, L. Sweeney, "Protecting privacy when disclosing information", SRI-CSL-98-04, 1998; L. Sweeney,
"k-anonymity: a model for protecting privacy", IJUFKS 10(5), 2002.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups
from anonymize.spec.base import Means


class Parameters(base.Parameters):
    k: Annotated[int, Means.PEOPLE] = Field(ge=1, description="rows that every class has at least")


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    return groups.sizes.astype(np.float64)


MODEL = base.Model(
    id="k-anonymity",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("k", count=True, size=True, rows=base.as_many),),
    sensitive="none",
    grows=True,
    by_size=True,
    by_default=True,
)
