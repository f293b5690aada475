"""Singling out by all columns: finds a condition on several columns that exactly one person meets.

Knows: the release alone.
Does: takes a released row, and asks for the people who lie in all of its spans and have its sensitive values.
Success: exactly one person of the original does. Baseline: the chance that a condition as rare, if columns were
independent, isolates somebody. Control: the same conditions on as many people who are not in the release.
Limits: people of one class who differ in their sensitive values are singled out by them, so that k-anonymity alone does
not prevent it, as Cohen and Nissim show.
Remedy: fewer columns that are released as they are (`identifiers` leaves one out), as these tell people of one class
apart; a larger k (`-k`) bounds what the others do.
Source: Giomi and others, PoPETs 2023, section 4.1; Cohen and Nissim, PNAS 2020.
"""

from __future__ import annotations

from functools import partial, reduce

import numpy as np

from anonymize.attacks.methods import isolating, spanned
from anonymize.attacks.scene import Scene, TargetPeople
from anonymize.attacks.success import Success
from anonymize.classes import Floats, Ints
from anonymize.domain.leafsets import LeafSets

ID = "singling-out"
KNOWS = "the release alone"


def attack(scene: Scene) -> list[Success]:
    """As many rows as there are targets, drawn."""
    release = scene.release
    count = min(len(scene.targets), release.rows)
    rows = np.sort(scene.generator(ID).choice(release.rows, count, replace=False)) if count else np.zeros(0, np.int64)
    return [isolating(scene, ID, partial(_meeting, scene, rows), _weights(scene, rows))]


def _meeting(scene: Scene, rows: Ints, people: TargetPeople) -> Ints:
    """(rows,) how many people lie in all spans of each released row and have its sensitive values."""
    from scipy.sparse import csr_array

    release = scene.release
    classes, which = np.unique(release.class_of[rows], return_inverse=True)
    drawn = release.of_classes(classes)
    own = _joint([people.values[name] for name in scene.sensitive], len(people))
    theirs = _joint([release.values[name] for name in scene.sensitive], release.rows)[rows]
    codes = np.unique(np.concatenate([own, theirs], axis=0), axis=0, return_inverse=True)[1].ravel()
    values = csr_array(
        (np.ones(len(own)), (np.arange(len(own)), codes[: len(own)])), shape=(len(own), codes.max(initial=0) + 1)
    )
    meeting = (drawn.candidates(people.codes).T.tocsr() @ values).tocsr()
    return np.asarray(meeting[which, codes[len(own) :]]).ravel() if len(rows) else np.zeros(0, np.int64)


def _joint(values: list[Ints], rows: int) -> Ints:
    """(rows, attributes) sensitive codes side by side."""
    return np.stack(values, axis=1) if values else np.zeros((rows, 1), np.int64)


def _weights(scene: Scene, rows: Ints) -> Floats:
    """(rows,) the share of people who would meet the condition of each released row if columns were independent."""
    everybody, which = scene.everybody, scene.release.class_of[rows]
    shares = [
        spanned(everybody.codes[:, column], size, scene.release.cells(column).of_cells(which))
        for column, size in enumerate(scene.sizes)
    ]
    for name, size in scene.sensitive.items():
        value = scene.release.values[name][rows]
        shares.append(
            np.where(value < 0, len(everybody), spanned(everybody.values[name], size, LeafSets(value, value)))
        )
    return reduce(np.multiply, [each / max(len(everybody), 1) for each in shares], np.ones(len(rows)))
