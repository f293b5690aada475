"""Rounded numbers, and bottom and top codes: numbers at or beyond them are one value, of which only that is shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.grid import Grid, Numbers

_EXACT = 2.0**52  # multiples of a step are numbered exactly up to here


def rounded(values: Numbers, step: float) -> Numbers:
    """(n,) the nearest multiple of a step, of two the larger; whole numbers stay so where the step is. A float so large
    that no two of its neighbours lie within a step is left as it is."""
    grid = Grid.of(step)
    if grid.exact(values):
        whole = grid.mantissa * 10**grid.exponent
        low = grid.floor(values) * whole
        up = (values - low >= whole - (values - low)) & (low <= np.iinfo(np.int64).max - whole)
        return np.asarray(low + np.where(up, whole, 0))
    numbers = values.astype(np.float64)
    near = np.abs(numbers) / step < _EXACT
    index = grid.floor(np.where(near, numbers, 0.0))
    middle = Grid(grid.mantissa * 5, grid.exponent - 1).points(2 * index + 1)
    return np.where(near, grid.points(index + (numbers >= middle)), numbers)


@dataclass(frozen=True)
class Coding:
    """What numbers are rounded to and where they are cut off, if they are, and how a number reads beyond which others
    may lie. They are rounded first.

    `open_high`, `open_low`: templates with `{low}` and `{high}`. `step`: multiples of it are left.
    """

    bottom: float | None = None
    top: float | None = None
    open_high: str = "{low}+"
    open_low: str = "{high}-"
    step: float | None = None

    @property
    def leaves_all(self) -> bool:
        """Whether every number stays what it is."""
        return self.bottom is None and self.top is None and self.step is None

    def clipped(self, values: Numbers) -> Numbers:
        """(n,) numbers, rounded, with the code in place of what lies beyond it; whole numbers stay so where the step
        and the codes are."""
        if self.step is not None:
            values = rounded(values, self.step)
        codes = [code for code in (self.bottom, self.top) if code is not None]
        if not codes or not len(values):
            return values
        kind = values.dtype if all(code == int(code) for code in codes) else np.dtype(np.float64)
        if self.bottom is not None:
            values = np.where(values <= self.bottom, np.array(self.bottom).astype(kind), values)
        if self.top is not None:
            values = np.where(values >= self.top, np.array(self.top).astype(kind), values)
        return values

    def applied(self, values: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
        """The sorted distinct numbers (n,) that are left, and (n,) which of them each has become."""
        left, place = np.unique(self.clipped(values), return_inverse=True)
        return left, place.astype(np.int64)

    def lowest(self, values: Numbers) -> bool:
        """Whether others may lie below the lowest of sorted numbers that have been clipped."""
        return self.bottom is not None and bool(len(values)) and bool(values[0] <= self.bottom)

    def highest(self, values: Numbers) -> bool:
        """Whether others may lie above the highest of sorted numbers that have been clipped."""
        return self.top is not None and bool(len(values)) and bool(values[-1] >= self.top)

    def above(self, low: str) -> str:
        """How everything from a number on reads."""
        return self.open_high.replace("{low}", low)

    def below(self, high: str) -> str:
        """How everything up to a number reads."""
        return self.open_low.replace("{high}", high)
