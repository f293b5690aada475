"""Linkability: finds out which of two lists' entries are about the same person.

Knows: half of the quasi-identifiers of the targets in one list, the other half in another list, neither with names that
agree: of the spec's quasi-identifiers the first list has every second one.
Does: for each entry of the first list and each of the second, sums up how probable it is that both are about one
person: over the released classes that span both, those that stand for fewer combinations more, against what would be
expected if halves did not go together. Takes the most probable entry.
Success: it is the right one; the chance is one over those alike. Baseline: an entry picked at random. Control: the same
with people who are not in the release.
Limits: at most 1,000 targets, as every entry is compared with every other one.
Remedy: a larger k (`-k`), or some of the quasi-identifiers coarser (`levels: {min: 1}`).
Source: Giomi and others, PoPETs 2023, section 4.2; by regions in place of nearest neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.attacks.scene import Scene, TargetPeople
from anonymize.attacks.success import Success
from anonymize.classes import Floats

ID = "linkability"
KNOWS = "two halves of the quasi-identifiers, in lists that do not name people"
MOST = 1000


def attack(scene: Scene) -> list[Success]:
    """One success; none where there are not two quasi-identifiers."""
    if len(scene.attributes) < 2:
        return []
    targets = _chances(scene, scene.targets)
    control = None
    if scene.control is not None:
        control = _chances(scene, scene.control.of(np.arange(min(len(scene.control), len(targets)))))
    return [Success(targets, np.full(len(targets), 1 / max(len(targets), 1)), control)]


def _chances(scene: Scene, people: TargetPeople) -> Floats:
    """(people,) the chance that the right entry of the second list is taken for each of the first."""
    some = people.of(np.unique(np.linspace(0, len(people) - 1, min(len(people), MOST)).astype(int)))
    if not len(some):
        return np.zeros(0)
    columns = range(len(scene.attributes))
    first, second = (scene.release.candidates(some.codes, list(columns)[start::2]) for start in (0, 1))
    weights = scene.release.sizes * scene.release.density
    together = _sum_of_products(first, weights, second)
    expected = np.asarray((second * weights).sum(axis=1)).ravel()
    score = together / np.maximum(expected, 1e-300)
    best = score >= score.max(axis=1, keepdims=True) * (1 - 1e-9)
    return np.asarray(best.diagonal() / best.sum(axis=1))


def _sum_of_products(first: Any, weights: Any, second: Any) -> Floats:
    """(people, people) the weights of the classes that entries have in common. Sparse, so that only classes that span
    an entry of each list count."""
    scaled = first.copy()
    scaled.data *= weights[scaled.indices]
    return np.asarray((scaled @ second.T).toarray())
