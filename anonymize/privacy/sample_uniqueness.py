"""Sample uniqueness: at most a share of the rows is alone in its class.

Guarantees: of all rows at most the share `share` is the only one in the release that reads as it does. It says nothing
about rows that two or three people share, nor whether a row that is unique in the table is so in the population (see
k-map).

Formula: classes of one row / rows <= share.

How a search enforces it. The figure is one of the table. A search asks every class for two rows, unless the share is 1:
enough, though a release with some unique rows may be within the share too, which the check and `audit` grant.

Parameters: `share` (from 0 to 1).

Monotone: yes. A merged class has two rows at least, so no merge makes a unique row.

Missing values: a missing quasi-identifier is a value like any other.

Reference: C. Skinner, M. Elliot, "A measure of disclosure risk for microdata", Journal of the Royal Statistical Society
B 64(4), 2002.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups

ID = "sample-uniqueness"
MONOTONE = True
GROWING = True
BY_SIZE = True
SCOPE: Literal["class", "table"] = "table"
SENSITIVE: Literal["none", "any", "numeric"] = "none"


class Parameters(base.Parameters):
    share: float = Field(ge=0, le=1, description="share of the rows that may be alone in their class")


def minimum_rows(parameters: Parameters) -> int:
    return 2 if parameters.share < 1 else 1


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> NDArray[np.float64]:
    return groups.sizes.astype(np.float64)


def satisfied(measured: NDArray[np.float64], parameters: Parameters) -> NDArray[np.bool_]:
    return measured >= minimum_rows(parameters)


def achieved(measured: NDArray[np.float64], parameters: Parameters) -> base.Achieved:
    rows = float(measured.sum())
    return {"share": int(np.count_nonzero(measured == 1)) / rows if rows else None}
