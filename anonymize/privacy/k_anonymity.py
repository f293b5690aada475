"""k-anonymity: by their quasi-identifiers, everybody looks like at least k - 1 others.

Guarantees: every combination of quasi-identifier values in the release is shared by at least k rows, so that an
attacker who knows them all links a person to a row with probability at most 1/k. It says nothing about what the k
rows have in common: if all have the same disease, everybody's disease is known.

Formula: the size of every class >= k.

Parameters: `k`, rows (a whole number, at least 1).

Monotone: yes. A merged class has the rows of both.

Missing values: a missing quasi-identifier is a value like any other. A table that is k-anonymous only if missing
matches anything is not k-anonymous to an attacker who knows better.

Reference: P. Samarati, L. Sweeney, "Protecting privacy when disclosing information", SRI-CSL-98-04, 1998; L. Sweeney,
"k-anonymity: a model for protecting privacy", IJUFKS 10(5), 2002.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups

ID = "k-anonymity"
MONOTONE = True
GROWING = True
BY_SIZE = True
SCOPE: Literal["class", "table"] = "class"
SENSITIVE: Literal["none", "any", "numeric"] = "none"


class Parameters(base.Parameters):
    k: int = Field(ge=1, description="rows that every class has at least")


def minimum_rows(parameters: Parameters) -> int:
    return parameters.k


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> NDArray[np.float64]:
    return groups.sizes.astype(np.float64)


def satisfied(measured: NDArray[np.float64], parameters: Parameters) -> NDArray[np.bool_]:
    return measured >= parameters.k


def achieved(measured: NDArray[np.float64], parameters: Parameters) -> base.Achieved:
    return {"k": base.lowest_count(measured)}
