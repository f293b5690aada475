"""Roads to releases that have no equivalence classes, by the family of the algorithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anonymize.request import Request
from anonymize.roads import bucketized, randomized

ROADS: dict[str, Callable[[Request], dict[str, Any]]] = {
    "bucketization": bucketized.release,
    "randomization": randomized.release,
}
