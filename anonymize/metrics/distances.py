"""Distances: how far the distribution that a recipient estimates from the release is from that of the original.

Measured for each sensitive attribute and target that passes through, on the joint table of all quasi-identifiers and
that attribute. From a generalized release the recipient spreads the rows of a class evenly over the leaves of its
region; from a bucketized one, the sensitive values of a group evenly over its rows; what came through channels is
reconstructed.
`kl`, `chi_squared`, `euclidean`, `total_variation` and `hellinger` compare the estimate with the original's;
`base_error` and `cube_error` are the mean relative errors of the counts of its cells, and of those of every group-by. A
joint table of more than 20 million cells is not made, and these figures are left out; `cells` says how many it has.

`kl` is the sum of p ln(p / q) in nats, p being the original's distribution and q the estimate. Cells in which p is 0
add nothing, whatever q is there. Where p is not 0, q is raised to half a row of the original, 0.5 / rows, if it is
less, and all of q is then rescaled to sum 1. Without this floor a single cell that exists and is estimated at 0 would
make the figure infinite, and no two such releases could be compared; half a row is the most that still rounds to no
row. The price: `kl` is at most ln(3 x rows), so a release that rules out what is there looks better than it is, and as
the floor follows from the number of rows, figures of originals of different size are not comparable. The floor does not
act where every cell of the original is estimated at half a row or more. The other distances have no floor, and need
none.

Source: Guo, Ying, Wu, On attribute disclosure in randomization based privacy preserving data publishing, section V.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonymize.metrics import distributions
from anonymize.metrics.base import OF_ESTIMATES
from anonymize.metrics.evidence import Evidence
from anonymize.metrics.joint import MOST_CELLS, Joint

ID = "distances"
DEFINED_FOR = OF_ESTIMATES


def measure(evidence: Evidence) -> dict[str, Any] | None:
    """By attribute: `cells` of the joint table, and the figures. None where no rows are released, or nothing passes
    through."""
    return figures(evidence.joints) if len(evidence.sizes) else None


def figures(joints: Mapping[str, Joint]) -> dict[str, Any] | None:
    """The same, of the joint tables by attribute."""
    return {name: _compared(joint) for name, joint in joints.items()} or None


def _compared(joint: Joint) -> dict[str, Any]:
    axes = range(len(joint.names))
    cells = joint.cells(axes)
    block: dict[str, Any] = {"cells": int(cells)}
    if cells > MOST_CELLS:
        return block
    original, estimated = joint.tables(axes)
    if not (original > 0).any() or not (estimated > 0).any():
        return block
    block |= distributions.distances(original, estimated, joint.rows)
    block["base_error"] = distributions.base_error(original, estimated)
    block["cube_error"] = distributions.cube_error(original, estimated)
    return block
