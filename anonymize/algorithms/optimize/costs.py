"""What sets of splits cost: the cost of a set of classes, a lower bound on what any regrouping of its cells can cost,
what one more split does to them, and the best set that any part of the search has seen.

Source: Bayardo and Agrawal, Data privacy through optimal k-anonymization, ICDE 2005, sections 3.2 and 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Protocol

import numpy as np

from anonymize.classes import Bools, Ints
from anonymize.records import dataclass


class Cost(Protocol):
    """All figures are whole numbers. Groups of rows are given by their sizes (n,) and labels (n, labels)."""

    @property
    def suppressed(self) -> int:
        """Cost of a suppressed row."""

    @property
    def single(self) -> int:
        """The least that a row costs in a class of rows of a `linear` group."""

    def linear(self, sizes: Ints, labels: Ints) -> Bools:
        """(n,) of which groups the `least` is `single` for each row, and that of any part of them, too."""

    def class_cost(self, sizes: Ints, labels: Ints) -> Ints:
        """(n,) cost of each as a class that is not suppressed."""

    def least(self, sizes: Ints, labels: Ints) -> Ints:
        """(n,) the least that the rows of each group cost in any class that has all of them and is not suppressed. For
        the union of two groups it is never less than the sum for both."""

    def whole(self, sizes: Ints, labels: Ints, pieces: Ints | int) -> Ints:
        """(n,) the least that the rows of each group cost where they are parted among at most so many classes that are
        not suppressed, and others that are. Labels may have more axes; the last is that of the labels."""

    def rises(self, sizes: Ints) -> Bools:
        """(n,) which groups may have a higher `least` with another group, that is not among them, than both alone."""

    def no_gain(self, remaining: Ints, lost: Ints) -> Bools:
        """(n,) whether it never pays to suppress `lost` rows, or any of them, to part them from `remaining` rows, or
        any."""


@dataclass(frozen=True)
class SizeRules:
    """What is known of a class by its size: one of fewer than `minimum` rows is suppressed. `allowed`: how many rows
    may be."""

    minimum: int
    cost: Cost
    allowed: int

    def fails(self, sizes: Ints) -> Bools:
        """Elementwise whether a class of so many rows is suppressed."""
        return sizes < self.minimum

    def charged(self, failing: Bools, sizes: Ints, costs: Ints) -> Ints:
        """Elementwise what classes cost: those that are `failing` as suppressed rows, the others what `costs` says."""
        return np.where(failing, sizes * self.cost.suppressed, costs)


@dataclass(frozen=True)
class Discernibility:
    """A row costs the size of its class, a suppressed one the number of all `rows`. No class has fewer than `minimum`
    rows."""

    rows: int
    minimum: int

    @property
    def suppressed(self) -> int:
        return self.rows

    @property
    def single(self) -> int:
        return self.minimum

    def linear(self, sizes: Ints, labels: Ints) -> Bools:
        """(n,) which groups have up to `minimum` rows: each row costs that much at least."""
        return np.asarray(sizes <= self.minimum)

    def class_cost(self, sizes: Ints, labels: Ints) -> Ints:
        return sizes * sizes

    def least(self, sizes: Ints, labels: Ints) -> Ints:
        return sizes * np.maximum(sizes, self.minimum)

    def whole(self, sizes: Ints, labels: Ints, pieces: Ints | int) -> Ints:
        """(n,) what even parts cost, which cost least. To suppress one row more costs `rows`, and saves no more than
        the class that it leaves loses, 2 x - 1 for one of x rows; where that might be more, nothing is known."""
        parts = np.maximum(pieces, 1)
        each, over = sizes // parts, sizes % parts
        even = parts * each * each + over * (2 * each + 1)
        return np.where(2 * each + 1 <= self.rows, even, 0)

    def rises(self, sizes: Ints) -> Bools:
        """(n,) which of two groups, both as large, have more than `minimum` rows together."""
        return np.asarray(2 * sizes > self.minimum)

    def no_gain(self, remaining: Ints, lost: Ints) -> Bools:
        """For a class of a + b rows (a + b)^2 <= a^2 + rows * b if and only if 2 a + b <= rows."""
        return np.asarray(2 * remaining + lost <= self.rows)


@dataclass(frozen=True)
class Classification:
    """A row costs 1 for each target whose label is not the most frequent one of its class; a suppressed row costs 1 for
    each target. `first` (targets + 1,): where the labels of each target begin."""

    first: tuple[int, ...]

    @property
    def suppressed(self) -> int:
        return len(self.first) - 1

    @property
    def single(self) -> int:
        return 0

    def linear(self, sizes: Ints, labels: Ints) -> Bools:
        """(n,) which groups have one label, and cost nothing."""
        return np.asarray(self.class_cost(sizes, labels) == 0)

    def class_cost(self, sizes: Ints, labels: Ints) -> Ints:
        most = np.maximum.reduceat(labels, self.first[:-1], axis=-1) if len(labels) else labels
        return np.asarray(sizes * self.suppressed - most.sum(axis=-1))

    def least(self, sizes: Ints, labels: Ints) -> Ints:
        return self.class_cost(sizes, labels)

    def whole(self, sizes: Ints, labels: Ints, pieces: Ints | int) -> Ints:
        """(n,) what all rows cost together as one class, as a row that is suppressed saves no more than it costs; of
        several classes nothing is known."""
        return np.where(np.asarray(pieces) <= 1, self.class_cost(sizes, labels), 0)

    def rises(self, sizes: Ints) -> Bools:
        """All: any may have another label than its neighbour."""
        return np.ones(len(sizes), np.bool_)

    def no_gain(self, remaining: Ints, lost: Ints) -> Bools:
        """Always: rows that join a class cost at most 1 each for a target."""
        return np.ones(np.shape(remaining), np.bool_)


# --- one more split ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Additions:
    """One more split in the head, (splits,) each: how much the cost, the rows that are suppressed, those that are ruled
    out and the bound grow. `useful`: classes whose parting can pay, here or below. `apart`: pairs of rows that are in
    one class and would not be. `within`: no set below with the split costs less."""

    cost: Ints
    suppressed: Ints
    ruled_out: Ints
    bound: Ints
    useful: Ints
    apart: Ints
    within: Ints


# --- the best set of splits -------------------------------------------------------------------------------------------

REMEMBERED = 1 << 16
"""Sets whose release is remembered, at most."""


@dataclass(frozen=True)
class SetRelease:
    """What a set releases. `cost`: None where it is not to be released. `least`: what it costs at least, whichever of
    its classes are suppressed; None where no choice of them is possible."""

    cost: int | None
    least: int | None


@dataclass
class BestSplits:
    """No set at first. `work`: numbers read so far. `judge`: the release of a set; None where its classes, each by
    itself, say all there is to know."""

    cost: int | None = None
    mask: Bools | None = None
    work: int = 0
    judge: Callable[[Bools], SetRelease] | None = None
    _judged: dict[bytes, SetRelease] = field(default_factory=dict)

    def offer(self, cost: int, mask: Bools) -> bool:
        """Takes a set that is feasible, where it is better. `cost`: what its classes cost by themselves."""
        if self.reached(cost):
            return False
        released = SetRelease(cost, cost) if self.judge is None else self.released(mask)
        if released.cost is None or self.reached(released.cost):
            return False
        self.cost, self.mask = released.cost, mask.copy()
        return True

    def released(self, mask: Bools) -> SetRelease:
        """The release of a set, judged once."""
        assert self.judge is not None
        key = np.packbits(mask).tobytes()
        if key not in self._judged:
            if len(self._judged) >= REMEMBERED:
                self._judged.clear()
            self._judged[key] = self.judge(mask)
        return self._judged[key]

    def reached(self, bound: int) -> bool:
        """Whether nothing below a bound can be better."""
        return self.cost is not None and bound >= self.cost
