"""Which classes may change rows with which: those whose union raises the NCP least.

With few classes, all unions are weighed; with many, only those with the classes whose boxes have their middles nearest;
and under models beyond a size, which refuse most of the best changes, so that it takes more than the best partners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.refining.measure import BoxMeasure, Places, Singles
from anonymize.classes import Ints

ALL = 1 << 12
"""Up to so many classes, every union of two is weighed; what that takes grows with their square."""
LONG = 1 << 10
"""From so many classes on, up to where not all unions are weighed, to find partners takes as long as some sweeps."""
CELLS = 1 << 18
"""Unions that are weighed at once."""


@dataclass(frozen=True)
class Effort:
    """How much work sweeps are. `near`: partners of a class; `nearest`: with more classes than `ALL`, unions that are
    weighed for each, those with the classes nearest to it; `fresh`: sweeps after which partners are found again, and
    where that takes long; `at_once`: exchanges that are weighed at once, of which many keep more threads busy, and few
    are kept near the processor."""

    near: int
    nearest: int
    fresh: tuple[int, int]
    at_once: int

    def fresh_after(self, classes: int, free: bool) -> int:
        """Sweeps after which partners are found again; `free`: see `partners`."""
        return self.fresh[free and LONG < classes <= ALL]


CARE = Effort(near=16, nearest=40, fresh=(10, 25), at_once=1 << 16)
HASTE = Effort(near=12, nearest=24, fresh=(25, 25), at_once=1 << 19)
"""Of a large table, where time goes into more sweeps instead (a million rows, 200 sweeps: 54 s of the processor and not
73, for the same loss)."""


def partners(
    measure: BoxMeasure, low: list[Places], high: list[Places], sizes: Ints, free: bool, effort: Effort = CARE
) -> Ints:
    """(classes, partners) for each class others whose union with it raises the NCP least, that first.

    `low`, `high`: the ends of all classes, (classes,) on each axis. `free`: whether size is all that classes have to
    meet.
    """
    classes = len(sizes)
    if free and classes <= ALL:
        step = max(CELLS // classes, 1)
        parts = [np.arange(begin, min(begin + step, classes)) for begin in range(0, classes, step)]
        everyone = np.arange(classes)[None]
        return np.concatenate([_least(measure, low, high, sizes, some, everyone, effort.near) for some in parts])
    nearest = _nearest(measure, low, high, effort.nearest)
    return _least(measure, low, high, sizes, np.arange(classes), nearest, effort.near)


def _least(
    measure: BoxMeasure, low: list[Places], high: list[Places], sizes: Ints, some: Ints, others: Ints, most: int
) -> Ints:
    """(some, partners) the best of `others` (some or 1, n), at most so many, for each of some classes; equal ones as
    they come."""
    lost = measure.cost(low, high) * sizes
    wide = (
        [np.minimum(end[some, None], end[others]) for end in low],
        [np.maximum(end[some, None], end[others]) for end in high],
    )
    rise: Singles = measure.cost(*wide) * (sizes[some, None] + sizes[others]).astype(np.float32)
    rise -= lost[others].astype(np.float32)
    rise[others == some[:, None]] = np.inf
    return least_of(rise, others, min(most, rise.shape[1] - (others.shape[0] == 1)))


def least_of(rise: Singles, others: Ints, kept: int) -> Ints:
    """(some, kept) those of `others` (some or 1, n) whose rise (some, n) is least, that first; equal ones as they
    come."""
    near = np.argpartition(rise, kept - 1, axis=1)[:, :kept]
    by_rise = np.argsort(np.take_along_axis(rise, near, 1), axis=1, kind="stable")
    return np.take_along_axis(np.broadcast_to(others, rise.shape), np.take_along_axis(near, by_rise, 1), 1)


def _nearest(measure: BoxMeasure, low: list[Places], high: list[Places], most: int) -> Ints:
    """(classes, nearest) the others, at most so many, whose boxes have their middles nearest.

    Axes become lines: on a hierarchy, from leaf to leaf it is as far as the lowest node above both costs.
    """
    lines = [axis.line(left) + axis.line(right) for axis, left, right in zip(measure.axes, low, high, strict=True)]
    return nearest_to(np.stack(lines, axis=1) / 2, most)


def nearest_to(centres: NDArray[Any], most: int) -> Ints:
    """(classes, nearest) the others, at most so many, whose centres (classes, axes) are nearest."""
    from scipy.spatial import cKDTree  # takes half a second, which no release without refinement should wait for

    return np.asarray(cKDTree(centres).query(centres, min(most + 1, len(centres)))[1][:, 1:], np.int64)
