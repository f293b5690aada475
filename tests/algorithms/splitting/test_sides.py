"""Rows laid side after side: the same by pieces and at once, with any number of threads."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms.splitting import grow as module
from anonymize.algorithms.splitting.grow import CutSides
from anonymize.classes import Codes


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=9), min_size=1, max_size=6), st.sampled_from([1, 3]))
def test_rows_by_pieces_are_rows_at_once(classes: list[list[bool]], threads: int) -> None:
    first = np.concatenate([np.array(own) for own in classes])
    columns: list[Codes] = [np.arange(len(first), dtype=np.uint32), np.arange(len(first), dtype=np.uint8)[::-1].copy()]
    order = [*np.flatnonzero(first).tolist(), *np.flatnonzero(~first).tolist()]
    starts = np.cumsum([0, *map(len, classes)])
    with patch.multiple(module, PIECEWISE_ROWS=0, PIECE=4):
        by_pieces = CutSides(first, threads)
        laid = by_pieces.arranged(columns)
        assert by_pieces.first_sizes(starts).tolist() == [sum(own) for own in classes]
    assert CutSides(first).order.tolist() == order
    for column, pieces, whole in zip(columns, laid, CutSides(first).arranged(columns), strict=True):
        assert pieces.dtype == column.dtype
        assert pieces.tolist() == whole.tolist() == column[order].tolist()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_batch_of_many_pieces(threads: int, share: float) -> None:
    rows = module.PIECEWISE_ROWS + module.PIECE // 2
    first = np.random.default_rng(7).random(rows) < share
    column = np.arange(rows, dtype=np.uint32)
    (laid,) = CutSides(first, threads).arranged([column])
    assert np.array_equal(laid, np.concatenate((column[first], column[~first])))
