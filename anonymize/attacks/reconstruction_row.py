"""Reconstruction of one row: weighs what the person's row shows by the true parameters (Bayes).

Knows: the quasi-identifiers of one person, which row of a randomized release is the person's, and the parameters.
Does: takes the shares of sensitive values among people of the same quasi-identifiers, as `reconstruction` estimates
them, multiplies each by the probability that the row shows what it shows if it were the person's value, and guesses the
largest.
Success: the value is the person's. Baseline: the most frequent value of the whole release, as reconstructed. Control:
none, as people who are not in the release have no row.
Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
Limits: those of `reconstruction`. Where it is not known whose each row is, it could not be measured.
Remedy: a smaller p (`--p COLUMN=0.5`), or a larger l of `disclosure`.
Source: Guo, Ying and Wu, On attribute disclosure in randomization based privacy preserving data publishing, ICDMW 2010,
formula 4.
"""

from __future__ import annotations

import numpy as np

from anonymize.attacks.methods import guessed, normalized
from anonymize.attacks.reconstruction import joint, some_of
from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success

ID = "reconstruction-row"
KNOWS = "the quasi-identifiers of a person, the person's row, and the parameters of the distortion"


def attack(scene: Scene) -> list[Success]:
    """A success for each sensitive attribute; none of a release that is not randomized."""
    channels = scene.channels
    if channels is None:
        return []
    names = [name for name in scene.sensitive if name in channels.values]
    if scene.targets.row_of is None:
        return [Success(np.zeros(0), np.zeros(0), about=name) for name in names]
    successes = []
    for name in names:
        people = some_of(scene.targets, channels)
        shares, before = joint(scene, channels, name, people)
        same, other = channels.values[name].likelihood
        values = scene.release.values[name][people.row_of]
        likely = np.where(values[:, None] == np.arange(shares.shape[1]), same + other, other)
        successes.append(guessed([normalized(shares * likely, before)], [people.values[name]], before, name))
    return successes
