"""Distortion matrices written out, and the paper's second example."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def distortion(p: float, d: int) -> Matrix:
    """P, cell by cell."""
    if d == 1:
        return np.ones((1, 1))
    return np.array([[p if row == column else (1 - p) / (d - 1) for column in range(d)] for row in range(d)])


def formed(factor: tuple[float, float], d: int) -> Matrix:
    """a I + b 1 1'."""
    return factor[0] * np.eye(d) + factor[1] * np.ones((d, d))


def product(matrices: list[Matrix]) -> Matrix:
    """Their Kronecker product."""
    return reduce(lambda one, other: np.asarray(np.kron(one, other), np.float64), matrices, np.ones((1, 1)))
