"""The last release of a series measured with what is on record: the same as from the files of all of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pytest

from anonymize.verify import Check
from anonymize.verify.next_release import THIS, measure_next
from anonymize.verify.series import ReleasedAt, SeriesVerdict, measure_series

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
        releases.append(ReleasedAt.of_text(name, texts(night), pl.Series(list(night)), ["zip"], ["ill"]))
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
