"""Distances: how far the distribution that a recipient estimates from the release is from that of the original.

For each sensitive attribute and target that passes through. The recipient spreads the rows of a class evenly over the
leaves of its region, which gives an estimated joint table of all quasi-identifiers and the attribute. `kl`,
`chi_squared`, `euclidean`, `total_variation` and `hellinger` compare it with the original's, `base_error` and
`cube_error` are the mean relative errors of the counts of its cells, and of those of every group-by. A joint table of
more than a million cells is not made, and these figures are left out.

`uncertainty` is, for each quasi-identifier, how much it tells of the attribute (the uncertainty coefficient) in the
original and in the estimate; null where that table of two alone would have more than a million cells.

Source: Guo, Ying, Wu, On attribute disclosure in randomization based privacy preserving data publishing, section V.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from anonymize.classes import Floats, Ints
from anonymize.metrics import distributions
from anonymize.metrics.evidence import Evidence, Shared

ID = "distances"
CELLS = 1_000_000


def measure(evidence: Evidence) -> dict[str, Any] | None:
    """By attribute: `cells` of the joint table, the figures, and `uncertainty`. None where no rows are released, or no
    attribute passes through."""
    if not len(evidence.sizes):
        return None
    return {name: _figures(evidence, shared) for name, shared in evidence.shared.items()} or None


def _figures(evidence: Evidence, shared: Shared) -> dict[str, Any]:
    attributes = range(len(evidence.table.attributes))
    cells = math.prod(_sizes(evidence, attributes)) * shared.size
    found: dict[str, Any] = {"cells": cells}
    if cells <= CELLS:
        original, estimated = _tables(evidence, attributes, shared)
        found |= distributions.distances(original, estimated, evidence.table.rows)
        found["base_error"] = distributions.base_error(original, estimated)
        found["cube_error"] = distributions.cube_error(original, estimated)
    names = [attribute.name for attribute in evidence.table.attributes]
    return found | {"uncertainty": {name: _uncertainty(evidence, at, shared) for at, name in enumerate(names)}}


def _uncertainty(evidence: Evidence, at: int, shared: Shared) -> dict[str, float] | None:
    if _sizes(evidence, [at])[0] * shared.size > CELLS:
        return None
    tables = _tables(evidence, [at], shared)
    original, release = (distributions.uncertainty(distributions.distribution(table)) for table in tables)
    return {"original": original, "release": release}


def _sizes(evidence: Evidence, attributes: Any) -> list[int]:
    return [evidence.table.attributes[at].domain.size for at in attributes]


def _tables(evidence: Evidence, attributes: Any, shared: Shared) -> tuple[Floats, Floats]:
    """Counts of the original and of the estimate, an axis for each attribute and one for the shared values."""
    chosen, shape = list(attributes), _sizes(evidence, attributes)
    columns = [evidence.table.attributes[at].codes.astype(np.int64) for at in chosen]
    place = np.ravel_multi_index((*columns, shared.original), (*shape, shared.size))
    original = np.bincount(place, minlength=math.prod(shape) * shared.size).reshape(*shape, shared.size)
    counts = _counts(evidence.class_of, shared.released, len(evidence.sizes), shared.size)
    low, high = evidence.first[:, chosen], evidence.last[:, chosen]
    return original.astype(np.float64), distributions.spread_of_boxes(low, high, counts, shape)


def _counts(classes: Ints, values: Ints, count: int, size: int) -> Floats:
    """(classes, values) rows."""
    table = np.bincount(classes * size + values, minlength=count * size)
    return table.reshape(count, size).astype(np.float64)
