"""What a search on an engine goes by, and what it comes to, whatever the algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anonymize.privacy import Requirement
from anonymize.spark.columns import EngineColumns
from anonymize.spark.engine import DataFrame
from anonymize.spark.learned import Learned
from anonymize.spec import Spec


@dataclass(frozen=True)
class EngineFrame:
    """What a search goes by, and what a release is measured by."""

    spec: Spec
    learned: Learned
    requirements: tuple[Requirement, ...]
    layout: EngineColumns


@dataclass(frozen=True)
class EngineOutcome:
    """What was found. `rows`: the released rows, in any order, their columns by their places.

    `options`, `recoding`: what the report says of the search, and of what it found. `levels`: the pairs (level, height)
    of a generalization that is the same for all rows. `left_out`: rows of the input that are not among those of the
    release. `labelled`: numbers are shown as labels of their hierarchy. `small`: no class has more rows than a worker
    holds at once. `as_one_class`: the rows as one class, where that is released instead once too many read as
    suppressed.
    """

    rows: DataFrame
    options: Mapping[str, Any]
    recoding: Mapping[str, Any]
    levels: Sequence[tuple[int, int]] | None = None
    left_out: int = 0
    labelled: bool = False
    small: bool = False
    as_one_class: Callable[[], DataFrame] | None = None
