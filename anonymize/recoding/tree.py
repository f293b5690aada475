"""A tree of cuts, which gives the region of a multidimensional recoding that any row lies in, seen or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonymize.classes import Bools, Integers, Ints

PIECE = 1 << 17
"""Rows that go down the tree together."""


@dataclass(frozen=True)
class CutTree:
    """N cuts; the leaves of the tree are classes. Without a cut all rows belong to class 0.

    All arrays are (N,). `attribute`: which quasi-identifier is cut. Rows with `start` <= code < `stop` go to the
    `first` child, the others to the `second`: the number of a cut, which is higher than that of its parent, or -1 - c
    for class c. Cut 0 is the root; cuts are numbered level by level.
    """

    attribute: Ints
    start: Ints
    stop: Ints
    first: Ints
    second: Ints

    def classes_of(self, columns: Sequence[Integers] | Integers) -> Ints:
        """(rows,) class of each row, from the codes (rows,) of every quasi-identifier."""
        rows = len(columns[0])
        classes = np.zeros(rows, np.int64)
        if len(self.attribute):
            for start in range(0, rows, PIECE):
                piece = np.stack([codes[start : start + PIECE] for codes in columns])
                classes[start : start + PIECE] = self._piece(piece)
        return classes

    def _piece(self, codes: Integers) -> Ints:
        """(rows,) class of each of some rows, from their codes (attributes, rows).

        All rows go down one level of the tree in each round. Those that have reached a class, a number below 0, drop
        out, so that the work is the sum of the depths at which rows end.
        """
        place = np.zeros(codes.shape[1], np.int64)
        left = np.arange(codes.shape[1])
        while len(left):
            cut = place[left]
            code = codes[self.attribute[cut], left]
            inside: Bools = (code >= self.start[cut]) & (code < self.stop[cut])
            place[left] = into = np.where(inside, self.first[cut], self.second[cut])
            left = left[into >= 0]
        return -1 - place
