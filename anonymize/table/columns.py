"""What a column is once it has been read: a code for each row, and what the codes stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.categories import Categories, of_domain
from anonymize.domain.generalization import Generalization
from anonymize.domain.taxonomy import Taxonomy
from anonymize.spec.rules import Rule
from anonymize.table.texts import look_alikes

if TYPE_CHECKING:
    from anonymize.domain.base import Domain

Codes = NDArray[np.unsignedinteger[Any]]
"""Leaf codes: uint8, uint16 or uint32, the smallest that holds the number of leaves."""


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier. `codes` has shape (rows,) and points into the leaves of `domain`.

    `generalize` makes the hierarchy when it is first asked for; without it that is the domain itself where it is a
    taxonomy, else one root above all numbers.
    """

    name: str
    codes: Codes
    domain: Domain
    weight: float
    generalize: Callable[[], Generalization] | None = None
    rules: tuple[Rule, ...] = ()
    identifying: Literal["most", "more", "yes"] | None = None
    categorize: Callable[[Attribute], Categories] | None = None
    """Makes the values that a channel is over; None: the attribute's own."""
    research_value: tuple[float, ...] | None = None
    """(levels,) what an expert gives each level of the hierarchy, perhaps without the root; None: nobody does."""
    range: Literal["width", "leaves"] = "width"
    """What the research value takes for the range of a group of numbers."""
    lowest: int = 0
    highest: int | None = None
    """The levels that may be released; None: up to the root."""
    counts: NDArray[np.int64] | None = None
    """(rows,) how many rows of the input each row stands for; None: itself alone."""
    written: Mapping[str, str] = field(default_factory=dict)
    """How labels are written that are compared as another text: as most rows, or the hierarchy's file, have them."""
    declared: Attribute | None = None
    """The same column as the input has it, where this one is coded at a level."""

    @property
    def categories(self) -> Categories:
        """The values that a channel is over."""
        return of_domain(self.domain) if self.categorize is None else self.categorize(self)

    @property
    def bounded(self) -> bool:
        """Whether there is a highest level below the root, so that no class may span two of its nodes."""
        return self.highest is not None and self.highest < self.hierarchy.height

    @cached_property
    def generalization(self) -> Generalization:
        """The hierarchy with the costs of its nodes."""
        return Generalization.plain(self.domain) if self.generalize is None else self.generalize()

    @property
    def hierarchy(self) -> Taxonomy:
        """The value generalization hierarchy; of a categorical attribute the domain itself."""
        return self.generalization.hierarchy

    @property
    def leaves(self) -> NDArray[np.int64] | None:
        """(domain.size,) the hierarchy's leaf of each code of the domain; None: the code itself."""
        return self.generalization.leaves


@dataclass(frozen=True)
class CodedColumn:
    """A column whose values are counted or summed but never generalized.

    `codes` has shape (rows,), each below `size`; they follow the order of the values: numbers by size, texts sorted (or
    as the leaves of their hierarchy). `missing` is the code of a missing value. `values` (size,) gives the number of
    each code, nan for a missing one, where the column is numeric; it is None where it is categorical.
    """

    name: str
    codes: Codes
    size: int
    missing: int | None
    values: NDArray[np.float64] | None
    texts: tuple[str, ...] = ()
    """(size,) how each code reads: a number as the shortest text for it."""

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.values is not None


@dataclass(frozen=True)
class SensitiveColumn(CodedColumn):
    """A sensitive attribute. `hierarchy` is None where the spec has none. `everywhere` (size,): where the rows at hand
    are part of a table, how many rows of all that have each code; None: these are all."""

    hierarchy: Generalization | None = None
    everywhere: NDArray[np.int64] | None = None
    alike: bool = False
    """Whether texts that look alike are one, and what reads as unknown none, where different values are counted."""
    as_value: int | None = None
    """The code of a missing value, where that is a value like any other."""

    @cached_property
    def together(self) -> NDArray[np.int64] | None:
        """(size,) the code that stands for all that look like each, -1 where it reads as unknown; None where each
        stands for itself."""
        stands = None if self.numeric or not self.alike else look_alikes(self._present_texts)
        if stands is None:
            return None
        together = np.arange(self.size)
        places = together[together != self.missing] if self.missing is not None else together.copy()
        together[places] = np.where(stands < 0, -1, places[stands])
        if self.as_value is not None:
            together[self.as_value] = self.as_value
        return together

    @property
    def counted(self) -> SensitiveColumn:
        """The column as the different values in it are counted: what reads as unknown is missing."""
        if self.together is None:
            return self
        missing = self.size if self.missing is None else self.missing
        codes = np.where(self.together < 0, missing, self.together).astype(np.uint32)[self.codes]
        return SensitiveColumn(self.name, codes, max(self.size, missing + 1), missing, None)

    @property
    def _present_texts(self) -> list[str]:
        return [text for code, text in enumerate(self.texts) if code != self.missing]

    @cached_property
    def levels(self) -> NDArray[np.int32] | None:
        """(height + 1, size) node of each code at each level of the hierarchy, from the leaf to the root."""
        if self.hierarchy is None:
            return None
        return self.hierarchy.hierarchy.levels[:, self.hierarchy.leaf_of(np.arange(self.size))]

    @property
    def paths(self) -> dict[str, tuple[str, ...]] | None:
        """The labels from each leaf of the hierarchy to the root, by the leaf's label; the missing leaf has none."""
        return None if self.hierarchy is None else self.hierarchy.hierarchy.paths()


class TargetColumn(CodedColumn):
    """A column that a model will be trained to predict: class labels, or numbers.

    A missing label is a label of its own; a missing number stays out of every sum.
    """
