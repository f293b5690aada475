"""What is put on record of a release: who was shown in which class, with which values, and how many are not there.

The counts of a release, in a report and in the state: `before`, people in the release before; `departed`, those of
them who are not in the input any more; `in_small_company`, those of them who left with fewer than k - 1 others of their
history; `released`; `newcomers`, those of them who are there for the first time; `held_back`, people of the input who
were in no release yet and are in none now; `withheld`, people of the input who were released before and are not now.

Where departures are deferred: `departed`, those of `before` who were in the last input and are not in this one;
`in_small_company`, those who left and are not shown any more with fewer than k - 1 others of their history; `kept`,
people who left and are shown as they were last; `told_by_values`, those of them in whose history fewer than k people
have had the same values ever since.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Bools, Ints
from anonymize.series.guarantee import released_codes
from anonymize.series.histories import NEVER, carried_on
from anonymize.series.leavers import deferred_counts
from anonymize.series.people import CurrentPeople
from anonymize.series.state import NOT_THERE, SeriesRelease, SeriesState, value_column
from anonymize.table import Table

_NOBODY = {"departed": 0, "in_small_company": 0}


@dataclass(frozen=True)
class Attendance:
    """Who of the input is in which class: `class_of` (rows,), NOT_THERE for who is in none."""

    current: CurrentPeople
    class_of: NDArray[np.int32]

    def counts(self, base: SeriesState | None, k: int) -> dict[str, int]:
        """See the module."""
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
        """Who left."""
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
        """What is known of the people of some rows at earlier releases, and the values of everybody then, as
        `anonymize.verify.next_release` takes it."""
        recorded = pl.Series("recorded", self.class_of[rows])
        frame = _recorded(base, self.current.history[rows], self.current.position[rows]).with_columns(recorded)
        everybody = {
            value_column(number, index): pl.Series(texts, dtype=pl.String).gather(codes.drop_nulls())
            for number in range(len(base.releases))
            for index, texts in enumerate(base.values.values())
            for codes in [base.people[value_column(number, index)]]
        }
        return frame, everybody

    def absent(self, base: SeriesState) -> pl.DataFrame:
        """The same of everybody who was ever released and is not in this release."""
        absent = np.asarray(base.history_of != NEVER)
        present = self.current.position[self.class_of >= 0]
        absent[present[present >= 0]] = False
        position = np.flatnonzero(absent)
        return _recorded(base, base.history_of[position], position)


def _recorded(base: SeriesState, history: Ints, position: Ints) -> pl.DataFrame:
    """The classes and values of some people at earlier releases; `position` -1 for who is new."""
    columns = [pl.Series(f"release_{number}", each) for number, each in enumerate(base.histories[history].T)]
    rows = pl.Series(position, dtype=pl.Int64).replace(-1, None)
    for number in range(len(base.releases)):
        for index, texts in enumerate(base.values.values()):
            codes = base.people[value_column(number, index)]
            columns.append(
                pl.Series(texts, dtype=pl.String).gather(codes.gather(rows)).alias(value_column(number, index))
            )
    return pl.DataFrame(columns) if columns else pl.DataFrame(height=len(position))


def nothing_yet(key: str, person: tuple[str, ...], departures: str, sensitive: list[str]) -> SeriesState:
    """The state before the first release."""
    schema = {"person": pl.Binary(), "history": pl.UInt32(), "since": pl.UInt32()}
    none = np.zeros((1, 0), np.int32)
    values: dict[str, tuple[str | None, ...]] = dict.fromkeys(sensitive, ())
    return SeriesState(key, person, departures, {}, {}, values, (), pl.DataFrame(schema=schema), none)
