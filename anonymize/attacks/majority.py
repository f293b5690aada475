"""Inference by the majority: guesses the sensitive value that is most frequent where the person could be.

Knows: the quasi-identifiers of one person.
Does: takes the classes that could be the person's, by regions that overlap, counts their sensitive values, a class the
more the fewer combinations of values it stands for, and guesses the most frequent one.
Success: the value is the person's. Baseline: the most frequent value of the whole release. Control: the same attack on
people who are not in the release; what succeeds there follows from how things are, and not from the person's data.
Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
Remedy: require diversity of the column (`-l 3`), or closeness (`model: t-closeness, t: 0.2`).
Source: Machanavajjhala and others, l-diversity, TKDD 2007 (homogeneity); Taub and others, PSD 2018.
"""

from __future__ import annotations

from anonymize.attacks.methods import guesses, normalized, prior
from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success
from anonymize.classes import Floats

ID = "inference-majority"
KNOWS = "the quasi-identifiers of a person"


def attack(scene: Scene) -> list[Success]:
    """A success for each sensitive attribute."""
    return guesses(scene, lambda name, size, before: offered(scene, name))


def offered(scene: Scene, name: str) -> list[Floats]:
    """(people, size) the share of each value where each could be: of the targets, and of the control if there is
    one."""
    size = scene.sensitive[name]
    counts = scene.release.counts(name, size).multiply(scene.release.density[:, None]).tocsr()
    return [normalized((pairs @ counts).toarray(), prior(scene.release, name, size)) for _, pairs in scene.groups()]
