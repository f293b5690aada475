"""What is measured of a release beside the original: its classes as regions, and the targets of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from anonymize.classes import Floats, Ints
from anonymize.table import Table
from anonymize.table.model import CodedColumn


@dataclass(frozen=True)
class Shared:
    """A column that passes through, in codes below `size` that mean the same in both tables: `original` (rows,) and
    `released` (released rows,)."""

    original: Ints
    released: Ints
    size: int


@dataclass(frozen=True)
class Evidence:
    """A release as its recipient has it, and the original table.

    `table`: the original with its workload. `first`, `last` (classes, attributes) int64: the leaf codes that each
    class's region spans. `start`, `stop` (classes, attributes): its ends as numbers, of a category the positions of
    leaves; nan for a missing number. `sizes` (classes,) rows; suppressed rows that are published are a class that spans
    everything. `class_of` (released rows,). `targets`: the targets by name, of the released rows; those of which the
    release does not tell the values are absent. `shared`: by name, the sensitive attributes and the targets that pass
    through. `queries`: how many random queries; `seed` of what is random.
    """

    table: Table
    first: Ints
    last: Ints
    start: Floats
    stop: Floats
    sizes: Ints
    class_of: Ints
    targets: Mapping[str, CodedColumn]
    shared: Mapping[str, Shared] = field(default_factory=dict)
    queries: int = 1000
    seed: int = 0

    def overlap(self, attribute: int, low: float, high: float, *, whole: bool) -> Floats:
        """(classes,) the share of each class's region that lies in [low, high], spread evenly; `whole`: over whole
        numbers, else over a line. Nothing of a missing number."""
        start, stop = self.start[:, attribute], self.stop[:, attribute]
        unit = 1.0 if whole else 0.0
        common = np.minimum(stop, high) - np.maximum(start, low) + unit
        width = stop - start + unit
        inside = (start >= low) & (start <= high)
        shares = np.divide(np.maximum(common, 0.0), width, out=inside.astype(np.float64), where=width > 0)
        return np.where(np.isnan(start), 0.0, np.minimum(shares, 1.0))


class Measure(Protocol):
    """The members of the module of a measure: a figure, or a block of figures, that needs the original as well."""

    ID: str
    """Key in the block `utility`."""

    def measure(self, evidence: Evidence) -> Any:
        """What JSON holds; None where there is nothing to measure. No cell value is in it."""
