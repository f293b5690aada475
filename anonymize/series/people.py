"""Whose rows a table has, as pseudonyms, and where the state knows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from anonymize.classes import Bools, Ints
from anonymize.errors import DataError, Problem, SpecError, UsageError
from anonymize.key import Key
from anonymize.records import dataclass
from anonymize.series.state import NEVER, SeriesState
from anonymize.spec import Spec
from anonymize.table import Source, columns, named


def naming(spec: Spec) -> tuple[str, ...]:
    """The columns that name a person. Raises SpecError where the spec has none, or names one that is released."""
    names = spec.series.person or (() if spec.unit is None else (spec.unit,))
    if not names:
        hint = "name the column that identifies the person: `unit`, or `series: {person: [...]}` of identifiers"
        raise SpecError(spec.problem(("series",), "a series needs to know whom each row is about", hint))
    roles = spec.roles()
    wrong = [name for name in names if roles.get(name) not in ("identifier", "unit")]
    if wrong:
        message = f"series.person: {', '.join(wrong)}: not among the identifiers"
        raise SpecError(spec.problem(("series", "person"), message, "what names a person is not released"))
    return names


def pseudonyms(spec: Spec, source: Source, names: Sequence[str], key: Key) -> pl.Series:
    """(rows,) Binary: who each row is about, in a source that has been read. Raises DataError where a row does not say
    it, UsageError where several are about one person."""
    missing = spec.missing(source.format)
    texts = source.scan().select([named.column(name).cast(pl.String) for name in names]).collect(engine="streaming")
    identifiers = [columns.named_by(named.unnamed(each), missing) for each in texts.iter_columns()]
    lacking = [name for name, each in zip(names, identifiers, strict=True) if each.null_count()]
    if lacking:
        raise DataError(Problem(f"{', '.join(lacking)}: missing in some rows, which then identify nobody", source.name))
    people = pl.Series(key.pseudonyms(zip(*(each.to_list() for each in identifiers), strict=True)), dtype=pl.Binary)
    repeated = len(people) - people.n_unique()
    if repeated:
        message = f"{repeated} rows are about somebody who has another row: a series needs one row for each person"
        raise UsageError(Problem(message, source.name, hint="one table of people, or a column that differs"))
    return people


FAMILIAR = 3
"""Releases after which it is known how many people come again."""


def check_known(current: CurrentPeople, state: SeriesState | None, least: float | None, name: str) -> None:
    """Raises DataError where fewer people of the last release are in the table than the share `least`; by default half
    of the smallest share so far, once there were `FAMILIAR` releases. People who were only kept are not expected."""
    if state is None:
        return
    expected = state.seen_last
    there = current.position[(current.position >= 0) & ~current.gone]
    before, known = int(expected.sum()), int(expected[there].sum())
    if least is None:
        least = min(_shares(state), default=0.0) / 2 if len(state.releases) >= FAMILIAR else 0.0
    if known < least * before:
        message = f"{known} of {before} people of the last release are in it: were they given other names?"
        hint = "`series: {known: SHARE}` of the spec sets the minimum; 0 for none"
        raise DataError(Problem(message, name, hint=hint))


def _shares(state: SeriesState) -> Iterator[float]:
    """The share of the people of each release, but of those who were only kept in it, who were there at the next."""
    for last, following in pairwise(each.people for each in state.releases):
        if before := following["before"] - last.get("kept", 0):
            yield 1 - following["departed"] / before


@dataclass(frozen=True)
class CurrentPeople:
    """The people of the input, row by row, and behind them the `departed`, one row each: people who are not in it
    any more and were in the last release. `person` (rows,) Binary. `position` (rows,): where each is in the state's
    people, below 0 for who is not there. `history` (rows,): the history of each up to now."""

    person: pl.Series
    position: Ints
    history: Ints
    departed: int = field(default=0, kw_only=True)

    @classmethod
    def of(cls, person: pl.Series, state: SeriesState | None, departed: int = 0) -> CurrentPeople:
        """The people of a table, looked up in the state; None: at the first release nobody is known."""
        if state is None:
            none = np.full(len(person), -1, np.int64)
            return cls(person, none, np.full(len(person), NEVER, np.int64))
        positions = state.people.select("person").with_row_index("position")
        looked_up = person.alias("person").to_frame().join(positions, on="person", how="left", maintain_order="left")
        position = looked_up["position"].cast(pl.Int64).fill_null(-1).to_numpy()
        history = np.where(position < 0, NEVER, state.history_of[position])
        return cls(person, position, history, departed=departed)

    @cached_property
    def newcomers(self) -> Bools:
        """(rows,) whether each was in no release so far."""
        return np.asarray(self.history == NEVER)

    @cached_property
    def gone(self) -> Bools:
        """(rows,) whether each is about somebody who is not in the input any more."""
        return np.arange(len(self.person)) >= len(self.person) - self.departed
