"""A release with classes as lines of a CSV: what a class shows is put together once, and not for each of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Ints, run_starts
from anonymize.recoding.columns import Released, ReleasedColumn
from anonymize.table.lines import Lines, quoted, side_by_side
from anonymize.table.named import cells_at


@dataclass(frozen=True)
class ReleasedLines:
    """How rows read as lines. `columns`: of the release, in its order; those that pass through by their names alone.
    `cells`: what each released one shows, by its name."""

    released: Released
    columns: Sequence[ReleasedColumn | str]
    cells: Mapping[str, pl.Series]
    separator: str

    @property
    def possible(self) -> bool:
        """Whether there are texts alone, and more than one column: of one, an empty line would have to be known."""
        return len(self.columns) > 1 and all(cells.dtype == pl.String for cells in self.cells.values())

    @cached_property
    def _groups(self) -> list[list[ReleasedColumn] | str]:
        """Released columns that stand side by side, and each of the others."""
        groups: list[list[ReleasedColumn] | str] = []
        for _, group in groupby(self.columns, key=lambda column: isinstance(column, str)):
            members = list(group)
            released = [each for each in members if isinstance(each, ReleasedColumn)]
            groups += [released] if released else [each for each in members if isinstance(each, str)]
        return groups

    @cached_property
    def neighbours(self) -> list[list[str]]:
        """The columns that pass through, those together that stand side by side."""
        runs = ([each for each in run if isinstance(each, str)] for _, run in groupby(self.columns, key=type))
        return [names for names in runs if names]

    @cached_property
    def _quoted(self) -> dict[str, pl.Series]:
        return {name: quoted(cells, self.separator) for name, cells in self.cells.items()}

    def piece(self, passing: pl.DataFrame, class_of: NDArray[np.int32], pseudonym: pl.Series | None = None) -> Lines:
        """Some rows: the classes (rows,), and the columns that pass through and a further one, quoted already; rows of
        no class are left out. Of columns that pass through those may be absent that are in the text of one before them,
        with which they stand side by side."""
        neighbours = _Neighbours.of(class_of)
        parts = [
            passing[group] if isinstance(group, str) else self._texts_of_rows(group, neighbours)
            for group in self._groups
            if not isinstance(group, str) or group in passing.columns
        ]
        names = [column if isinstance(column, str) else column.name for column in self.columns]
        if pseudonym is not None:
            parts.append(quoted(pseudonym, self.separator))
            names.append(pseudonym.name)
        frame = pl.DataFrame([part.alias(str(place)) for place, part in enumerate(parts)])
        complete = not self.released.dropped_rows and not self.released.left_out
        return Lines(tuple(names), frame if complete else frame.filter(pl.Series(class_of >= 0)))

    def _texts_of_rows(self, group: Sequence[ReleasedColumn], neighbours: _Neighbours) -> pl.Series:
        """What some columns show, of rows."""
        cells = [cells_at(self._quoted[column.name], column.of_class[neighbours.classes]) for column in group]
        return cells_at(side_by_side(cells, self.separator), neighbours.of_row)


@dataclass(frozen=True)
class _Neighbours:
    """Neighbouring rows of one class as one: the class of each such run, and which run each row is in."""

    classes: NDArray[np.int32]
    of_row: Ints

    @classmethod
    def of(cls, class_of: NDArray[np.int32]) -> _Neighbours:
        """Those of rows by their classes (rows,)."""
        starts = run_starts(class_of)
        return cls(class_of[starts], np.repeat(np.arange(len(starts)), np.diff(starts, append=len(class_of))))
