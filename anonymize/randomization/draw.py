"""Drawing distorted values: a row keeps its value with probability x = p - q, else it gets any value, all alike.

That is P: p = x + (1 - x) / d. Whether a row keeps its value is decided by 32 random bits against a threshold, so x is
a multiple of 2^-32 and the released table is distorted by exactly the p that is published. The new value is drawn by
multiplying 64 bits with d; of d values none is likelier than another by more than d / 2^53.

The bits come from the operating system, or, for experiments, from a generator with a seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.unsignedinteger]
Bits: TypeAlias = Callable[[int], bytes | bytearray]
"""So many random bytes."""

SCALE = 1 << 32
PIECE = 1 << 20
"""Rows that are drawn at a time."""


def system_bits(count: int) -> bytes:
    """Random bytes of the operating system."""
    return os.urandom(count)


def seeded_bits(seed: int) -> Bits:
    """Bytes of a generator: the same for the same seed."""
    return np.random.default_rng(seed).bytes


def representable(p: float, d: int) -> float:
    """The largest p not above the given one that can be drawn exactly."""
    if d == 1 or p >= 1:
        return 1.0
    x = int((p * d - 1) / (d - 1) * SCALE) / SCALE
    return x + (1 - x) / d


def threshold(p: float, d: int) -> int:
    """x = p - q in units of 2^-32."""
    return round((p * d - 1) / (d - 1) * SCALE) if d > 1 else SCALE


def distorted(codes: Codes, p: float, d: int, bits: Bits) -> Codes:
    """(rows,) the codes, below d, each kept with probability p, else replaced by one of the others, all alike."""
    keep = threshold(p, d)
    if keep >= SCALE:
        return codes
    result = codes.copy()
    for start in range(0, len(codes), PIECE):
        piece = result[start : start + PIECE]
        drawn = np.frombuffer(bits(4 * len(piece)), np.uint32)
        lost = np.flatnonzero(drawn >= keep)
        fresh = np.frombuffer(bits(8 * len(lost)), np.uint64) >> np.uint64(11)
        piece[lost] = (fresh * (d * 2.0**-53)).astype(codes.dtype)
    return result
