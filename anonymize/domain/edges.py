"""Rounded ends of intervals: multiples of a step that follows from the width of what an interval spans, and from
nothing else.

The step is the largest 1, 2 or 5 times a power of ten that is at most a quarter of the width; on whole numbers it is
at least 2, as multiples of 1 would be the values themselves. Ends are multiples of what the numbers have been rounded
to as well. They do not go beyond a bottom or top code, nor beyond a fence. A single value stays what it is. What is
known of an interval is the point where it stops, which is no part of it: whole numbers are shown up to the one before,
other numbers without that end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.coding import Coding
from anonymize.domain.grid import Grid, Numbers, texts

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
        """Those of intervals that span the numbers from `begins` to `ends` (n,); `fences` (n,) twice: see `limits`."""
        grids, grid_of = _grids(_quarters(begins, ends), _least(begins, ends, whole=whole), coding.step)
        grid_of[begins == ends] = _SINGLE
        first, stop = np.zeros(len(begins), np.int64), np.zeros(len(begins), np.int64)
        for number, grid in enumerate(grids):
            own = np.flatnonzero(grid_of == number)
            first[own], stop[own] = grid.floor(begins[own]), grid.floor(ends[own]) + 1
        bottom = -np.inf if coding.bottom is None else coding.bottom
        top = np.inf if coding.top is None else coding.top
        limits = np.maximum(fences[0], bottom).astype(np.float64), np.minimum(fences[1], top).astype(np.float64)
        return cls(begins, ends, grids, grid_of, first, stop, limits, whole)

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
    choices, place = _choices(_quarters(begins, ends), _least(begins, ends, whole=whole))
    steps = np.array([_common(grid, coding.step).step for grid in choices])
    wider = np.maximum(steps[place] - whole, 0.0) if len(place) else np.zeros(0)
    return np.where(begins == ends, 0.0, wider)


def _quarters(begins: Numbers, ends: Numbers) -> Floats:
    """(n,) quarters of the widths. Those of decimals are taken for what their texts say: what floats are beside their
    texts is added, so that from 0.3 to 0.7 a step of 0.1 is a quarter."""
    if begins.dtype.kind == "i":
        return (ends.astype(np.uint64) - begins.astype(np.uint64)).astype(np.float64) / 4
    return np.asarray(ends / 4 - begins / 4 + np.maximum(np.abs(begins), np.abs(ends)) * 2.0**-52)


def _least(begins: Numbers, ends: Numbers, *, whole: bool) -> Floats:
    """(n,) the smallest step of each."""
    least = np.full(len(begins), 2.0 if whole else _TINY)
    if begins.dtype.kind == "i":
        return least
    return np.asarray(np.maximum(least, np.maximum(np.abs(begins), np.abs(ends)) * _DIGITS))


def _grids(quarters: Floats, least: Floats, own: float | None) -> tuple[tuple[Grid, ...], Ints]:
    """The different grids, and (n,) which of them each has."""
    choices, place = _choices(quarters, least)
    used, grid_of = np.unique(place, return_inverse=True)
    return tuple(_common(choices[each], own) for each in used.tolist()), grid_of.reshape(-1).astype(np.int64)


def _choices(quarters: Floats, least: Floats) -> tuple[list[Grid], Ints]:
    """Grids, and (n,) which of them has the largest step of at most a quarter, or the first one that is not under the
    `least`."""
    if not len(least):
        return [], np.zeros(0, np.int64)
    widest = max(float(quarters.max()), float(least.max()))
    exponents = range(math.floor(math.log10(least.min())), math.floor(math.log10(widest)) + 2)
    choices = [Grid(mantissa, exponent) for exponent in exponents for mantissa in (1, 2, 5)]
    steps = np.array([grid.step for grid in choices])
    return choices, np.maximum(np.searchsorted(steps, quarters, "right") - 1, np.searchsorted(steps, least, "left"))


def _common(grid: Grid, own: float | None) -> Grid:
    """The grid whose points are multiples of what numbers are rounded to as well."""
    return grid if own is None else grid.common(Grid.of(own))
