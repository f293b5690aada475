"""What the bounds take for granted of a cost."""

from __future__ import annotations

import numpy as np
import pytest

from anonymize.algorithms.optimize.costs import Classification, Cost, Discernibility
from tests.algorithms.splits import KINDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_parts_of_a_linear_group_cost_the_same_for_each_row(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, (60, 3)) * (rng.random((60, 3)) < 0.5)
    sizes = labels.sum(axis=1)
    cost: Cost = Discernibility(200, 4) if kind == "discernibility" else Classification((0, 3))
    chosen = cost.linear(sizes, labels)
    assert chosen.any() and not chosen.all()
    for part in (labels, labels // 2, rng.integers(0, labels + 1)):
        least = cost.least(part.sum(axis=1), part)
        assert (least[chosen] == cost.single * part.sum(axis=1)[chosen]).all()
    whole = cost.least(sizes, labels)
    assert (whole[~chosen] != cost.single * sizes[~chosen]).all()
