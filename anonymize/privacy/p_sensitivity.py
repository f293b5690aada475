"""p-sensitivity: at least p different sensitive values in every class; with k-anonymity it is p-sensitive k-anonymity.

Guarantees: whoever finds a person's class cannot exclude all but fewer than p sensitive values. For p-sensitive
k-anonymity ask for `k` beside it. It counts values as distinct l-diversity does, and like that it does not bound how
sure a guess is: of 100 rows, 99 may have the same value.

Formula: |{s : n(s) > 0}| >= p in every class, n(s) the rows of the class with the sensitive value s.

Parameters: `p`, values (a whole number, at least 1).

Monotone: yes. A merged class has the values of both.

Missing values: a missing sensitive value is not one more value; a class with nothing else measures 0.

Reference: T. Truta, B. Vinay, "Privacy protection: p-sensitive k-anonymity property", ICDE Workshops 2006.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups

ID = "p-sensitivity"
MONOTONE = True
GROWING = True
BY_SIZE = False
SCOPE: Literal["class", "table"] = "class"
SENSITIVE: Literal["none", "any", "numeric"] = "any"


class Parameters(base.Parameters):
    p: int = Field(ge=1, description="different sensitive values that every class has at least")


def minimum_rows(parameters: Parameters) -> int:
    return parameters.p


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> NDArray[np.float64]:
    return groups.of(attribute).distinct().astype(np.float64)


def satisfied(measured: NDArray[np.float64], parameters: Parameters) -> NDArray[np.bool_]:
    return measured >= parameters.p


def achieved(measured: NDArray[np.float64], parameters: Parameters) -> base.Achieved:
    return {"p": base.lowest_count(measured)}
