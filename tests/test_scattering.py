"""Rows put part by part, chunk by chunk: as if all of them had been sorted at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonymize.scattering import occurrences, scattered

PARTS = 5


@given(st.lists(st.lists(st.integers(0, PARTS - 1), max_size=12), max_size=5))
def test_chunks_make_no_difference(chunks: list[list[int]]) -> None:
    pieces = [np.array(chunk, np.int64) for chunk in chunks]
    rows = np.array([part for chunk in chunks for part in chunk], np.int64)
    sizes = occurrences(pieces, PARTS)
    assert sizes.tolist() == np.bincount(rows, minlength=PARTS).tolist()
    order, starts = scattered(pieces, sizes)
    assert order.tolist() == np.argsort(rows, kind="stable").tolist()
    assert np.diff(starts).tolist() == sizes.tolist() and starts[0] == 0
