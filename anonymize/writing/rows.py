"""The rows of a release, piece by piece: what an algorithm made of them, and what passes through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Ints, run_starts
from anonymize.domain.cells import CellFormat
from anonymize.recoding import Released, appearance
from anonymize.recoding.columns import RecodedColumn
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.spec import Role, Spec
from anonymize.spec.columns import WITHHELD
from anonymize.table import Table, forms, named
from anonymize.writing import RankedColumn, SortColumn, cell_ranks, rows_ranked
from anonymize.writing.columns import HeldColumn, PassingColumns, null_text, pieces, with_dates


@dataclass
class Written:
    """What the release does not show of the rows that have been written, piece by piece: which row of the input each
    is, from 0."""

    pieces: list[NDArray[np.integer[Any]]] = field(default_factory=list)

    def add(self, rows: slice | NDArray[np.uint32], mask: NDArray[np.bool_] | None = None) -> None:
        """Takes the rows of the next piece, or those of them where `mask` is true."""
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        self.pieces.append(numbers if mask is None else numbers[mask])

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(released rows,) the row of the input that each is; to be asked for when all have been written."""
        return np.concatenate([np.zeros(0, np.int64), *self.pieces])


def frames(
    request: Request,
    table: Table,
    released: Released,
    form: str,
    written: Written | None = None,
    separator: str | None = None,
) -> Iterator[pl.DataFrame | forms.Lines]:
    """The release in pieces: the generalized columns and what passes through, in the input's column order.

    `form`: the format that is written, in which a null may not mean what it means in the input. `written` is told which
    rows they are. `separator`: of a CSV, which is made of lines where it can be; None: of data frames.
    """
    roles, table = request.spec.roles(), with_dates(table, form)
    null = null_text(request.spec, table.source.format, form)
    hidden = request.spec.output.suppressed if request.spec.hides else None
    reading = RowLayout(released, roles, table.columns, null, appearance.NumberColumns.of(request.spec, form), hidden)
    withheld = {*WITHHELD, "quasi-identifier"}
    passing = [name for name in table.columns if roles[name] not in withheld]

    def sorting(held: PassingColumns) -> Iterator[SortColumn]:
        yield reading.ranked(comparing(request.spec))
        yield from (held[name].sorting() for name in passing if name in held)
        if table.pseudonym is not None:
            yield HeldColumn(table.pseudonym).sorting()

    start, lines = 0, _lines(reading, table, form, separator)
    neighbours = [] if lines is None else lines.neighbours
    for batch in pieces(request, table, passing, sorting, null, None if lines is None else separator, neighbours):
        class_of = released.class_of[batch.rows]
        if written is not None:
            written.add(batch.rows, class_of >= 0)
        pseudonym = None if table.pseudonym is None else table.pseudonym[batch.rows]
        yield (reading if lines is None else lines).piece(batch.frame, class_of, pseudonym)
        start += batch.frame.height
        request.progress("write", start, table.rows)


@dataclass(frozen=True)
class RowGroups:
    """The column of groups behind all others: its name (None: there is no such column), and (rows,) the group of each
    row, from 0; rows of none, -1, are left out."""

    name: str | None
    of_row: NDArray[np.int32]
    count: int


def unclassed_frames(
    request: Request,
    table: Table,
    names: Sequence[str],
    changed: Mapping[str, HeldColumn],
    form: str,
    written: Written,
    groups: RowGroups | None = None,
) -> Iterator[pl.DataFrame]:
    """A release without classes in pieces: `names`, its columns in order, of which some read otherwise than in the
    input (`changed`), and the group of each row, counted from 1, where it has groups. See `frames`."""
    null, quasi = null_text(request.spec, table.source.format, form), request.spec.quasi_identifiers
    passing, template = [name for name in names if name not in changed], comparing(request.spec)

    def sorting(held: PassingColumns) -> Iterator[SortColumn]:
        compared = {**held, **changed}
        if groups is not None:  # rows that are left out come last
            yield RankedColumn((groups.of_row < 0).astype(np.uint8), 2)
        for name in sorted(names, key=lambda name: name not in quasi):
            yield compared[name].sorting(template if name in quasi else None)
        if groups is not None:
            yield RankedColumn(np.maximum(groups.of_row, 0), groups.count)

    start = 0
    for batch in pieces(request, with_dates(table, form), passing, sorting, null):
        columns = [changed[n].rows(batch.rows).alias(n) if n in changed else batch.frame[n] for n in names]
        number = None if groups is None else groups.of_row[batch.rows]
        written.add(batch.rows, None if number is None else number >= 0)
        if groups is None or number is None:
            yield pl.DataFrame(columns)
        else:
            own = [] if groups.name is None else [pl.Series(groups.name, number + 1)]
            yield pl.DataFrame([*columns, *own]).filter(pl.Series(number >= 0))
        start += batch.frame.height
        request.progress("write", start, table.rows)


def _lines(reading: RowLayout, table: Table, form: str, separator: str | None) -> LineLayout | None:
    """How rows read as lines of a CSV; None where not all of what passes through is known to be text."""
    texts = table.source.format == "csv" and (table.pseudonym is None or table.pseudonym.dtype == pl.String)
    if separator is None or form not in forms.CSV or not texts:
        return None
    lines = LineLayout(reading.released, reading.places, reading.cells, separator)
    return lines if lines.possible else None


