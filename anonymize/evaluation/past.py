"""The releases of a series before one of them, and which rows are about the same people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from anonymize.auditing.nights import SeriesFiles, key_of, opened_state
from anonymize.classes import Ints
from anonymize.errors import UsageError
from anonymize.spec import Spec

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
