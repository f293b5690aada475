"""Releases that follow each other, measured together: whom an attacker who has all of them cannot tell apart.

The *history* of somebody up to a release is, for it and each release before, the class shown or that there was none.
An attacker who knows the quasi-identifiers of everybody at every time, and even which rows of different releases are
about one individual, still cannot tell apart those who have one history. So people of one history are the classes here:
of each release, those who are in it are measured by history up to it, their number once and their sensitive values as
released then and in each earlier release that they were in. A value that a model compares with the whole table is
compared with all of the release that published it.

Nothing is known of searches, of a state or of hierarchies. A release is its text and whom each row is about; a class is
what reads the same. The result is what docs/over-time.md guarantees, or that it does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial, reduce
from operator import or_
from typing import Any, Literal

import polars as pl

from anonymize.claims import Basis, Result, State, overall
from anonymize.errors import DataError
from anonymize.records import dataclass
from anonymize.verify import measuring, twins
from anonymize.verify.columns import NumberedColumn
from anonymize.verify.distances import Overall, texts_of
from anonymize.verify.numbering import Numbering, paired, whole
from anonymize.verify.table import TextRows, TextTable, entries_of, plain_texts, read
from anonymize.verify.verdict import Check, Subject, Tree

ON_ITS_WORD = "whom the rows are about is known only from the state, not from the originals"

_OF_PEOPLE = {"failing_classes": "failing_histories", "failing_rows": "failing_people"}
_BY_POPULATION = ("k-map", "delta-presence")

Origin = Literal["original", "state"]
"""How it is known whom rows are about: by the original's own column, or on the word of a state."""


@dataclass(frozen=True)
class SeriesTable:
    """A release of a series. `rows`: its text as numbers; `people` (rows,): whom each row is about, of one kind in all
    releases (keyed pseudonyms); `missing`: texts that mean missing; `k`: what it was made for, where its people were
    promised no more than that."""

    name: str
    rows: TextRows
    people: pl.Series
    missing: tuple[str, ...]
    origin: Origin = "original"
    k: int | None = None

    @classmethod
    def of_text(
        cls,
        name: str,
        frame: pl.LazyFrame | pl.DataFrame,
        people: pl.Series,
        quasi_identifiers: Sequence[str],
        sensitive: Sequence[str],
        *,
        missing: Sequence[str] = ("",),
        null_missing: bool = True,
        suppressed: str = "*",
        normalize: bool = False,
        origin: Origin = "original",
    ) -> SeriesTable:
        """Reads a release; texts as `measure` has them. `quasi_identifiers`: its columns, or any that say together in
        which class a row is. Raises DataError where rows and people do not match, or somebody has several rows."""
        texts = compared(missing, normalize=normalize)
        fill = "" if not null_missing or "" in texts else None
        table = TextTable(frame.lazy(), tuple(quasi_identifiers), texts, fill, normalize=normalize)
        rows = read(table, sensitive, suppressed)
        release = cls(name, replace(rows, hidden=None), people.alias(""), texts, origin)
        release.check()
        return release

    def check(self) -> None:
        """Raises DataError where rows and people do not match."""
        if len(self.people) != self.rows.count:
            raise DataError(f"{self.name}: {self.rows.count} rows, and the people are those of {len(self.people)}")
        if self.people.null_count():
            raise DataError(f"{self.name}: {self.people.null_count()} rows do not say which individual they are about")
        if (several := len(self.people) - self.people.n_unique()) > 0:
            raise DataError(f"{self.name}: {several} rows are about somebody who has another row in it")

    def texts(self, attribute: str) -> pl.Series:
        """The different present texts of a sensitive attribute: what `entries_of` calls n is the n-th, from 1."""
        return texts_of(self.rows, Subject(attribute), self.missing)

    def overall(self, subject: Subject, tree: Tree | None) -> Overall:
        """A sensitive attribute in all of the release."""
        return Overall(entries_of(self.rows, subject, self.missing), self.rows, subject, self.missing, tree)


