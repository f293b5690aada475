"""How one quasi-identifier appears in the classes of a release.

Whatever depends on what a class shows has its place here: the texts, what showing them costs, and whatever else is to
follow from them. A way of showing values is one subclass; nothing outside of it asks which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from anonymize.classes import Codes, Floats, Ints, KeyGroups, Partition, mixed_radix
from anonymize.recoding.columns import ReleasedColumn
from anonymize.spec import Output

BOUNDS = ["_low", "_high"]
"""What is added to the name of a quasi-identifier that is released as two columns."""
MISSING = "_missing"
"""And of the third column, which says whether a number may be missing."""


class Appearance(ABC):
    """One quasi-identifier in all classes of a recoding."""

    @abstractmethod
    def columns(self) -> list[ReleasedColumn]:
        """The column, or the two, that the quasi-identifier is released as; the class of suppressed rows comes last."""

    @abstractmethod
    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and Iyengar's loss of a cell of each class."""


@dataclass(frozen=True)
class InRegions(Appearance):
    """A quasi-identifier where every class is a region of its own, under the spec's `output`.

    `codes` (rows,): the values. `low`, `high` (classes,): the lowest and the highest code of each class's region.
    """

    name: str
    codes: Codes
    partition: Partition
    low: Codes
    high: Codes
    output: Output

    def _distinct(self) -> tuple[Ints, Ints, Ints]:
        """The ends of the distinct regions, and which of them each class has."""
        size = int(self.high.max(initial=0)) + 1
        groups = KeyGroups.of(*mixed_radix((self.low, self.high), (size, size)))
        first = groups.first
        return self.low[first].astype(np.int64), self.high[first].astype(np.int64), groups.group
