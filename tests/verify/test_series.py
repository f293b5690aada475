"""Histories of releases made by hand, with what is wrong in them planted."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from anonymize.errors import DataError
from anonymize.verify import Check
from anonymize.verify.series import ON_ITS_WORD, Origin, SeriesTable, SeriesVerdict, measure_series

K3 = Check("k-anonymity", None, {"k": 3})
L2 = Check("distinct-l-diversity", "ill", {"l": 2})

Rows = Mapping[str, tuple[str, str]]
"""Of each person the class shown and the sensitive value."""


def released(name: str, rows: Rows, origin: Origin = "original") -> SeriesTable:
    frame = pl.DataFrame({"zip": [shown for shown, _ in rows.values()], "ill": [value for _, value in rows.values()]})
    return SeriesTable.of_text(name, frame, pl.Series(list(rows)), ["zip"], ["ill"], origin=origin)


def nights(people: str, *shown: str, values: Sequence[str] | None = None) -> list[SeriesTable]:
    """Releases of people of one letter each: of each the letter of the class, or a dot; values alternate, or are
    given in the same way."""
    releases = []
    for number, classes in enumerate(shown):
        letters = "xy" * len(people) if values is None else values[number]
        rows = {
            person: (of_class, value)
            for person, of_class, value in zip(people, classes, letters, strict=False)
            if of_class != "."
        }
        releases.append(released(f"night {number + 1}", rows))
    return releases


def failing(verdict: SeriesVerdict, model: str) -> list[int]:
    """Of each release the people in histories that fail a model."""
    return [
        each.result.failing_rows
        for release in verdict.releases
        for each in release.results
        if each.result.model == model
    ]


def test_one_release_is_measured_by_its_classes() -> None:
    verdict = measure_series(nights("abcdef", "AAABBB"), [K3, L2])
    assert verdict.satisfied
    assert [(each.histories, each.smallest, each.first_time) for each in verdict.releases] == [(2, 3, 6)]
    assert [each.result.achieved for each in verdict.releases[0].results] == [{"k": 3}, {"l": 2}]


def test_a_history_that_is_too_small_is_seen_although_every_class_is_large_enough() -> None:
    # A and B exchange two people: each class has 5 in both nights, the two who moved are a history of two.
    verdict = measure_series(nights("abcdefghij", "AAAAABBBBB", "AAAABBBBBB"), [K3])
    assert verdict.satisfied is False
    assert failing(verdict, "k-anonymity") == [0, 1]
    assert verdict.releases[1].smallest == 1


def test_a_history_of_three_does_for_three_and_not_for_four() -> None:
    releases = nights("abcdefghi", "AAAAAABBB", "AAABBBBBB")
    assert measure_series(releases, [K3]).satisfied
    verdict = measure_series(releases, [Check("k-anonymity", None, {"k": 4})])
    assert failing(verdict, "k-anonymity") == [3, 9]


def test_a_history_whose_values_are_all_one_is_seen() -> None:
    # In both releases each class has x and y; of those who were in A and then in B all have x.
    releases = nights("abcdefghi", "AAAAAABBB", "AAABBBBBB", values=["xyxxxxyxy", "xyxxxxyxy"])
    verdict = measure_series(releases, [K3, L2])
    assert verdict.satisfied is False
    assert failing(verdict, "k-anonymity") == [0, 0]
    assert failing(verdict, "distinct-l-diversity") == [0, 3]


def test_values_of_an_earlier_release_count_for_those_who_are_left() -> None:
    # On the second night three of six are left, and their values then differ; on the first all three had x.
    releases = nights("abcdef", "AAAAAA", "AAA...", values=["xxxyyy", "xyxyyy"])
    verdict = measure_series(releases, [K3, L2])
    assert verdict.satisfied is False
    night = verdict.releases[1].results[1]
    assert (night.values_of, night.result.failing_rows, night.result.achieved) == ("night 1", 3, {"l": 1})


def test_who_was_not_there_has_a_history_of_their_own() -> None:
    verdict = measure_series(nights("abcdefgh", "AAAAAA..", "AAAAAAAA"), [K3, L2])
    assert failing(verdict, "k-anonymity") == [0, 2]
    assert (verdict.releases[1].histories, verdict.releases[1].first_time) == (2, 2)


def test_who_is_withheld_for_a_night_and_comes_back_is_alone() -> None:
    verdict = measure_series(nights("abcdef", "AAAAAA", "AAAAA.", "AAAAAA"), [K3])
    assert failing(verdict, "k-anonymity") == [0, 0, 1]


def test_a_person_who_is_alone_after_joining_two_releases_is_seen() -> None:
    # The crossing of two partitions of 12 people into fours and threes that share one person each.
    first, second = "AAAABBBBCCCC", "DEFGDEFGDEFG"
    verdict = measure_series(nights("abcdefghijkl", first, second), [K3])
    assert failing(verdict, "k-anonymity") == [0, 12]
    assert verdict.releases[1].smallest == 1


def test_histories_meet_what_classes_joined_again_do_not_undo() -> None:
    # Split and joined again: whoever has seen the split still knows it.
    verdict = measure_series(nights("abcdef", "AAAAAA", "AABBBB", "AAAAAA"), [K3])
    assert failing(verdict, "k-anonymity") == [0, 2, 2]


def test_only_the_releases_that_are_asked_for_are_judged() -> None:
    releases = nights("abcdef", "AABBBB", "AAAAAA")
    verdict = measure_series(releases, [K3], since=1)
    assert [each.name for each in verdict.releases] == ["night 2"]
    assert failing(verdict, "k-anonymity") == [2]


def test_a_distance_is_from_all_of_the_release_that_has_the_values() -> None:
    # A single history of those who stay, all x on night 1, where x was half: a distance of 1/2 from that night's table.
    releases = nights("abcdefgh", "AAAAAAAA", "AAAA....", values=["xxxxyyyy", "xyxyyyyy"])
    verdict = measure_series(releases, [Check("t-closeness", "ill", {"t": 0.3})])
    night = verdict.releases[1].results[0]
    assert (night.values_of, night.result.achieved) == ("night 1", {"t": 0.5})


def test_who_left_and_in_which_company() -> None:
    verdict = measure_series(nights("abcdefghijk", "AAAAAABBBBB", "AAAA..BB..."), [K3])
    left = verdict.releases[1].left
    assert left is not None
    assert (left.people, left.in_small_company) == (5, 2)


def test_order_of_rows_and_people_makes_no_difference() -> None:
    first, second = {"a": ("A", "x"), "b": ("A", "y"), "c": ("B", "x")}, {"c": ("B", "y"), "a": ("A", "x")}
    turned = [released("1", dict(reversed(first.items()))), released("2", dict(reversed(second.items())))]
    assert measure_series(turned, [K3, L2]) == measure_series([released("1", first), released("2", second)], [K3, L2])


def test_on_the_word_of_a_state_nothing_is_shown_and_what_fails_does_fail() -> None:
    rows = {"a": ("A", "x"), "b": ("A", "y"), "c": ("A", "x")}
    releases = [released("1", rows, "state"), released("2", rows)]
    verdict = measure_series(releases, [K3, L2])
    assert verdict.satisfied is None
    assert {each.unknown for each in verdict.results} == {ON_ITS_WORD}
    four = measure_series(releases, [Check("k-anonymity", None, {"k": 4})])
    assert four.satisfied is False


def test_who_left_is_counted_by_the_most_people_that_are_required_and_not_by_values() -> None:
    releases = nights("abcdefgh", "AAAAAAAA", "AAAAAA..", values=["12121212"] * 2)
    two, alpha = Check("k-anonymity", None, {"k": 2}), Check("alpha-k-anonymity", "ill", {"alpha": 1, "k": 3})
    values = Check("k-e-anonymity", "ill", {"k": 9, "e": 0}, numeric=True)
    found = [
        measure_series(releases, checks).releases[1].left for checks in ([two], [two, alpha], [two, values], [values])
    ]
    assert [each and (each.people, each.in_small_company) for each in found] == [(2, 0), (2, 2), (2, 0), (2, None)]


def test_models_of_the_table_and_of_populations_are_listed_and_not_judged() -> None:
    checks = [K3, Check("risk", None, {"prosecutor_max": 0.1}), Check("k-map", None, {"k": 5, "fraction": 0.1})]
    verdict = measure_series(nights("abc", "AAA"), checks)
    assert verdict.unbounded == ("risk", "k-map")
    assert verdict.satisfied


def test_a_report_counts_histories_and_people_and_has_no_value() -> None:
    verdict = measure_series(nights("abcdefghi", "AAAAAABBB", "AAABBBBBB", values=["xyxxxxyxy"] * 2), [K3, L2])
    block = verdict.block()
    assert (block["satisfied"], block["unbounded"]) == (False, [])
    last = block["releases"][1]
    counts = {"name": "night 2", "people": 9, "histories": 3, "smallest": 3, "first_time": 0}
    assert counts.items() <= last.items()
    assert last["left"] == {"people": 0, "in_small_company": 0}
    unmet = last["models"][1]
    assert (unmet["failing_histories"], unmet["failing_people"], unmet["achieved"]) == (1, 3, {"l": 1})
    assert unmet["values_of"] in ("night 1", "night 2")
    assert "values_of" not in last["models"][0]


def test_nobody_has_two_rows_and_everybody_is_somebody() -> None:
    frame = pl.DataFrame({"zip": ["A", "A"], "ill": ["x", "y"]})
    with pytest.raises(DataError, match="1 rows are about somebody who has another row"):
        SeriesTable.of_text("1", frame, pl.Series(["a", "a"]), ["zip"], ["ill"])
    with pytest.raises(DataError, match="1 rows do not say which individual they are about"):
        SeriesTable.of_text("1", frame, pl.Series(["a", None]), ["zip"], ["ill"])
    with pytest.raises(DataError, match="2 rows, and the people are those of 1"):
        SeriesTable.of_text("1", frame, pl.Series(["a"]), ["zip"], ["ill"])


def test_people_may_be_bytes_or_numbers() -> None:
    frame = pl.DataFrame({"zip": ["A", "A", "A"], "ill": ["x", "y", "x"]})
    for people in (pl.Series([b"a", b"b", b"c"]), pl.Series([1, 2, 3], dtype=pl.UInt64)):
        release = SeriesTable.of_text("1", frame, people, ["zip"], ["ill"])
        assert measure_series([release, release], [K3, L2]).satisfied


def by_hand(nights: Sequence[Rows], k: int, l: int) -> list[tuple[int, int]]:  # noqa: E741
    """Of each release, the people in histories of fewer than k, and the most in histories of fewer than l values as
    released in some release so far: by the words of the guarantee, person by person."""
    figures = []
    for number, night in enumerate(nights):
        history = {who: [past.get(who, ("", ""))[0] for past in nights[: number + 1]] for who in night}
        alike = {who: [other for other in night if history[other] == history[who]] for who in night}
        few = sum(len(people) < k for people in alike.values())
        uniform = [
            sum(who in past and len({past[other][1] for other in people}) < l for who, people in alike.items())
            for past in nights[: number + 1]
        ]
        figures.append((few, max(uniform)))
    return figures


@pytest.mark.parametrize("seed", range(12))
def test_series_drawn_at_random_are_measured_as_by_hand(seed: int) -> None:
    draw = random.Random(seed)
    everybody = [f"p{number}" for number in range(60)]
    releases = [
        {who: (draw.choice("AB"), draw.choice("xyz")) for who in everybody if draw.random() < 0.9} for _ in range(3)
    ]
    checks = [Check("k-anonymity", None, {"k": 4}), Check("distinct-l-diversity", "ill", {"l": 3})]
    verdict = measure_series([released(str(number), rows) for number, rows in enumerate(releases)], checks)
    pairs = zip(failing(verdict, "k-anonymity"), failing(verdict, "distinct-l-diversity"), strict=True)
    assert list(pairs) == by_hand(releases, 4, 3)
