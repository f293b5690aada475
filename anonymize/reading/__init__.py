"""What the cells of a release say: the one reader of released text outside the second opinion, which has its own.

A file becomes columns of text (here), the distinct texts of a quasi-identifier become regions of its domain
(`regions`). How a cell is taken apart `anonymize.domain.cells` says; nothing of how the release was made is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import polars as pl

from anonymize.errors import DataError, Problem
from anonymize.recoding.appearance import MISSING, NumberColumns
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.table import Source
from anonymize.table.columns import compared, tidy
from anonymize.table.encode import is_text
from anonymize.table.named import column, unnamed
from anonymize.table.roles import columns_in

# --- columns of text --------------------------------------------------------------------------------------------------
# Released files as columns of text, with the spec of their original.


@dataclass(frozen=True)
class SourceTexts:
    """`texts`: all columns as text, null where missing. `columns`: in which each quasi-identifier is shown."""

    source: Source
    texts: pl.DataFrame
    columns: Mapping[str, tuple[str, str]]

    @property
    def rows(self) -> int:
        """Released rows."""
        return self.texts.height


def read_file(original: Spec, path: str, stack: ExitStack) -> SourceTexts:
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
    return SourceTexts(source, _with_suppressed(spec, texts, columns, numbers), columns)


def _with_suppressed(
    spec: Spec, texts: pl.DataFrame, columns: Mapping[str, tuple[str, str]], numbers: NumberColumns
) -> pl.DataFrame:
    """The cells of a release as text, with the suppressed text for nulls of `numbers` that show nothing.

    A null is a missing value where the column beside says so. Otherwise it may be one or the other, and is taken for
    what has lost more.
    """
    texts_of = {column.name: unnamed(column) for column in texts.iter_columns()}
    for name in columns if spec.hides else ():
        texts_of[name] = texts_of[name].fill_null(str(spec.output.suppressed))
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


def as_text(column: pl.Series, spec: Spec, form: str) -> pl.Series:
    """A column as text, numbers with a point, null where it is missing; `form` of the file, which says whether a null
    is."""
    missing, present = spec.missing(form), pl.col("text")
    if is_text(column.dtype):
        present = (
            pl.when(present.is_in(missing.texts))
            .then(present)
            .otherwise(spec.notation(column.name).with_point(present))
        )
    text = column.cast(pl.String).to_frame("text").select(missing.filled(present))
    texts = compared(text.to_series(), missing).alias(column.name)
    return texts.fill_null(spec.input.missing_text) if spec.counts_missing(column.name) else texts


def columns_of(spec: Spec, present: Sequence[str], file: str) -> dict[str, tuple[str, str]]:
    """The columns in which each quasi-identifier is shown: its own twice, or NAME_low and NAME_high.

    Raises DataError for quasi-identifiers of which there are none.
    """
    columns: dict[str, tuple[str, str]] = {}
    for name in spec.quasi_identifiers:
        pair = (f"{name}_low", f"{name}_high")
        if name in present:
            columns[name] = (name, name)
        elif all(column in present for column in pair):
            columns[name] = pair
    lacking = [name for name in spec.quasi_identifiers if name not in columns]
    if lacking:
        hint = columns_in(
            present,
            [*spec.roles(), *(end for name in spec.quasi_identifiers for end in (f"{name}_low", f"{name}_high"))],
        )
        raise DataError([Problem(f"has no column {name}", file=file, hint=hint) for name in lacking])
    return columns


def raw_texts(source: Source, names: Sequence[str], spec: Spec, *, keep_empty: bool = False) -> pl.DataFrame:
    """Columns as text, numbers as written; null where a cell is missing, or, with `keep_empty`, the empty text."""
    lacking = [name for name in names if name not in source.columns]
    if lacking:
        hint = columns_in(source.columns, spec.roles())
        raise DataError([Problem(f"has no column {name}", file=source.name, hint=hint) for name in lacking])
    source.check()
    frame = source.scan().select([column(name).cast(pl.String) for name in names]).collect(engine="streaming")
    if spec.input.normalize:
        frame = frame.select(tidy(texts) for texts in frame.get_columns())
    empty = keep_empty or not spec.missing(source.format).null
    return frame.select(pl.all().fill_null("")) if empty else frame
