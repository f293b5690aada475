"""Which classes may change rows with which: those whose union raises the NCP least.

With few classes, all unions are weighed; with many, only those with the classes whose boxes have their middles nearest;
and under models beyond a size, which refuse most of the best changes, so that it takes more than the best partners.
"""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.refining.measure import BoxMeasure, Places, Singles
from anonymize.classes import Ints

NEAR = 16
"""Partners of a class."""
ALL = 1 << 12
"""Up to so many classes, every union of two is weighed; what that takes grows with their square."""
NEAREST = 40
"""With more, so many unions are weighed for each class: those with the classes nearest to it."""
FRESH = (10, 25)
"""Sweeps after which partners are worked out again, and where that takes as long as some of them."""
LONG = 1 << 10
"""So it does from so many classes on, up to where not all unions are weighed."""
CELLS = 1 << 18
"""Unions that are weighed at once."""


def fresh_after(classes: int, free: bool) -> int:
    """Sweeps after which partners are worked out again; `free`: see `partners`."""
    return FRESH[1] if free and LONG < classes <= ALL else FRESH[0]


def partners(measure: BoxMeasure, low: list[Places], high: list[Places], sizes: Ints, free: bool) -> Ints:
    """(classes, partners) for each class others whose union with it raises the NCP least, that first.

    `low`, `high`: the ends of all classes, (classes,) on each axis. `free`: whether size is all that classes have to
    meet.
    """
    classes = len(sizes)
    if free and classes <= ALL:
        step = max(CELLS // classes, 1)
        parts = [np.arange(begin, min(begin + step, classes)) for begin in range(0, classes, step)]
        everyone = np.arange(classes)[None]
        return np.concatenate([_least(measure, low, high, sizes, some, everyone) for some in parts])
    return _least(measure, low, high, sizes, np.arange(classes), _nearest(measure, low, high))


def _least(measure: BoxMeasure, low: list[Places], high: list[Places], sizes: Ints, some: Ints, others: Ints) -> Ints:
    """(some, partners) the best of `others` (some or 1, n) for each of some classes; equal ones as they come."""
    lost = measure.cost(low, high) * sizes
    wide = (
        [np.minimum(end[some, None], end[others]) for end in low],
        [np.maximum(end[some, None], end[others]) for end in high],
    )
    rise: Singles = measure.cost(*wide) * (sizes[some, None] + sizes[others]).astype(np.float32)
    rise -= lost[others].astype(np.float32)
    rise[others == some[:, None]] = np.inf
    kept = min(NEAR, rise.shape[1] - (others.shape[0] == 1))
    near = np.argpartition(rise, kept - 1, axis=1)[:, :kept]
    by_rise = np.argsort(np.take_along_axis(rise, near, 1), axis=1, kind="stable")
    return np.take_along_axis(np.broadcast_to(others, rise.shape), np.take_along_axis(near, by_rise, 1), 1)


def _nearest(measure: BoxMeasure, low: list[Places], high: list[Places]) -> Ints:
    """(classes, nearest) the others whose boxes have their middles nearest.

    Axes become lines: on a hierarchy, from leaf to leaf it is as far as the lowest node above both costs.
    """
    from scipy.spatial import cKDTree  # takes half a second, which no release without refinement should wait for

    lines = [axis.line(left) + axis.line(right) for axis, left, right in zip(measure.axes, low, high, strict=True)]
    centres = np.stack(lines, axis=1) / 2
    return np.asarray(cKDTree(centres).query(centres, min(NEAREST + 1, len(centres)))[1][:, 1:], np.int64)
