"""What the columns of an algorithm's release mean, as whoever has the released files alone would know it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anonymize.algorithms import ALGORITHMS
from anonymize.meaning import Manifest
from anonymize.spec import Spec


def manifest_of(spec: Spec, algorithm: str, options: Any, files: list[Path]) -> Manifest:
    """`files`: the table with the rows first, then what is beside it."""
    family, others = ALGORITHMS[algorithm].NEEDS.family.name, [str(path) for path in files[1:]]
    if family == "randomization":
        return Manifest.read(others[0])
    if family == "bucketization":
        return Manifest.of_buckets(spec, options.group, others[0] if others else None)
    return Manifest.of_spec(spec, labels=family.startswith("full-domain"))
