"""The risk of attribute disclosure under a channel, and what is asked of its parameters: as little change
as keeps every risk within its bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize import channels
from anonymize.channels import Floats
from anonymize.classes import Codes, Integers, Runs
from anonymize.records import dataclass

# --- the risk ---------------------------------------------------------------------------------------------------------
# The risk of attribute disclosure under a channel, and how much a row tells of its value: the ratio p / q.
#
# **Amplification.** Compare the probabilities of showing one value, given any two values that it may have been. Their
# ratio is largest between a value that is kept and one that is replaced: gamma = p / q. Its logarithm is the epsilon of
# local differential privacy.
#
# **Disclosure.** Pr(S = u | QI = a) = R_QI(a) * (pi[a, u] / pi[a]) * R_S(u | a): the chance that an attacker who knows
# the person's quasi-identifiers a, who sees the released table and guesses in proportion to the posterior (formula 4),
# gets both the quasi-identifiers and then the sensitive value right. It is an average over the draws: for one
# observed row the posterior may be higher.
#
# R_QI(a) = pi[a] * sum over b of P[b, a]^2 / (P pi)[b] (formula 9), for all a at once. R_S(u | a) is the same sum over
# the distribution of S within a; of a value that does not occur in a the term is q^2 / q, so that only cells that occur
# are gone through.
#
# Source: Guo, Ying, Wu: formulas (4) to (9), property 1.


def epsilon(p: float, d: int) -> float | None:
    """ln(p / q); None where it is infinite, as the value shows itself."""
    if d == 1:
        return 0.0
    q = channels.other(p, d)
    return math.log(p / q) if q > 0 else None


def largest_p(gamma: float, d: int) -> float:
    """The p of an attribute of d values with which p / q is gamma; 1 of a single value, which hides nothing."""
    return 1 / (1 + (d - 1) / gamma)


# --- disclosure -------------------------------------------------------------------------------------------------------

Ints = NDArray[np.int64]
Chances: TypeAlias = Sequence[float] | Floats


@dataclass(frozen=True)
class DisclosureCells:
    """The cells (a, u) of one sensitive attribute that occur, sorted by group, then value.

    `groups` (C,) number of each cell's combination of quasi-identifiers, its place in the flattened joint table.
    `shares` (C,) pi[a, u] / pi[a] over all rows of a: what the channel acts on. `exposed` (C,) the share that the
    risk is made of: over the rows of a whose value is not missing, and 0 of a missing one. `l` (C,) the bound on the
    risk is 1 / l. `size`: number of values of the attribute.
    """

    groups: Ints
    shares: Floats
    exposed: Floats
    l: Floats  # noqa: E741
    size: int

    @cached_property
    def starts(self) -> Ints:
        """Where the cells of each group begin."""
        return np.flatnonzero(np.diff(self.groups, prepend=-1))

    @cached_property
    def absent(self) -> Ints:
        """How many values do not occur in each group that occurs."""
        return self.size - np.diff(self.starts, append=len(self.shares))

    @cached_property
    def owner(self) -> Ints:
        """(C,) which of the groups that occur each cell belongs to."""
        return np.cumsum(np.diff(self.groups, prepend=-1) != 0) - 1

    def worst(self) -> DisclosureCells:
        """For every group, the cell with the largest exposed share times l: enough where S is left alone."""
        weight = self.exposed * self.l
        order = np.lexsort((weight, self.owner))
        last = order[np.append(self.starts[1:], len(order)) - 1]
        return DisclosureCells(self.groups[last], self.shares[last], self.exposed[last], self.l[last], self.size)

    def reconstructed(self, p: float) -> Floats:
        """(C,) R_S."""
        q = channels.other(p, self.size)
        if p == 1:
            return np.ones(len(self.shares))
        seen = (p - q) * self.shares + q
        rest = q * q * self._sum(1 / seen) + q * self.absent
        return self.shares * ((p * p - q * q) / seen + rest[self.owner])

    def reconstructed_slope(self, p: float) -> Floats:
        """(C,) the derivative of R_S by p."""
        q, c = channels.other(p, self.size), -1 / (self.size - 1)
        seen = (p - q) * self.shares + q
        slope = (1 - c) * self.shares + c
        rest = 2 * q * c * self._sum(1 / seen) - q * q * self._sum(slope / seen**2) + c * self.absent
        of_cell = (2 * p - 2 * q * c) / seen - (p * p - q * q) * slope / seen**2
        return self.shares * (of_cell + rest[self.owner])

    def _sum(self, entries: Floats) -> Floats:
        return np.add.reduceat(entries, self.starts)


@dataclass(frozen=True)
class Identification:
    """R_QI of a joint distribution `pi` (d1, ..., dm) of the quasi-identifiers, at the parameters `p` (m,)."""

    pi: Floats
    p: Chances

    @cached_property
    def probability(self) -> Floats:
        """(D,) flattened: the chance that a row of each combination is taken for one of it."""
        return np.asarray((self.pi * self._back).ravel())

    def slopes(self, axes: Sequence[int]) -> dict[int, Floats]:
        """(D,) its derivatives by the p of some attributes, which have several values and p above 1 / d."""
        return {axis: self._slope(axis) for axis in axes}

    def _slope(self, axis: int) -> Floats:
        p, size = self.p[axis], self.pi.shape[axis]
        turn = channels.instead(self._squares[axis], channels.squared_slope(p, size), size)
        move = channels.instead(self._plain[axis], channels.matrix_slope(p, size), size)
        moved = channels.apply_along(axis, move, self._seen)
        moved *= self._inverse**2
        slope = channels.apply_along(axis, turn, self._back)
        slope -= channels.apply(self._squares, moved)
        slope *= self.pi
        return np.asarray(slope.ravel())

    @cached_property
    def _plain(self) -> list[channels.Factor]:
        return self._factors(channels.matrix)

    @cached_property
    def _squares(self) -> list[channels.Factor]:
        return self._factors(channels.squared)

    def _factors(self, kind: Callable[[float, int], channels.Factor]) -> list[channels.Factor]:
        return [kind(each, size) for each, size in zip(self.p, self.pi.shape, strict=True)]

    @cached_property
    def _seen(self) -> Floats:
        """P pi."""
        return channels.apply(self._plain, self.pi)

    @cached_property
    def _inverse(self) -> Floats:
        """1 / (P pi); 0 where nothing is ever seen, as such a combination adds nothing."""
        return np.divide(1.0, self._seen, out=np.zeros_like(self._seen), where=self._seen > 0)

    @cached_property
    def _back(self) -> Floats:
        """P squared element by element, times 1 / (P pi)."""
        return channels.apply(self._squares, self._inverse)


# --- the problem ------------------------------------------------------------------------------------------------------
# What is asked of the parameters: as little change as keeps every risk within its bound.
#
# The quasi-identifiers that may be changed span the joint table, an axis each; all others of them are one axis more, of
# the combinations that occur: what is never changed never mixes.
#
# Problem 1 and result 2 of Guo, Ying, Wu: minimize the product of ||P_i^-1||_F^2 over the attributes that change,
# subject to Pr(S = u | QI = a) <= 1 / l for every cell that occurs. Here the logarithms of both: the sum of log norms,
# and log of risk times l, which must not be above 0.

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

LEAST_ABOVE_UNIFORM = 1e-6
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
        return uniform + LEAST_ABOVE_UNIFORM * (1 - uniform)

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
        return float(sum(np.log(channels.norm_squared(p[index], self.sizes[index])) for index in self.variables))

    def loss_slope(self, p: Floats) -> Floats:
        """(variables,) its gradient."""
        sizes = np.array([self.sizes[index] for index in self.variables], np.float64)
        gap = np.array([channels.matrix(p[index], self.sizes[index])[0] for index in self.variables])
        return np.asarray(-2 * sizes / (gap * (gap * gap + sizes - 1)))

    def loss_curvature(self, p: Floats) -> Floats:
        """(variables,) its second derivatives; there are no mixed ones."""
        sizes = np.array([self.sizes[index] for index in self.variables], np.float64)
        gap = np.array([channels.matrix(p[index], self.sizes[index])[0] for index in self.variables])
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

    @cached_property
    def _went(self) -> list[int]:
        return [0]

    @property
    def work(self) -> int:
        """Cells gone through so far: those of the joint table once for each factor that they were multiplied with."""
        return self._went[0]

    def _go_through(self, factors: int) -> None:
        self._went[0] += self.pi.size * factors + sum(len(cells.shares) for cells in self._bounded)

    def _identification(self, p: Floats) -> Identification:
        """R_QI at p; that of the last p is kept, as bounds and gradients are asked for at the same points."""
        key = p[: self.pi.ndim].tobytes()
        if key not in self._last:
            self._last.clear()
            self._last[key] = Identification(self.pi, p[: self.pi.ndim])
            self._go_through(2 * self.pi.ndim)
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
        axes = [axis for axis in self.variables if axis < self.pi.ndim]
        slopes = self._identification(p).slopes(axes)
        self._go_through(len(axes) * (self.pi.ndim + 2))
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
