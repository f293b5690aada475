"""Upper cuts as an expression put rows where workers would put them."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize.algorithms.splitting.parts import UpperStep
from anonymize.spark.cutting import MOST_CUTS, MOST_LISTED, label_expression
from anonymize.spark.engine import collected
from anonymize.spark.learned import CodeBook

AGES = CodeBook.of("c0", "c0", np.arange(10, 30), np.arange(20, dtype=np.uint8), 20)
HASHES = np.array([-(2**63), -7, 0, 5, 2**63 - 1])
PLACES = CodeBook.of("c1", "c1", HASHES, np.array([3, 0, 4, 1, 2], np.uint8), 5)


def step_of(*cuts: tuple[int, int, int, int, int, int]) -> UpperStep:
    """Cuts: whole, attribute, start, stop, first, second."""
    return UpperStep(*np.array(cuts).T)


STEPS = [
    step_of((0, 0, 0, 8, 1, 2)),
    step_of((1, 1, 0, 2, 3, 4), (2, 1, 1, 4, 5, 6)),
    step_of((6, 0, 12, 20, 7, 8)),
]


def expected(age: int, place: int) -> int:
    """The class of two codes, from the cuts."""
    if age < 8:
        return 3 if place < 2 else 4
    if 1 <= place < 4:
        return 5
    return 7 if age >= 12 else 8


def test_classes_of_rows(session: Any) -> None:
    rows = [(age, place) for age in range(10, 30) for place in range(5)]
    frame = pl.DataFrame({"kc0": [age for age, _ in rows], "kc1": [int(HASHES[place]) for _, place in rows]})
    label = label_expression([AGES, PLACES], STEPS)
    labelled = collected(session.createDataFrame(frame.to_pandas()).selectExpr("kc0", "kc1", f"{label} as label"))
    for age, key, own in labelled.iter_rows():
        assert own == expected(int(AGES.codes(np.array([age]))[0]), int(PLACES.codes(np.array([key]))[0]))


def test_no_cuts() -> None:
    assert label_expression([AGES, PLACES], []) == "0"


@pytest.mark.parametrize(("keys", "possible"), [(2 * MOST_LISTED, True), (2 * MOST_LISTED + 4, False)])
def test_keys_that_are_too_many_to_list(keys: int, possible: bool) -> None:
    """Every other key is on one side, so that neither has neighbours."""
    codes = np.arange(keys) // 2 + np.arange(keys) % 2 * (keys // 2)
    book = CodeBook.of("c0", "c0", np.arange(keys), codes.astype(np.uint16), keys)
    label = label_expression([book], [step_of((0, 0, 0, keys // 2, 1, 2))])
    assert (label is not None) == possible


def test_cuts_that_are_too_many() -> None:
    cuts = [step_of((place, 0, 0, place + 1, 2 * place + 1, 2 * place + 2)) for place in range(MOST_CUTS + 1)]
    assert label_expression([AGES], cuts[:-1]) is not None
    assert label_expression([AGES], cuts) is None
