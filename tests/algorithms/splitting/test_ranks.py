"""The row of a rank in each class, against sorting every class, whichever way it is found."""

from __future__ import annotations

import numpy as np
import pytest

from anonymize.algorithms.splitting.ranks import LARGE, counted_statistic, order_statistic
from anonymize.classes import MANY, PIECE_COUNTED, Runs


@pytest.mark.parametrize("sizes", [[3, 1, 40, 7], [3 * LARGE, LARGE, 2 * LARGE + 1]])  # sorted, and one by one
@pytest.mark.parametrize("size", [3, 200, 60_000])  # counted, where codes are few
def test_the_code_of_a_rank_and_the_rows_around_it(sizes: list[int], size: int) -> None:
    random = np.random.default_rng(size)
    classes = [random.integers(0, size, rows) for rows in sizes]
    codes = np.concatenate(classes).astype(np.min_scalar_type(size))
    rank = np.array([0, *(rows // 2 for rows in sizes[1:-1]), sizes[-1] - 1])
    expected = [sorted(own.tolist())[place] for own, place in zip(classes, rank.tolist(), strict=True)]
    below = [int((own < code).sum()) for own, code in zip(classes, expected, strict=True)]
    upto = [int((own <= code).sum()) for own, code in zip(classes, expected, strict=True)]
    runs = Runs.count_classes(np.array(sizes), codes, size)
    for found in (
        order_statistic(codes, np.array(sizes), size, rank),
        counted_statistic(runs, np.array(sizes), rank),
    ):
        assert [column.tolist() for column in found] == [expected, below, upto]


@pytest.mark.parametrize("sizes", [[MANY, MANY + 3], [5 * PIECE_COUNTED + 1], [2, 2 * MANY]])
@pytest.mark.parametrize("size", [7, 3 * PIECE_COUNTED])
def test_classes_of_many_rows_are_counted_one_by_one_as_all_are(sizes: list[int], size: int) -> None:
    codes = np.random.default_rng(size).integers(0, size, sum(sizes)).astype(np.uint32)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    runs, expected = (
        Runs.count_classes(np.array(sizes), codes, size),
        Runs.count_values(labels, codes, len(sizes), size),
    )
    for one, other in ((runs.classes, expected.classes), (runs.codes, expected.codes), (runs.counts, expected.counts)):
        assert np.array_equal(one, other) and one.dtype == other.dtype


def test_keys_that_need_more_than_32_bits() -> None:
    sizes, size = np.array([2, 3, 2]), 1 << 31
    codes = np.array([size - 1, 5, 7, size - 2, 9, 0, size - 1], np.uint32)
    code, below, upto = order_statistic(codes, sizes, size, np.array([1, 1, 1]))
    assert (code.tolist(), below.tolist(), upto.tolist()) == ([size - 1, 9, size - 1], [1, 1, 1], [2, 2, 2])
