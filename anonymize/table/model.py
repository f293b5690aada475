"""What a table is once it has been read: codes for the columns that count, the rest left where it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

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

    `codes` has shape (rows,), each below `size`; they follow the sorted distinct values (of a target that is a
    quasi-identifier: its leaves), and `missing` is the code of a missing value, the last one. `values` (size,) gives
    the number of each code, nan for a missing one, where the column is numeric; it is None where it is categorical.
    """

    name: str
    codes: Codes
    size: int
    missing: int | None
    values: NDArray[np.float64] | None

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.values is not None


class SensitiveColumn(CodedColumn):
    """A sensitive attribute."""


class TargetColumn(CodedColumn):
    """A column that a model will be trained to predict: class labels, or numbers.

    A missing label is a label of its own; a missing number stays out of every sum.
    """


@dataclass(frozen=True)
class Selection:
    """Rows that will be asked for: those whose every quasi-identifier named here has one of the leaves that it takes.

    `leaves`: for the index of a quasi-identifier, (domain.size,) whether each leaf is taken.
    """

    leaves: Mapping[int, NDArray[np.bool_]]


@dataclass(frozen=True)
class Table:
    """The encoded columns of a source. What passes through is not here: `source.batches` reads it again.

    `targets` and `selections` are the workload; empty unless the reading was asked for it.

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
    targets: tuple[TargetColumn, ...] = ()
    selections: tuple[Selection, ...] = ()
