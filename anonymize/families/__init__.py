"""Families of releases: what differs between them on the road that `anonymize.release` tells. One family, one file.

`UNCLASSED` names the families whose releases have no equivalence classes; all others share the road of `classes`.
"""

from __future__ import annotations

from anonymize.algorithms import ALGORITHMS
from anonymize.errors import UsageError
from anonymize.families import bucketized, classes, randomized
from anonymize.families.base import Draft, Family, Measured
from anonymize.request import Request

__all__ = ["UNCLASSED", "Draft", "Family", "Measured", "check_bound", "family_of"]

UNCLASSED: dict[str, Family] = {
    "bucketization": bucketized,
    "randomization": randomized,
}


def check_bound(request: Request) -> None:
    """Raises UsageError where a bound on what classes lose is asked for, and there are none, or it would be public."""
    if request.bound and family_of(request.algorithm) is not classes:
        raise UsageError(f"--bound: a release of {request.algorithm} has no equivalence classes")
    if request.bound and request.public:
        raise UsageError("--bound: it follows from the input, and a public report has nothing that does")


def family_of(algorithm: str) -> Family:
    """The family of an algorithm's releases."""
    return UNCLASSED.get(ALGORITHMS[algorithm].NEEDS.family, classes)
