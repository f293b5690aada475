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

from typing import Any

import numpy as np

from anonymize.attacks.scene import Scene, ShownRows
from anonymize.attacks.success import Success
from anonymize.classes import Ints
from anonymize.risk.covering import CoveredPeople

ID = "smallest-region"
KNOWS = "the quasi-identifiers of a person in the release, and that the method puts people where they lose little"


def covered(release: ShownRows, pairs: Any, class_of: Ints | None) -> CoveredPeople:
    """`pairs` (people, classes) sparse, the classes that cover each; `class_of` (people,): where each is, None where
    that is not known."""
    who = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
    return CoveredPeople.of(pairs.shape[0], (who, pairs.indices), release.sizes, release.density, class_of)


def attack(scene: Scene) -> list[Success]:
    """The class of each target."""
    row_of, class_of = scene.targets.row_of, scene.release.class_of
    each = covered(scene.release, scene.candidates, None if row_of is None else class_of[row_of])
    placed, every = np.maximum(each.by_method, 1.0), np.maximum(each.by_regions, 1.0)
    if row_of is None:
        return [Success(each.belief, each.by_method / every, figures=each.medians())]
    return [Success(each.own_smallest * each.own / placed, each.own / every, figures=each.medians())]
