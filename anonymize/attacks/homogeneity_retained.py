"""Homogeneity of what is kept: names the value of a kept column where everybody of a class has the same one.

Knows: the quasi-identifiers of one person.
Does: takes the classes that could be the person's, by regions that overlap, a class the more the fewer combinations of
values it stands for, and names the value of a kept column (insensitive, targets, the sampling weight as it is released)
where at least 0.95 of what they show is that value; elsewhere he names the most frequent value of the whole release.
Success: the value is the person's. Baseline: the most frequent value of the whole release. Control: the same attack on
people who are not in the release.
Figures: the share of targets for whom classes name a value (`named`).
Limits: no privacy model bounds what is kept, so that he is within `--max-excess` or `risk.max_excess` only where he is
named. A column that is worth hiding is `sensitive`.
Remedy: list the column as `sensitive`, so that `-l` is about it.
Source: Machanavajjhala and others, l-diversity, TKDD 2007 (homogeneity).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.attacks.methods import CERTAIN, prior
from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success
from anonymize.classes import Bools, Ints

ID = "homogeneity-retained"
KNOWS = "the quasi-identifiers of a person"


def attack(scene: Scene) -> list[Success]:
    """A success for each kept column; none where no column is kept."""
    kept = scene.kept()
    return [] if kept is None else [_of_column(kept, name, size) for name, size in kept.sensitive.items()]


def _of_column(scene: Scene, name: str, size: int) -> Success:
    common = int(prior(scene.release, name, size).argmax())
    hits, named = [], []
    for truth, (values, certain) in zip(scene.truths(name), _named(scene, name, size), strict=True):
        present = truth >= 0
        hits.append((np.where(certain, values, common) == truth)[present].astype(float))
        named.append(certain[present])
    truth = scene.targets.values[name]
    baseline = (truth[truth >= 0] == common).astype(float)
    figures = {"named": float(named[0].mean()) if len(named[0]) else None}
    control = hits[1] if len(hits) > 1 else None
    return Success(hits[0], baseline, control, name, figures=figures)


def _named(scene: Scene, name: str, size: int) -> list[tuple[Ints, Bools]]:
    """Of the targets, and of the control if there is one: (people,) the value that most of what is shown of each is,
    and whether nearly all is. Only values that nearly all of some class has can be that."""
    release = scene.release
    counts: Any = release.counts(name, size)
    rows = np.asarray(counts.sum(axis=1)).ravel()
    shares = counts.tocoo()
    values = np.unique(shares.coords[1][shares.data >= CERTAIN * rows[shares.coords[0]]])
    weighed = counts.tocsc()[:, values].multiply(release.density[:, None]).tocsr()
    results = []
    for people, pairs in scene.groups():
        if not len(values):
            results.append((np.zeros(len(people), np.int64), np.zeros(len(people), np.bool_)))
            continue
        offered, total = (pairs @ weighed).tocsr(), pairs @ (rows * release.density)
        most = offered.max(axis=1).toarray().ravel()
        results.append((values[np.asarray(offered.argmax(axis=1)).ravel()], (total > 0) & (most >= CERTAIN * total)))
    return results
