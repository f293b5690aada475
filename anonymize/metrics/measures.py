"""What `evaluate` adds to a release's metrics: measures that need the original. `MEASURES` is the registry.

They are in a module of their own because every release imports the metrics, and none of them these.
"""

from __future__ import annotations

from anonymize.metrics import class_measures, joint_measures
from anonymize.metrics.evidence import OriginalMeasure

MEASURES: dict[str, OriginalMeasure] = {
    class_measures.AverageClassSize.ID: class_measures.AverageClassSize(),
    class_measures.TargetsLeft.ID: class_measures.TargetsLeft(),
    class_measures.Imprecision.ID: class_measures.Imprecision(),
    joint_measures.QueryError.ID: joint_measures.QueryError(),
    joint_measures.Distances.ID: joint_measures.Distances(),
    joint_measures.Uncertainty.ID: joint_measures.Uncertainty(),
}
