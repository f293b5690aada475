"""What classes have to meet tonight so that no history gives anybody away, and the reserve that new ones are made with.

**Reserve.** When n people come into a class, each of them is still there after `NIGHTS` releases with the same
probability, which the series shows; those who stay are withheld once they are fewer than k. Classes that are cut at k +
r have from k + r to 2 (k + r) - 1 people, taken here as equally likely. The reserve is the smallest r with which the
expected share of people withheld is at most `SHARE`. One more is taken to have left than have, so that a quiet start
promises nothing.

**Guarantee.** People of one history in one class are a *group*. A group meets the guarantee when it has at least k
people, and among them every model that is required per class holds: of the values released tonight, and of those
released at each earlier release in which they were. Histories are shared by people who were all there or all not. A
class needs nothing beside: it is made of groups, and every model that is taken here holds in a class made of groups in
which it holds.

Models about the table as a whole are left to the check of the release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from anonymize.classes import Bools, Codes, Integers, Ints
from anonymize.errors import Problem, UsageError
from anonymize.judging import Judge
from anonymize.privacy import MODELS, Requirement, Whole
from anonymize.privacy.k_anonymity import Parameters as SizeOfClasses
from anonymize.series.people import Tonight
from anonymize.series.state import SeriesState, value_column
from anonymize.table import SensitiveColumn, Table
from anonymize.table.encode import code_type

NIGHTS = 12
"""Releases that a class should last for."""
SHARE = 0.005
FIRST = 2
"""Where nothing is known yet."""
MOST = 50


def reserve_of(given: int | None, state: SeriesState | None, k: int, *, deferred: bool = False) -> int:
    """The reserve that the spec gives, or else the one that departures so far ask for; none where they are deferred, as
    no history loses fewer than k people then."""
    if given is not None:
        return given
    if deferred:
        return 0
    released = sum(release.people["before"] for release in state.releases) if state is not None else 0
    left = sum(release.people["departed"] for release in state.releases) if state is not None else 0
    if not released:
        return FIRST
    return next((r for r in range(MOST) if withheld(k, r, (left + 1) / (released + 1)) <= SHARE), MOST)


def withheld(k: int, reserve: int, turnover: float) -> float:
    """The expected share of people in classes made for k + reserve who are still there, and fewer than k.

    >>> round(withheld(10, 0, 0.005), 3), round(withheld(10, 2, 0.005), 4)
    (0.037, 0.0015)
    """
    from scipy.special import bdtr

    if k == 1:
        return 0.0
    sizes = np.arange(k + reserve, 2 * (k + reserve))
    stays = (1 - turnover) ** NIGHTS
    # Whoever stays is withheld where at most k - 2 of the others stay.
    few = sizes * stays * bdtr(float(k - 2), sizes - 1, stays)
    return float(few.sum() / sizes.sum())


# --- the guarantee ----------------------------------------------------------------------------------------------------

SIZE = "k-anonymity"


def per_class(requirements: Iterable[Requirement], k: int) -> tuple[Requirement, ...]:
    """What groups have to meet: k people, and every model that says something of each class."""
    per_class = [each for each in requirements if not MODELS[each.model].asks_table(each.parameters)]
    return (Requirement(SIZE, None, SizeOfClasses(k=k)), *(each for each in per_class if each.model != SIZE))


def about_table(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """The others, which are not bounded over time."""
    return tuple(each for each in requirements if MODELS[each.model].asks_table(each.parameters))


def check_kept(requirements: Iterable[Requirement]) -> None:
    """Raises UsageError for a model that cannot be kept over a series: of a population, or one that a class of safe
    groups may not meet."""
    for each in requirements:
        if each.population is not None or not MODELS[each.model].merges(each.parameters):
            raise UsageError(
                Problem(f"{each}: not in a series", hint="what it says is not known of groups of histories")
            )


@dataclass(frozen=True)
class EarlierJudge(Judge):
    """A judge of values released before, compared with those of all people who were released with them."""

    everybody: tuple[Whole, ...] = ()

    @cached_property
    def wholes(self) -> dict[str, Whole]:
        """See `Judge`."""
        return {column.name: whole for column, whole in zip(self.columns, self.everybody, strict=True)}


@dataclass(frozen=True)
class Earlier:
    """An earlier release, for the rows of tonight. `there` (rows,): whether each is about somebody who was in it."""

    there: Bools
    judge: EarlierJudge

    def meets(self, labels: Integers, count: int, rows: Integers) -> Bools:
        """(count,) whether each group, given that (n,) of each of some rows, meets the models with the values of then;
        a group that was not there does."""
        there = self.there[rows]
        present = np.zeros(count, np.bool_)
        present[labels[there]] = True
        return ~present | self.judge.meets(labels[there], count, self.judge.pick(rows[there]))


@dataclass(frozen=True)
class Guarantee:
    """What groups of the rows of a table have to meet."""

    table: Table
    requirements: Sequence[Requirement]
    earlier: Sequence[Earlier] = ()

    def meets(self, labels: Integers, count: int, rows: Integers, released: Integers) -> Bools:
        """(count,) whether each group is safe, given that (n,) of each of some rows; `released`: the rows that are in
        the release with them, ascending."""
        judge = Judge(self.table, self.requirements, released.astype(np.uint32))
        passed = judge.meets(labels, count, judge.pick(rows))
        for each in self.earlier:
            passed &= each.meets(labels, count, rows)
        return passed


def earlier_releases(
    state: SeriesState | None, tonight: Tonight, table: Table, requirements: Sequence[Requirement]
) -> list[Earlier]:
    """The releases so far whose values have to be judged: those whose values differ from the ones that are judged
    already, tonight's first, unless a model compares classes with the whole release."""
    if state is None:
        return []
    columns = _judged_columns(table, requirements)
    values = [released_codes(state.values[each.name], each)[1].to_numpy().astype(np.int64) for each in columns]
    current = [(np.ones(table.rows, np.bool_), values)]
    return _earlier(state, table, requirements, (tonight.history, tonight.position), current)


