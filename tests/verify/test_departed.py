"""Those who are not in a release any more, where that is promised to be in good company: by hand, and both checks."""

from __future__ import annotations

import random
from collections.abc import Sequence

import polars as pl
import pytest

from anonymize.verify.histories import measure_next
from anonymize.verify.series import SeriesVerdict, measure_series
from tests.verify.test_histories import on_record, texts
from tests.verify.test_series import K3, L2, Rows, nights, released


def departed(verdict: SeriesVerdict) -> list[tuple[bool | None, int]]:
    """Of the last release, of each model: whether it is met, and for how many it is not."""
    results = verdict.releases[-1].departed
    assert results is not None
    return [(each.result.satisfied, each.result.failing_rows) for each in results]


def test_two_who_leave_are_not_seen_where_nothing_is_promised() -> None:
    releases = nights("abcdefgh", "AAAAAAAA", "AAAAAA..")
    assert measure_series(releases, [K3]).satisfied is True
    verdict = measure_series(releases, [K3, L2], deferred=True)
    assert verdict.satisfied is False and departed(verdict) == [(False, 2), (True, 0)]
    assert verdict.block()["releases"][1]["departed"][0]["failing_people"] == 2


@pytest.mark.parametrize(
    ("last", "met"),
    [
        ("AAAAA...BBB", True),  # three of eight
        ("........BBB", True),  # all of them
        ("AAAAAA..BBB", False),
        ("AAAB....BBB", True),  # four; that one of those who stay is told apart is for the others to see
    ],
)
def test_those_who_are_gone_are_three_or_all(last: str, met: bool) -> None:
    releases = nights("abcdefghijk", "AAAAAAAABBB", last)
    assert departed(measure_series(releases, [K3], deferred=True))[0][0] is met


def test_who_is_gone_stays_gone_in_good_company() -> None:
    """Six are gone; four of them come back, and two do not."""
    releases = nights("abcdefghi", "AAAAAAAAA", "AAA......", "AAAAAAA..")
    verdict = measure_series(releases, [K3], deferred=True)
    assert [each.departed is None or all(one.result.satisfied for one in each.departed) for each in verdict.releases]
    assert departed(verdict) == [(False, 2)]
    assert measure_series(releases[:2], [K3], deferred=True).satisfied is True


def test_values_of_those_who_are_gone_are_those_of_then() -> None:
    """Three leave, of whom all had x at the first release, and not all at the second."""
    values = ["xxxyyyyy", "xyxyyxyy", "xyxyyxyy"]
    releases = nights("abcdefgh", "AAAAAAAA", "AAAAAAAA", "...AAAAA", values=values)
    assert departed(measure_series(releases, [K3, L2], deferred=True)) == [(True, 0), (False, 3)]


def test_the_first_release_has_nobody_who_is_gone() -> None:
    verdict = measure_series(nights("abc", "AAA"), [K3], deferred=True)
    assert departed(verdict) == [] and verdict.satisfied is True


def from_record(releases: Sequence[Rows]) -> SeriesVerdict:
    """The last release, with what is on record of those who are in it and of those who are not any more."""
    *earlier, last = releases
    absent = [who for who in dict.fromkeys(who for night in earlier for who in night) if who not in last]
    frames, of_all = [], {}
    for whom in (list(last), absent):
        columns: dict[str, pl.Series] = {}
        for s, night in enumerate(earlier):
            classes = sorted({shown for shown, _ in night.values()})
            numbers = [classes.index(night[who][0]) if who in night else -1 for who in whom]
            values = [night[who][1] if who in night else None for who in whom]
            columns[f"release_{s}"] = pl.Series(numbers, dtype=pl.Int32)
            columns[f"value_{s}_0"] = pl.Series(values, dtype=pl.String)
            of_all[f"value_{s}_0"] = pl.Series([value for _, value in night.values()])
        frames.append(pl.DataFrame(columns))
    return measure_next(frames[0], texts(dict(last)), ["zip"], ["ill"], [K3, L2], of_all, absent=frames[1])


@pytest.mark.parametrize("seed", range(12))
def test_both_checks_agree_where_the_earlier_releases_were_fine(seed: int) -> None:
    draw = random.Random(seed)
    people = [f"p{number}" for number in range(40)]
    first: Rows = {who: (draw.choice("AB"), draw.choice("xyz")) for who in people}
    leaving = {who for who in people if draw.random() < (0.1, 0.4)[seed % 2]}
    second: Rows = {who: (shown, draw.choice("xyz")) for who, (shown, _) in first.items() if who not in leaving}
    both = [released(f"night {number}", rows) for number, rows in enumerate((first, second), 1)]
    assert departed(from_record([first, second])) == departed(measure_series(both, [K3, L2], deferred=True))


def test_the_record_says_nothing_of_them_where_nothing_is_promised() -> None:
    first: Rows = {who: ("A", "x") for who in "abcd"}
    assert on_record([dict(first), {who: first[who] for who in "abc"}], [K3]).releases[0].departed is None
    assert departed(from_record([first, {who: first[who] for who in "abc"}]))[0] == (False, 1)
