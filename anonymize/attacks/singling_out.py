"""Singling out by all columns: finds a condition on several columns that exactly one person meets.

Knows: the release alone.
Does: takes a released row, and asks for the people who lie in all of its spans and have its sensitive values.
Success: exactly one person of the original does. Baseline: the chance that a condition as rare, if columns were
independent, isolates somebody. Control: none, as the baseline has the same rarity.
Limits: people of one class who differ in their sensitive values are singled out by them, so that k-anonymity alone does
not prevent it, as Cohen and Nissim show.
Source: Giomi and others, PoPETs 2023, section 4.1; Cohen and Nissim, PNAS 2020.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from anonymize.attacks.scene import Scene, ShownRows
from anonymize.attacks.success import Success
from anonymize.attacks.weights import by_chance, spanned
from anonymize.classes import Floats, Ints

ID = "singling-out"
KNOWS = "the release alone"


def attack(scene: Scene) -> list[Success]:
    """As many rows as there are targets, drawn."""
    from scipy.sparse import csr_array

    release, everybody = scene.release, scene.everybody
    count = min(len(scene.targets), release.rows)
    rows = np.sort(scene.generator(ID).choice(release.rows, count, replace=False)) if count else np.zeros(0, np.int64)
    classes, which = np.unique(release.class_of[rows], return_inverse=True)
    drawn = ShownRows(release.first[classes], release.last[classes], np.arange(len(classes)))
    joint_values = _joint([everybody.values[name] for name in scene.sensitive], len(everybody))
    theirs = _joint([release.values[name] for name in scene.sensitive], release.rows)[rows]
    codes = np.unique(np.concatenate([joint_values, theirs], axis=0), axis=0, return_inverse=True)[1].ravel()
    values = csr_array(
        (np.ones(len(joint_values)), (np.arange(len(joint_values)), codes[: len(joint_values)])),
        shape=(len(joint_values), codes.max(initial=0) + 1),
    )
    meeting = (drawn.candidates(everybody.codes).T.tocsr() @ values).tocsr()
    counts = np.asarray(meeting[which, codes[len(joint_values) :]]).ravel() if count else np.zeros(0)
    return [Success((counts == 1).astype(float), by_chance(_weights(scene, rows), len(everybody)))]


def _joint(values: list[Ints], rows: int) -> Ints:
    """(rows, attributes) sensitive codes side by side."""
    return np.stack(values, axis=1) if values else np.zeros((rows, 1), np.int64)


def _weights(scene: Scene, rows: Ints) -> Floats:
    """(rows,) the share of people who would meet the condition of each released row if columns were independent."""
    everybody, which = scene.everybody, scene.release.class_of[rows]
    shares = [
        spanned(everybody.codes[:, column], size, scene.release.first[which, column], scene.release.last[which, column])
        for column, size in enumerate(scene.sizes)
    ]
    for name, size in scene.sensitive.items():
        value = scene.release.values[name][rows]
        shares.append(np.where(value < 0, len(everybody), spanned(everybody.values[name], size, value, value)))
    return reduce(np.multiply, [each / max(len(everybody), 1) for each in shares], np.ones(len(rows)))
