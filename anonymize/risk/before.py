"""The risk of the table as it came in: what the release is compared with.

Everybody is in the class of those who have the same values of all quasi-identifiers, missing being a value of its own.
The figures are defined as those of the release are (`docs/report.md`), so that both can stand beside each other. They
are counts of the input and belong in a private report.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.classes import first_of_each, mixed_radix, run_starts
from anonymize.table import Table


def risk_before(table: Table, threshold: float) -> dict[str, Any]:
    """Figures of the rows, or of the individuals whom they are about; a record is at risk above the `threshold`.

    One pass over packed keys: values as codes in mixed radix are equal if and only if the rows read the same.
    """
    keys, _ = mixed_radix([each.codes for each in table.attributes], [each.domain.size for each in table.attributes])
    if table.units is not None:
        keys = keys[first_of_each(keys, table.units)]
    keys.sort()
    individuals, starts = len(keys), run_starts(keys)
    del keys
    sizes = np.diff(starts, append=individuals)
    if not individuals:
        return {"classes": 0, "prosecutor_max": 0.0, "prosecutor_mean": 0.0, "records_at_risk": 0.0, "uniques": 0}
    return {
        "classes": len(sizes),
        "prosecutor_max": float(1 / sizes.min()),
        "prosecutor_mean": len(sizes) / individuals,
        "records_at_risk": float(sizes[1 / sizes > threshold].sum() / individuals),
        "uniques": int((sizes == 1).sum()),
    }
