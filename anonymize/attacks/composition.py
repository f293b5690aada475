"""Composition: puts releases of the same people together.

Knows: the quasi-identifiers of one person, who is in all releases, or was in the one before and has left since; and not
which rows belong together.
Does: takes the sensitive values where the person could be in each release, by regions that overlap, and guesses the one
that all make likeliest; a value that one of them rules out is none. Of somebody who left, compares two files: takes the
values of the person's class in the earlier one, and those of the rows in the later one whose regions lie within it (of
several such classes the smallest), and guesses the value of which most are missing.
Success: the value is the person's. Baseline: the same guess from one release alone, so that the excess is what the
other one adds: from this one, and of those who left from their class in the one before. Control: the same attack on
people who are in none; of those who left there is none.
Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md; their baselines are those of one release alone. Where it is
not known who left (`--series` with `--key` says so), every value that is missing counts as that of somebody who did.
Limits: nothing bounds what two files tell of those who left, a series neither: it says what is excluded of those who
are there. Of groups of values (anatomy) those who left are not attacked.
Remedy: make releases of the same people in one series (`--start-series STATE`, then `--after STATE`); for those who
leave, a larger k and `series: {departures: deferred}`, where they leave k together.
Source: Ganta, Kasiviswanathan and Smith, Composition attacks and auxiliary information in data privacy, KDD 2008
(intersection); for those who left, Xiao and Tao, m-Invariance, SIGMOD 2007, whose counterfeits keep the difference from
telling a value.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anonymize.attacks.majority import offered
from anonymize.attacks.methods import guessed, normalized, prior
from anonymize.attacks.scene import Scene, ShownRows
from anonymize.attacks.success import Success
from anonymize.classes import Floats

ID = "composition"
KNOWS = "the quasi-identifiers of a person, and earlier releases"
LEAVERS = 20_000
"""Of those who left, who are attacked at most."""


def attack(scene: Scene) -> list[Success]:
    """A success for each sensitive attribute, and one for those who left; none without an earlier release."""
    if not scene.earlier:
        return []
    before = [replace(scene, release=each.release, earlier=()) for each in scene.earlier]
    successes = []
    for name, size in scene.sensitive.items():
        common = prior(scene.release, name, size)
        alone = offered(scene, name)
        shares = alone
        for other in before:
            shares = [_together(now, old, common) for now, old in zip(shares, offered(other, name), strict=True)]
        successes.append(guessed(shares, scene.truths(name), alone[0], name))
        successes += [] if _grouped(scene) else _of_leavers(scene, name, size)
    return successes


def _grouped(scene: Scene) -> bool:
    return scene.release.group_of is not None or scene.earlier[-1].release.group_of is not None


def _of_leavers(scene: Scene, name: str, size: int) -> list[Success]:
    """The values of those who are in the last of the earlier releases and not in this one; none where nobody left."""
    earlier = scene.earlier[-1]
    common = prior(earlier.release, name, size)
    before = earlier.release.counts(name, size).toarray()
    gone = missing_values(scene.release, earlier.release, name, size)
    if earlier.row_of is None:
        which, truth = (np.repeat(each, gone[gone > 0].astype(np.int64)) for each in np.nonzero(gone))
    else:
        rows = np.setdiff1d(np.arange(earlier.release.rows), earlier.row_of)
        which, truth = earlier.release.class_of[rows], earlier.release.values[name][rows]
    if len(which) > LEAVERS:
        chosen = scene.generator(ID).choice(len(which), LEAVERS, replace=False)
        which, truth = which[chosen], truth[chosen]
    alone = normalized(before[which], common)
    difference = gone[which]
    shares = np.where(difference.any(axis=1, keepdims=True), difference, alone)
    if not (truth >= 0).any():
        return []
    return [guessed([shares], [truth], alone, f"{name} of those who left")]


def missing_values(release: ShownRows, earlier: ShownRows, name: str, size: int) -> Floats:
    """(earlier classes, size) how many rows more each class had of each value than the rows have that are within it
    now. Each class of now is within the smallest earlier one that spans all of it, or within none."""
    spanning = earlier.candidates(release.first).multiply(earlier.candidates(release.last)).tocsr()
    spanning.data = earlier.density[spanning.indices]
    within = np.asarray(spanning.argmax(axis=1)).ravel()
    some = np.flatnonzero(np.diff(spanning.indptr))
    now = np.zeros((len(earlier.first), size))
    np.add.at(now, within[some], release.counts(name, size).toarray()[some])
    return np.asarray(np.maximum(earlier.counts(name, size).toarray() - now, 0.0))


def _together(new: Floats, old: Floats, common: Floats) -> Floats:
    """(people, size) what both say of each value, beyond how common it is; what the new one says where they contradict
    each other. What several releases say is put together one by one."""
    weights = np.divide(new * old, common, out=np.zeros_like(new), where=common > 0)
    empty = weights.sum(axis=1) <= 0
    weights[empty] = new[empty]
    return normalized(weights, common)
