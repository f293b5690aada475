"""Inference where it is certain: guesses a sensitive value only where the release leaves no other (homogeneity).

Knows: the quasi-identifiers of one person.
Does: as the majority does, but guesses as without the release unless at least 0.95 of what the release offers for the
person is one value. So one class that leaks stands out of many that do not.
Success: the value is the person's. Baseline: the most frequent value of the whole release. Control: the same attack on
people who are not in the release.
Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md; WEAP is the share of targets for whom there is certainty.
Remedy: require diversity of the column (`-l 3`), so that no class leaves one value.
Source: Machanavajjhala and others, l-diversity, TKDD 2007; Taub and others, PSD 2018 (TCAP).
"""

from __future__ import annotations

import numpy as np

from anonymize.attacks.majority import offered
from anonymize.attacks.methods import CERTAIN, guesses
from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success
from anonymize.classes import Floats

ID = "inference-certain"
KNOWS = "the quasi-identifiers of a person"


def attack(scene: Scene) -> list[Success]:
    """A success for each sensitive attribute."""

    def only_certain(name: str, size: int, before: Floats) -> list[Floats]:
        return [np.where(each.max(axis=1, keepdims=True) >= CERTAIN, each, before) for each in offered(scene, name)]

    return guesses(scene, only_certain)
