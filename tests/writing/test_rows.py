"""Which rows were written."""

from __future__ import annotations

import numpy as np

from anonymize.writing.rows import Written


def test_which_rows_were_written_is_known_in_their_order() -> None:
    written = Written()
    assert written.rows.tolist() == []
    written = Written()
    written.add(slice(0, 3), np.array([True, False, True]))
    written.add(np.array([7, 5], np.uint32))
    assert written.rows.tolist() == [0, 2, 7, 5]
