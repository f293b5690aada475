"""What a report says of the input beside the release.

Nothing of it depends on what is measured of the released file, so that it is worked out while that is written and read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anonymize.fidelity import BothSides, fidelity
from anonymize.privacy import Requirement
from anonymize.recoding import Released
from anonymize.report.data import SMALLEST, required_size
from anonymize.request import Request
from anonymize.risk import Sizes, sizes_before
from anonymize.table import Table


@dataclass(frozen=True)
class Beside:
    """Marginals and associations (`distributions`), which nobody reads where there is no report; and how many classes
    of each size the input has."""

    distributions: Mapping[str, Any]
    sizes: Sizes

    @classmethod
    def of(cls, request: Request, requirements: tuple[Requirement, ...], table: Table, released: Released) -> Beside:
        """Those of a release that nobody else may read the report of."""
        smallest = max(required_size(requirements), SMALLEST)
        table, values = table.as_read, request.show_values
        sides = BothSides.of(table, released, request.spec)
        distributions = fidelity(sides, smallest, values=values) if request.reports else {}
        return cls(distributions, sizes_before(table))
