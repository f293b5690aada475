"""Prosecutor: finds the row of somebody who is known to be in the release.

Knows: the quasi-identifiers of one person, and that the person is in the release.
Does: takes the classes whose cells could all be about the person, by regions that overlap and not by equal text, and
picks a row of the one that stands for the fewest combinations of values.
Success: the row is the person's: one over the rows of the class, if the class is right. Where it is not known which row
is the person's, the chance is what the attacker himself believes.
Baseline: a row picked at random. Control: none, as people who are not in the release have no row.
Figures: the highest chance of any target, and the share of targets whose chance is above 0.2.
Remedy: a larger k makes classes larger (`-k`), and so do fewer quasi-identifiers.
Source: Dankar and El Emam, A method for evaluating marketer re-identification risk, PAIS 2010; by regions, as released
cells that overlap leave more rows than a class has.
"""

from __future__ import annotations

import numpy as np

from anonymize.attacks.methods import picked, shares_of, weighed
from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success

ID = "prosecutor"
KNOWS = "the quasi-identifiers of a person in the release"
AT_RISK = 0.2


def attack(scene: Scene) -> list[Success]:
    """The chance of each target's row."""
    hits = picked(shares_of(weighed(scene.candidates, scene.release)), scene.targets, scene.release)
    baseline = np.full(len(hits), 1 / max(scene.release.rows, 1))
    figures = {"max": float(hits.max(initial=0)), "at_risk": float((hits > AT_RISK).mean()) if len(hits) else None}
    return [Success(hits, baseline, figures=figures)]
