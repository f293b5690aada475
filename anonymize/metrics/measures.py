"""What `evaluate` adds to a release's metrics: measures that need the original. `MEASURES` is the registry.

They are in a module of their own because every release imports the metrics, and none of them these.
"""

from __future__ import annotations

from anonymize.metrics import average_class_size, distances, imprecision, query_error, targets, uncertainty
from anonymize.metrics.evidence import OriginalMeasure

MEASURES: dict[str, OriginalMeasure] = {
    average_class_size.ID: average_class_size,
    targets.ID: targets,
    imprecision.ID: imprecision,
    query_error.ID: query_error,
    distances.ID: distances,
    uncertainty.ID: uncertainty,
}
