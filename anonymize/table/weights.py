"""Sampling weights: how many of the population each row stands for. They are checked here, and pass through."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from anonymize.errors import DataError, Problem
from anonymize.spec.model import Spec
from anonymize.table.encode import LARGEST, Field
from anonymize.table.roles import columns_in
from anonymize.table.source import Source

WRONG = {1: "missing", 2: "not a number", 3: "negative", 4: "zero"}
"""What a weight may not be, by the code of it."""
LOW = 5
"""The code of a weight below one: a row that stands for less than itself."""


@dataclass
class _Kind:
    count: int = 0
    row: int = 0
    """The first one, from 0."""


class WeightColumn:
    """An encoder that keeps nothing but how many weights are wrong, and where the first is."""

    def __init__(self, field: Field, key: str) -> None:
        self.name, self._key, self._rows = field.name, f"{key} weight", 0
        self._kinds = {code: _Kind() for code in (*WRONG, LOW)}
        self.expressions = [_code(field).alias(self._key)]

    def add(self, batch: pl.DataFrame) -> None:
        """Takes the next rows."""
        codes = batch[self._key]
        for code, kind in self._kinds.items():
            rows = (codes == code).arg_true()
            if len(rows):
                kind.row = kind.row if kind.count else self._rows + int(rows[0])
                kind.count += len(rows)
        self._rows += len(codes)

    def check(self, source: Source) -> None:
        """Raises DataError for weights that are missing, not numbers, zero or negative, with the line of the first."""
        problems = [
            _problem(self.name, WRONG[code], kind, source)
            for code, kind in self._kinds.items()
            if code in WRONG and kind.count
        ]
        if problems:
            raise DataError(problems)

    @property
    def warnings(self) -> list[str]:
        """A warning of weights below one, where there are any."""
        count = self._kinds[LOW].count
        if not count:
            return []
        verb = "weight is" if count == 1 else "weights are"
        return [f"{count} sampling {verb} below one: a row stands at least for itself"]


def _code(field: Field) -> pl.Expr:
    number = field.text.str.strip_chars().cast(pl.Float64, strict=False)
    return (
        pl.when(field.text.is_null() | field.text.is_in(field.missing.texts))
        .then(1)
        .when(number.is_null() | ~(number.abs() <= LARGEST))
        .then(2)
        .when(number < 0)
        .then(3)
        .when(number == 0)
        .then(4)
        .when(number < 1)
        .then(LOW)
        .otherwise(0)
        .cast(pl.UInt8)
    )


def _problem(name: str, what: str, kind: _Kind, source: Source) -> Problem:
    line = source.line_of(kind.row)
    count = f"1 value is {what}" if kind.count == 1 else f"{kind.count} values are {what}"
    first = f", the first in row {kind.row + 1}" if line is None else ""
    hint = "a sampling weight is a number above 0"
    return Problem(f"sampling weight {name!r}: {count}{first}", source.name, line, hint=hint)


def check(spec: Spec, source: Source) -> list[str]:
    """Reads a source once, as `Source.check` does, and looks at its sampling weights; returns the warnings.

    Raises DataError for a spec's column of weights that is not there, and for weights that cannot be.
    """
    name = spec.sampling_weight
    if name is None:
        source.check()
        return []
    if name not in source.schema:
        hint = columns_in(source.columns, spec.roles())
        raise DataError(Problem(f"has no column {name}", file=source.name, hint=hint))
    column = WeightColumn(Field(name, source.schema[name], spec.missing(source.format)), "0")
    for batch in source.examine(column.expressions):
        column.add(batch)
    column.check(source)
    return column.warnings
