"""p-sensitivity: at least p different sensitive values in every class; with k-anonymity it is p-sensitive k-anonymity.

Guarantees: an attacker who finds a person's class, and knows nothing else, cannot narrow down the person's sensitive
value to fewer than p values. For p-sensitive k-anonymity, also require `k`.

Does not bound: how sure a guess is, as it counts values like distinct l-diversity: of 100 rows, 99 may have the same
value, however rare that is in the table, and the p values may be similar. An attacker who knows p - 1 of the people in
a class may be left with one value, and columns that pass through or several releases of the same people exclude values
too. Nor does it bound what follows from the method: a class that was generalized for the sake of p had fewer values
before (minimality).

Formula: |{s : n(s) > 0}| >= p in every class, n(s) the rows of the class with the sensitive value s.

Parameters: `p`, values (a whole number, at least 1).

Example: with p: 2, the class (flu, flu, cold) passes and the class (flu, flu, flu) fails.

Monotone: yes. A merged class has the values of both.

Missing values: a missing sensitive value is not one more value; a class with nothing else measures 0.

Reference: T. Truta, B. Vinay, "Privacy protection: p-sensitive k-anonymity property", ICDE Workshops 2006.
"""

from __future__ import annotations

from pydantic import Field

from anonymize.privacy import base, distinct_l_diversity


class Parameters(base.Parameters):
    p: int = Field(ge=1, description="different sensitive values that every class has at least")


MODEL = base.Model(
    id="p-sensitivity",
    parameters=Parameters,
    measure=distinct_l_diversity.measure,
    limits=(base.Limit("p", count=True, rows=base.as_many),),
    grows=True,
    alike=True,
)
