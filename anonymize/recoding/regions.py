"""Multidimensional and local recoding: a region around the rows of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Partition
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.recoding.appearance import Appearance
from anonymize.recoding.base import Recoding
from anonymize.recoding.categories import CategoricalRegions
from anonymize.recoding.columns import Released
from anonymize.recoding.numbers import NumericRegions
from anonymize.recoding.tree import CutTree
from anonymize.recoding.window import Tails
from anonymize.spec import Output, Spec
from anonymize.table import Attribute, Table

if TYPE_CHECKING:
    from anonymize.recoding.saved.save import Contents


@dataclass(frozen=True)
class Regions(Recoding):
    """Multidimensional and local recoding: every class is released as the smallest region around its own rows.

    `partition`: the classes. `suppressed` (s,) uint32: rows of no class, which the algorithm gave up. `cut`: the rule
    by which the classes were cut, where there was a choice. `tree`: the cuts, where the recoding is to be saved.
    `refinement`: what refining them gained. `minimality`: what it cost that refused cuts give nobody away; then there
    is no other release of the rows. `recommended`: which algorithm was chosen, and why, where that was asked for.
    `merged_within`: what rows were merged within, `whole` or the parts of `mondrian`, where there was a choice.
    `stopped`: what ended the search before it was done. `parts`: how many parts the highest levels that are declared
    make of the rows; no class has rows of two of them.
    """

    KIND: ClassVar[str] = "regions"

    partition: Partition
    suppressed: NDArray[np.uint32]
    cut: str | None = None
    tree: CutTree | None = None
    refinement: dict[str, Any] | None = None
    minimality: dict[str, Any] | None = None
    recommended: dict[str, Any] | None = None
    merged_within: str | None = None
    parts: int | None = None
    stopped: str | None = None

    @property
    def regions(self) -> Partition:
        """The classes, all of them."""
        return self.partition

    def whole(self) -> Regions | None:
        """One region around all rows that are not suppressed; a tree without a cut leads to it."""
        if self.minimality is not None or self.parts is not None:
            return None
        rows = np.sort(self.partition.order)
        none = np.zeros(0, np.int64)
        tree = None if self.tree is None else CutTree(none, none, none, none, none)
        partition = Partition(rows, np.array([0, len(rows)] if len(rows) else [0], np.int64))
        return Regions(partition, self.suppressed, self.cut, tree)

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        optional: dict[str, Any] = {"cut": self.cut, "refinement": self.refinement, "minimality": self.minimality}
        optional |= {
            "recommended": self.recommended,
            "merged_within": self.merged_within,
            "parts": self.parts,
            "stopped": self.stopped,
        }
        return {
            "kind": self.KIND,
            **{name: value for name, value in optional.items() if value is not None},
            "regions": self.partition.count,
            "suppressed_rows": len(self.suppressed),
        }

    def appearances(self, table: Table, output: Output) -> list[Appearance]:
        """The region of each class, or points and sets of the values in it."""
        tails = Tails.of(table)
        return [region_appearance(attribute, self.partition, output, tails) for attribute in table.attributes]

    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        """A tree of cuts, where there is one and it parts all rows alike."""
        from anonymize.recoding.saved.regions import contents_of_tree
        from anonymize.recoding.saved.save import refusal

        if self.tree is None:
            raise refusal("its regions were not found by cuts that part all rows alike")
        if len(self.suppressed):
            raise refusal(f"{len(self.suppressed)} rows are suppressed for what they have beside quasi-identifiers")
        return contents_of_tree(self.tree, self.partition, table, released, spec)


def region_appearance(
    attribute: Attribute, partition: Partition, output: Output, tails: Tails
) -> NumericRegions | CategoricalRegions:
    """How an attribute appears where each class is the smallest region around its rows."""
    domain, codes = attribute.domain, attribute.codes
    low, high = partition.boxes(codes)
    if isinstance(domain, Numeric):
        highest = None
        if domain.missing is not None and (high == domain.missing).any():
            _, highest = partition.boxes(np.where(codes == domain.missing, 0, codes).astype(codes.dtype))
        return NumericRegions(attribute.name, codes, partition, low, high, output, domain, tails, highest)
    assert isinstance(domain, Taxonomy)
    return CategoricalRegions(attribute.name, codes, partition, low, high, output, domain)
