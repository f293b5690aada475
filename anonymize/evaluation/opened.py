"""The file of a release, read as text with the spec of its original."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import polars as pl

from anonymize.evaluation.released import as_text, columns_of
from anonymize.recoding.appearance import MISSING
from anonymize.recoding.typed import NumberColumns
from anonymize.spec import Spec
from anonymize.table import Source
from anonymize.table.named import column, unnamed


@dataclass(frozen=True)
class ReleasedSource:
    """`texts`: all columns as text, null where missing. `columns`: in which each quasi-identifier is shown."""

    source: Source
    texts: pl.DataFrame
    columns: Mapping[str, tuple[str, str]]

    @property
    def rows(self) -> int:
        """Released rows."""
        return self.texts.height


def read_file(original: Spec, path: str, stack: ExitStack) -> ReleasedSource:
    """Reads a release: UTF-8, with the input's separator. Raises DataError for what cannot be read, and for
    quasi-identifiers of which there is no column."""
    spec = original.of_release()
    source = stack.enter_context(Source.open(spec, path))
    source.check_types(source.columns)
    columns = columns_of(spec, source.columns, source.name)
    batches = list(source.examine([column(name) for name in source.columns]))
    frame = pl.concat(batches) if batches else pl.DataFrame(schema=dict.fromkeys(source.columns, pl.String))
    texts = frame.select(as_text(each, spec, source.format) for each in frame.iter_columns())
    numbers = NumberColumns.of(spec, source.format).of_type(source.schema)
    return ReleasedSource(source, _with_suppressed(spec, texts, columns, numbers), columns)


def _with_suppressed(
    spec: Spec, texts: pl.DataFrame, columns: Mapping[str, tuple[str, str]], numbers: NumberColumns
) -> pl.DataFrame:
    """The cells of a release as text, with the suppressed text for nulls of `numbers` that show nothing.

    A null is a missing value where the column beside says so. Otherwise it may be one or the other, and is taken for
    what has lost more.
    """
    texts_of = {column.name: unnamed(column) for column in texts.iter_columns()}
    for name, ends in columns.items():
        if not numbers.names.issuperset(ends):
            continue
        blank = texts_of[ends[0]].is_null() & texts_of[ends[1]].is_null()
        if name + MISSING in texts_of:
            blank &= texts_of[name + MISSING].ne_missing(pl.Series(["yes"]))
        for end in dict.fromkeys(ends):
            text = pl.when(pl.lit(blank)).then(pl.lit(spec.output.suppressed)).otherwise(pl.lit(texts_of[end]))
            texts_of[end] = pl.select(text).to_series()
    return pl.DataFrame(texts_of)
