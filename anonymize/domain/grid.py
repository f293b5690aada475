"""Multiples of a decimal step: where whole numbers and fractions are rounded to, and how that reads.

A grid's points are what their decimal text reads back as, so 3 steps of 0.1 are 0.3, and comparisons with a point agree
with comparisons with the text that is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64 | np.int64]

_EXACT = 22  # 10 ** 22 is the largest power of ten that a float64 holds exactly


def texts(values: Numbers) -> list[str]:
    """Each number as the shortest text that reads back the same; whole numbers have no decimal point."""
    if values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()]
    return [repr(value).removesuffix(".0") for value in (values + 0.0).tolist()]


def decimal(number: str) -> str:
    """The text of a number with a decimal point, where it can have one.

    >>> decimal("20"), decimal("2.5"), decimal("1e+17")
    ('20.0', '2.5', '1e+17')
    """
    return f"{number}.0" if number.lstrip("-").isdecimal() else number


@dataclass(frozen=True)
class Grid:
    """The multiples of `mantissa * 10 ** exponent`."""

    mantissa: int
    exponent: int

    @classmethod
    def of(cls, step: float) -> Grid:
        """The grid of a step > 0, taken as its shortest decimal text says."""
        parts = Decimal(repr(step)).normalize().as_tuple()
        return cls(int("".join(map(str, parts.digits))), int(parts.exponent))

    @classmethod
    def near(cls, step: float, *, at_least: float = 0.0) -> Grid:
        """The grid of 1, 2 or 5 times a power of ten that is nearest to `step` by ratio, and not under `at_least`."""
        power = math.floor(math.log10(max(step, at_least)))
        choices = [cls(mantissa, power + i) for i in (-1, 0, 1) for mantissa in (1, 2, 5)]
        allowed = [grid for grid in choices if grid.step >= at_least]
        return min(allowed, key=lambda grid: abs(math.log(grid.step / max(step, at_least))))

    def common(self, other: Grid) -> Grid:
        """The points that both have: the multiples of either step.

        >>> Grid.of(2).common(Grid.of(0.5)).step, Grid.of(2).common(Grid.of(5)).step
        (2.0, 10.0)
        """
        exponent = min(self.exponent, other.exponent)
        steps = (grid.mantissa * 10 ** (grid.exponent - exponent) for grid in (self, other))
        return Grid(math.lcm(*steps), exponent)

    @property
    def step(self) -> float:
        """The distance between two points."""
        return float(f"{self.mantissa}e{self.exponent}")

    @property
    def whole(self) -> bool:
        """Whether every point is a whole number."""
        return self.exponent >= 0

    def points(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """The points of these numbers; what their decimal text reads back as, for steps of up to 22 digits."""
        with np.errstate(over="ignore"):
            if abs(self.exponent) > _EXACT:
                return np.multiply(index, self.step, dtype=np.float64)
            units = index.astype(np.float64) * self.mantissa
            return units * 10.0**self.exponent if self.whole else units / 10.0**-self.exponent

    def texts(self, index: NDArray[np.int64], *, exact: bool, less: int = 0) -> list[str]:
        """The points as text: in whole numbers of any size where `exact` (less that many), else as floats."""
        if exact:
            step = self.mantissa * 10**self.exponent
            return [str(number * step - less) for number in index.tolist()]
        return texts(self.points(index))

    def floor(self, values: Numbers) -> NDArray[np.int64]:
        """Number of the last point that is not above each value; a division that was rounded is put right afterwards.
        |value| / step has to stay under 2 ** 52."""
        if self.exact(values):
            return np.asarray(values // (self.mantissa * 10**self.exponent), dtype=np.int64)
        index: NDArray[np.int64] = np.floor(values / self.step).astype(np.int64)
        index -= self.points(index) > values
        index += self.points(index + 1) <= values
        return index

    def ceil(self, values: Numbers) -> NDArray[np.int64]:
        """Number of the first point that is not below each value; see `floor` for the range."""
        if self.exact(values):
            below = values % (self.mantissa * 10**self.exponent) != 0
            return np.asarray(self.floor(values) + below)
        index = self.floor(values)
        return np.asarray(index + (self.points(index) < values))

    def exact(self, values: Numbers) -> bool:
        """Whether these values are rounded in whole numbers: int64 on a whole grid."""
        return self.whole and values.dtype.kind == "i"
