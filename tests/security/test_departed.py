"""Somebody who follows the pseudonyms of a series, and knows that one person has left the table."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.series.nights import QUASI, Nights
from tests.series.test_pseudonym import FOLLOWED

K = 4


@pytest.fixture(scope="module")
def courses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, ...]]:
    """By pseudonym the class of every night, None where there is none; of nights on which people leave one by one."""
    nights = Nights(tmp_path_factory.mktemp("nights"), spec=FOLLOWED)
    nights.come(60)
    nights.release()
    for _ in range(7):
        nights.leave(7)
        nights.release()
    course: dict[str, list[Any]] = defaultdict(lambda: [None] * len(nights.made))
    for night, name in enumerate(nights.made):
        for row in csv.DictReader(Path(nights.folder, f"{name}.csv").read_text().splitlines()):
            course[row["who"]][night] = tuple(row[each] for each in QUASI)
    return {who: tuple(classes) for who, classes in course.items()}


def test_a_chain_that_has_ended_is_one_of_k_that_ended_with_it(courses: dict[str, tuple[Any, ...]]) -> None:
    ended = Counter(course for course in courses.values() if course[-1] is None)
    assert ended and min(ended.values()) >= K


@pytest.mark.parametrize("night", range(1, 8))
def test_on_no_night_does_a_departure_part_fewer_than_k(courses: dict[str, tuple[Any, ...]], night: int) -> None:
    so_far = Counter(course[: night + 1] for course in courses.values() if any(course[: night + 1]))
    assert min(so_far.values()) >= K
