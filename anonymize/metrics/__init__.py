"""Utility metrics: what a release has lost. One metric, one file; metrics of one to three lines share `formulas`.

`METRICS` are those that every report has. What `evaluate` adds needs the original, and is in `measures`.
"""

from __future__ import annotations

from typing import Any

from anonymize.metrics import formulas, research_value
from anonymize.metrics.base import DRAWN, Metric, View, computed, undefined

__all__ = ["DRAWN", "METRICS", "Metric", "View", "computed", "undefined", "utility"]

METRICS: dict[str, Metric] = {
    metric.ID: metric
    for metric in (
        formulas.global_certainty_penalty,
        formulas.certainty_penalty,
        formulas.weighted_certainty_penalty,
        formulas.global_certainty_penalty_of_sets,
        formulas.certainty_penalty_of_sets,
        formulas.row_discernibility,
        formulas.normalized_class_size,
        formulas.precision,
        formulas.loss,
        research_value,
        formulas.suppressed_share,
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
