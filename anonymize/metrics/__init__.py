"""Utility metrics: what a release has lost. One metric, one file; `METRICS` is the registry."""

from __future__ import annotations

from typing import Any

from anonymize.metrics import (
    c_avg,
    discernibility,
    gcp,
    loss,
    ncp,
    ncp_weighted,
    precision,
    research_value,
    suppression,
)
from anonymize.metrics.base import Metric, View

__all__ = ["METRICS", "Metric", "View", "utility"]

METRICS: dict[str, Metric] = {
    gcp.ID: gcp,
    ncp.ID: ncp,
    ncp_weighted.ID: ncp_weighted,
    discernibility.ID: discernibility,
    c_avg.ID: c_avg,
    precision.ID: precision,
    loss.ID: loss,
    research_value.ID: research_value,
    suppression.ID: suppression,
}


def utility(view: View) -> dict[str, Any]:
    """The report's `utility` block: every metric, and NCP and loss of each attribute as means over its cells."""
    block: dict[str, Any] = {name: metric.compute(view) for name, metric in METRICS.items()}
    block["attributes"] = {
        attribute.name: {"ncp": float(ncp) / view.rows, "loss": float(lost) / view.rows, "weight": attribute.weight}
        for attribute, ncp, lost in zip(view.attributes, view.attribute_ncp, view.attribute_loss, strict=True)
    }
    return block
