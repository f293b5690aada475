"""Utility metrics: what a release has lost. One metric, one file; those whose formula takes one to three lines are
here, a function each, whose docstring is the manual.

`METRICS` are those that every report has. What `evaluate` adds needs the original, and is in `measures`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anonymize.metrics.base import DRAWN, Bounds, Compute, Goal, Metric, View, computed, undefined
from anonymize.metrics.research_value import RESEARCH_VALUE


def formula(
    name: str, goal: Goal, bounds: Bounds, text: str, *, meaning: str, over_rows: bool = False
) -> Callable[[Compute], Metric]:
    """Makes a function the metric of this name, from the first six members of `Metric`."""
    return lambda compute: Metric(name, goal, bounds, text, meaning, over_rows, compute)


@formula(
    "gcp",
    "lower",
    (0.0, 1.0),
    "`ncp` / (rows x quasi-identifiers).",
    meaning="share of the quasi-identifiers' precision that is lost, 0 to 1",
)
def global_certainty_penalty(view: View) -> float:
    """Global certainty penalty: the mean of the normalized certainty penalty over all cells of the quasi-identifiers.

    0: nothing was generalized. 1: everything is suppressed. Tables of different size can be compared by it.

    Source: Ghinita et al., Fast data anonymization with low information loss, VLDB 2007.
    """
    return float(view.attribute_ncp.sum()) / (view.rows * len(view.attributes))


@formula(
    "ncp",
    "lower",
    (0.0, None),
    "The sum, between 0 and rows x quasi-identifiers.",
    meaning="the same, summed over cells",
    over_rows=True,
)
def certainty_penalty(view: View) -> float:
    """Normalized certainty penalty: the uncertainty of the release, summed over rows and quasi-identifiers, unweighted.

    A numeric cell costs (high - low) of its interval over (max - min) of the input's column. A categorical cell costs 0
    for a leaf, else the leaves under its node over all leaves, times the node's weight where the hierarchy gives it
    one, 1 at most. With `output.categorical: set` the node is the lowest that covers the set; see `ncp_set`. A
    suppressed cell costs 1.

    Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, section 2.
    """
    return float(view.attribute_ncp.sum())


@formula(
    "ncp_weighted",
    "lower",
    (0.0, None),
    "The weighted sum.",
    meaning="the same, with the spec's weights",
    over_rows=True,
)
def weighted_certainty_penalty(view: View) -> float:
    """Weighted normalized certainty penalty: as `ncp`, every attribute's share times its weight in the spec.

    Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, section 2.
    """
    return float(view.attribute_ncp @ np.array([attribute.weight for attribute in view.attributes]))


@formula(
    "gcp_set",
    "lower",
    (0.0, 1.0),
    "`ncp_set` / (rows x quasi-identifiers); None for a full-domain recoding.",
    meaning="as gcp, of the values present in place of nodes (categorical: set)",
)
def global_certainty_penalty_of_sets(view: View) -> float | None:
    """Global certainty penalty of sets: the mean of `ncp_set` over all cells of the quasi-identifiers.

    Where no node has a weight below 1 it is at most `gcp`: a class has no more values than there are leaves under the
    lowest node that covers them.
    """
    if view.attribute_ncp_set is None:
        return None
    return float(view.attribute_ncp_set.sum()) / (view.rows * len(view.attributes))


@formula(
    "ncp_set",
    "lower",
    (0.0, None),
    "The sum, between 0 and rows x quasi-identifiers; None for a full-domain recoding.",
    meaning="the same, summed over cells",
    over_rows=True,
)
def certainty_penalty_of_sets(view: View) -> float | None:
    """Normalized certainty penalty of sets: as `ncp`, where a category shows the values that its class has.

    A categorical cell costs 0 if its class has one value, else the number of different values in the class over all
    leaves, without weights of nodes. Numeric cells and suppressed rows cost what they cost in `ncp`.

    It is what `output.categorical: set` releases. For multidimensional and local recoding, where a class is a region,
    it is computed whether or not that is asked for, so that both ways of showing can be compared. Of single-dimensional
    recoding, and in `evaluate`, it is that of the sets that are written, other cells costing what they cost in `ncp`;
    `evaluate` has none for a release without sets. A level of a hierarchy shows nodes.

    Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, section 3.2.2, shows the values
    present and charges the leaves under their closest common ancestor, which is `ncp`.
    """
    return None if view.attribute_ncp_set is None else float(view.attribute_ncp_set.sum())


@formula(
    "discernibility",
    "lower",
    (0.0, None),
    "Sum of squared class sizes, plus rows x suppressed rows; a whole number.",
    meaning="sum of squared class sizes",
    over_rows=True,
)
def row_discernibility(view: View) -> int:
    """Discernibility: every row is charged the number of rows that it cannot be distinguished from.

    A row of a class costs the class's size, a suppressed row the number of rows of the table.

    Source: Bayardo and Agrawal, Data privacy through optimal k-anonymization, ICDE 2005.
    """
    return int((view.sizes**2).sum()) + view.rows * view.suppressed_rows


@formula(
    "c_avg",
    "lower",
    (1.0, None),
    "Rows / (classes x k); None where there are no classes.",
    meaning="mean class size over the smallest allowed",
)
def normalized_class_size(view: View) -> float | None:
    """Normalized average class size: how many times larger than needed the classes are.

    Suppressed rows are counted neither among the rows nor as a class.

    Source: LeFevre, DeWitt and Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006.
    """
    return float(view.sizes.sum()) / (len(view.sizes) * view.k) if len(view.sizes) else None


@formula(
    "precision",
    "higher",
    (0.0, 1.0),
    "1 - mean of level / height over the attributes; None for another recoding model.",
    meaning="1 - mean level / height of the hierarchies",
)
def precision(view: View) -> float | None:
    """Precision: one minus the mean relative level of generalization of the attributes.

    Defined for full-domain generalization only, where each attribute has one level.

    Source: Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, 2002.
    """
    if view.levels is None:
        return None
    return 1 - sum(level / height for level, height in view.levels) / len(view.levels)


@formula(
    "loss",
    "lower",
    (0.0, 1.0),
    "The mean over all cells of the quasi-identifiers.",
    meaning="Iyengar's loss metric, 0 to 1",
)
def loss(view: View) -> float:
    """Loss metric: the share of its domain that a cell could have come from, averaged over all cells.

    A categorical cell costs (leaves under its node - 1) / (leaves - 1), a numeric one the width of its interval over
    the range, a suppressed one 1.

    Source: Iyengar, Transforming data to satisfy privacy constraints, KDD 2002.
    """
    return float(view.attribute_loss.sum()) / (view.rows * len(view.attributes))


@formula("suppression", "lower", (0.0, 1.0), "Suppressed rows / rows.", meaning="share of rows suppressed")
def suppressed_share(view: View) -> float:
    """Suppression: the share of rows that are published suppressed or left out."""
    return view.suppressed_rows / view.rows


__all__ = ["DRAWN", "METRICS", "Metric", "View", "computed", "undefined", "utility"]

METRICS: dict[str, Metric] = {
    metric.ID: metric
    for metric in (
        global_certainty_penalty,
        certainty_penalty,
        weighted_certainty_penalty,
        global_certainty_penalty_of_sets,
        certainty_penalty_of_sets,
        row_discernibility,
        normalized_class_size,
        precision,
        loss,
        RESEARCH_VALUE,
        suppressed_share,
    )
}


def utility(view: View) -> dict[str, Any]:
    """The report's `utility` block: every metric, and NCP and loss of each attribute as means over its cells."""
    block: dict[str, Any] = {name: metric.compute(view) for name, metric in METRICS.items()}
    means = {"ncp": view.attribute_ncp, "ncp_set": view.attribute_ncp_set, "loss": view.attribute_loss}
    block["attributes"] = {
        attribute.name: {
            **{name: None if sums is None else float(sums[index]) / view.rows for name, sums in means.items()},
            "weight": attribute.weight,
        }
        for index, attribute in enumerate(view.attributes)
    }
    return block
