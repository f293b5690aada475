"""Inference by naive Bayes: learns from all classes how values go together, and applies it within one (deFinetti).

Knows: the quasi-identifiers of one person.
Does: estimates from the whole release how probable each value of each quasi-identifier is beside each sensitive value,
a cell that spans several values counting for each alike. Weighs the sensitive values of the classes that could be the
person's by that, and guesses the likeliest.
Success: the value is the person's. Baseline: the most frequent value of the whole release. Control: the same attack on
people who are not in the release.
Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
Limits: quasi-identifiers are taken to be independent given the sensitive value, and nothing is iterated.
Remedy: require closeness of the column (`model: t-closeness, t: 0.2`); `-l` alone does not bound it.
Source: Kifer, Attacks on privacy and deFinetti's theorem, SIGMOD 2009.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.attacks.methods import guesses, normalized
from anonymize.attacks.scene import Scene, TargetPeople
from anonymize.attacks.success import Success
from anonymize.classes import Floats

ID = "inference-bayes"
KNOWS = "the quasi-identifiers of a person"


def attack(scene: Scene) -> list[Success]:
    """A success for each sensitive attribute."""

    def offered(name: str, size: int, before: Floats) -> list[Floats]:
        counts = scene.release.counts(name, size)
        model = likelihoods(scene, counts)
        return [
            normalized((pairs @ counts).toarray() * _evidence(people, model), before)
            for people, pairs in scene.groups()
        ]

    return guesses(scene, offered)


def likelihoods(scene: Scene, counts: Any) -> list[Floats]:
    """For each quasi-identifier (codes, size) the probability of each code beside each sensitive value over that of the
    code altogether. The rows of a class are spread evenly over what it spans. One row is added, spread as all rows
    are."""
    cells = counts.tocoo()
    classes, values = cells.coords
    ratios = []
    for column, size in enumerate(scene.sizes):
        cells_of_classes = scene.release.cells(column).of_cells(classes)
        beside = cells_of_classes.spread(cells.data, size, values, counts.shape[1])
        overall = np.maximum(beside.sum(axis=1, keepdims=True), 1e-9)
        overall /= overall.sum()
        ratios.append(np.asarray((beside + overall) / (beside.sum(axis=0) + 1) / overall))
    return ratios


def _evidence(people: TargetPeople, model: list[Floats]) -> Floats:
    """(people, size) how much what is known of each person speaks for each sensitive value, the most being 1."""
    score = np.zeros((len(people), model[0].shape[1] if model else 1))
    for column, ratio in enumerate(model):
        present = people.codes[:, column] >= 0
        score[present] += np.log(np.maximum(ratio[people.codes[present, column]], 1e-12))
    return np.asarray(np.exp(score - score.max(axis=1, keepdims=True)))
