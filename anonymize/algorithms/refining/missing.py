"""Numbers of which some are missing, as refinement sees them.

A class of numbers and missing values reads as the interval of its numbers, or missing: it loses the width of that
interval and a leaf's share. Lowest and highest code alone do not tell it, for missing is the highest leaf, and the
highest number below it is not known then. So such a column is three axes, whose costs add up to what the class loses:

- `LowEnd`: the lowest number, missing ones lying at the upper end of the column, where they lower nothing;
- `HighEnd`: the highest number, missing ones lying at the lower end;
- a flat axis of two leaves, present and missing, which costs what a class of both loses beyond the width.

By itself, each is only what the sum makes of it: a low end costs more the lower it is, and a class of missing values
alone loses nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.refining.measure import WHOLE, BoxAxis, Places, Singles, TaxonomyAxis, axis_of, cube_of
from anonymize.classes import Integers
from anonymize.domain.numeric import Numeric
from anonymize.table import Attribute


def axes_of(attributes: Sequence[Attribute], codes: Sequence[Integers] | NDArray[Any]) -> list[BoxAxis]:
    """The axes of some attributes, whose codes are given; three of numbers of which some of these are missing."""
    axes: list[BoxAxis] = []
    for attribute, own in zip(attributes, codes, strict=True):
        domain = attribute.domain
        if isinstance(domain, Numeric) and domain.missing is not None and 0 < (own == domain.missing).sum() < len(own):
            axes += _three(domain, own, attribute.weight)
        else:
            axes.append(axis_of(domain, own, attribute.weight))
    return axes


def _three(domain: Numeric, codes: Integers, weight: float) -> list[BoxAxis]:
    missing = codes == domain.missing
    position = domain.cost(np.zeros(len(codes), np.int64), np.where(missing, 0, codes))
    low, high = (np.where(missing, beyond, position) for beyond in (1.0, 0.0))
    share, last = np.float32(weight / domain.size), np.float32(weight)
    table = np.array([[-last, share - last], [share - last, 0]], np.float32)
    levels = np.array([[0, 1], [0, 0]]), np.array([[0, 1], [1, 1]])
    present = TaxonomyAxis(missing.astype(np.int64), table.ravel(), cube_of(table), 2, *levels, rests=False)
    return [LowEnd((weight * low).astype(np.float32), last), HighEnd((weight * high).astype(np.float32)), present]


class _End(ABC):
    """What both ends have in common."""

    rests: ClassVar[bool] = False

    def line(self, places: Places) -> Singles:
        """Half of what numbers are apart, as there are two ends."""
        return np.asarray(places, np.float32) * np.float32(0.5)

    def between(self, places: Places, others: Places) -> Singles:
        """See BoxAxis; what the farther of the two ends costs."""
        return self.joined(places, places, others)

    @abstractmethod
    def joined(self, low: Places, high: Places, places: Places) -> Singles:
        """See BoxAxis."""


@dataclass(frozen=True)
class LowEnd(_End):
    """Costs how far the lowest number lies below the upper end of the column, `weight`."""

    places: Places
    weight: np.float32

    def cost(self, low: Places, high: Places) -> Singles:
        """See BoxAxis."""
        return np.asarray(self.weight - low)

    def joined(self, low: Places, high: Places, places: Places) -> Singles:
        """See BoxAxis."""
        return np.asarray(self.weight - np.minimum(low, places))

    def join(self, total: Singles, low: Places, high: Places, places: Places, work: Singles) -> None:
        """See BoxAxis."""
        total += self.joined(low, high, places)

    def spread(self, low: Places, high: Places, places: Places, scale: Singles, out: Singles, work: Singles) -> Singles:
        """See BoxAxis."""
        np.minimum(low, places, out=out)
        np.subtract(self.weight, out, out=out)
        out *= scale
        return out

    def around(self, places: Places, low: Places, high: Places, rng: np.random.Generator) -> tuple[Places, Places]:
        """Open above, and below as an interval of numbers."""
        left = np.maximum(places - (high - low) * rng.random(places.shape, np.float32) ** np.float32(1.5), low)
        return np.where(rng.random(places.shape) < WHOLE, low, left), np.broadcast_to(high, places.shape)


@dataclass(frozen=True)
class HighEnd(_End):
    """Costs how far the highest number lies above the lower end of the column."""

    places: Places

    def cost(self, low: Places, high: Places) -> Singles:
        """See BoxAxis."""
        return np.asarray(high).copy()

    def joined(self, low: Places, high: Places, places: Places) -> Singles:
        """See BoxAxis."""
        return np.asarray(np.maximum(high, places))

    def join(self, total: Singles, low: Places, high: Places, places: Places, work: Singles) -> None:
        """See BoxAxis."""
        total += self.joined(low, high, places)

    def spread(self, low: Places, high: Places, places: Places, scale: Singles, out: Singles, work: Singles) -> Singles:
        """See BoxAxis."""
        np.maximum(high, places, out=out)
        out *= scale
        return out

    def around(self, places: Places, low: Places, high: Places, rng: np.random.Generator) -> tuple[Places, Places]:
        """Open below, and above as an interval of numbers."""
        right = np.minimum(places + (high - low) * rng.random(places.shape, np.float32) ** np.float32(1.5), high)
        return np.broadcast_to(low, places.shape), np.where(rng.random(places.shape) < WHOLE, high, right)
