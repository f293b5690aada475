"""Sample uniqueness: at most a given share of the rows is alone in its class.

Guarantees: at most the share `share` of all rows is unique in the release by its quasi-identifiers.

Does not bound: anything for the rows of that share, which an attacker who knows the quasi-identifiers can single out;
nor for rows that two or three people share, whose sensitive values may be the same. It does not say whether a row that
is unique in the table is so in the population (see k-map). Columns that pass through, and several releases of the same
people, may single out rows that do not count as unique here.

Formula: classes of one row / rows <= share.

How a search enforces it. The figure belongs to the table as a whole. Full-domain methods that choose one node for all
rows (`incognito`, `samarati`, `mingen`, `datafly`, `research-value`) compute it for the table, and suppress unique rows
within the limit; so do `k-optimize` and `bug`, which choose one cut for all rows. `tds` computes it for the table and
suppresses no classes; `mu-argus` for each attribute and combination that it tests. The others, and `incognito
--iterate`, require two rows in every class, unless the share is 1. This is sufficient but not necessary: the check and
`audit` also accept a release with some unique rows within the share.

Parameters: `share` (from 0 to 1).

Example: with share: 0, the class (flu, flu) passes and the class (flu) fails.

Monotone: yes. A merged class has two rows at least, so no merge makes a unique row.

Missing values: a missing quasi-identifier is a value like any other.

Reference: C. Skinner, M. Elliot, "A measure of disclosure risk for microdata", Journal of the Royal Statistical Society
B 64(4), 2002.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.classes import Bools, Ints
from anonymize.privacy import base
from anonymize.privacy.groups import Groups


class Parameters(base.Parameters):
    share: float = Field(ge=0, le=1, description="share of the rows that may be alone in their class")


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    return groups.sizes.astype(np.float64)


class SampleUniqueness(base.Model):
    """A class is measured by its rows, the table by those that are alone."""

    def satisfied(self, measured: base.Measured, parameters: Parameters) -> Bools:
        return measured >= self.minimum_rows(parameters)

    def rows_over(self, sizes: Ints, rows: int, parameters: Parameters) -> int:
        return base.beyond(int(np.count_nonzero(sizes == 1)), rows, parameters.share)

    def achieved(self, measured: base.Measured, parameters: Parameters) -> base.Achieved:
        rows = float(measured.sum())
        return {"share": int(np.count_nonzero(measured == 1)) / rows if rows else None}


MODEL = SampleUniqueness(
    id="sample-uniqueness",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("share", "at most", rows=lambda share: 1 + (share < 1)),),
    about="table",
    sensitive="none",
    grows=True,
    by_size=True,
)
