"""What is put on record of a release: who was shown in which class, with which values; who of those shown before has
departed, and how many have left where departures are deferred."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Bools, Ints
from anonymize.records import dataclass
from anonymize.series.guarantee import PublishedValues, released_codes
from anonymize.series.people import CurrentPeople
from anonymize.series.state import NEVER, NOT_THERE, SeriesRelease, SeriesState, carried_on, value_column
from anonymize.table import Table

# --- who has left -----------------------------------------------------------------------------------------------------
# Where departures are deferred, people who left are shown with the values that they had. Whoever knows that somebody
# has left leaves out the rows whose values have changed since; what is left may be fewer than k, which is counted.


def deferred_counts(
    base: SeriesState, current: CurrentPeople, class_of: NDArray[np.int32], absent: Bools, k: int
) -> dict[str, int]:
    """The counts of one release (see below) without `told_by_values`. `class_of` (rows,): below 0 for who is not
    released; `absent` (P,): who was in the last release, and is not in the input."""
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


# --- who is shown again -----------------------------------------------------------------------------------------------
# Who of the people that were released before is shown again is decided by numbers and by what was published.
#
# **Unseen** (the default). The people of a history who are in the input are shown where the models hold of any so many
# of those who had it; else they are *withheld*, all of them.
#
# **Deferred.** People who left are shown as they were last until k people of their history have left. The promise: at
# least k people have the same history as anybody who was ever released, counting those who are not shown any more, so
# that a chain of rows that ends is one of k that end there. So those who left disappear together, once the models hold
# of any so many and of any so many as stay, or nobody stays; until then they are rows of the table like any other.
# Where a history is not in the last release, nobody of it is kept: it comes back where all of it is there, or under the
# same condition. Whoever would be left out for another reason takes all others of the history along.

DEFERRED = "deferred"


def shown_again(published: PublishedValues, current: CurrentPeople) -> Bools:
    """(rows,) who of those released before is shown; where departures are deferred, people who left are rows, too."""
    members = published.members
    present = np.bincount(current.history[~current.newcomers & ~current.gone], minlength=len(members))
    if published.state.departures != DEFERRED:
        return _of_histories(published, present)[current.history] & ~current.newcomers
    absent = members - present
    parted = (absent == members) | (_of_histories(published, present) & _of_histories(published, absent))
    whole = _of_histories(published, members)
    here = published.state.histories[:, -1] >= 0
    stays = np.where(absent == 0, whole, parted | (whole & here))
    goes = parted | ~(whole & here)
    return np.asarray(np.where(current.gone, ~goes[current.history], stays[current.history]) & ~current.newcomers)


def _of_histories(published: PublishedValues, sizes: Ints) -> Bools:
    """(H,) whether the models hold of any `sizes` (H,) people of each history."""
    return published.hold(np.arange(len(sizes)), sizes)


def torn(current: CurrentPeople, expected: Bools, released: Bools) -> Bools:
    """(rows,) whose history is `released` (rows,) in part, of the rows that were to be shown."""
    size = int(current.history.max(initial=0)) + 1
    wanted, there = (np.bincount(current.history[some], minlength=size) for some in (expected, expected & released))
    return np.asarray(expected & ((there > 0) & (there < wanted))[current.history])


# --- a record ---------------------------------------------------------------------------------------------------------
# The counts of a release, in a report and in the state: `before`, people in the release before; `departed`, those of
# them who are not in the input any more; `in_small_company`, those of them who left with fewer than k - 1 others of
# their history; `released`; `newcomers`, those of them who are there for the first time; `held_back`, people of the
# input who were in no release yet and are in none now; `withheld`, people of the input who were released before and are
# not now.
#
# Where departures are deferred: `departed`, those of `before` who were in the last input and are not in this one;
# `in_small_company`, those who left and are not shown any more with fewer than k - 1 others of their history; `kept`,
# people who left and are shown as they were last; `told_by_values`, those of them in whose history fewer than k people
# have had the same values ever since.

_NOBODY = {"departed": 0, "in_small_company": 0}


@dataclass(frozen=True)
class Attendance:
    """Who of the input is in which class: `class_of` (rows,), NOT_THERE for who is in none."""

    current: CurrentPeople
    class_of: NDArray[np.int32]

    def counts(self, base: SeriesState | None, k: int) -> dict[str, int]:
        present: Bools = self.class_of >= 0
        newcomers, gone = self.current.newcomers, self.current.gone
        before = 0 if base is None else int((base.histories[base.history_of, -1] >= 0).sum())
        return {
            "before": before,
            **(_NOBODY if base is None else self._departures(base, k)),
            "released": int(present.sum()),
            "newcomers": int((present & newcomers).sum()),
            "held_back": int((~present & newcomers).sum()),
            "withheld": int((~present & ~newcomers & ~gone).sum()),
        }

    def _departures(self, base: SeriesState, k: int) -> dict[str, int]:
        current = self.current
        absent = np.ones(base.people.height, np.bool_)
        absent[current.position[(current.position >= 0) & ~current.gone]] = False
        absent &= base.histories[base.history_of, -1] >= 0
        if base.rows is None:
            left = np.bincount(base.history_of[absent], minlength=len(base.histories))
            return {"departed": int(left.sum()), "in_small_company": int(left[left < k].sum())}
        return deferred_counts(base, current, self.class_of, absent, k)

    def next_state(self, base: SeriesState, table: Table, release: SeriesRelease) -> SeriesState:
        """The state with one release more; `base` may have no release and nobody yet."""
        number = len(base.releases)
        here = self._everybody(base, number)
        class_of = np.full(here.height, NOT_THERE, np.int32)
        row = here["row"]
        in_release = row.is_not_null().to_numpy()
        class_of[in_release] = self.class_of[row.drop_nulls().to_numpy()]
        longer, history_of = carried_on(base.histories, here["history"].to_numpy(), class_of)
        values, columns = {}, []
        for index, (name, texts) in enumerate(base.values.items()):
            sensitive = next(column for column in table.sensitive if column.name == name)
            values[name], codes = released_codes(texts, sensitive)
            released = pl.select(pl.when(pl.Series(class_of >= 0)).then(codes.gather(row))).to_series()
            columns.append(released.alias(value_column(number, index)))
        people = here.drop("row").with_columns(pl.Series("history", history_of, pl.UInt32), *columns)
        return replace(
            base,
            values=values,
            releases=(*base.releases, release),
            people=people.sort("person"),
            histories=longer,
        )

    def _everybody(self, base: SeriesState, number: int) -> pl.DataFrame:
        """The people of the state and those who are new to it, with the `row` of the input of each."""
        people = self.current.person.alias("person").to_frame().with_row_index("row")
        everybody_before = base.people.join(people, on="person", how="left", maintain_order="left")
        fresh = people.filter(pl.Series(self.current.position < 0)).with_columns(
            pl.lit(0, pl.UInt32).alias("history"), pl.lit(number, pl.UInt32).alias("since")
        )
        return pl.concat([everybody_before, fresh], how="diagonal")

    def on_record(self, base: SeriesState, rows: Ints) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
        """The people of some rows at earlier releases, and everybody's values, as `anonymize.verify.histories` takes
        it."""
        recorded = pl.Series("recorded", self.class_of[rows])
        frame = _recorded(base, self.current.history[rows], self.current.position[rows]).with_columns(recorded)
        return frame, {name: texts.gather(codes.drop_nulls()) for name, texts, codes in _values(base)}

    def absent(self, base: SeriesState) -> pl.DataFrame:
        """A row for everybody who was ever released and is not in this release."""
        absent = np.asarray(base.history_of != NEVER)
        present = self.current.position[self.class_of >= 0]
        absent[present[present >= 0]] = False
        position = np.flatnonzero(absent)
        return _recorded(base, base.history_of[position], position)


def _recorded(base: SeriesState, history: Ints, position: Ints) -> pl.DataFrame:
    """The classes and values of some people at earlier releases; `position` -1 for who is new."""
    columns = [pl.Series(f"release_{number}", each) for number, each in enumerate(base.histories[history].T)]
    rows = pl.Series(position, dtype=pl.Int64).replace(-1, None)
    columns += [texts.gather(codes.gather(rows)).alias(name) for name, texts, codes in _values(base)]
    return pl.DataFrame(columns) if columns else pl.DataFrame(height=len(position))


def _values(state: SeriesState) -> Iterator[tuple[str, pl.Series, pl.Series]]:
    """Of each release and sensitive attribute the column of `people.parquet`, the texts of the codes in it, and (P,)
    the codes."""
    for number in range(len(state.releases)):
        for index, texts in enumerate(state.values.values()):
            name = value_column(number, index)
            yield name, pl.Series(texts, dtype=pl.String), state.people[name]


def nothing_yet(key: str, person: tuple[str, ...], departures: str, sensitive: list[str]) -> SeriesState:
    """The state before the first release."""
    schema = {"person": pl.Binary(), "history": pl.UInt32(), "since": pl.UInt32()}
    none = np.zeros((1, 0), np.int32)
    values: dict[str, tuple[str | None, ...]] = dict.fromkeys(sensitive, ())
    return SeriesState(key, person, departures, {}, {}, values, (), pl.DataFrame(schema=schema), none)
