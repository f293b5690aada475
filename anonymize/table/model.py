"""What a table is once it has been read: codes for the columns that count, the rest left where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from anonymize.domain.base import Domain
    from anonymize.table.source import Source

Codes = NDArray[np.unsignedinteger[Any]]
"""Leaf codes: uint8, uint16 or uint32, the smallest that holds the number of leaves."""


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier. `codes` has shape (rows,) and points into the leaves of `domain`."""

    name: str
    codes: Codes
    domain: Domain
    weight: float


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


@dataclass(frozen=True)
class Table:
    """The encoded columns of a source. What passes through is not here: `source.batches` reads it again."""

    rows: int
    attributes: tuple[Attribute, ...]
    sensitive: tuple[SensitiveColumn, ...]
    columns: tuple[str, ...]
    source: Source
    warnings: tuple[str, ...]