@dataclass(frozen=True)
class RowLayout:
    """How rows read: the `columns` of the input, by their roles. `null`: what a null is written as; None leaves it.
    `numbers`: the released columns that are written as numbers. `hidden`: the text that is written as nothing."""

    released: Released
    roles: Mapping[str, Role]
    columns: Sequence[str]
    null: str | None = None
    numbers: appearance.NumberColumns | None = None
    hidden: str | None = None

    @cached_property
    def cells(self) -> dict[str, pl.Series]:
        """What each released column shows."""
        return {column.name: self._cells(column) for column in self.released.columns}

    def _cells(self, column: RecodedColumn) -> pl.Series:
        numbers = None if self.numbers is None else self.numbers.column(column.name, column.texts)
        if numbers is not None:
            return numbers
        texts = column.texts if self.null == "" else column.texts.replace("", None)
        return texts if self.hidden is None else texts.replace(self.hidden, None)

    @cached_property
    def places(self) -> list[RecodedColumn | str]:
        """The columns of the release, in their order; those that pass through by their names alone."""
        places: list[RecodedColumn | str] = []
        for name in self.columns:
            if self.roles[name] == "quasi-identifier":
                places += self.released.columns_of(name)
            elif self.roles[name] not in WITHHELD:
                places.append(name)
        return places

    def piece(
        self, passing: pl.DataFrame, class_of: NDArray[np.int32], pseudonym: pl.Series | None = None
    ) -> pl.DataFrame:
        """Some rows: the columns that pass through, and the classes (rows,); rows of none are left out. `pseudonym`: a
        further column."""
        columns = [
            passing[place]
            if isinstance(place, str)
            else named.cells_at(self.cells[place.name], place.of_class[class_of]).alias(place.name)
            for place in self.places
        ]
        frame = pl.DataFrame(columns if pseudonym is None else [*columns, pseudonym])
        complete = not self.released.dropped_rows and not self.released.left_out
        return frame if complete else frame.filter(pl.Series(class_of >= 0))

    def ranked(self, written: CellFormat) -> RankedColumn:
        """The quasi-identifiers of the rows: the rank of each row's class by what the class shows; rows that are left
        out come last."""
        released = [place for place in self.places if isinstance(place, RecodedColumn)]
        ranks = rows_ranked(cell_ranks(self.cells[c.name], written).astype(np.uint32)[c.of_class] for c in released)
        size = len(ranks) + 1
        return RankedColumn(np.append(ranks, size - 1).astype(np.uint32), size, self.released.class_of)


@dataclass(frozen=True)
class LineLayout:
    """How rows read as lines. `columns`: of the release, in its order; those that pass through by their names alone.
    `cells`: what each released one shows, by its name."""

    released: Released
    columns: Sequence[RecodedColumn | str]
    cells: Mapping[str, pl.Series]
    separator: str

    @property
    def possible(self) -> bool:
        """Whether there are texts alone, and more than one column: of one, an empty line would have to be known."""
        return len(self.columns) > 1 and all(cells.dtype == pl.String for cells in self.cells.values())

    @cached_property
    def _groups(self) -> list[list[RecodedColumn] | str]:
        """Released columns that stand side by side, and each of the others."""
        groups: list[list[RecodedColumn] | str] = []
        for _, group in groupby(self.columns, key=lambda column: isinstance(column, str)):
            members = list(group)
            released = [each for each in members if isinstance(each, RecodedColumn)]
            groups += [released] if released else [each for each in members if isinstance(each, str)]
        return groups

    @cached_property
    def neighbours(self) -> list[list[str]]:
        """The columns that pass through, those together that stand side by side."""
        runs = ([each for each in run if isinstance(each, str)] for _, run in groupby(self.columns, key=type))
        return [names for names in runs if names]

    @cached_property
    def _quoted(self) -> dict[str, pl.Series]:
        return {name: forms.quoted(cells, self.separator) for name, cells in self.cells.items()}

    def piece(
        self, passing: pl.DataFrame, class_of: NDArray[np.int32], pseudonym: pl.Series | None = None
    ) -> forms.Lines:
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
            parts.append(forms.quoted(pseudonym, self.separator))
            names.append(pseudonym.name)
        frame = pl.DataFrame([part.alias(str(place)) for place, part in enumerate(parts)])
        complete = not self.released.dropped_rows and not self.released.left_out
        return forms.Lines(tuple(names), frame if complete else frame.filter(pl.Series(class_of >= 0)))

    def _texts_of_rows(self, group: Sequence[RecodedColumn], neighbours: _Neighbours) -> pl.Series:
        cells = [named.cells_at(self._quoted[column.name], column.of_class[neighbours.classes]) for column in group]
        return named.cells_at(forms.side_by_side(cells, self.separator), neighbours.of_row)


@dataclass(frozen=True)
class _Neighbours:
    """Neighbouring rows of one class as one: the class of each such run, and which run each row is in."""

    classes: NDArray[np.int32]
    of_row: Ints

    @classmethod
    def of(cls, class_of: NDArray[np.int32]) -> _Neighbours:
        """The runs of neighbouring rows of one class, by their classes (rows,)."""
        starts = run_starts(class_of)
        return cls(class_of[starts], np.repeat(np.arange(len(starts)), np.diff(starts, append=len(class_of))))


def comparing(spec: Spec) -> CellFormat:
    """How cells of quasi-identifiers are read when rows are compared: what means missing is a text like any other, and
    yet known behind a number."""
    output, words = spec.output, frozenset({*spec.input.missing, *spec.missing("csv").texts})
    return CellFormat(output.interval, None, frozenset(), output.open_high, output.open_low, words)
