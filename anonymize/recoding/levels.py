"""Full-domain generalization: levels of hierarchies, and how a quasi-identifier appears at them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Floats, Ints, Partition
from anonymize.recoding.appearance import BOUNDS, Appearance
from anonymize.recoding.base import Recoding
from anonymize.recoding.categories import leaf_positions
from anonymize.recoding.columns import Released, ReleasedColumn, released_columns
from anonymize.spec import Output, Spec
from anonymize.table import Attribute, Table

if TYPE_CHECKING:
    from anonymize.recoding.saved.save import Contents


@dataclass(frozen=True)
class Generalized(Appearance):
    """One quasi-identifier at levels of its hierarchy.

    `codes` (classes,): the value of a row of each class. `level` (classes,): the level at which it is shown. `output`
    says how suppressed rows read. Numbers read as labels, too; with `numeric: bounds` the label stands in both columns,
    so that a release has the same columns whatever the algorithm.
    """

    attribute: Attribute
    codes: Codes
    level: NDArray[np.int16]
    output: Output

    @cached_property
    def nodes(self) -> Ints:
        """(classes,) the node that each class shows."""
        generalization = self.attribute.generalization
        leaves = generalization.leaf_of(self.codes)
        return generalization.hierarchy.levels[self.level, leaves].astype(np.int64)

    def columns(self) -> list[ReleasedColumn]:
        """The column, or the two, that the attribute is released as."""
        nodes, first, of_class = np.unique(self.nodes, return_index=True, return_inverse=True)
        kind, hierarchy = self.attribute.domain.kind, self.attribute.hierarchy
        if kind == "categorical" and self.output.categorical == "bounds":
            contents = leaf_positions(hierarchy, hierarchy.start[nodes], hierarchy.stop[nodes] - 1, of_class)
        else:
            labels = self.attribute.generalization.text_of(self.codes[first], nodes), of_class
            contents = [labels] * (2 if kind == "numeric" and self.output.numeric == "bounds" else 1)
        suffixes = BOUNDS if len(contents) == 2 else [""]
        return released_columns(self.attribute.name, contents, suffixes, self.output.suppressed)

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of each class's node, or of what its label is read as."""
        generalization = self.attribute.generalization
        if self.attribute.domain.kind == "categorical" and self.output.categorical != "bounds":
            nodes = generalization.hierarchy.widest[self.nodes]
            return generalization.ncp[nodes], generalization.loss[nodes]
        return generalization.ncp[self.nodes], generalization.loss[self.nodes]


# --- the recoding -----------------------------------------------------------------------------------------------------


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
        from anonymize.recoding.saved.save import refusal

        if self.vector is None:
            raise refusal("its classes stand on different levels, or there are none")
        parted = [segments.at_level(a, level, spec) for a, level in zip(table.attributes, self.vector, strict=True)]
        return segments.contents(parted, self.partition, self.suppressed, table, released)
