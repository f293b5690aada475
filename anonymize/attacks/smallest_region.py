"""Smallest region: finds the class of somebody whom several classes cover.

Knows: the quasi-identifiers of a person in the release, and that the method puts people where they lose little.
Does: takes the classes whose regions cover the person, and of these the one that stands for the fewest combinations of
values; of several such, one by its rows.
Success: the person is in that class. Where it is not known which row is the person's, the chance is what the attacker
himself believes, a class counting the more the more rows it has and the fewer combinations it stands for.
Baseline: a class picked by its rows among all that cover the person. Control: none, as people who are not in the
release have no class.
Figures: the median over the targets of the rows that may be theirs, by regions alone (`by_regions`) and in the smallest
of these regions (`by_method`).
Limits: a class that he finds still has as many rows as was required, so that no privacy model bounds him; he is within
`--max-excess` or `risk.max_excess` only where he is named. Where no regions overlap there is nothing to find, and the
excess is 0.
Remedy: a larger k (`-k`), which is what is left of the rows, or a release by level (`incognito`), whose classes do not
overlap.
Source: the prosecutor of Dankar and El Emam, PAIS 2010, who looks for the class in place of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anonymize.attacks.scene import Scene, ShownRows, TargetPeople
from anonymize.attacks.success import Success
from anonymize.classes import Floats, Ints

ID = "smallest-region"
KNOWS = "the quasi-identifiers of a person in the release, and that the method puts people where they lose little"
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
    def of(cls, pairs: Any, release: ShownRows, class_of: Ints | None) -> CoveredPeople:
        """`pairs` (people, classes) sparse, the classes that cover each; `class_of` (people,): where each is, None
        where that is not known."""
        people, classes = pairs.shape[0], pairs.indices
        who = np.repeat(np.arange(people), np.diff(pairs.indptr))
        rows, density = release.sizes[classes].astype(float), release.density[classes]
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


def covered(release: ShownRows, people: TargetPeople, pairs: Any) -> CoveredPeople:
    """Some people of a release, and the `pairs` of them and the classes that cover them."""
    return CoveredPeople.of(pairs, release, None if people.row_of is None else release.class_of[people.row_of])


def attack(scene: Scene) -> list[Success]:
    """The class of each target."""
    each = covered(scene.release, scene.targets, scene.candidates)
    placed, every = np.maximum(each.by_method, 1.0), np.maximum(each.by_regions, 1.0)
    if scene.targets.row_of is None:
        return [Success(each.belief, each.by_method / every, figures=each.medians())]
    return [Success(each.own_smallest * each.own / placed, each.own / every, figures=each.medians())]