def compared(missing: Sequence[str], *, normalize: bool) -> tuple[str, ...]:
    """Texts that mean missing, as those of a table are compared; where they are normalized, a blank one does."""
    return tuple(plain_texts([*missing, ""]) if normalize else missing)


@dataclass(frozen=True)
class ValuesResult:
    """A check of the people of a release by history: the result of the values that were released in `values_of` (None:
    no values were looked at), of all releases so far the one that shows least. `failing_classes` are histories,
    `failing_rows` people."""

    values_of: str | None
    result: Result

    def block(self) -> dict[str, Any]:
        """Its block in a report: of histories and people, not of classes and rows."""
        said = {_OF_PEOPLE.get(name, name): value for name, value in self.result.as_dict().items()}
        return said | ({} if self.values_of is None else {"values_of": self.values_of})


@dataclass(frozen=True)
class Left:
    """Who was in the release before and is not in this one, whatever the reason. `in_small_company`: those of them with
    whom fewer than k of their history left, themselves included; None without a k."""

    people: int
    in_small_company: int | None


@dataclass(frozen=True)
class MeasuredRelease:
    """A release of a series, measured with all before it. `histories`: how many different ones its people have,
    `smallest`: the fewest people of one; `first_time`: who is in no release before; `left`: None where it is not known
    who was in the release before; `departed`: the results of those who were released before and are not now, None where
    nothing is promised of them."""

    name: str
    people: int
    histories: int
    smallest: int
    first_time: int
    left: Left | None
    results: tuple[ValuesResult, ...]
    departed: tuple[ValuesResult, ...] | None = None

    def block(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("name", "people", "histories", "smallest", "first_time")}
        left = None if self.left is None else asdict(self.left)
        departed = {} if self.departed is None else {"departed": [each.block() for each in self.departed]}
        return counts | {"left": left, "models": [each.block() for each in self.results]} | departed


@dataclass(frozen=True)
class SeriesVerdict:
    """The releases that were judged, in their order. `unbounded`: models that say nothing over time, each once."""

    releases: tuple[MeasuredRelease, ...]
    unbounded: tuple[str, ...]

    @property
    def results(self) -> tuple[Result, ...]:
        values = (each for release in self.releases for each in (*release.results, *(release.departed or ())))
        return tuple(each.result for each in values)

    @property
    def state(self) -> State:
        """What everything that is required comes to."""
        return overall(each.state for each in self.results)

    @property
    def satisfied(self) -> bool | None:
        return self.state.satisfied

    def block(self) -> dict[str, Any]:
        releases = [release.block() for release in self.releases]
        return {"satisfied": self.satisfied, "releases": releases, "unbounded": list(self.unbounded)}


def over_time(check: Check) -> bool:
    """Whether a model is one of classes, so that it can hold of people of one history: not one of the table as a whole,
    nor one that looks people up under what a class shows."""
    bounds = twins.TWINS[check.model]
    required = [bound for bound in bounds if bound.parameter in check.parameters]
    looked_up = check.model in _BY_POPULATION or "population" in check.parameters
    return not looked_up and not any(bound.of_table for bound in required)


def measure_series(
    releases: Sequence[SeriesTable], checks: Sequence[Check], *, since: int = 0, deferred: bool = False
) -> SeriesVerdict:
    """Measures the people of each release from number `since` on by history, with all releases before it.

    `releases`: in the order in which they were published, at least one, each with a row or more. `checks`: as of one
    release, with their trees. `deferred`: those who are not released any more have to be in good company, too. Raises
    DataError for a numeric attribute that has other values.
    """
    bounded = [check for check in checks if over_time(check)]
    unbounded = tuple(dict.fromkeys(check.model for check in checks if not over_time(check)))
    followed = Followed(releases, bounded, deferred=deferred)
    judged = tuple(followed.verdict(number) for number in range(since, len(releases)))
    return SeriesVerdict(judged, unbounded)


