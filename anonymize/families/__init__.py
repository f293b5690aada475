"""Families of releases: what differs between them on the road that `anonymize.release` tells. One family, one file.

`UNCLASSED` names the families whose releases have no equivalence classes; all others share the road of `classes`.
"""

from __future__ import annotations

from anonymize.algorithms import ALGORITHMS
from anonymize.families import bucketized, classes, randomized
from anonymize.families.base import Draft, Family, Measured

__all__ = ["UNCLASSED", "Draft", "Family", "Measured", "family_of"]

UNCLASSED: dict[str, Family] = {
    "bucketization": bucketized,
    "randomization": randomized,
}


def family_of(algorithm: str) -> Family:
    """The family of an algorithm's releases."""
    return UNCLASSED.get(ALGORITHMS[algorithm].NEEDS.family, classes)
