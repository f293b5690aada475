"""The columns of a DataFrame and of its release, by their places, and what the generalized ones of some rows read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Integers, Ints
from anonymize.recoding import Released
from anonymize.spark.engine import CHUNK
from anonymize.spec import Role
from anonymize.spec.columns import WITHHELD
from anonymize.writing.rows import ReleasedRows


@dataclass(frozen=True)
class EngineColumns:
    """The columns of a DataFrame: their `names` in order, the `roles` of these."""

    names: tuple[str, ...]
    roles: Mapping[str, Role]

    @property
    def passing(self) -> list[int]:
        """The places of the columns that are released as they are."""
        withheld = {*WITHHELD, "quasi-identifier"}
        return [place for place, name in enumerate(self.names) if self.roles[name] not in withheld]

    @property
    def released(self) -> list[int]:
        """The places of the columns of a release; a quasi-identifier stays one column."""
        return [place for place, name in enumerate(self.names) if self.roles[name] not in WITHHELD]

    @property
    def generalized(self) -> dict[str, str]:
        """The quasi-identifiers by their places, with the type that they are released as (see `struct`)."""
        return {f"c{place}": "string" for place in self.released if self.roles[self.names[place]] == "quasi-identifier"}

    @property
    def groups(self) -> tuple[list[str], list[str]]:
        """The columns of a release by their places: the quasi-identifiers, and what passes through."""
        return [*self.generalized], [f"c{place}" for place in self.passing]


@dataclass(frozen=True)
class ReleasedTexts:
    """What the quasi-identifiers of some rows read, put in bit by bit: of each, by its place, the `texts` that occur,
    and (rows,) `which` of these each row has."""

    texts: Mapping[str, list[pl.Series]]
    which: Mapping[str, NDArray[np.uint32]]

    @classmethod
    def of_rows(cls, rows: int, layout: EngineColumns) -> ReleasedTexts:
        """Of so many rows, of which nothing is known yet."""
        return cls(
            {name: [] for name in layout.generalized}, {name: np.empty(rows, np.uint32) for name in layout.generalized}
        )

    def put(self, released: Released, layout: EngineColumns, rows: Ints, class_of: Integers) -> None:
        """Takes in what classes show. `rows` (n,): those that are in them; `class_of` (n,): the class of each."""
        cells = ReleasedRows(released, layout.roles, [layout.names[place] for place in layout.released]).cells
        for place in layout.generalized:
            (column,) = released.columns_of(layout.names[int(place[1:])])
            known = sum(map(len, self.texts[place]))
            self.which[place][rows] = column.of_class[class_of].astype(np.uint32) + np.uint32(known)
            self.texts[place].append(cells[column.name])

    def frames(self, rows: int = CHUNK) -> Iterator[pl.DataFrame]:
        """The rows, about so many at a time."""
        texts = {place: pl.concat(parts) for place, parts in self.texts.items()}
        for first in range(0, max(map(len, self.which.values())), rows):
            some = slice(first, first + rows)
            yield pl.DataFrame([texts[place].gather(which[some]).alias(place) for place, which in self.which.items()])
