"""How a quasi-identifier reads at levels of its hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Floats, Ints
from anonymize.domain.taxonomy import Taxonomy
from anonymize.recoding.columns import ReleasedColumn, named
from anonymize.recoding.showing import positions
from anonymize.spec import Output
from anonymize.table import Attribute


@dataclass(frozen=True)
class Generalized:
    """One quasi-identifier at levels of its hierarchy: `codes` (classes,) of a row of each class, `level` (classes,).

    The spec's `output` says how suppressed rows read. A label stands where the attribute is numeric too; with `bounds`
    in both columns, so that a release has the same columns whatever the algorithm.
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
        domain = self.attribute.domain
        if isinstance(domain, Taxonomy) and self.output.categorical == "bounds":
            ends = positions(domain, domain.start[nodes], domain.stop[nodes] - 1, of_class)
            return named(self.attribute.name, ends, ["_low", "_high"], self.output.suppressed)
        shown = self.attribute.generalization.text_of(self.codes[first], nodes), of_class
        two = domain.kind == "numeric" and self.output.numeric == "bounds"
        suffixes = ["_low", "_high"] if two else [""]
        return named(self.attribute.name, [shown] * len(suffixes), suffixes, self.output.suppressed)

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of each class's node."""
        generalization = self.attribute.generalization
        return generalization.ncp[self.nodes], generalization.loss[self.nodes]
