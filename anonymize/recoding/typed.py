"""Numbers as numbers: the columns of a release that a typed file, Parquet or Arrow, stores as such."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from anonymize.recoding.appearance import BOUNDS
from anonymize.spec import Spec


@dataclass(frozen=True)
class NumberColumns:
    """Which released columns show numbers: `names`. `blank`: texts that stand there where there is no number."""

    names: frozenset[str]
    blank: frozenset[str]

    @classmethod
    def of(cls, spec: Spec, form: str) -> NumberColumns:
        """Those of a release in a format: the bounds, means and medians of numeric quasi-identifiers; none in a CSV."""
        numeric = [name for name, definition in spec.quasi_identifiers.items() if definition.type == "numeric"]
        suffixes = {"interval": [], "bounds": BOUNDS}.get(spec.output.numeric, [""])
        names = [] if form.startswith("csv") else [name + suffix for name in numeric for suffix in suffixes]
        return cls(frozenset(names), frozenset({"", spec.output.suppressed, *spec.input.missing}))

    def of_type(self, schema: Mapping[str, pl.DataType]) -> NumberColumns:
        """Those that hold numbers in a table, and not labels as text."""
        numeric = frozenset(name for name in self.names if name in schema and schema[name].is_numeric())
        return NumberColumns(numeric, self.blank)

    def column(self, name: str, texts: pl.Series) -> pl.Series | None:
        """The distinct texts of a column as numbers, null where there is none: whole numbers if all are. None for a
        column that shows something else, such as the labels of a hierarchy."""
        if name not in self.names:
            return None
        frame = texts.alias("text").to_frame()
        cells = frame.select(pl.when(~pl.col("text").is_in(sorted(self.blank))).then("text")).to_series()
        whole, broken = cells.cast(pl.Int64, strict=False), cells.cast(pl.Float64, strict=False)
        if broken.null_count() > cells.null_count():
            return None
        return whole if whole.null_count() == cells.null_count() else broken
