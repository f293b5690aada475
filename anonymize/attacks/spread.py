"""What attackers who narrow cells share: how frequent each code is in the release, as far as it tells."""

from __future__ import annotations

import numpy as np

from anonymize.attacks.scene import ShownRows
from anonymize.classes import Floats


def code_shares(release: ShownRows, column: int, size: int) -> Floats:
    """(size,) how many rows have each code of a quasi-identifier, every row being spread evenly over its span. Each
    class adds to the first code of its span, and takes away behind the last; running sums make counts of that."""
    first, last = release.first[:, column], release.last[:, column]
    steps = np.zeros(size + 1)
    each = release.sizes / (last - first + 1)
    np.add.at(steps, first, each)
    np.add.at(steps, last + 1, -each)
    return np.asarray(np.maximum(steps.cumsum()[:size], 0.0))
