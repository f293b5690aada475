"""Rounded numbers: multiples of a decimal step, bottom and top codes, and ends of intervals that follow from the
width of what they span."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.records import dataclass

# --- multiples of a step ----------------------------------------------------------------------------------------------
# A grid's points are what their decimal text reads back as, so 3 steps of 0.1 are 0.3, and comparisons with a point
# agree with comparisons with the text that is released.

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


# --- bottom and top codes ---------------------------------------------------------------------------------------------
# Numbers at or beyond a code are one value, of which only that is shown.

_EXACT_DIGITS = 2.0**52  # multiples of a step are numbered exactly up to here


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
    near = np.abs(numbers) / step < _EXACT_DIGITS
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


# --- rounded ends -----------------------------------------------------------------------------------------------------
# Ends are multiples of a step that follows from the width of what an interval spans, and from nothing else.
#
# The step is the largest 1, 2 or 5 times a power of ten that is at most a quarter of the width; on whole numbers it is
# at least 2, as multiples of 1 would be the values themselves. Ends are multiples of what the numbers have been rounded
# to as well. They do not go beyond a bottom or top code, nor beyond a fence. A single value stays what it is. What is
# known of an interval is the point where it stops, which is no part of it: whole numbers are shown up to the one
# before, other numbers without that end.

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_TINY, _DIGITS = 1e-300, 2.0**-48  # steps are not under the one, nor under that share of the largest number
_LARGEST = float(np.finfo(np.float64).max)
_SINGLE = -1  # in place of a grid


@dataclass(frozen=True)
class RoundedEnds:
    """The ends of n intervals of numbers.

    `begins`, `ends` (n,): the lowest and the highest number of each. `grids`: the different grids that ends lie on;
    `grid_of` (n,): which of them those of each interval do, -1 for a single value. `first`, `stop` (n,): numbers of the
    points of its grid where each begins and stops. `limits` (n,) twice: what it may not begin before, and not stop
    behind. `whole`: whether the numbers are whole.
    """

    begins: Numbers
    ends: Numbers
    grids: tuple[Grid, ...]
    grid_of: Ints
    first: Ints
    stop: Ints
    limits: tuple[Floats, Floats]
    whole: bool

    @classmethod
    def of(
        cls, begins: Numbers, ends: Numbers, coding: Coding, fences: tuple[Numbers, Numbers], *, whole: bool
    ) -> RoundedEnds:
        """The rounded ends of intervals from `begins` to `ends` (n,); `fences` (n,) twice: see `limits`."""
        choices, place = _choices(begins, ends, whole=whole)
        used, grid_of = np.unique(place, return_inverse=True)
        grids, grid_of = tuple(_common(choices[each], coding.step) for each in used.tolist()), grid_of.astype(np.int64)
        grid_of[begins == ends] = _SINGLE
        first, stop = np.zeros(len(begins), np.int64), np.zeros(len(begins), np.int64)
        for number, grid in enumerate(grids):
            own = np.flatnonzero(grid_of == number)
            first[own], stop[own] = grid.floor(begins[own]), grid.floor(ends[own]) + 1
        bottom = -np.inf if coding.bottom is None else coding.bottom
        top = np.inf if coding.top is None else coding.top
        limits = np.maximum(fences[0], bottom).astype(np.float64), np.minimum(fences[1], top).astype(np.float64)
        return cls(begins, ends, grids, grid_of, first, stop, limits, whole)

    def piece(self, first: int, rows: int) -> RoundedEnds:
        """Those of some neighbouring intervals. A text is a Python object of many times the bytes of its characters, so
        that those of all intervals are not made at once."""
        some = slice(first, first + rows)
        arrays = {each: getattr(self, each)[some] for each in ("begins", "ends", "grid_of", "first", "stop")}
        return replace(self, **arrays, limits=(self.limits[0][some], self.limits[1][some]))

    @property
    def single(self) -> NDArray[np.bool_]:
        """(n,) whether each is a single value, which stays what it is."""
        return np.asarray(self.grid_of == _SINGLE)

    @cached_property
    def low(self) -> Floats:
        """(n,) the number at which each begins."""
        return np.where(self.single, self.begins, np.maximum(self._points(self.first), self.limits[0]))

    @cached_property
    def high(self) -> Floats:
        """(n,) the number that is shown as the upper end: the last whole number before the stop, or the stop, which is
        no part of the interval."""
        stop = np.minimum(self._points(self.stop), self.limits[1])
        return np.where(self.single, self.ends, np.ceil(stop) - 1 if self.whole else stop)

    def closed(self) -> tuple[Numbers, Numbers]:
        """(n,) twice, the lowest and the highest number that each interval has in it."""
        if self.whole:
            return self.low, self.high
        return self.low, np.where(self.single, self.high, np.nextafter(self.high, -np.inf))

    def low_texts(self) -> list[str]:
        """(n,) how the lower ends read."""
        return self._texts(self.first, self.low, self._points(self.first), self.begins, 0)

    def high_texts(self) -> list[str]:
        """(n,) how the upper ends read."""
        plain = self._points(self.stop) - self.whole
        return self._texts(self.stop, self.high, plain, self.ends, int(self.whole))

    def _texts(self, index: Ints, ends: Floats, plain: Floats, values: Numbers, less: int) -> list[str]:
        """Whole numbers of any size are read off their grid, unless a limit cuts them off."""
        read = texts(ends)
        exact = (ends == plain) & (values.dtype.kind == "i")
        for number, grid in enumerate(self.grids):
            own = np.flatnonzero((self.grid_of == number) & exact & grid.whole)
            for place, text in zip(own.tolist(), grid.texts(index[own], exact=True, less=less), strict=True):
                read[place] = text
        single = np.flatnonzero(self.single)
        for place, text in zip(single.tolist(), texts(values[single]), strict=True):
            read[place] = text
        return read

    def _points(self, index: Ints) -> Floats:
        """(n,) points of the grid of each; no farther than floats go."""
        points = np.zeros(len(index))
        for number, grid in enumerate(self.grids):
            own = np.flatnonzero(self.grid_of == number)
            points[own] = grid.points(index[own])
        return np.clip(points, -_LARGEST, _LARGEST)


def widening(begins: Numbers, ends: Numbers, coding: Coding, *, whole: bool) -> Floats:
    """(n,) by how much intervals with rounded ends are wider than what they span, on average over where on their grids
    that lies: a function of the width alone."""
    choices, place = _choices(begins, ends, whole=whole)
    steps = np.array([_common(grid, coding.step).step for grid in choices])
    wider = np.maximum(steps[place] - whole, 0.0) if len(place) else np.zeros(0)
    return np.where(begins == ends, 0.0, wider)


def _choices(begins: Numbers, ends: Numbers, *, whole: bool) -> tuple[list[Grid], Ints]:
    """Grids, and (n,) which of them has the largest step of at most a quarter of the width of each interval, or the
    first one that is not under the least step.

    Quarters of decimals are taken for what their texts say: what floats differ from their texts by is added, so that
    from 0.3 to 0.7 a step of 0.1 is a quarter.
    """
    if not len(begins):
        return [], np.zeros(0, np.int64)
    least = np.full(len(begins), 2.0 if whole else _TINY)
    if begins.dtype.kind == "i":
        quarters = (ends.astype(np.uint64) - begins.astype(np.uint64)).astype(np.float64) / 4
    else:
        largest = np.maximum(np.abs(begins), np.abs(ends))
        quarters, least = ends / 4 - begins / 4 + largest * 2.0**-52, np.maximum(least, largest * _DIGITS)
    widest = max(float(quarters.max()), float(least.max()))
    exponents = range(math.floor(math.log10(least.min())), math.floor(math.log10(widest)) + 2)
    choices = [Grid(mantissa, exponent) for exponent in exponents for mantissa in (1, 2, 5)]
    steps = np.array([grid.step for grid in choices])
    return choices, np.maximum(np.searchsorted(steps, quarters, "right") - 1, np.searchsorted(steps, least, "left"))


def _common(grid: Grid, own: float | None) -> Grid:
    """The grid whose points are multiples of what numbers are rounded to as well."""
    return grid if own is None else grid.common(Grid.of(own))
