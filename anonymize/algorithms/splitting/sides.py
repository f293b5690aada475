"""The rows of a batch whose classes are cut, side after side: those of all first sides, then those of all second ones.

Of a large batch they are laid piece by piece: what a piece holds of every column, and where it goes, then stays near
the processor, and several threads have a piece each. Such a batch is one class, so that nothing else keeps them busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anonymize.classes import Bools, Codes, Ints
from anonymize.threads import mapped

LARGE = 1 << 18
"""Batches of more rows are laid piece by piece,"""
PIECE = 1 << 16
"""each of so many rows."""


@dataclass(frozen=True)
class CutSides:
    """Which side each row goes to, in the order of the batch: `first` (n,), whether it is the first side of its class.
    `threads`: in how many the rows of a large batch are laid."""

    first: Bools
    threads: int = 1

    @cached_property
    def order(self) -> Ints:
        """(n,) positions in the batch, side after side, ascending among the first sides and among the second ones."""
        return np.concatenate((self._firsts, np.flatnonzero(~self.first)))

    @cached_property
    def _firsts(self) -> Ints:
        return np.flatnonzero(self.first)

    def first_sizes(self, starts: Ints) -> Ints:
        """(C,) rows of the first side of each class; `starts` (C + 1,) as in `Batch`."""
        if len(starts) == 2:
            return np.array([np.count_nonzero(self.first)])
        return np.diff(np.searchsorted(self._firsts, starts))

    def arranged(self, columns: Sequence[Codes], kept: Bools | None = None) -> list[Codes]:
        """Columns (n,) with their rows side after side; `kept` (n,): those of the rows in this order that are wanted,
        None for all."""
        if kept is not None:
            rows = self.order[kept]
            return [codes.take(rows) for codes in columns]
        if len(self.first) > LARGE:
            return self._by_pieces(columns)
        return [codes.take(self.order) for codes in columns]

    def _by_pieces(self, columns: Sequence[Codes]) -> list[Codes]:
        pieces = [slice(start, start + PIECE) for start in range(0, len(self.first), PIECE)]
        firsts = np.cumsum([0, *(np.count_nonzero(self.first[piece]) for piece in pieces)]).tolist()
        laid = [np.empty_like(codes) for codes in columns]

        def lay(number: int) -> None:
            piece, before = pieces[number], firsts[number]
            first = self.first[piece]
            _put(columns, laid, piece, np.flatnonzero(first), before)
            _put(columns, laid, piece, np.flatnonzero(~first), firsts[-1] + piece.start - before)

        mapped(lay, range(len(pieces)), self.threads)
        return laid


def _put(columns: Sequence[Codes], laid: Sequence[Codes], piece: slice, places: Ints, begin: int) -> None:
    """Puts some places (m,) of a piece of each column where they are laid, from `begin` on."""
    for codes, target in zip(columns, laid, strict=True):
        # Any mode but "raise" writes where it is to without a copy; no place is out of bounds.
        codes[piece].take(places, out=target[begin : begin + len(places)], mode="clip")
