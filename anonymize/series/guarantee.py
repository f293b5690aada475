"""What classes of a series have to meet, whoever has left since, and the reserve that new ones are made with.

**Reserve.** When n people come into a class, each of them is still there after `LASTING` releases with the same
probability, which the series shows; those who stay are withheld once they are fewer than k. Classes that are cut at k +
r have from k + r to 2 (k + r) - 1 people, taken here as equally likely. The reserve is the smallest r with which the
expected share of people withheld is at most `SHARE_WITHHELD`. One more is taken to have left than have, so that a quiet
start promises nothing.

**Guarantee.** People of one history in one class are a *group*. A group meets the guarantee when it has at least k
people, and among them every model that is required per class holds. A class needs nothing more: it is made of groups,
and every model that is taken here holds in a class made of groups in which it holds.

**Whoever has left.** Which people of a history are shown could depend on who of them has which sensitive value, and
would tell it: ten of twelve are shown because the two who left had not the only other value. So it is decided by what
everybody knows: how many people of the history there were, how many are to be shown, and which values of theirs were
published (`PublishedValues`). A group of m of them is shown if every m of these values meet the models, and only then.
It is enough to try the worst of them. Where a model counts how diverse values are, these are the most frequent ones, as
leaving out the rarest first leaves counts that no other choice spreads less; with protected values, each of these
before all others; where it asks how far numbers are spread, those that follow each other in order; and always the
missing ones, which count for none.

Values have to stay as they were published for that. Models that compare a class with the whole table would make a
decision about one class depend on the values of all others, and are not taken. Models about the table as a whole are
left to the check of the release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Bools, Codes, Floats, Ints, Runs, concatenated_ranges, starts_of
from anonymize.errors import DataError, Problem, UsageError
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, Whole, check, histogram
from anonymize.privacy.k_anonymity import Parameters as SizeOfClasses
from anonymize.records import dataclass
from anonymize.series.people import CurrentPeople
from anonymize.series.state import SeriesState, value_column
from anonymize.table import SensitiveColumn, Table, encode

LASTING = 12
"""Releases that a class should last for."""
SHARE_WITHHELD = 0.005
FIRST_RESERVE = 2
"""People of a reserve where nothing is known yet."""
MOST_RESERVED = 50
"""People of a reserve at most."""


def reserve_of(given: int | None, state: SeriesState | None, k: int, *, deferred: bool = False) -> int:
    """The spec's reserve, or what departures so far ask for; 0 where they are deferred, as k then leave together."""
    if given is not None:
        return given
    if deferred:
        return 0
    counts = [] if state is None else [release.people for release in state.releases]
    released, left = (sum(each[name] for each in counts) for name in ("before", "departed"))
    if not released:
        return FIRST_RESERVE
    turnover = (left + 1) / (released + 1)
    return next((r for r in range(MOST_RESERVED) if withheld(k, r, turnover) <= SHARE_WITHHELD), MOST_RESERVED)


def withheld(k: int, reserve: int, turnover: float) -> float:
    """The expected share of people in classes made for k + reserve who are still there, and fewer than k.

    >>> round(withheld(10, 0, 0.005), 3), round(withheld(10, 2, 0.005), 4)
    (0.037, 0.0015)
    """
    from scipy.special import bdtr

    if k == 1:
        return 0.0
    sizes = np.arange(k + reserve, 2 * (k + reserve))
    stays = (1 - turnover) ** LASTING
    # Whoever stays is withheld where at most k - 2 of the others stay.
    few = sizes * stays * bdtr(float(k - 2), sizes - 1, stays)
    return float(few.sum() / sizes.sum())


SIZE = "k-anonymity"


def per_class(requirements: Iterable[Requirement], k: int) -> tuple[Requirement, ...]:
    """What groups have to meet: k people, and every model that says something of each class."""
    per_class = [each for each in requirements if not MODELS[each.model].asks_table(each.parameters)]
    return (Requirement(SIZE, None, SizeOfClasses(k=k)), *(each for each in per_class if each.model != SIZE))


