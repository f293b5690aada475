"""Pseudonyms computed anew: by the definition, and as the state has them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pytest

from anonymize.errors import DataError
from anonymize.key import Key
from anonymize.verify import Check
from anonymize.verify.histories import THIS, Invariance, invariance, measure_next, pseudonyms
from anonymize.verify.series import SeriesTable, SeriesVerdict, measure_series

SECRET = bytes(range(32))


def test_they_are_those_of_the_state() -> None:
    table = pl.DataFrame(
        {"name": ["p7", ' Zo\u00e9"', "Zoe\u0301\u200b", "\u65e5\u672c"], "born": ["1", "2", "3", "4"]}
    )
    made = pseudonyms(table.lazy(), [pl.col("name"), pl.col("born")], [SECRET], normalize=True)
    texts = [("p7", "1"), ('Zo\u00e9"', "2"), ("Zo\u00e9", "3"), ("\u65e5\u672c", "4")]
    assert made.to_list() == Key(SECRET).pseudonyms(texts)


def test_numbers_are_their_text_and_spaces_count_where_nothing_is_normalized() -> None:
    made = pseudonyms(pl.DataFrame({"id": [7, 8]}).lazy(), [pl.col("id")], [SECRET], normalize=True)
    assert made.to_list() == Key(SECRET).pseudonyms([["7"], ["8"]])
    spaced = pseudonyms(pl.DataFrame({"id": [" 7", "7"]}).lazy(), [pl.col("id")], [SECRET], normalize=False)
    assert spaced.to_list() == Key(SECRET).pseudonyms([[" 7"], ["7"]])


@pytest.mark.parametrize("lacking", [None, "", " \u200b"])
def test_a_row_about_nobody_is_refused(lacking: str | None) -> None:
    with pytest.raises(DataError, match="1 rows do not say which individual they are about"):
        pseudonyms(pl.DataFrame({"id": ["a", lacking]}).lazy(), [pl.col("id")], [SECRET], normalize=True)


# --- invariance -------------------------------------------------------------------------------------------------------


def measured(*nights: dict[str, str]) -> Invariance:
    """Of each person two letters: the class shown, and the value."""
    releases = []
    for number, night in enumerate(nights):
        frame = pl.DataFrame(
            {"zip": [each[0] for each in night.values()], "ill": [each[1:] for each in night.values()]}
        )
        releases.append(SeriesTable.of_text(str(number), frame, pl.Series(list(night)), ["zip"], ["ill"]))
    return invariance(releases, "ill")


def test_the_example_of_the_definition_is_two_invariant() -> None:
    # Two classes of two values each; b leaves and e, of the same value, takes the place.
    first = {"a": "Ax", "b": "Ay", "c": "Bx", "d": "Bz"}
    second = {"a": "Ax", "e": "Ay", "c": "Bx", "d": "Bz"}
    assert measured(first, second) == Invariance("ill", 2, 1.0, 1.0, 2)


def test_a_set_of_values_that_changes_is_seen() -> None:
    # a is with y on the first night and with z on the second: only x is in both.
    first = {"a": "Ax", "b": "Ay", "c": "Bx", "d": "Bz"}
    second = {"a": "Ax", "d": "Az", "b": "By", "c": "Bx"}
    assert measured(first, second) == Invariance("ill", 0, 1.0, 0.5, 1)


def test_nothing_in_common_is_nothing() -> None:
    first = {"a": "Ax", "b": "Ay"}
    second = {"a": "Az", "b": "Aw"}
    assert measured(first, second) == Invariance("ill", 0, 1.0, 0.0, 0)


def test_a_value_twice_in_a_class_is_not_m_unique() -> None:
    night = {"a": "Ax", "b": "Ax", "c": "Ay"}
    assert measured(night, night) == Invariance("ill", 0, 0.0, 1.0, 2)


def test_missing_values_are_none() -> None:
    night = {"a": "Ax", "b": "A", "c": "Ay"}
    assert measured(night).m == 0
    assert measured(night).common == 2


def test_of_one_release_nobody_is_in_several() -> None:
    assert measured({"a": "Ax", "b": "Ay"}) == Invariance("ill", 2, 1.0, None, 2)


@pytest.mark.parametrize("values", [("Ax", "Ay", "Az"), ("A1", "A2", "A03")])
def test_m_is_the_smallest_class(values: tuple[str, str, str]) -> None:
    night = dict(zip("abc", values, strict=True)) | {"d": "Bq", "e": "Br"}
    assert measured(night, night).m == 2


# --- next release -----------------------------------------------------------------------------------------------------

Night = dict[str, tuple[str, str | None]]
"""Of each person the class shown and the sensitive value."""
CHECKS = [
    Check("k-anonymity", None, {"k": 3}),
    Check("distinct-l-diversity", "ill", {"l": 2}),
    Check("t-closeness", "ill", {"t": 0.4}),
    Check("entropy-l-diversity", "ill", {"l": 1.5, "values": ["x"]}),
    Check("risk", None, {"prosecutor_max": 0.1}),
]


def from_files(nights: Sequence[Night], checks: Sequence[Check]) -> SeriesVerdict:
    """From texts alone."""
    releases = []
    for number, night in enumerate(nights):
        name = THIS if number == len(nights) - 1 else f"release {number + 1}"
        releases.append(SeriesTable.of_text(name, texts(night), pl.Series(list(night)), ["zip"], ["ill"]))
    verdict = measure_series(releases, checks, since=len(nights) - 1)
    return replace(verdict, releases=tuple(replace(each, left=None) for each in verdict.releases))


def texts(night: Night) -> pl.DataFrame:
    return pl.DataFrame(
        {"zip": [shown for shown, _ in night.values()], "ill": [value for _, value in night.values()]},
        schema={"zip": pl.String, "ill": pl.String},
    )


def on_record(nights: Sequence[Night], checks: Sequence[Check], recorded: Sequence[int] | None = None) -> SeriesVerdict:
    """From the text of the last one, and a record of the others."""
    *earlier, night = nights
    columns: dict[str, list[int] | list[str | None]] = {} if recorded is None else {"recorded": list(recorded)}
    of_all = {}
    for s, past in enumerate(earlier):
        number = {shown: place for place, shown in enumerate(dict.fromkeys(shown for shown, _ in past.values()))}
        columns[f"release_{s}"] = [number[past[who][0]] if who in past else -1 for who in night]
        columns[f"value_{s}_0"] = [past[who][1] if who in past else None for who in night]
        of_all[f"value_{s}_0"] = pl.Series([value for _, value in past.values()], dtype=pl.String)
    return measure_next(pl.DataFrame(columns), texts(night), ["zip"], ["ill"], checks, of_all)


@pytest.mark.parametrize("seed", range(10))
def test_it_is_what_the_files_of_all_releases_say(seed: int) -> None:
    draw = random.Random(seed)
    everybody = [f"p{number}" for number in range(80)]
    values = ["x", "y", "z", None] if seed % 2 else ["x", "y"]
    nights: list[Night] = [
        {who: (draw.choice("AB"), draw.choice(values)) for who in everybody if draw.random() < 0.9}
        for _ in range(1 + seed % 3)
    ]
    assert on_record(nights, CHECKS) == from_files(nights, CHECKS)


@pytest.mark.parametrize("number", [2, 4])
@pytest.mark.parametrize("changed", [0, 1, 5])
def test_values_that_hardly_change_are_measured_all_the_same(number: int, changed: int) -> None:
    draw = random.Random(changed)
    kept: Night = {f"p{each}": ("A", draw.choice("xyz")) for each in range(60)}
    nights: list[Night] = []
    for _ in range(number):
        kept = {who: (draw.choice("AAB"), value) for who, (_, value) in kept.items() if draw.random() < 0.95}
        for who in draw.sample(sorted(kept), changed):
            kept[who] = (kept[who][0], "x")
        nights.append(kept)
    for checks in (CHECKS, CHECKS[:2]):
        assert on_record(nights, checks) == from_files(nights, checks)


def test_a_record_that_is_not_the_text_is_a_mistake_of_the_program() -> None:
    night: Night = {"a": ("A", "x"), "b": ("A", "y"), "c": ("B", "x"), "d": ("B", "x")}
    assert on_record([night], CHECKS[:1], [4, 4, 0, 0]).releases[0].histories == 2
    for recorded in ([4, 4, 4, 4], [4, 0, 4, 0], [0, 1, 2, 2]):
        with pytest.raises(RuntimeError, match="probably a bug"):
            on_record([night], CHECKS[:1], recorded)
