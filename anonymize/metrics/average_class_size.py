"""Average class size: rows over equivalence classes, suppressed rows being one class where they are published.

Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, section 4.1.
"""

from __future__ import annotations

from anonymize.metrics.base import OF_CLASSES
from anonymize.metrics.evidence import Evidence

ID = "average_class_size"
DEFINED_FOR = OF_CLASSES


def measure(evidence: Evidence) -> float | None:
    """Released rows / classes; None where there are no rows."""
    return float(evidence.sizes.mean()) if len(evidence.sizes) else None
