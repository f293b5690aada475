"""Which classes cover whom, where regions overlap: the rows that may be somebody's.

A class has as many rows as was required. Whoever reads its cells alone has to take the rows of every class whose cells
could be about the person. Whoever knows that a method puts people where they lose little takes the smallest region, and
is mostly right: of what overlapping adds, little is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonymize.classes import Floats, Ints
from anonymize.domain.leafsets import LeafSets, densities

PAIRS = 1 << 24
"""Pairs of a person and a class that are looked at together."""
TIE = 1e-12
"""Regions that are this much smaller than another are as small."""


@dataclass(frozen=True)
class CoveredPeople:
    """Whom which classes cover. `by_regions` (people,): the rows of all classes that cover each; `by_method` (people,):
    those of the smallest of these; `own` (people,): those of the person's class, `own_smallest` whether it is one of
    the smallest; `belief` (people,): how likely the attacker thinks the smallest ones are. 0 where nothing is known."""

    by_regions: Floats
    by_method: Floats
    own: Floats
    own_smallest: Floats
    belief: Floats

    @classmethod
    def of(
        cls, people: int, pairs: tuple[Ints, Ints], sizes: Ints, of_class: Floats, class_of: Ints | None
    ) -> CoveredPeople:
        """`pairs`: of a person and a class that covers the person. `sizes`, `of_class` (classes,): rows of each, and
        its density; `class_of` (people,): where each is, None where that is not known."""
        who, classes = pairs
        rows, density = sizes[classes].astype(float), of_class[classes]
        highest = np.zeros(people)
        np.maximum.at(highest, who, density)
        smallest = density >= highest[who] * (1 - TIE)
        is_own = np.zeros(len(who), np.bool_) if class_of is None else classes == class_of[who]

        def summed(weights: Any) -> Floats:
            return np.bincount(who, weights, people).astype(float)

        likely = summed(rows * density * smallest) / np.maximum(summed(rows * density), 1e-300)
        return cls(summed(rows), summed(rows * smallest), summed(rows * is_own), summed(is_own & smallest), likely)

    def medians(self) -> dict[str, float | None]:
        """The rows that may be somebody's, by the median person."""
        sizes = {"by_regions": self.by_regions, "by_method": self.by_method}
        return {name: float(np.median(each)) if len(each) else None for name, each in sizes.items()}


def covering(codes: Ints, columns: Sequence[LeafSets]) -> tuple[Ints, Ints]:
    """Pairs of a person and a class that covers the person. `codes` (people, attributes), -1 where missing, which every
    class covers; `columns`: of each attribute the cells of the classes."""
    classes = len(columns[0].first)
    step = max(PAIRS // max(classes, 1), 1)
    parts = []
    for start in range(0, len(codes), step):
        some = codes[start : start + step]
        covers = np.ones((len(some), classes), np.bool_)
        for column, cells in enumerate(columns):
            code = some[:, column, None]
            covers &= cells.spanning(code) | (code < 0)
        who, which = np.nonzero(covers)
        parts.append((who + start, which))
    people, which = (np.concatenate([np.zeros(0, np.int64), *each]) for each in zip(*parts, strict=True))
    return people, which


def covered(codes: Ints, class_of: Ints, columns: Sequence[LeafSets], sizes: Ints) -> CoveredPeople:
    """People in classes of which each is a region, by what these show. `class_of` (people,)."""
    return CoveredPeople.of(len(codes), covering(codes, columns), sizes, densities(columns, len(sizes)), class_of)
