"""Histories of people: carried on by a release, taken back by one, and without those who are forgotten.

People who share a history were shown in the same class, or were not there together, in every release so far. A release
parts histories and never unites them: the new history is the pair of the old one and of the class now, NOT_THERE
for who is not in the release.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Bools, Integers, mixed_radix
from anonymize.series.state import NOT_THERE, SeriesState, value_column

NEVER = 0
"""The history of people who were in no release so far."""


def carried_on(
    histories: NDArray[np.int32], history_of: Integers, class_of: Integers
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """The histories after one more release, and (P,) which of them each person has.

    `histories` (H, T); `history_of` (P,) so far; `class_of` (P,) now, NOT_THERE for who is not released. In
    ascending order of the old history, then of the class, those without people left out; NEVER stays the first.

    >>> before, class_of = np.array([[-1], [4]], np.int32), np.array([7, 8, -1, 7])
    >>> histories, history_of = carried_on(before, np.array([1, 1, 0, 0]), class_of)
    >>> histories.tolist(), history_of.tolist()
    ([[-1, -1], [-1, 7], [4, 7], [4, 8]], [2, 3, 0, 1])
    """
    shift = class_of.astype(np.int64) - NOT_THERE
    size = int(shift.max(initial=0)) + 1
    keys = np.append(history_of.astype(np.int64) * size + shift, NEVER)
    pairs, number = np.unique(keys, return_inverse=True)
    old, now = np.divmod(pairs, size)
    longer = np.column_stack((histories[old], (now + NOT_THERE).astype(np.int32)))
    return longer.astype(np.int32), number[:-1].astype(np.uint32)


def without_last(state: SeriesState) -> SeriesState:
    """The state as it was before its last release, of which it has at least two: people who were in no input before are
    gone."""
    last = len(state.releases) - 1
    before = pl.Series(state.people["since"].to_numpy() < last)
    values = [value_column(last, index) for index in range(len(state.values))]
    people = state.people.filter(before).drop(values)
    shorter = replace(state, releases=state.releases[:-1], people=people, histories=state.histories[:, :-1])
    return renumbered(replace(shorter, rows=state.rows_before, rows_before=None))


def without_people(state: SeriesState, forgotten: Bools) -> SeriesState:
    """The state without some of its people (P,)."""
    gone = state.people["person"].filter(pl.Series(forgotten)).implode()
    rows, before = (
        None if frame is None else frame.filter(~pl.col("person").is_in(gone))
        for frame in (state.rows, state.rows_before)
    )
    people = state.people.filter(pl.Series(~forgotten))
    return renumbered(replace(state, people=people, rows=rows, rows_before=before))


def renumbered(state: SeriesState) -> SeriesState:
    """The same state with each history once, and none but NEVER without people."""
    columns = [column.astype(np.int64) - NOT_THERE for column in state.histories.T]
    keys, _ = mixed_radix(columns, [int(column.max(initial=0)) + 1 for column in columns])
    key_of_person = keys[state.history_of]
    _, first, number = np.unique(np.append(key_of_person, keys[NEVER]), return_index=True, return_inverse=True)
    source = np.append(state.history_of, NEVER)[first]
    people = state.people.with_columns(pl.Series("history", number[:-1].astype(np.uint32)))
    return replace(state, people=people, histories=state.histories[source])