class Followed:
    """Everybody who was ever released, numbered, with where each is in every release."""

    def __init__(self, releases: Sequence[SeriesTable], checks: Sequence[Check], *, deferred: bool = False) -> None:
        self.releases, self.checks, self.deferred = releases, checks, deferred
        self._overalls: dict[tuple[int, Subject, bool], Overall] = {}

    @cached_property
    def row_of(self) -> list[pl.Series]:
        """(people,) for each release, the row of each person, null for who is not in it."""
        numbers = pl.concat([each.people for each in self.releases]).rank("dense").cast(pl.UInt32) - 1
        everybody, start, rows_of = whole(numbers.max()) + 1, 0, []
        for release in self.releases:
            own = numbers.slice(start, release.rows.count).to_frame("person").with_row_index("row")
            people = pl.DataFrame({"person": pl.int_range(everybody, dtype=pl.UInt32, eager=True)})
            rows_of.append(people.join(own, on="person", how="left", maintain_order="left")["row"])
            start += release.rows.count
        return rows_of

    def trajectories(self) -> pl.DataFrame:
        """What different people were in: of each release the class (`0`, `1`, ...), null for who is not in it, and how
        many `people`."""
        columns = [
            release.rows.classes.dense.of_row.gather(row_of).alias(str(number))
            for number, (release, row_of) in enumerate(zip(self.releases, self.row_of, strict=True))
        ]
        return pl.DataFrame(columns).group_by(pl.all(), maintain_order=True).len("people")

    @cached_property
    def histories(self) -> list[Numbering]:
        """(people,) for each release, a number for the history of each person up to it."""
        everybody = len(self.row_of[0])
        history = Numbering(pl.repeat(0, everybody, dtype=pl.UInt32, eager=True), 1)
        histories = []
        for release, row_of in zip(self.releases, self.row_of, strict=True):
            classes = release.rows.classes.dense
            shown_class = (classes.of_row.cast(pl.UInt32) + 1).gather(row_of).fill_null(0)
            history = paired([history, Numbering(shown_class, classes.span + 1)]).dense
            histories.append(history)
        return histories

    def verdict(self, number: int) -> MeasuredRelease:
        """A release, measured with all before it."""
        present, history = self.row_of[number].is_not_null(), self.histories[number]
        sizes = Numbering(history.of_row.filter(present), history.span).runs()["len"]
        earlier = (row_of.is_not_null() for row_of in self.row_of[:number])
        before = reduce(or_, earlier, pl.repeat(False, len(present), eager=True))
        return MeasuredRelease(
            name=self.releases[number].name,
            people=whole(present.sum()),
            histories=len(sizes),
            smallest=whole(sizes.min()),
            first_time=whole((present & ~before).sum()),
            left=self._left(number),
            results=self._results(number, present),
            departed=self._results(number, before & ~present, gone=True) if self.deferred else None,
        )

    def _left(self, number: int) -> Left:
        k = self._most_people
        if number == 0:
            return Left(0, None if k is None else 0)
        gone = self.row_of[number - 1].is_not_null() & self.row_of[number].is_null()
        history = self.histories[number - 1]
        company = Numbering(history.of_row.filter(gone), history.span).runs()["len"]
        return Left(whole(gone.sum()), None if k is None else whole(company.filter(company < k).sum()))

    @property
    def _most_people(self) -> int | None:
        """The most individuals that a class is required to have; None where nothing counts them."""
        bounds = ((check, bound) for check in self.checks for bound in twins.TWINS[check.model] if bound.people)
        return max((int(check.parameters[bound.parameter]) for check, bound in bounds), default=None)

    def _results(self, number: int, whom: pl.Series, *, gone: bool = False) -> tuple[ValuesResult, ...]:
        """The results of some people, by history up to a release; `gone`: they are not in it. Of nobody there are
        none."""
        if gone and not whom.any():
            return ()
        history = self.histories[number]
        pasts = [self._past(past, whom) for past in range(number - gone, -1, -1)]
        word = any(release.origin == "state" for release in self.releases[: number + 1])
        own = Numbering(history.of_row.filter(whom), history.span)
        return results_of(own, pasts, self._checks_of(number), word=word, gone=gone)

    def _checks_of(self, number: int) -> list[Check]:
        """What is asked of a release: of its people no more than they were promised then."""
        k = self.releases[number].k
        if k is None:
            return list(self.checks)
        return [
            replace(each, parameters={"k": k}) if each.model == "k-anonymity" and each.parameters["k"] > k else each
            for each in self.checks
        ]

    def _past(self, past: int, present: pl.Series) -> Past:
        """What a release said of those who are in a later one."""
        release, rows = self.releases[past], self.row_of[past].filter(present)
        there = rows.is_not_null()
        values = {name: column.gathered(rows.drop_nulls()) for name, column in release.rows.values.items()}
        return Past(release.name, there, values, release.missing, partial(self._overall, past))

    def _overall(self, past: int, subject: Subject, tree: Tree | None) -> Overall:
        key = (past, subject, tree is None)
        if key not in self._overalls:
            self._overalls[key] = self.releases[past].overall(subject, tree)
        return self._overalls[key]


