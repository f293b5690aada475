"""What is asked of the parameters: as little change as keeps every risk within its bound.

The quasi-identifiers that may be changed span the joint table, an axis each; all others of them are one axis more,
of the combinations that occur: what is never changed never mixes.

Problem 1 and result 2 of Guo, Ying, Wu: minimize the product of ||P_i^-1||_F^2 over the attributes that change, subject
to Pr(S = u | QI = a) <= 1 / l for every cell that occurs. Here the logarithms of both: the sum of log norms, and log of
risk times l, which must not be above 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anonymize.channels import kronecker
from anonymize.channels.kronecker import Floats
from anonymize.channels.risk import DisclosureCells, Identification, Ints
from anonymize.classes import Codes, Integers, Runs

MOST_CELLS = 20_000_000
"""Cells of the largest joint table that is worked on."""


@dataclass(frozen=True)
class JointAxis:
    """A quasi-identifier: its codes (rows,), below `size`, and whether it may be changed."""

    codes: Codes
    size: int
    free: bool


@dataclass(frozen=True)
class Guarded:
    """A sensitive attribute: codes (rows,) below `l`'s length, which code is missing, whether it may be changed, and
    the l (values,) of each value, and what its p is at most."""

    codes: Codes
    missing: int | None
    free: bool
    l: Floats  # noqa: E741
    cap: float = 1.0


def pose(axes: Sequence[JointAxis], guarded: Sequence[Guarded], counts: Ints | None = None) -> ChannelProblem:
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
    return ChannelProblem(pi, tuple(_cells(number, totals, each, counts) for each in guarded), tuple(flags), caps)


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


# --- as little as keeps every risk within its bound -------------------------------------------------------------------

LEAST = 1e-6
"""How far above 1 / d a p is, at least, of what lies between 1 / d and 1: at 1 / d nothing could be undone."""


@dataclass(frozen=True)
class ChannelProblem:
    """A joint distribution `pi` of the quasi-identifiers, the cells of every sensitive attribute, and which of their
    parameters are free: the others stay 1. Parameters are one array, quasi-identifiers first. `caps`: what the
    parameter of each sensitive attribute is at most; 1 where it is left out."""

    pi: Floats
    sensitive: tuple[DisclosureCells, ...]
    free: tuple[bool, ...]
    caps: tuple[float, ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return (*self.pi.shape, *(cells.size for cells in self.sensitive))

    @cached_property
    def variables(self) -> list[int]:
        """The parameters that can be chosen: those free, of attributes with several values."""
        return [
            index for index, (free, size) in enumerate(zip(self.free, self.sizes, strict=True)) if free and size > 1
        ]

    def full(self, chosen: Floats) -> Floats:
        """All parameters, given the variables."""
        p = np.ones(len(self.sizes))
        p[self.variables] = chosen
        return p

    def lowest(self) -> Floats:
        """The least value of each variable."""
        uniform = 1 / np.array([self.sizes[index] for index in self.variables], np.float64)
        return uniform + LEAST * (1 - uniform)

    def highest(self) -> Floats:
        """The largest value of each variable."""
        caps = np.ones(len(self.sizes))
        caps[self.pi.ndim :][: len(self.caps)] = self.caps
        return np.asarray(caps[self.variables])

    @cached_property
    def beyond_caps(self) -> tuple[int, ...]:
        """Numbers of the sensitive attributes whose cap cannot be kept: even the least parameter is above it, or it is
        not free."""
        least = dict(zip(self.variables, self.lowest(), strict=True))
        pairs = enumerate(self.caps, self.pi.ndim)
        return tuple(
            index - self.pi.ndim for index, cap in pairs if self.sizes[index] > 1 and least.get(index, 1.0) > cap
        )

    # --- the objective ---

    def loss(self, p: Floats) -> float:
        """Log of the product of the variables' norms."""
        return float(sum(np.log(kronecker.norm_squared(p[index], self.sizes[index])) for index in self.variables))

    def loss_slope(self, p: Floats) -> Floats:
        """(variables,) its gradient."""
        sizes = np.array([self.sizes[index] for index in self.variables], np.float64)
        gap = np.array([kronecker.matrix(p[index], self.sizes[index])[0] for index in self.variables])
        return np.asarray(-2 * sizes / (gap * (gap * gap + sizes - 1)))

    def loss_curvature(self, p: Floats) -> Floats:
        """(variables,) its second derivatives; there are no mixed ones."""
        sizes = np.array([self.sizes[index] for index in self.variables], np.float64)
        gap = np.array([kronecker.matrix(p[index], self.sizes[index])[0] for index in self.variables])
        whole = gap * gap + sizes - 1
        return np.asarray(2 * sizes**2 / (sizes - 1) * (3 * gap * gap + sizes - 1) / (gap * whole) ** 2)

    # --- the bounds ---

    @cached_property
    def _bounded(self) -> tuple[DisclosureCells, ...]:
        """The cells that can bind: of an attribute that is left alone, one a group."""
        alone = [not free for free in self.free[self.pi.ndim :]]
        return tuple(cells.worst() if left else cells for cells, left in zip(self.sensitive, alone, strict=True))

    @cached_property
    def _last(self) -> dict[bytes, Identification]:
        return {}

    def _identification(self, p: Floats) -> Identification:
        """R_QI at p; that of the last p is kept, as bounds and gradients are asked for at the same points."""
        key = p[: self.pi.ndim].tobytes()
        if key not in self._last:
            self._last.clear()
            self._last[key] = Identification(self.pi, p[: self.pi.ndim])
        return self._last[key]

    def excess(self, p: Floats) -> Floats:
        """(bounds,) risk times l of every cell that can bind, one sensitive attribute after the other."""
        probability = self._identification(p).probability
        parts = [
            probability[cells.groups] * cells.exposed * cells.l * cells.reconstructed(each)
            for cells, each in zip(self._bounded, p[self.pi.ndim :], strict=True)
        ]
        return np.concatenate(parts)

    def excess_slope(self, p: Floats, numbers: Ints) -> Floats:
        """(at, variables) gradient of some of the bounds."""
        probability = self._identification(p).probability
        slopes = self._identification(p).slopes([axis for axis in self.variables if axis < self.pi.ndim])
        begin, rows = 0, []
        for number, cells in enumerate(self._bounded):
            mine = numbers[(numbers >= begin) & (numbers < begin + len(cells.groups))] - begin
            rows.append(self._slopes(number, cells, mine, p, probability, slopes))
            begin += len(cells.groups)
        return np.concatenate(rows)

    def _slopes(
        self, number: int, cells: DisclosureCells, mine: Ints, p: Floats, probability: Floats, slopes: dict[int, Floats]
    ) -> Floats:
        """The gradients of the bounds of one sensitive attribute."""
        place = self.pi.ndim + number
        guessed, groups = cells.reconstructed(p[place])[mine], cells.groups[mine]
        weight = cells.exposed[mine] * cells.l[mine]
        columns = []
        for index in self.variables:
            if index < self.pi.ndim:
                columns.append(slopes[index][groups] * guessed)
            else:
                slope = cells.reconstructed_slope(p[place])[mine] if index == place else np.zeros(len(mine))
                columns.append(probability[groups] * slope)
        return weight[:, None] * np.stack(columns, axis=1) if columns else np.zeros((len(mine), 0))

    def risk(self, p: Sequence[float] | Floats) -> tuple[float, int]:
        """The largest risk times l over all cells, and how many exceed 1 (by more than 1e-9)."""
        excess = self.excess(np.asarray(p, np.float64))
        return float(excess.max(initial=0.0)), int(np.count_nonzero(excess > 1 + 1e-9))
