"""What a table is once it has been read: codes for the columns that count, the rest left where it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from anonymize.errors import Caution
from anonymize.table.columns import Attribute, Codes, SensitiveColumn, TargetColumn

if TYPE_CHECKING:
    import polars as pl

    from anonymize.table.kept import KeptColumn
    from anonymize.table.population import Population
    from anonymize.table.source import Source


@dataclass(frozen=True)
class Selection:
    """Rows that will be asked for: those whose every quasi-identifier named here has one of the leaves that it takes.

    `leaves`: for the index of a quasi-identifier, (domain.size,) whether each leaf is taken.
    """

    leaves: Mapping[int, NDArray[np.bool_]]


@dataclass(frozen=True)
class Table:
    """The encoded columns of a source. What passes through is not here, but for columns of few texts, which are `kept`:
    `source.batches` reads it again.

    `targets` and `selections` are the workload; empty unless the reading was asked for it.

    `weights` is what the spec says the attributes' utility follows from, where that is used: their `weight`, or how
    little they correlate. `units` (rows,) has a code for whom each row is about; None: each is about somebody else.
    `pseudonym` (rows,): a further column that is released, by which people are followed from release to release.
    `populations`: those that the spec's models name, by path. `largest_k`: that is required, None where none is.
    `in_files`: codes are held in files, as memory is short.
    """

    rows: int
    attributes: tuple[Attribute, ...]
    sensitive: tuple[SensitiveColumn, ...]
    columns: tuple[str, ...]
    source: Source
    warnings: tuple[Caution, ...]
    weights: Literal["given", "correlation"] = "given"
    targets: tuple[TargetColumn, ...] = ()
    selections: tuple[Selection, ...] = ()
    units: Codes | None = None
    populations: Mapping[str, Population] = field(default_factory=dict)
    largest_k: int | None = None
    kept: Mapping[str, KeptColumn] = field(default_factory=dict)
    pseudonym: pl.Series | None = None
    in_files: bool = False
    weights_shown: Mapping[str, Any] = field(default_factory=dict)
    """What rounding, or bands, did to the sampling weights; nothing where they pass through untouched."""

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """(rows,) how many rows of the input each row stands for; None: itself alone."""
        return self.attributes[0].counts if self.attributes else None

    @property
    def as_read(self) -> Table:
        """The table as the input has it, without columns that are coded at a level."""
        attributes = tuple(each if each.declared is None else each.declared for each in self.attributes)
        return replace(self, attributes=attributes)

    @property
    def people(self) -> dict[str, int]:
        """How many people each population has."""
        return {path: population.total for path, population in self.populations.items()}
