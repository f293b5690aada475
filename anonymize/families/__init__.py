"""Families of releases: what differs between them on the road that `anonymize._release` tells. One family, one file.

`FAMILIES` names them by what algorithms declare; those whose releases have equivalence classes share one road.
"""

from __future__ import annotations

from anonymize.algorithms import ALGORITHMS
from anonymize.errors import UsageError
from anonymize.families import bucketized, classes, perturbed, randomized, sampled, synthetic
from anonymize.families.base import Draft, Family, Measured
from anonymize.report.published import KINDS
from anonymize.request import Request

__all__ = ["FAMILIES", "Draft", "Family", "Measured", "check_bound", "family_of"]

FAMILIES: dict[str, Family] = {
    **dict.fromkeys(KINDS, classes),
    "bucketization": bucketized,
    "randomization": randomized,
    "perturbation": perturbed,
    "invention": synthetic,
    "sampled": sampled,
}


def check_bound(request: Request) -> None:
    """Raises UsageError where a bound on what classes lose is asked for, and there are none, or it would be public."""
    if request.bound and family_of(request.algorithm) is not classes:
        raise UsageError(f"--bound: a release of {request.algorithm} has no equivalence classes")
    if request.bound and request.public:
        raise UsageError("--bound: depends on the input, and so cannot be in a public report")


def family_of(algorithm: str) -> Family:
    """The family of an algorithm's releases. Raises UsageError for one that is not known: what is not known to have
    classes is not taken for having them."""
    name = ALGORITHMS[algorithm].NEEDS.family
    if name not in FAMILIES:
        raise UsageError(f"{algorithm}: there are no releases of the family {name}")
    return FAMILIES[name]