def releases_of_people(state: SeriesState, table: Table, requirements: Sequence[Requirement]) -> list[Earlier]:
    """The same for the people (P,) of the state in place of the rows of tonight, of whom nothing is judged yet."""
    return _earlier(state, table, requirements, (state.history_of, np.arange(state.people.height)), [])


def _judged_columns(table: Table, requirements: Sequence[Requirement]) -> list[SensitiveColumn]:
    names = {each.attribute for each in requirements}
    return [column for column in table.sensitive if column.name in names]


def _earlier(
    state: SeriesState,
    table: Table,
    requirements: Sequence[Requirement],
    whose: tuple[Ints, Ints],
    judged: list[tuple[Bools, list[Ints]]],
) -> list[Earlier]:
    """Earlier releases of some people, `whose` histories and positions in the state are given; `judged`: who was there,
    and the values, of what is judged anyway."""
    about = [each for each in requirements if each.attribute is not None]
    columns, earlier = _judged_columns(table, about), []
    compares = any(MODELS[each.model].compares for each in about)
    for number in range(len(state.releases) if columns else 0):
        there: Bools = state.histories[whose[0], number] >= 0
        values = [_values(state, number, column.name)[whose[1]] for column in columns]
        if compares or not any(_same(there, values, *before) for before in judged):
            judged.append((there, values))
            then = [_then(state, number, column, codes, there) for column, codes in zip(columns, values, strict=True)]
            sensitive, wholes = zip(*then, strict=True)
            judge = EarlierJudge(replace(table, sensitive=sensitive, units=None), about, everybody=wholes)
            earlier.append(Earlier(there, judge))
    return earlier


def _values(state: SeriesState, number: int, name: str) -> Ints:
    """(P + 1,) the codes of what was released about each person; below 0 for who was not there, and at the end."""
    values = state.people[value_column(number, list(state.values).index(name))]
    return np.append(values.cast(pl.Int64).fill_null(-1).to_numpy(), -1)


def _same(present: Bools, values: Sequence[Ints], before: Bools, judged: Sequence[Ints]) -> bool:
    """Whether everybody who was there has been judged with the same values."""
    if (present & ~before).any():
        return False
    return all(bool((one[present] == other[present]).all()) for one, other in zip(values, judged, strict=True))


def _then(
    state: SeriesState, number: int, now: SensitiveColumn, values: Ints, present: Bools
) -> tuple[SensitiveColumn, Whole]:
    """A sensitive attribute with the values (rows,) of an earlier release, and how they were spread in that release."""
    column, code_of = _column(now, state.values[now.name])
    released = _values(state, number, now.name)
    everybody = replace(column, codes=code_of[released[released >= 0]])
    return replace(column, codes=code_of[np.where(present, values, 0)]), Whole.of(everybody)


def _column(now: SensitiveColumn, texts: Sequence[str | None]) -> tuple[SensitiveColumn, Codes]:
    """A column like tonight's whose values are those of the state, without rows, and its code (texts,) of each."""
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
    none = np.empty(0, code_type(column.size))
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
