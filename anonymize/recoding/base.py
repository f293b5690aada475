"""What every kind of recoding is: classes of rows, and how these are shown, saved and levelled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Partition
from anonymize.recoding.appearance import Appearance
from anonymize.recoding.columns import Released
from anonymize.spec import Output, Spec
from anonymize.table import Table

if TYPE_CHECKING:
    from anonymize.recoding.saved.save import Contents


class Recoding(ABC):
    """What an algorithm that makes equivalence classes returns.

    `partition`: the classes. `suppressed` (s,) uint32: rows of no class, which the algorithm gave up. `SETS`: whether
    the output's `categorical: set` has an effect.
    """

    KIND: ClassVar[str]
    SETS: ClassVar[bool] = True
    partition: Partition
    suppressed: NDArray[np.uint32]

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""

    @abstractmethod
    def appearances(self, table: Table, output: Output) -> list[Appearance]:
        """How each quasi-identifier of the table appears in the classes under the spec's `output`."""

    @abstractmethod
    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        """What a saved recoding holds of it; `released` is what it was rendered as.

        Raises UsageError where what is shown is not a function of the values.
        """

    @property
    def vector(self) -> tuple[int, ...] | None:
        """The level of every quasi-identifier's hierarchy that all classes show; None where there is no such vector."""
        return None

    def whole(self) -> Recoding | None:
        """The same rows as one class, where that is the least this kind of recoding can show; else None."""
        return None

    @property
    def withheld(self) -> bool:
        """Whether the suppressed rows must not be published, whatever the spec says."""
        return False

    @property
    def labelled(self) -> bool:
        """Whether numbers are released as labels of their hierarchy."""
        return False

    @property
    def regions(self) -> Partition | None:
        """The classes where each is released as the smallest region around its rows; else None."""
        return None
