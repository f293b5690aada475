"""Full-domain generalization: levels of hierarchies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Partition
from anonymize.recoding.appearance import Appearance
from anonymize.recoding.base import Recoding
from anonymize.recoding.columns import Released
from anonymize.recoding.generalized import Generalized
from anonymize.spec import Output, Spec
from anonymize.table import Table

if TYPE_CHECKING:
    from anonymize.recoding.saved.contents import Contents


@dataclass(frozen=True)
class Levels(Recoding):
    """Full-domain generalization: every cell is released as its value's ancestor at a level of the hierarchy.

    `partition`: the classes; the rows of one have the same ancestors at its levels. `levels` (classes, attributes)
    int16: the level vector of each class, which all share unless the recoding is local. `suppressed` (s,) uint32: rows
    of no class. `chosen`: what else the report's `recoding` block says. `withheld`: the suppressed rows stay out.
    """

    KIND: ClassVar[str] = "levels"
    SETS: ClassVar[bool] = False

    partition: Partition
    levels: NDArray[np.int16]
    suppressed: NDArray[np.uint32]
    chosen: dict[str, Any] | None = None
    withheld: bool = False

    @property
    def vector(self) -> tuple[int, ...] | None:
        """The level vector that all classes share; None where there is none, or no class."""
        if not len(self.levels) or (self.levels != self.levels[0]).any():
            return None
        return tuple(self.levels[0].tolist())

    @property
    def labelled(self) -> bool:
        """Always: numbers have hierarchies, too."""
        return True

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        return {"kind": self.KIND, **(self.chosen or {}), "suppressed_rows": len(self.suppressed)}

    def appearances(self, table: Table, output: Output) -> list[Appearance]:
        """The node of each class, which is that of any of its rows."""
        first = self.partition.order[self.partition.starts[:-1]]
        return [
            Generalized(attribute, attribute.codes[first], level, output)
            for attribute, level in zip(table.attributes, self.levels.T, strict=True)
        ]

    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        """Segments that are the nodes of one level of each hierarchy."""
        from anonymize.recoding.saved import segments
        from anonymize.recoding.saved.contents import refusal

        if self.vector is None:
            raise refusal("its classes stand on different levels, or there are none")
        parted = [segments.at_level(a, level, spec) for a, level in zip(table.attributes, self.vector, strict=True)]
        return segments.contents(parted, self.partition, self.suppressed, table, released)
