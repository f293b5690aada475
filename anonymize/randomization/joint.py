"""From columns of codes to the problem that their distortion poses.

The quasi-identifiers that may be distorted span the joint table, an axis each; all others of them are one axis more,
of the combinations that occur: what is never distorted never mixes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonymize.classes import Codes, Integers, Runs
from anonymize.randomization.kronecker import Floats
from anonymize.randomization.problem import DistortionProblem
from anonymize.randomization.risk import DisclosureCells, Ints

MOST_CELLS = 20_000_000
"""Cells of the largest joint table that is worked on."""


@dataclass(frozen=True)
class JointAxis:
    """A quasi-identifier: its codes (rows,), below `size`, and whether it may be distorted."""

    codes: Codes
    size: int
    free: bool


@dataclass(frozen=True)
class Guarded:
    """A sensitive attribute: codes (rows,) below `l`'s length, which code is missing, whether it may be distorted, and
    the l (values,) of each value, and what its p is at most."""

    codes: Codes
    missing: int | None
    free: bool
    l: Floats  # noqa: E741
    cap: float = 1.0


def pose(axes: Sequence[JointAxis], guarded: Sequence[Guarded], counts: Ints | None = None) -> DistortionProblem:
    """The problem. Its parameters: the quasi-identifiers that are free, one for all others if there are any, then the
    sensitive attributes. `counts` (rows,): how many rows each row stands for; None: itself alone."""
    free = [axis for axis in axes if axis.free]
    shape = [axis.size for axis in free]
    rest = [axis for axis in axes if not axis.free]
    if rest:
        combined, size = _combined(rest)
        free, shape = [*free, JointAxis(combined, size, False)], [*shape, size]
    number: Integers = np.zeros(len(axes[0].codes), np.min_scalar_type(int(np.prod(shape))))
    for axis in free:
        number *= number.dtype.type(axis.size)
        number += axis.codes.astype(number.dtype, copy=False)
    totals = np.bincount(number, counts, minlength=int(np.prod(shape))).astype(np.int64, copy=False)
    pi = (totals / totals.sum()).reshape(shape)
    caps = tuple(each.cap for each in guarded)
    flags = [axis.free for axis in free] + [each.free for each in guarded]
    return DistortionProblem(pi, tuple(_cells(number, totals, each, counts) for each in guarded), tuple(flags), caps)


def _combined(axes: Sequence[JointAxis]) -> tuple[Codes, int]:
    """(rows,) a number for each combination of codes that occurs, and how many there are."""
    number, size = np.zeros(len(axes[0].codes), np.int64), 1
    for axis in axes:
        combinations, inverse = np.unique(number * axis.size + axis.codes, return_inverse=True)
        number, size = inverse.astype(np.int64), len(combinations)
    return number.astype(np.uint32), size


def _cells(number: Integers, totals: Ints, guarded: Guarded, counts: Ints | None) -> DisclosureCells:
    """The cells of one sensitive attribute that occur; `totals`: rows of each cell of the quasi-identifiers."""
    runs = Runs.count_values(number, guarded.codes, len(totals), len(guarded.l), counts)
    present = totals.copy()
    exposed = runs.counts.astype(np.float64)
    if guarded.missing is not None:
        absent = runs.codes == guarded.missing
        present[runs.classes[absent]] -= runs.counts[absent]
        exposed[absent] = 0
    shares = runs.counts / totals[runs.classes]
    exposed /= np.maximum(present[runs.classes], 1)
    return DisclosureCells(runs.classes, shares, exposed, guarded.l[runs.codes], len(guarded.l))