def about_table(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """The requirements about the table as a whole, which are not bounded over time."""
    return tuple(each for each in requirements if MODELS[each.model].asks_table(each.parameters))


def check_kept(requirements: Iterable[Requirement]) -> None:
    """Raises UsageError for a model that cannot be kept over a series: of a population, one that a class of safe groups
    may not meet, and one that compares a class with the whole table."""
    for each in requirements:
        model = MODELS[each.model]
        if each.population is not None or not model.merges(each.parameters):
            raise UsageError(Problem(f"{each}: not in a series", hint="it says nothing of groups of histories"))
        if model.compares:
            hint = "it compares classes with the whole table, which changes: use one that judges each class separately"
            raise UsageError(Problem(f"{each}: not in a series", hint=hint))


ROWS_AT_ONCE = 1 << 20
"""People of groups that are tried at once, about."""


@dataclass(frozen=True)
class PublishedValues:
    """What was published of the people (P,) of a state, and what holds of any so many of those of a history. `columns`:
    the sensitive attributes of the requirements, with the code last published of each person."""

    state: SeriesState
    requirements: Sequence[Requirement]
    columns: tuple[SensitiveColumn, ...]

    @classmethod
    def of(cls, state: SeriesState, table: Table, requirements: Sequence[Requirement]) -> PublishedValues:
        """What the state's releases have published; `requirements`: of groups of people of this table."""
        return cls(state, requirements, tuple(_published(state, each) for each in judged_columns(table, requirements)))

    @cached_property
    def members(self) -> Ints:
        """(H,) how many people have each history."""
        return np.bincount(self.state.history_of, minlength=len(self.state.histories))

    @cached_property
    def _by_history(self) -> tuple[Ints, Ints]:
        """(P,) the people, history by history, and (H + 1,) where those of each begin."""
        return np.argsort(self.state.history_of, kind="stable"), starts_of(self.members)

    def hold(self, histories: Ints, sizes: Ints) -> Bools:
        """(n,) whether every requirement holds of any `sizes` (n,) people of some `histories` (n,); never of nobody."""
        somebody: Bools = sizes > 0
        pairs, number = np.unique(np.column_stack((histories, sizes))[somebody], axis=0, return_inverse=True)
        passed = check(Groups(pairs[:, 1], {}), [each for each in self.requirements if each.attribute is None])
        for some in _batches(pairs[:, 1] * (1 + self.members[pairs[:, 0]] - pairs[:, 1])):
            for people, group, pair in self._worst(*pairs[some].T):
                np.logical_and.at(passed[some], pair, self._met(people, group, pairs[some, 1][pair]))
        somebody[somebody] = passed[number.ravel()]
        return somebody

    def _met(self, people: Ints, group: Ints, sizes: Ints) -> Bools:
        """(groups,) whether groups of so many people meet the requirements; people who are left out count for
        nothing."""
        histograms = {
            column.name: Histogram.of(
                column, Runs.count_values(group, column.codes[people], len(sizes), column.size), len(sizes), whole
            )
            for column, whole in zip(self.columns, self._wholes, strict=True)
        }
        return check(Groups(sizes, histograms), self.requirements)

    @cached_property
    def _wholes(self) -> list[Whole]:
        return [Whole.of(column) for column in self.columns]

    def _worst(self, histories: Ints, sizes: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Groups of so many people of each history: numbers of people, the group of each, and the pair (history, size)
        of each group. If any group of that size breaks a requirement, one of these does."""
        count, (arranged, starts) = self.members[histories], self._by_history
        people, pair = arranged[concatenated_ranges(starts[histories], count)], np.repeat(np.arange(len(count)), count)
        for column, whole in zip(self.columns, self._wholes, strict=True):
            codes = column.codes[people].astype(np.int64)
            for kinds in _kinds(column, codes):
                known = kinds >= 0
                keys = pair * (int(kinds.max(initial=0)) + 2) + kinds + 1
                _, number, counts = np.unique(keys, return_inverse=True, return_counts=True)
                commonest = [known, -counts[number], kinds]
                yield _first(people, pair, sizes, commonest)
                for value in self._protected(column, whole, codes):
                    yield _first(people, pair, sizes, [known, codes != value, *commonest[1:]])
            if column.values is not None:
                known = codes != column.missing
                yield _windows(people[known], pair[known], sizes - count, column.values[codes[known]])

    def _protected(self, column: SensitiveColumn, whole: Whole, codes: Ints) -> list[int]:
        """The codes of the values that requirements about a column protect, as far as they occur."""
        about = (histogram.values_of(each.parameters) for each in self.requirements if each.attribute == column.name)
        named = tuple(dict.fromkeys(value for values in about for value in values or ()))
        return [code for code in np.unique(codes).tolist() if whole.protected(named)[code]] if named else []


def _batches(rows: Ints) -> Iterator[slice]:
    """The items that are worked on together, given the rows (n,) of each: about `ROWS_AT_ONCE` rows, or one item."""
    ends, begin = np.cumsum(rows), 0
    while begin < len(rows):
        end = max(int(np.searchsorted(ends, ends[begin] - rows[begin] + ROWS_AT_ONCE, side="right")), begin + 1)
        yield slice(begin, end)
        begin = end


def _kinds(column: SensitiveColumn, codes: Ints) -> Iterator[Ints]:
    """(n,) what values are counted as, below 0 where they do not count: each separately; then those alike as one."""
    for kinds in [codes] if column.together is None else [codes, column.together[codes]]:
        yield kinds if column.missing is None else np.where(codes == column.missing, -1, kinds)


def _first(people: Ints, pair: Ints, sizes: Ints, keys: Sequence[NDArray[Any]]) -> tuple[Ints, Ints, Ints]:
    """One group a pair: the first so many of its people by some keys, the most significant first."""
    order = np.lexsort((*reversed(keys), pair))
    chosen = order[np.arange(len(pair)) - np.searchsorted(pair, pair) < sizes[pair]]
    return people[chosen], pair[chosen], np.arange(len(sizes))


def _windows(people: Ints, pair: Ints, spare: Ints, numbers: Floats) -> tuple[Ints, Ints, Ints]:
    """All groups of people with consecutive numbers: of each pair as many as it has, less `spare` (pairs,),
    negative."""
    order, count = np.lexsort((numbers, pair)), np.bincount(pair, minlength=len(spare))
    width = np.maximum(count + spare, 0)
    shifts = np.where(width > 0, 1 - spare, 0)
    of = np.repeat(np.arange(len(spare)), shifts)
    begins = concatenated_ranges(starts_of(count)[:-1], shifts)
    group = np.repeat(np.arange(len(of)), width[of])
    return people[order[concatenated_ranges(begins, width[of])]], group, of


def judged_columns(table: Table, requirements: Iterable[Requirement]) -> list[SensitiveColumn]:
    """The sensitive attributes that some requirements are about."""
    names = {each.attribute for each in requirements}
    return [column for column in table.sensitive if column.name in names]


def latest_codes(state: SeriesState, name: str) -> Ints:
    """(P,) the code of the value of an attribute last published of each person; -1 where none was."""
    index = list(state.values).index(name)
    columns = [value_column(number, index) for number in reversed(range(len(state.releases)))]
    return state.people.select(pl.coalesce(columns).cast(pl.Int64).fill_null(-1)).to_series().to_numpy()


def check_values_stay(state: SeriesState, current: CurrentPeople, columns: Iterable[SensitiveColumn]) -> None:
    """Raises DataError where known people have another value of one of the columns than was published of them."""
    problems = []
    for column in columns:
        before = np.append(latest_codes(state, column.name), -1)[current.position]
        now = released_codes(state.values[column.name], column)[1].to_numpy()
        if changed := np.count_nonzero((before >= 0) & (before != now)):
            message = f"{column.name}: {changed} people have another value than was published of them"
            stay = "a model of values holds over time only where they stay"
            problems.append(Problem(message, hint=f"{stay}: start a new series, or require no model of it"))
    if problems:
        raise DataError(problems)


def _published(state: SeriesState, now: SensitiveColumn) -> SensitiveColumn:
    column, code_of = _column(now, state.values[now.name])
    return replace(column, codes=code_of[np.maximum(latest_codes(state, now.name), 0)], everywhere=None)


def _column(now: SensitiveColumn, texts: Sequence[str | None]) -> tuple[SensitiveColumn, Codes]:
    """A column like that of the table with the values of the state and no rows, and the code (texts,) of each value."""
    present = [text for text in texts if text is not None]
    if now.hierarchy is not None and now.values is None:
        codes = {text: code for code, text in enumerate(now.texts)}
        if any(text not in codes for text in present) or (None in texts and now.missing is None):
            hint = "the hierarchies of a series stay as they are"
            raise UsageError(Problem(f"{now.name}: its hierarchy lacks values that were released before", hint=hint))
        order, column = codes, now
    else:
        ordered = sorted(present, key=float) if now.values is not None else sorted(present)
        order = {text: code for code, text in enumerate(ordered)}
        size = len(texts)
        numbers = None if now.values is None else np.array([float(text) for text in ordered] + [np.nan])[:size]
        missing = size - 1 if None in texts else None
        names = (*ordered, *([""] if missing is not None else []))
        column = replace(now, size=size, missing=missing, values=numbers, texts=names, hierarchy=None)
    code_of = [column.missing if text is None else order[text] for text in texts]
    none = np.empty(0, encode.code_type(column.size))
    return replace(column, codes=none), np.array(code_of, none.dtype)


def released_codes(
    texts_so_far: tuple[str | None, ...], column: SensitiveColumn
) -> tuple[tuple[str | None, ...], pl.Series]:
    """The values of the state with those of a column, new ones after the others, and the code (rows,) of each row."""
    texts: list[str | None] = [None if code == column.missing else text for code, text in enumerate(column.texts)]
    present = np.bincount(column.codes, minlength=column.size) > 0
    number: dict[str | None, int] = {text: code for code, text in enumerate(texts_so_far)}
    for text, occurs in zip(texts, present.tolist(), strict=True):
        if occurs:
            number.setdefault(text, len(number))
    codes: Ints = np.array([number.get(text, 0) for text in texts], np.int64)
    return tuple(number), pl.Series(codes[column.codes], dtype=pl.UInt32)
