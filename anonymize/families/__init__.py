"""Families of releases: what differs between them on the road that `anonymize._release` tells. One family, one file.

`FAMILIES` names them by what algorithms declare; those whose releases have equivalence classes share one road.
"""

from __future__ import annotations

from dataclasses import replace

from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.base import (
    CELL_SUPPRESSION,
    FULL_DOMAIN,
    LOCAL,
    MULTIDIMENSIONAL,
    SINGLE_DIMENSIONAL,
    Registry,
)
from anonymize.errors import UsageError
from anonymize.families.base import Draft, Measured
from anonymize.files import manifest_beside
from anonymize.places import is_uri
from anonymize.publication import ReleasePaths
from anonymize.request import Request

__all__ = ["FAMILIES", "Draft", "Measured", "draft_of", "release_paths"]

CLASSED = (FULL_DOMAIN, CELL_SUPPRESSION, SINGLE_DIMENSIONAL, MULTIDIMENSIONAL, LOCAL)
FAMILIES: Registry[type[Draft]] = Registry(
    __name__,
    {
        **dict.fromkeys((each.name for each in CLASSED), "classes:ClassedDraft"),
        "bucketization": "bucketized:BucketizedDraft",
        "randomization": "randomized:RandomizedDraft",
        "perturbation": "perturbed:PerturbedDraft",
        "invention": "synthetic:SyntheticDraft",
        "sampled": "sampled:SampledDraft",
    },
)
"""By name, and the class of each, whose module is imported when it is first taken."""


def draft_of(algorithm: str) -> type[Draft]:
    """What makes an algorithm's releases. Raises UsageError for a family that is not known: what is not known to have
    classes is not taken for having them."""
    name = ALGORITHMS[algorithm].NEEDS.family.name
    if name not in FAMILIES:
        raise UsageError(f"{algorithm}: there are no releases of the family {name}")
    return FAMILIES[name]


def release_paths(request: Request) -> ReleasePaths:
    """Where a release goes, with the manifest: where it is asked for, and where columns mean more than the spec says of
    quasi-identifiers. Raises UsageError for outputs that the family cannot make."""
    paths = draft_of(request.algorithm).paths(request)
    if paths.texts:
        return paths
    output = paths.tables[0]
    needed = request.spec.treatments and output not in ("-", "/dev/stdout") and not is_uri(output)
    manifest = request.manifest or (manifest_beside(output) if needed else None)
    return paths if manifest is None else replace(paths, texts=[manifest])
