"""Seeds: two rows of each part that lie far apart, by repeated scans for the row farthest from the last."""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.clustering.ncp import Corners, Penalty
from anonymize.classes import Floats, Ints


def seeds(penalty: Penalty, codes: Corners, starts: Ints, rounds: int) -> tuple[Ints, Ints]:
    """Positions (parts,) of two rows of each part, different ones: the last pair of the scans that still gained.

    `codes` (attributes, n) of rows laid part after part, `starts` (parts + 1,) where each part of at least two rows
    begins. The first scan starts at a part's first row. A part is scanned for as long as the penalty of the pair grows,
    `rounds` times at most. Ties go to the first row.
    """
    part = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    from_row = starts[:-1].copy()
    to_row, reached = _farthest(penalty, codes, starts, part, from_row)
    for _ in range(rounds - 1):
        next_row, farther = _farthest(penalty, codes, starts, part, to_row)
        grows = farther > reached
        if not grows.any():
            break
        from_row, to_row = np.where(grows, to_row, from_row), np.where(grows, next_row, to_row)
        reached = np.maximum(farther, reached)
    return from_row, to_row


def _farthest(penalty: Penalty, codes: Corners, starts: Ints, part: Ints, seed: Ints) -> tuple[Ints, Floats]:
    """Position of the row farthest from each part's seed, another one, and the penalty of the two (parts,)."""
    away = distances(penalty, codes, part, seed)
    away[seed] = -1.0
    farthest = np.maximum.reduceat(away, starts[:-1])
    hits = np.flatnonzero(away == farthest[part])
    return hits[np.searchsorted(hits, starts[:-1])], farthest


def distances(penalty: Penalty, codes: Corners, part: Ints, seed: Ints) -> Floats:
    """(n,) penalty of one row of the box around each row and its part's seed."""
    corner = codes[:, seed][:, part]
    return penalty(np.minimum(codes, corner), np.maximum(codes, corner))
