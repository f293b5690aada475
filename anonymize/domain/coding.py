"""Bottom and top codes: numbers at or beyond them are one value, of which only that is shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.grid import Numbers


@dataclass(frozen=True)
class Coding:
    """Where numbers are cut off, if they are, and how a number reads beyond which others may lie.

    `open_high`, `open_low`: templates with `{low}` and `{high}`.
    """

    bottom: float | None = None
    top: float | None = None
    open_high: str = "{low}+"
    open_low: str = "{high}-"

    def clipped(self, values: Numbers) -> Numbers:
        """(n,) numbers, with the code in place of what lies beyond it; whole numbers stay so where the codes are."""
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
        """Of sorted distinct numbers (n,): those that are left, and (n,) which of them each has become."""
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
