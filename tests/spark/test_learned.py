"""The codes of values by their keys: those of a narrow range by a table, others looked up; none that is not known."""

import numpy as np
import polars as pl
import pytest

from anonymize.classes import Ints
from anonymize.errors import DataError
from anonymize.spark.learned import CodeBook, number_key

KEYS = {
    "small": [-100, 3, 100],
    "far apart": [-(2**62), 0, 2**62],
    "the ends": [-(2**63), 2**63 - 1],
    "one": [5],
    "many far apart": [number << 40 for number in range(-1000, 1000)],
}


def keys_of(numbers: list[int]) -> Ints:
    return np.array(numbers, np.int64)


def book_of(known: list[int]) -> CodeBook:
    """Codes against the order of the keys."""
    return CodeBook.of("c0", "c0", keys_of(known), np.arange(len(known), dtype=np.uint16)[::-1], len(known))


@pytest.mark.parametrize("name", KEYS)
def test_codes_of_keys(name: str) -> None:
    known = KEYS[name]
    last = len(known) - 1
    expected = [*range(last + 1), *range(last, -1, -1), last]
    assert book_of(known).codes(keys_of([*reversed(known), *known, known[0]])).tolist() == expected
    assert book_of(known).codes(keys_of([])).tolist() == []


@pytest.mark.parametrize(
    ("name", "other"), [("small", 4), ("small", 127), ("small", -101), ("far apart", 1), ("the ends", 0), ("one", 6)]
)
def test_a_key_that_is_not_known(name: str, other: int) -> None:
    known = KEYS[name]
    with pytest.raises(DataError, match="changed when they were read again"):
        book_of(known).codes(keys_of([known[0], other]))


def test_values_of_one_key() -> None:
    alike = CodeBook.of("c0", "c0", keys_of([7, 8, 7]), np.array([1, 0, 1], np.uint8), 2)
    assert alike.codes(keys_of([7, 8])).tolist() == [1, 0]
    with pytest.raises(DataError, match="two values of a column have the same hash"):
        CodeBook.of("c0", "c0", keys_of([7, 8, 7]), np.array([1, 0, 2], np.uint8), 3)


@pytest.mark.parametrize(
    ("known", "nothing"),
    [
        ([3, 5, None], 2),
        ([None], -1),
        ([-(2**63), None, 2**63 - 1], -(2**63) + 1),
        ([-(2**63), -(2**63) + 1, None], -(2**63) + 2),
    ],
)
def test_a_null_among_whole_numbers_has_a_key_of_its_own(known: list[int | None], nothing: int) -> None:
    key, keys = number_key("c0", pl.Series(known, dtype=pl.Int64))
    assert keys.tolist() == [nothing if number is None else number for number in known]
    assert f"'{nothing}'" in key
