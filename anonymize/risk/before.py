"""The risk of the table as it came in: what the release is compared with.

Everybody is in the class of those who have the same values of all quasi-identifiers, missing being a value of its own.
The figures are defined as those of the release are (`docs/report.md`), so that both can stand beside each other. They
are counts of the input and belong in a private report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import first_of_each, mixed_radix, run_starts
from anonymize.scattering import occurrences
from anonymize.table import Table

TOGETHER = 1 << 20
"""Rows that are counted at once, about; more where they have the same code in the attribute of most codes."""

Sizes: TypeAlias = Counter[int]
"""How many classes there are of each size."""


def sizes_before(table: Table, together: int = TOGETHER) -> Sizes:
    """How many classes there are of each size, in rows or in the individuals whom they are about. `together`: see
    `TOGETHER`."""
    sizes: Sizes = Counter()
    for rows in _parts(table, together):
        sizes += _sizes(table, rows)
    return sizes


def risk_before(sizes: Sizes, threshold: float) -> dict[str, Any]:
    """Figures of the input from the sizes of its classes; a record is at risk above the `threshold`."""
    individuals = sum(size * count for size, count in sizes.items())
    if not individuals:
        return {"classes": 0, "prosecutor_max": 0.0, "prosecutor_mean": 0.0, "records_at_risk": 0.0, "uniques": 0}
    at_risk = sum(size * count for size, count in sizes.items() if 1 / size > threshold)
    return {
        "classes": sizes.total(),
        "prosecutor_max": 1 / min(sizes),
        "prosecutor_mean": sizes.total() / individuals,
        "records_at_risk": at_risk / individuals,
        "uniques": sizes[1],
    }


def _parts(table: Table, together: int) -> Iterator[slice | NDArray[np.int64]]:
    """The rows by ranges of the codes of the attribute that has most of them: rows of one class are in one part."""
    leader = max(table.attributes, key=lambda each: each.domain.size)
    if table.rows <= together:
        yield slice(None)
        return
    pieces = (leader.codes[start : start + together] for start in range(0, table.rows, together))
    counts = occurrences(pieces, leader.domain.size)
    part_of = (np.cumsum(counts) - counts) // together
    starts = run_starts(part_of)
    for start, stop in zip(starts.tolist(), np.append(starts[1:], len(counts)).tolist(), strict=True):
        rows = np.flatnonzero((leader.codes >= start) & (leader.codes < stop))
        if len(rows):
            yield rows


def _sizes(table: Table, rows: slice | NDArray[np.int64]) -> Sizes:
    """Those of the classes of some rows.

    Values as codes in mixed radix are equal if and only if the rows read the same.
    """
    sizes_of_domains = [each.domain.size for each in table.attributes]
    keys, _ = mixed_radix([each.codes[rows] for each in table.attributes], sizes_of_domains)
    if table.units is not None:
        keys = keys[first_of_each(keys, table.units[rows])]
    keys.sort()
    sizes, counts = np.unique(np.diff(run_starts(keys), append=len(keys)), return_counts=True)
    return Counter(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))
