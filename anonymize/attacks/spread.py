"""What attackers who narrow cells share: how frequent each code is in the release, as far as it tells."""

from __future__ import annotations

from anonymize.attacks.scene import ShownRows
from anonymize.classes import Floats


def code_shares(release: ShownRows, column: int, size: int) -> Floats:
    """(size,) how many rows have each code of a quasi-identifier, every row being spread evenly over its span."""
    return release.cells(column).spread(release.sizes, size)[:, 0]