@dataclass(frozen=True)
class Past:
    """What a release said of the people of a later one, or of its own. `there` (people,): who was in it; `values`: of
    these, in their order; `missing`: texts that mean missing; `overall`: of an attribute, all of the release."""

    name: str
    there: pl.Series
    values: Mapping[str, NumberedColumn]
    missing: Sequence[str]
    overall: Callable[[Subject, Tree | None], Overall]


def results_of(
    history: Numbering, pasts: Sequence[Past], checks: Sequence[Check], *, word: bool = False, gone: bool = False
) -> tuple[ValuesResult, ...]:
    """One for each check of people by `history` (people,): of the values of all `pasts`, the one that shows least; the
    first of these is about everybody, unless they are `gone`, each from another one. `word`: histories are known on the
    word of a state."""
    candidates: list[list[ValuesResult]] = [[] for _ in checks]
    for number, past in enumerate(pasts):
        places = [place for place, check in enumerate(checks) if check.attribute is not None or gone or not number]
        results = _measured(history, past, [checks[place] for place in places])
        for place, result in zip(places, results, strict=True):
            values_of = None if checks[place].attribute is None else past.name
            candidates[place].append(ValuesResult(values_of, result))
    pairs = zip(checks, candidates, strict=True)
    weakest = [min(each, key=partial(_strength, check)) for check, each in pairs]
    return tuple(_on_its_word(each) for each in weakest) if word else tuple(weakest)


def _measured(history: Numbering, past: Past, checks: Sequence[Check]) -> Sequence[Result]:
    """The checks of those who were in a release, by history; of nobody each one holds."""
    if not checks or not past.there.any():
        return [
            Result(each.model, each.attribute, dict(each.parameters), {}, State.MET, 0, 0, basis=Basis.MEASURED)
            for each in checks
        ]
    classes = history if past.there.all() else replace(history, of_row=history.of_row.filter(past.there))
    return measuring.measure_within(TextRows(classes, None, past.values, None), checks, past.missing, past.overall)


def _on_its_word(each: ValuesResult) -> ValuesResult:
    """What is known on the word of a state is not shown; what fails even so does fail."""
    met = each.result.state is State.MET
    return replace(each, result=each.result.unshown(ON_ITS_WORD)) if met else each


def _strength(check: Check, each: ValuesResult) -> tuple[int, int, float]:
    """What orders results of one check from the weakest: those that fail, by how many they fail for; those that could
    not be shown; then by figure."""
    result = each.result
    bound = next(bound for bound in twins.TWINS[check.model] if bound.parameter in check.parameters)
    figure = result.achieved.get(bound.parameter)
    reached = float(figure) if isinstance(figure, int | float) else float("inf")
    better = reached if bound.compared == "at least" or reached == float("inf") else -reached
    return [State.UNMET, State.UNKNOWN, State.MET].index(result.state), -result.failing_rows, better
