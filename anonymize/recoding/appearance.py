"""How one quasi-identifier appears in the classes of a release.

Whatever depends on what a class shows has its place here: the texts, what showing them costs, and whatever else is to
follow from them. A way of showing values is one subclass; nothing outside of it asks which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from anonymize.classes import Codes, Floats, Ints, Partition
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
        """The ends of the distinct regions, and which of them each class has.

        Codes fit into 32 bits, so that a pair of them is one number of 64 bits and one sort finds the distinct pairs.
        """
        keys, of_class = np.unique(self.low.astype(np.uint64) << np.uint64(32) | self.high, return_inverse=True)
        return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64), of_class
