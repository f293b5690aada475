"""Hierarchies of more levels than a byte can count, in every algorithm that walks levels."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.algorithms import Context, datafly, incognito, mingen, mu_argus, research_value, samarati
from anonymize.algorithms.base import Algorithm
from anonymize.recoding import Levels
from tests.algorithms.full_domain import leveled, masked
from tests.algorithms.tables import k_anonymity, table_of

VALUES = [f"{kind}{number}{'x' * 178}" for kind in "ab" for number in range(4)]
"""Two kinds of four values each; those of one kind look alike from level 179 on."""


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        pytest.param(datafly, {}, id="datafly"),
        pytest.param(mu_argus, {}, id="mu-argus"),
        pytest.param(samarati, {}, id="samarati"),
        pytest.param(samarati, {"all_minimal": True}, id="samarati all-minimal"),
        pytest.param(mingen, {}, id="mingen"),
        pytest.param(incognito, {}, id="incognito"),
        pytest.param(incognito, {"subsets": True}, id="incognito subsets"),
        pytest.param(incognito, {"iterate": True}, id="incognito iterate"),
        pytest.param(research_value, {}, id="research-value"),
        pytest.param(research_value, {"search": "hybrid", "memory_limit": 5}, id="research-value in parts"),
    ],
)
def test_levels_beyond_a_byte(algorithm: Algorithm, options: dict[str, Any]) -> None:
    table = table_of(leveled("deep", VALUES, *(masked(count) for count in range(1, 180))))
    found = algorithm.run(table, (k_anonymity(4),), algorithm.Options(**options), Context())
    assert isinstance(found, Levels)
    assert found.levels.tolist() == [[179], [179]]
