"""Composition: puts releases of the same people together.

Knows: the quasi-identifiers of one person, who is in all releases.
Does: takes the sensitive values where the person could be in each release, by regions that overlap, and guesses the one
that all make likeliest; a value that one of them rules out is none.
Success: the value is the person's. Baseline: the same guess from this release alone, so that the excess is what the
earlier ones add. Control: the same attack on people who are in none.
Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md; their baselines are those of this release alone.
Remedy: make releases of the same people in one series (`--start-series STATE`, then `--after STATE`).
Source: Ganta, Kasiviswanathan and Smith, Composition attacks and auxiliary information in data privacy, KDD 2008
(intersection).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anonymize.attacks.majority import offered
from anonymize.attacks.methods import guessed, normalized, prior
from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success
from anonymize.classes import Floats

ID = "composition"
KNOWS = "the quasi-identifiers of a person, and earlier releases"


def attack(scene: Scene) -> list[Success]:
    """A success for each sensitive attribute; none without an earlier release."""
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
    return successes


def _together(new: Floats, old: Floats, common: Floats) -> Floats:
    """(people, size) what both say of each value, beyond how common it is; what the new one says where they contradict
    each other. What several releases say is put together one by one."""
    weights = np.divide(new * old, common, out=np.zeros_like(new), where=common > 0)
    empty = weights.sum(axis=1) <= 0
    weights[empty] = new[empty]
    return normalized(weights, common)
