"""Singling out by one column: finds a condition on one column that exactly one person meets.

Knows: the release alone.
Does: tries every span of a quasi-identifier that the release shows, the tails that its outermost spans leave, and every
sensitive value.
Success: exactly one person of the original meets the condition. Baseline: the chance that a condition as rare isolates
somebody. Control: the same conditions on as many people who are not in the release.
Figures: how many of the conditions isolate somebody. Every condition is tried, so that the excess has no interval.
Remedy: round or band the column (`round: 10`), or list it as a quasi-identifier.
Source: Giomi and others, PoPETs 2023, section 4.1; Article 29 Working Party, Opinion 05/2014; Cohen and Nissim, PNAS
2020.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anonymize.attacks.methods import isolating, spanned
from anonymize.attacks.scene import Scene, TargetPeople
from anonymize.attacks.success import Success
from anonymize.classes import Ints
from anonymize.domain.leafsets import LeafSets

ID = "singling-out-univariate"
KNOWS = "the release alone"


def attack(scene: Scene) -> list[Success]:
    """One success for all columns."""

    def count(people: TargetPeople) -> Ints:
        return np.concatenate([*_spans(scene, people), *_values(scene, people)])

    success = isolating(scene, ID, count, None, complete=True)
    return [replace(success, figures={"isolating": int(success.hits.sum())})]


def _spans(scene: Scene, people: TargetPeople) -> list[Ints]:
    """For each quasi-identifier, how many people meet each condition on it."""
    counts = []
    for column, size in enumerate(scene.sizes):
        cells = scene.release.cells(column)
        ends = np.stack([cells.first, cells.last], axis=1)
        if cells.gapped is not None:
            _, sets = np.unique(cells.gapped.which, return_index=True)
            sets = sets[cells.gapped.which[sets] >= 0]
            counts.append(spanned(people.codes[:, column], size, cells.of_cells(sets)))
            ends = ends[cells.gapped.which < 0]
        if len(cells.first):
            tails = [[0, cells.last.min()], [cells.first.max(), size - 1]]
            ends = np.unique(np.concatenate([ends, tails]), axis=0)
        counts.append(spanned(people.codes[:, column], size, LeafSets(ends[:, 0], ends[:, 1])))
    return counts


def _values(scene: Scene, people: TargetPeople) -> list[Ints]:
    """For each sensitive attribute, how many people have each value that the release shows."""
    counts = []
    for name, size in scene.sensitive.items():
        release, occurring = scene.release.values[name], people.values[name]
        present = np.unique(release[release >= 0])
        counts.append(spanned(occurring, size, LeafSets(present, present)))
    return counts
