"""The files of a release and of those before it in a series, read as text with the spec of their original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from anonymize.auditing.nights import SeriesFiles, key_of, opened_state
from anonymize.classes import Ints
from anonymize.errors import UsageError
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


# --- the releases before ----------------------------------------------------------------------------------------------

NOT_IN_IT = "--series: the release is not one of this series, whose files have other hashes"
GONE = "{} of {} earlier releases of the series could not be found, and are left out"
APART = "of {} of {} earlier releases it is not known which rows belong together: links, originals and --key say it"


@dataclass(frozen=True)
class PastReleases:
    """Earlier releases, the oldest first. `rows_of`: of each (rows of the last release,) which of its rows is about the
    same person, -1 for none, or None where that is not known. `link`: that of the last release, where it is there.
    `remarks`: what was not found."""

    paths: Sequence[str]
    rows_of: Sequence[Ints | None]
    link: str | None = None
    remarks: Sequence[str] = ()


def in_series(spec: Spec, path: str, key: str | None, sha256: str) -> PastReleases:
    """Those of the series at `path` before the release with this hash. Raises UsageError where it is not in the series,
    DataError for a key of another one."""
    state = opened_state(path)
    number = next((n for n in reversed(range(len(state.releases))) if state.releases[n].sha256 == sha256), None)
    if number is None:
        raise UsageError(NOT_IN_IT)
    series_key = None if key is None else key_of(key, state)
    files = SeriesFiles(spec, state, () if series_key is None else series_key.secrets, Path(path).parent)
    last, before = state.releases[number], state.releases[:number]
    pairs = [(files.located(each.path, each.sha256), each) for each in before]
    located = [(place, each) for place, each in pairs if place is not None]
    people = None if series_key is None else files.people(last)[0]
    rows_of = [None if people is None else _matched(people, files.people(each)[0]) for _, each in located]
    apart = sum(each is None for each in rows_of)
    remarks = [GONE.format(len(before) - len(located), len(before))] if len(located) < len(before) else []
    remarks += [APART.format(apart, len(located))] if apart else []
    link = None if last.link is None else files.located(last.link, None)
    return PastReleases([str(place) for place, _ in located], rows_of, None if link is None else str(link), remarks)


def _matched(people: pl.Series, others: pl.Series | None) -> Ints | None:
    """(people,) where among the others each one is, -1 for who is not."""
    if others is None:
        return None
    rows = others.alias("person").to_frame().with_row_index("row")
    joined = people.alias("person").to_frame().join(rows, on="person", how="left", maintain_order="left")
    return joined["row"].cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)
