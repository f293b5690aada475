"""Composition: puts two releases of the same people together.

Knows: the quasi-identifiers of one person, who is in both releases.
Does: takes the sensitive values where the person could be in each release, by regions that overlap, and guesses the one
that both make likeliest; a value that either rules out is none.
Success: the value is the person's. Baseline: the same guess from this release alone, so that the excess is what the
earlier one adds. Control: the same attack on people who are in neither.
Figures: DCAP, WEAP, TCAP and RAPID, see `guessing`; their baselines are those of this release alone.
Source: Ganta, Kasiviswanathan and Smith, Composition attacks and auxiliary information in data privacy, KDD 2008
(intersection).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anonymize.attacks.guessing import guessed, normalized, prior
from anonymize.attacks.majority import offered
from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success
from anonymize.classes import Floats

ID = "composition"
KNOWS = "the quasi-identifiers of a person, and an earlier release"


def attack(scene: Scene) -> list[Success]:
    """A success for each sensitive attribute; none without an earlier release."""
    if scene.previous is None:
        return []
    earlier = replace(scene, release=scene.previous, previous=None)
    successes = []
    for name, size in scene.sensitive.items():
        common = prior(scene.release, name, size)
        pairs = zip(offered(scene, name), offered(earlier, name), strict=True)
        both = list(pairs)
        truths = [people.values[name] for people, _ in scene.groups()]
        shares = [_together(new, old, common) for new, old in both]
        successes.append(guessed(shares, truths, both[0][0], name))
    return successes


def _together(new: Floats, old: Floats, common: Floats) -> Floats:
    """(people, size) what both say of each value, beyond how common it is; what the new one says where they contradict
    each other."""
    weights = np.divide(new * old, common, out=np.zeros_like(new), where=common > 0)
    empty = weights.sum(axis=1) <= 0
    weights[empty] = new[empty]
    return normalized(weights, common)
