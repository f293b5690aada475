"""Utility metrics: what a release has lost. One metric, one file.

`METRICS` are those that every report has. `MEASURES` need the original, and are what `evaluate` adds.
"""

from __future__ import annotations

from typing import Any

from anonymize.metrics import (
    average_class_size,
    c_avg,
    discernibility,
    distances,
    gcp,
    gcp_set,
    imprecision,
    loss,
    ncp,
    ncp_set,
    ncp_weighted,
    precision,
    query_error,
    research_value,
    suppression,
    targets,
    uncertainty,
)
from anonymize.metrics.base import Metric, View
from anonymize.metrics.evidence import Evidence, Measure

__all__ = ["MEASURES", "METRICS", "Evidence", "Measure", "Metric", "View", "utility"]

METRICS: dict[str, Metric] = {
    gcp.ID: gcp,
    ncp.ID: ncp,
    ncp_weighted.ID: ncp_weighted,
    gcp_set.ID: gcp_set,
    ncp_set.ID: ncp_set,
    discernibility.ID: discernibility,
    c_avg.ID: c_avg,
    precision.ID: precision,
    loss.ID: loss,
    research_value.ID: research_value,
    suppression.ID: suppression,
}

MEASURES: dict[str, Measure] = {
    average_class_size.ID: average_class_size,
    targets.ID: targets,
    imprecision.ID: imprecision,
    query_error.ID: query_error,
    distances.ID: distances,
    uncertainty.ID: uncertainty,
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
