"""What a table is once it has been read: codes for the columns that count, the rest left where it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.categories import Categories, of_domain
from anonymize.domain.generalization import Generalization
from anonymize.domain.taxonomy import Taxonomy
from anonymize.spec.model import Rule

if TYPE_CHECKING:
    from anonymize.domain.base import Domain
    from anonymize.table.source import Source

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
    """What a distortion is over; without it, the values."""

    @property
    def categories(self) -> Categories:
        """The values that a distortion is over."""
        return of_domain(self.domain) if self.categorize is None else self.categorize(self)

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
class SensitiveColumn:
    """A sensitive attribute. Codes follow the sorted distinct values; the code of a missing value is the last one.

    `codes` has shape (rows,), each below `size`. `values` (size,) gives the number of each code, nan for a missing one,
    where the attribute is numeric; it is None where it is categorical.
    """

    name: str
    codes: Codes
    size: int
    missing: int | None
    values: NDArray[np.float64] | None
    texts: tuple[str, ...] = ()
    """(size,) how each code reads: a number as the shortest text for it."""


@dataclass(frozen=True)
class Table:
    """The encoded columns of a source. What passes through is not here: `source.batches` reads it again.

    `weights` is what the spec says the attributes' utility follows from, where that is used: their `weight`, or how
    little they correlate.
    """

    rows: int
    attributes: tuple[Attribute, ...]
    sensitive: tuple[SensitiveColumn, ...]
    columns: tuple[str, ...]
    source: Source
    warnings: tuple[str, ...]
    weights: Literal["given", "correlation"] = "given"
