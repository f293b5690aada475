"""A tree by hand: rows seen and unseen."""

from __future__ import annotations

import numpy as np
import pytest

from anonymize.recoding import CutTree, columns

# age below 3, else sex 1 or not, else age from 5 to 6 or not
HAND = CutTree(*(np.array(part) for part in ([0, 1, 0], [0, 1, 5], [3, 2, 7], [-1, -2, -3], [1, 2, -4])))


@pytest.mark.parametrize("piece", [1, 2, 100])
def test_rows_fall_through_the_cuts(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "PIECE", piece)
    age, sex = np.array([0, 2, 3, 3, 5, 6, 7, 99]), np.array([1, 0, 1, 0, 0, 0, 0, 2])
    assert HAND.classes_of([age, sex]).tolist() == [0, 0, 1, 3, 2, 2, 3, 3]


def test_without_a_cut_there_is_one_class() -> None:
    none = CutTree(*(np.empty(0, np.int64) for _ in range(5)))
    assert none.classes_of([np.arange(3)]).tolist() == [0, 0, 0]
    assert none.classes_of([np.arange(0)]).tolist() == []
