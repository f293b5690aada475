"""Singling out by a published end: finds one person by a number that an interval shows as its end.

Knows: the release alone.
Does: takes a class and an end of one of its intervals of numbers, and asks for the people who lie in all spans of the
class and have that very number. Of `77+` there is one end; an upper end that is left out, as in `[20-25)`, is none.
Success: exactly one person of the original does. Baseline: the same with a number from within the interval, drawn at
random among those that occur in the column. Control: none, as the baseline is the same condition without what the end
tells.
Figures: the rate of the lower ends and that of the upper ones; null where no class has one.
Limits: a rounded end may be a number that nobody has; such a condition is tried as well, and isolates nobody.
Remedy: leave ends open or round (`output: {edges: rounded}`).
Source: Cohen, Attacks on deidentification's defenses, USENIX Security 2022; Cohen and Nissim, PNAS 2020.
"""

from __future__ import annotations

import numpy as np

from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success
from anonymize.classes import Ints

ID = "singling-out-end"
KNOWS = "the release alone"


def attack(scene: Scene) -> list[Success]:
    """A success for each quasi-identifier that shows ends: of as many classes as there are targets, drawn."""
    release = scene.release
    if release.ends is None:
        return []
    classes = scene.some_classes(ID)
    who, within = release.of_classes(classes).candidates(scene.everybody.codes).nonzero()
    return [
        _of_column(scene, column, classes, scene.everybody.codes[who, column], within)
        for column in range(len(scene.attributes))
        if any((ends[:, column] >= 0).any() for ends in release.ends)
    ]


def _of_column(scene: Scene, column: int, classes: Ints, codes: Ints, within: Ints) -> Success:
    """`codes`, `within`: of each person in the region of one of the classes, the code and which class that is."""
    release, stride = scene.release, scene.sizes[column] + 1
    known = codes >= 0
    keys, people = np.unique(within[known] * stride + codes[known], return_counts=True)
    alone = keys[people == 1]
    cells = release.cells(column).of_cells(classes)
    by_chance = np.bincount(alone // stride, minlength=len(classes)) / cells.counts
    hits, baseline = [], []
    for ends in release.ends or ():
        some = np.flatnonzero(ends[classes, column] >= 0)
        hits.append(np.isin(some * stride + ends[classes[some], column], alone).astype(float))
        baseline.append(by_chance[some])
    rates = [float(each.mean()) if len(each) else None for each in hits]
    complete = len(classes) == len(release.first)
    figures = {"low_ends": rates[0], "high_ends": rates[1]}
    return Success(
        np.concatenate(hits),
        np.concatenate(baseline),
        about=scene.attributes[column],
        complete=complete,
        figures=figures,
    )
