"""Uncertainty: how much of what one attribute tells of another is left in the release.

The uncertainty coefficient U(X, Y) = (H(X) + H(Y) - H(X, Y)) / H(Y) is the share of the entropy of Y that is gone once
X is known: 0 where X tells nothing about Y, 1 where it tells everything. It is given for every pair of
quasi-identifiers, and for each of them with every sensitive attribute and target that passes through: of the original,
and of what a recipient estimates from the release. The joint table of the two is summed from that of all attributes,
whose negative counts are set to 0 first; where that would have more than 20 million cells, it is estimated by itself.
It is null for a pair that has more.

Setting negative counts to 0 biases U of a randomized release. The counts that noise has pushed below 0 are cut off,
those that it has pushed above 0 stay, and the table is rescaled: mass moves into cells that are empty in truth. So what
is independent seems to be related, and what is closely related seems to be less so. The bias fades with more rows and
with less distortion, but it does not average out over repeated releases. Measured on two attributes of 8 values, both
kept with probability p and otherwise drawn evenly, over 200 tables each, as mean U of the release:

- independent (U of the original 0.01 at 1,000 rows, 0.001 at 10,000): at 1,000 rows 0.32, 0.17 and 0.04 for p of 0.3,
  0.5 and 0.8; at 10,000 rows 0.13, 0.02 and 0.004; at 100,000 rows 0.015, 0.002 and 0.0004;
- each determines the other (U of the original 1): at 1,000 rows 0.47, 0.65 and 0.84; at 10,000 rows 0.66, 0.82 and
  0.93; at 100,000 rows 0.84, 0.93 and 0.97.

These are figures of `--method inverse`. A U of a randomized release that is above the original's is therefore noise,
and not something that the release reveals.

Source: Guo, Ying, Wu, On attribute disclosure in randomization based privacy preserving data publishing, section V.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from anonymize.metrics import distributions
from anonymize.metrics.base import OF_ESTIMATES
from anonymize.metrics.evidence import Evidence, OfClasses
from anonymize.metrics.joint import MOST_CELLS, Joint

ID = "uncertainty"
DEFINED_FOR = OF_ESTIMATES


def measure(evidence: Evidence) -> dict[str, Any] | None:
    """`original` and `released` U(X, Y) by X, then by Y. None where no rows are released, or there is no pair."""
    return figures(evidence.joints or {"": OfClasses(evidence)}) if len(evidence.sizes) else None


def figures(joints: Mapping[str, Joint]) -> dict[str, Any] | None:
    """The same, of the joint tables by attribute."""
    coefficients: dict[str, dict[str, Any]] = {}
    for joint in joints.values():
        for x, y in combinations(range(len(joint.names)), 2):
            one, other = joint.names[x], joint.names[y]
            if other not in coefficients.get(one, {}):
                forth, back = _both_ways(joint, (x, y))
                coefficients.setdefault(one, {})[other] = forth
                coefficients.setdefault(other, {})[one] = back
    return coefficients or None


def _both_ways(joint: Joint, pair: tuple[int, int]) -> tuple[dict[str, float] | None, dict[str, float] | None]:
    """U(X, Y) and U(Y, X)."""
    if joint.cells(pair) > MOST_CELLS:
        return None, None
    tables = joint.tables(pair)
    if not all((table > 0).any() for table in tables):
        return None, None
    before, after = (distributions.both_ways(distributions.distribution(table)) for table in tables)
    forth, back = ({"original": one, "released": other} for one, other in zip(before, after, strict=True))
    return forth, back
