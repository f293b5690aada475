"""The risk of attribute disclosure under randomized response, and how much a row tells of its value: the ratio p / q.

**Amplification.** Compare the probabilities of showing one value, given any two values that it may have been. Their
ratio is largest between a value that is kept and one that is replaced: gamma = p / q. Its logarithm is the epsilon of
local differential privacy.

**Disclosure.** Pr(S = u | QI = a) = R_QI(a) * (pi[a, u] / pi[a]) * R_S(u | a): the chance that an attacker who knows
the person's quasi-identifiers a, who sees the released table and guesses in proportion to the posterior (formula 4),
gets both the quasi-identifiers and then the sensitive value right. It is an average over the draws: for one
observed row the posterior may be higher.

R_QI(a) = pi[a] * sum over b of P[b, a]^2 / (P pi)[b] (formula 9), for all a at once. R_S(u | a) is the same sum over
the distribution of S within a; of a value that does not occur in a the term is q^2 / q, so that only cells that occur
are gone through.

Source: Guo, Ying, Wu: formulas (4) to (9), property 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.channels import kronecker
from anonymize.channels.kronecker import Floats


def epsilon(p: float, d: int) -> float | None:
    """ln(p / q); None where it is infinite, as the value shows itself."""
    if d == 1:
        return 0.0
    q = kronecker.other(p, d)
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
        q = kronecker.other(p, self.size)
        if p == 1:
            return np.ones(len(self.shares))
        seen = (p - q) * self.shares + q
        rest = q * q * self._sum(1 / seen) + q * self.absent
        return self.shares * ((p * p - q * q) / seen + rest[self.owner])

    def reconstructed_slope(self, p: float) -> Floats:
        """(C,) the derivative of R_S by p."""
        q, c = kronecker.other(p, self.size), -1 / (self.size - 1)
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
        turn = kronecker.instead(self._squares[axis], kronecker.squared_slope(p, size), size)
        move = kronecker.instead(self._plain[axis], kronecker.matrix_slope(p, size), size)
        moved = kronecker.apply_along(axis, move, self._seen)
        moved *= self._inverse**2
        slope = kronecker.apply_along(axis, turn, self._back)
        slope -= kronecker.apply(self._squares, moved)
        slope *= self.pi
        return np.asarray(slope.ravel())

    @cached_property
    def _plain(self) -> list[kronecker.Factor]:
        return self._factors(kronecker.matrix)

    @cached_property
    def _squares(self) -> list[kronecker.Factor]:
        return self._factors(kronecker.squared)

    def _factors(self, kind: Callable[[float, int], kronecker.Factor]) -> list[kronecker.Factor]:
        return [kind(each, size) for each, size in zip(self.p, self.pi.shape, strict=True)]

    @cached_property
    def _seen(self) -> Floats:
        """P pi."""
        return kronecker.apply(self._plain, self.pi)

    @cached_property
    def _inverse(self) -> Floats:
        """1 / (P pi); 0 where nothing is ever seen, as such a combination adds nothing."""
        return np.divide(1.0, self._seen, out=np.zeros_like(self._seen), where=self._seen > 0)

    @cached_property
    def _back(self) -> Floats:
        """P squared element by element, times 1 / (P pi)."""
        return kronecker.apply(self._squares, self._inverse)
