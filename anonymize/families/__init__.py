"""Families of releases: what differs between them on the road that `anonymize._release` tells. One family, one file.

`FAMILIES` names them by what algorithms declare; those whose releases have equivalence classes share one road.
"""

from __future__ import annotations

from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.base import Family, Registry
from anonymize.errors import UsageError
from anonymize.families.base import Draft, Measured
from anonymize.request import Request

__all__ = ["FAMILIES", "Draft", "Measured", "check_bound", "draft_of", "family_of"]

CLASSED = ("full-domain", "full-domain and cell suppression", "single-dimensional", "multidimensional", "local")
FAMILIES: Registry[type[Draft]] = Registry(
    __name__,
    {
        **dict.fromkeys(CLASSED, "classes:ClassedDraft"),
        "bucketization": "bucketized:BucketizedDraft",
        "randomization": "randomized:RandomizedDraft",
        "perturbation": "perturbed:PerturbedDraft",
        "invention": "synthetic:SyntheticDraft",
        "sampled": "sampled:SampledDraft",
    },
)
"""By name, and the class of each, whose module is imported when it is first taken."""


def check_bound(request: Request) -> None:
    """Raises UsageError where a bound on what classes lose is asked for, and there are none, or it would be public."""
    if request.bound and not family_of(request.algorithm).classes:
        raise UsageError(f"--bound: a release of {request.algorithm} has no equivalence classes")
    if request.bound and request.public:
        raise UsageError("--bound: depends on the input, and so cannot be in a public report")


def family_of(algorithm: str) -> Family:
    """The family of an algorithm's releases."""
    return ALGORITHMS[algorithm].NEEDS.family


def draft_of(algorithm: str) -> type[Draft]:
    """What makes an algorithm's releases. Raises UsageError for a family that is not known: what is not known to have
    classes is not taken for having them."""
    name = family_of(algorithm).name
    if name not in FAMILIES:
        raise UsageError(f"{algorithm}: there are no releases of the family {name}")
    return FAMILIES[name]
