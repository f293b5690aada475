"""Journalist: finds the person whom a released row is about, without knowing who is in the release.

Knows: the quasi-identifiers of everybody in a list of people: those of the original, and all of the control.
Does: takes a released row, lists the people whom it could be about, by regions that overlap, and picks one at random.
Success: the person is the one whom the row is about; the chance is one over the people whom it could be about.
Baseline: a person of the list picked at random. Control: none, as only rows of the release are attacked.
Figures: the highest chance of any row that was tried.
Remedy: a larger k makes classes larger (`-k`), and so do fewer quasi-identifiers.
Source: El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 2008.
"""

from __future__ import annotations

import numpy as np

from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success

ID = "journalist"
KNOWS = "the quasi-identifiers of everybody, and not who is in the release"


def attack(scene: Scene) -> list[Success]:
    """The chance of each of as many released rows as there are targets. Only classes that were drawn are compared with
    everybody."""
    release = scene.release
    count = min(len(scene.targets), release.rows)
    rows = scene.generator(ID).choice(release.rows, count, replace=False) if count else np.zeros(0, np.int64)
    classes, which = np.unique(release.class_of[rows], return_inverse=True)
    drawn = release.of_classes(classes)
    lists = [scene.everybody] + ([] if scene.outsiders is None else [scene.outsiders])
    counts = [np.asarray(drawn.candidates(each.codes).sum(axis=0)).ravel() for each in lists]
    people = np.sum(counts, axis=0)[which]
    hits = np.divide(1.0, people, out=np.zeros(len(rows)), where=people > 0)
    baseline = np.full(len(hits), 1 / max(sum(len(each) for each in lists), 1))
    return [Success(hits, baseline, figures={"max": float(hits.max(initial=0))})]
