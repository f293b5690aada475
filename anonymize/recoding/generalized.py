"""How a quasi-identifier appears at levels of its hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Floats, Ints
from anonymize.recoding.appearance import BOUNDS, Appearance
from anonymize.recoding.categories import leaf_positions
from anonymize.recoding.columns import ReleasedColumn, released_columns
from anonymize.spec import Output
from anonymize.table import Attribute


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
