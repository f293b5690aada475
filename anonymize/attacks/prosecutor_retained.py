"""Prosecutor who knows what is kept: finds the row of somebody of whom he knows the kept columns as well.

Knows: the quasi-identifiers of one person, the columns that the release keeps as they are (insensitive, targets, the
sampling weight as it is released), and that the person is in the release.
Does: takes the rows whose cells could all be about the person, as prosecutor does, and of these the ones that show the
person's values in every kept column; he picks one of those that stand for the fewest combinations of values.
Success: the row is the person's: one over the rows that are left, if it is among them. Where it is not known which row
is the person's, the chance is what the attacker himself believes.
Baseline: a row picked at random. Control: none, as people who are not in the release have no row.
Figures: the highest chance of any target, and the share of targets whose chance is above 0.2.
Limits: k-anonymity promises nothing against him, so that he is within `--max-excess` or `risk.max_excess` only where he
is named.
Remedy: bound what is kept (`privacy: {passing: {uniques: 0}}`), or make quasi-identifiers of the kept columns.
Source: Dankar and El Emam, PAIS 2010, as prosecutor; that what is kept singles people out as quasi-identifiers do,
Narayanan and Shmatikov, Myths and fallacies of "personally identifiable information", CACM 2010.
"""

from __future__ import annotations

import numpy as np

from anonymize.attacks.methods import picked, shares_of, weighed
from anonymize.attacks.prosecutor import AT_RISK
from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success

ID = "prosecutor-retained"
KNOWS = "the quasi-identifiers and the kept columns of a person in the release"


def attack(scene: Scene) -> list[Success]:
    """The chance of each target's row; nothing where no column is kept."""
    from scipy.sparse import csr_array

    release, targets = scene.release, scene.targets
    if release.kept is None or targets.kept is None:
        return []
    size = int(max(release.kept.max(initial=0), targets.kept.max(initial=0))) + 1
    parts, part_of = np.unique(release.class_of * size + release.kept, return_inverse=True)
    classes = parts // size
    finer = release.of_classes(classes, part_of)
    # A pair of a target and a class becomes one with that part of the class which shows the target's values, if any.
    who = np.repeat(np.arange(len(targets)), np.diff(scene.candidates.indptr))
    wanted = scene.candidates.indices.astype(np.int64) * size + targets.kept[who]
    place = np.minimum(np.searchsorted(parts, wanted), len(parts) - 1)
    there = parts[place] == wanted
    pairs = csr_array((np.ones(there.sum()), (who[there], place[there])), shape=(len(targets), len(parts)))
    hits = picked(shares_of(weighed(pairs, finer)), targets, finer)
    baseline = np.full(len(hits), 1 / max(release.rows, 1))
    figures = {"max": float(hits.max(initial=0)), "at_risk": float((hits > AT_RISK).mean()) if len(hits) else None}
    return [Success(hits, baseline, figures=figures)]
