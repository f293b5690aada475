"""The commands for Python users: frames or files in, frames and reports out, the same roads and the same verification.

A table is a path, or a frame: of polars, pandas (2.2 or newer), pyarrow, or anything else that exports an Arrow stream.
A frame is written to a file without a name first, as the release is verified from what was written; what comes back is
of the kind that went in. A null is a missing value.
"""

from __future__ import annotations

from anonymize.python.measuring import attack, audit, evaluate
from anonymize.python.preparing import Spec, SpecLike, compare, explain, init, model_of, validate
from anonymize.python.releasing import recode, release, tabulate
from anonymize.results import (
    Attacked,
    AuditReport,
    ComparedReleases,
    Evaluated,
    RecodedTable,
    Release,
    ReleasedTables,
    Validated,
)

__all__ = [
    "Attacked",
    "AuditReport",
    "ComparedReleases",
    "Evaluated",
    "RecodedTable",
    "Release",
    "ReleasedTables",
    "Spec",
    "SpecLike",
    "Validated",
    "attack",
    "audit",
    "compare",
    "evaluate",
    "explain",
    "init",
    "model_of",
    "recode",
    "release",
    "tabulate",
    "validate",
]
