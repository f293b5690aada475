"""What a method of treatment is: a module with a manual, an ID, and one function from columns to a change.

What it is asked for is its entry of the spec (`anonymize.spec.treatments`). What it does is measured again from the
written file by its twin in `anonymize.verify.treated`, which shares nothing with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Bools, Codes, Floats, Ints, mixed_radix
from anonymize.errors import Caution
from anonymize.spec import Spec
from anonymize.table.encode import Field, NumberColumn, is_text
from anonymize.table.kept import KeptColumn, KeptTexts
from anonymize.table.named import unnamed
from anonymize.table.source import Source
from anonymize.table.wrong import check_numbers, check_numeric


@dataclass(frozen=True)
class InputColumn:
    """A column of the input as it came. `series` (rows,): its cells; `source`: where they stand, for messages."""

    series: pl.Series
    field: Field
    source: Source

    @classmethod
    def of(cls, spec: Spec, source: Source, series: pl.Series) -> InputColumn:
        """That of a column of the source that has been read as a whole."""
        name = series.name
        missing = spec.missing(source.format, name)
        return cls(series, Field(name, source.schema[name], missing, spec.notation(name)), source)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.field.name

    @cached_property
    def missing(self) -> Bools:
        """(rows,) whether the cell means missing."""
        frame = self.series.to_frame(self.name)
        text = self.field.text
        absent = frame.select((text.is_null() | text.is_in(list(self.field.missing.texts))).alias("")).to_series()
        return absent.fill_null(True).to_numpy()

    @cached_property
    def _read(self) -> tuple[Floats, bool]:
        check_numeric(self.source, self.field)
        column = NumberColumn(self.field, "number")
        column.add(self.series.to_frame(self.name).select(column.expressions))
        check_numbers(self.source, {self.name: column})
        values, codes, missing = column.encode()
        numbers = np.append(values.astype(np.float64), [] if missing is None else [np.nan])
        return numbers[codes], bool((values % 1 == 0).all())

    @property
    def numbers(self) -> Floats:
        """(rows,) the cells as numbers, nan where one is missing. Raises DataError, with line and count, for cells that
        are none."""
        return self._read[0]

    @property
    def whole(self) -> bool:
        """Whether every number is a whole one, however it is written: a column of floats may have nothing else."""
        return self._read[1]

    @cached_property
    def kept(self) -> KeptColumn:
        """The column as its different cells and codes of them."""
        if self.series.dtype == pl.String:
            encoder = KeptTexts(self.field, "code")
            encoder.add(self.series.to_frame(self.name).select(encoder.expressions))
            return encoder.column()
        series = unnamed(self.series)
        cells = series.clear(1).append(series.unique().drop_nulls().sort())
        codes = series.rank("dense").fill_null(0).to_numpy().astype(np.min_scalar_type(len(cells)))
        return KeptColumn(cells, codes)

    def moved(self, rows: Ints) -> KeptColumn:
        """The column where row i shows the cell of row `rows[i]`."""
        return KeptColumn(self.kept.cells, self.kept.codes[rows])

    def renumbered(self, numbers: Floats, *, whole: bool) -> KeptColumn:
        """The column with other numbers (rows,) in place of its own, nan where one is missing: written with the decimal
        sign of the input, as the shortest texts that read back the same. `whole`: all of them are whole."""
        present = ~np.isnan(numbers)
        values, codes = np.unique(numbers[present], return_inverse=True)
        places = np.full(len(numbers), -1)
        places[present] = codes
        if is_text(self.field.dtype):
            written = pl.Series(values.astype(np.int64) if whole else values + 0.0).cast(pl.String)
            cells, sign = written.str.strip_suffix(".0"), self.field.notation.decimal
            cells = cells if sign == "." else cells.str.replace(".", sign, literal=True)
        else:
            cells = pl.Series(values.astype(np.int64) if whole and self.field.dtype.is_integer() else values)
        return self.with_cells(cells, places)

    def with_cells(self, cells: pl.Series, places: Ints) -> KeptColumn:
        """The column with other `cells`: `places` (rows,) which of them a row has, -1 where one is missing. A missing
        cell is the first text that means it."""
        lacking = [None, self.field.missing.text or None] if is_text(self.field.dtype) else [None, None]
        every = pl.concat([pl.Series(lacking, dtype=cells.dtype), cells])
        return KeptColumn(every, (places + 2).astype(np.min_scalar_type(len(every))))


@dataclass(frozen=True)
class Step:
    """What a method is given: the columns that it changes and those that it looks at, by name, all of the same rows.

    `random`: where random numbers come from. `key`: the secret by which a keyed method decides, None without one.
    `weights` (rows,): the sampling weights, where there are any.
    """

    columns: Mapping[str, InputColumn]
    random: np.random.Generator
    key: bytes | None = None
    weights: Floats | None = None

    def parts(self, names: Sequence[str]) -> Ints:
        """(rows,) the part that each row is in by the cells of some columns, counted from 0; all in one where there are
        no columns."""
        rows = len(next(iter(self.columns.values())).series)
        if not names:
            return np.zeros(rows, np.int64)
        kept = [self.columns[name].kept for name in names]
        combinations, _ = mixed_radix([each.codes for each in kept], [len(each.cells) for each in kept])
        return np.unique(combinations, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True)
class Change:
    """What a method made of its columns.

    `columns`: by name, as they are released. `declared`: what a recipient may know beside the entry of the spec, as
    JSON: it stands in the manifest. `private`: figures that are worked out from the input, for a private report.
    """

    columns: Mapping[str, KeptColumn]
    declared: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Caution, ...] = ()


class Method(Protocol):
    """The members of a method's module."""

    ID: str
    """What the spec calls it."""

    def run(self, entry: Any, step: Step) -> Change:
        """What it makes of its columns. `entry`: of the spec. Raises DataError for columns that it can do nothing with,
        InfeasibleError for what cannot be had of them."""


Random = np.random.Generator
Places = NDArray[np.int64]

__all__ = ["Bools", "Change", "Codes", "InputColumn", "Method", "Places", "Random", "Step"]
