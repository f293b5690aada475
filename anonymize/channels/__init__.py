"""The mathematics of channels: what one does to a table, what it protects, how it is undone. Channel matrices, and
their Kronecker product, which is applied attribute by attribute and never formed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# --- channel matrices -------------------------------------------------------------------------------------------------
# Channel matrices and their Kronecker product, which is applied attribute by attribute and never formed.
#
# An attribute of d values keeps a value with probability p and replaces it by each other one with q = (1 - p) / (d -
# 1): P = (p - q) I + q 1 1'. Its square element by element, its inverse and its derivative by p have the same form, a I
# + b 1 1', so each is a pair (a, b). The product with such a matrix along one axis of a table is a x + b (sum of x
# along it): the joint channel of m attributes takes m such steps, O(m D) for D cells.
#
# Source: Guo, Ying, Wu: formula (1), lemma 2 (a Kronecker product applied mode by mode), lemma 4 (the inverse).
#
# **Drawing**: a row keeps its value with probability x = p - q, else it gets any value, all alike. That is P: p = x +
#  (1
# - x) / d. Whether a row keeps its value is decided by 32 random bits against a threshold, so x is a multiple of 2^-32
# and the released table went through exactly the p that is published. The new value is drawn by multiplying 64 bits
# with d; of d values none is likelier than another by more than d / 2^53.
#
# The bits come from the operating system, or, for experiments, from a generator with a seed.

Floats = NDArray[np.float64]
Factor: TypeAlias = tuple[float, float]
"""(a, b) of a matrix a I + b 1 1'."""


def other(p: float, d: int) -> float:
    """q, the probability of each other value; 0 of a single one."""
    return (1 - p) / (d - 1) if d > 1 else 0.0


def matrix(p: float, d: int) -> Factor:
    """P."""
    q = other(p, d)
    return p - q, q


def squared(p: float, d: int) -> Factor:
    """P, every element squared."""
    q = other(p, d)
    return p * p - q * q, q * q


def inverse(p: float, d: int) -> Factor:
    """The inverse of P, for p > 1 / d."""
    q = other(p, d)
    return 1 / (p - q), -q / (p - q)


def inverse_squared(p: float, d: int) -> Factor:
    """The inverse of P, every element of it squared."""
    a, b = inverse(p, d)
    return (a + b) ** 2 - b * b, b * b


def matrix_slope(p: float, d: int) -> Factor:
    """The derivative of P by p, for d > 1."""
    return d / (d - 1), -1 / (d - 1)


def squared_slope(p: float, d: int) -> Factor:
    """The derivative by p of P squared element by element, for d > 1."""
    q = other(p, d)
    return 2 * p + 2 * q / (d - 1), -2 * q / (d - 1)


def instead(factor: Factor, new: Factor, d: int) -> Factor:
    """`new` times the inverse of `factor`: what turns a product with `factor` along an axis into one with `new`.

    All such matrices commute, so it does not matter that the other axes have been gone through.
    """
    (a, b), (c, e) = factor, new
    return c / a, (e * a - c * b) / (a * (a + b * d))


def apply(factors: Sequence[Factor], table: Floats) -> Floats:
    """The product of the Kronecker product of the factors, one an axis, with a table (d1, ..., dm); same shape."""
    result = np.array(table, np.float64)
    for axis, factor in enumerate(factors):
        _along(axis, factor, result)
    return result


def apply_along(axis: int, factor: Factor, table: Floats) -> Floats:
    """The product with one factor along one axis."""
    result = np.array(table, np.float64)
    _along(axis, factor, result)
    return result


def _along(axis: int, factor: Factor, table: Floats) -> None:
    a, b = factor
    sums = np.add.reduce(table, axis=axis, keepdims=True) * b if b else None
    if a != 1:
        table *= a
    if sums is not None:
        table += sums


def norm_squared(p: float, d: int) -> float:
    """Squared Frobenius norm of P's inverse: 1 + (d - 1) / (p - q)^2; an attribute left alone contributes d."""
    return 1 + (d - 1) / matrix(p, d)[0] ** 2


# --- drawing ----------------------------------------------------------------------------------------------------------

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


def replaced(codes: Codes, p: float, d: int, bits: Bits) -> Codes:
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
