"""Who has left, counted, where departures are deferred; see `anonymize.series.record` for what the counts are.

People who left are shown with the values that they had. Whoever knows that somebody has left leaves out the rows whose
values have changed since; what is left may be fewer than k, which is counted.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Bools, Ints
from anonymize.series.people import CurrentPeople
from anonymize.series.state import SeriesState, value_column


def deferred_counts(
    base: SeriesState, current: CurrentPeople, class_of: NDArray[np.int32], absent: Bools, k: int
) -> dict[str, int]:
    """The counts of one release but for those told by values. `class_of` (rows,): below 0 for who is not released;
    `absent` (P,): who was in the last release, and is not in the input."""
    assert base.rows is not None
    last, size = len(base.releases) - 1, len(base.histories)
    released = np.zeros(base.people.height, np.bool_)
    positions = current.position[class_of >= 0]
    released[positions[positions >= 0]] = True
    out = (base.histories[base.history_of, -1] >= 0) & ~released
    company = np.bincount(base.history_of[out], minlength=size)[base.history_of]
    since = _last_seen(base)
    return {
        "departed": int((absent & (since == last)).sum()),
        "in_small_company": int((absent & ~released & (company < k)).sum()),
        "kept": int((absent & released).sum()),
    }


def told_by_values(state: SeriesState, k: int) -> int:
    """How many of the people who are shown in the last release and were not in its input are in a history of which
    fewer than k have had the same values in all releases from the last one on at which these were in the input."""
    last, count = len(state.releases) - 1, 0
    since = _last_seen(state)
    for number in np.unique(since[(since >= 0) & (since < last)]).tolist():
        same = since >= 0
        for index in range(len(state.values)):
            columns = [state.people[value_column(s, index)] for s in range(number, last + 1)]
            for before, after in pairwise(columns):
                same &= before.eq_missing(after).to_numpy()
        company = np.bincount(state.history_of[same], minlength=len(state.histories))
        count += int((company[state.history_of[since == number]] < k).sum())
    return count


def _last_seen(state: SeriesState) -> Ints:
    """(P,) the release of whose input each was last; -1 for who is not in the last release."""
    assert state.rows is not None
    last_rows = state.people.select("person").join(state.rows, on="person", how="left", maintain_order="left")
    return last_rows["release"].cast(pl.Int64).fill_null(-1).to_numpy()
