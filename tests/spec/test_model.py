"""What a spec as a whole says: the most individuals that a class has to have."""

from typing import Any

import pytest

from anonymize.privacy import PARAMETERS
from anonymize.spec import make

ALPHA = {"model": "alpha-k-anonymity", "alpha": 0.9, "k": 7}
KE = {"model": "k-e-anonymity", "k": 9, "e": 5}
MAP = {"model": "k-map", "k": 8, "fraction": 0.1}


@pytest.mark.parametrize(
    ("privacy", "k"),
    [
        ({"k": 3}, 3),
        ({"k": 3, "models": [ALPHA]}, 7),
        ({"k": 3, "models": [ALPHA, MAP]}, 8),
        ({"k": 3, "models": [KE]}, 3),
        ({"models": [KE]}, None),
        ({"l": 4}, None),
    ],
)
def test_the_largest_k_counts_individuals_and_no_values(privacy: dict[str, Any], k: int | None) -> None:
    content = {"version": 1, "quasi_identifiers": {"age": {}}, "sensitive": {"pay": {"type": "numeric"}}}
    assert make(content | {"privacy": privacy}, PARAMETERS).largest_k == k
