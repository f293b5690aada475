"""The cells of candidate cuts, against a count of the rows one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from anonymize.algorithms.cuts.candidates import Items, JudgedRows
from anonymize.classes import MOST_KEYS


def items_of(labels: list[int], codes: list[int], highest: int) -> Items:
    """The values of a numeric attribute in classes given row by row, each up to `highest`; `labels` ascend."""
    sizes = np.bincount(labels)
    none = np.zeros(len(sizes), np.int64)
    low, high = none + min(codes), none + highest
    rows = JudgedRows(None, sizes, np.array(labels), np.arange(len(sizes)), ())
    return Items(rows, np.array(codes, np.uint8), low, high, None, none, none)


@pytest.mark.parametrize("highest", [9, 200_000, MOST_KEYS // 4], ids=["dense", "sorted", "too many for one number"])
def test_cells_count_the_rows_of_each_class_item_and_value(highest: int) -> None:
    labels, codes, values = [0, 0, 0, 0, 1, 1, 1], [7, 5, 7, 7, 9, 6, 9], [3, 0, 3, 1, 2, 2, 2]
    cells = items_of(labels, codes, highest).cells(np.array(values, np.uint8), size=4)
    counts = np.ones(len(cells.place), np.int64) if cells.counts is None else cells.counts
    items = cells.place.astype(np.int64) - cells.offset[cells.owner]
    listed: Counter[tuple[int, int, int]] = Counter()
    for *cell, count in zip(cells.owner.tolist(), items.tolist(), cells.value.tolist(), counts.tolist(), strict=True):
        listed[tuple(cell)] += count
    assert listed == Counter(zip(labels, codes, values, strict=True))
    assert list(listed) == sorted(listed)
