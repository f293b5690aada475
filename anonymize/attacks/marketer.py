"""Marketer: links everybody to a row at once.

Knows: the quasi-identifiers of all people in the release.
Does: finds for each person the classes that could be theirs, by regions that overlap, and how probable each is when all
people must find a row and every row a person: shares are balanced in turn over people and classes (Sinkhorn). Then
links each person to a row of the class whose rows are the most probable.
Success: the row is the person's. Where it is not known which row that is, the chance is what the balanced shares say.
Baseline: rows dealt at random. Control: none, as people who are not in the release have no row.
Figures: whether shares were balanced (1).
Limits: beyond 50,000 people only the targets are linked, and nothing is balanced.
Remedy: a larger k makes classes larger (`-k`), and so do fewer quasi-identifiers.
Source: Dankar and El Emam, A method for evaluating marketer re-identification risk, PAIS 2010; Sinkhorn, Diagonal
equivalence to matrices with prescribed row and column sums, 1967.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.attacks.methods import picked, shares_of, weighed
from anonymize.attacks.scene import Scene, TargetPeople
from anonymize.attacks.success import Success
from anonymize.classes import Ints

ID = "marketer"
KNOWS = "the quasi-identifiers of everybody in the release"
MOST = 50_000
ROUNDS = 20


def attack(scene: Scene) -> list[Success]:
    """How many of the people find their rows."""
    whole = len(scene.everybody) <= MOST
    people = _of_release(scene.everybody) if whole else scene.targets
    weights = weighed(scene.release.candidates(people.codes) if whole else scene.candidates, scene.release)
    shares = _balanced(weights, scene.release.sizes) if whole else shares_of(weights)
    hits = picked(shares, people, scene.release)
    baseline = np.full(len(hits), 1 / max(scene.release.rows, 1))
    return [Success(hits, baseline, figures={"balanced": int(whole)})]


def _of_release(people: TargetPeople) -> TargetPeople:
    """Those who are known to be in it, or may be."""
    return people if people.row_of is None else people.of(np.flatnonzero(people.row_of >= 0))


def _balanced(weights: Any, sizes: Ints) -> Any:
    """(people, classes) the share of each person that lies in each class, scaled in turn so that every person is one
    and every class holds its rows."""
    shares = shares_of(weights)
    for _ in range(ROUNDS):
        held = np.maximum(np.bincount(shares.indices, shares.data, shares.shape[1]), 1e-300)
        shares.data *= (sizes / held)[shares.indices]
        shares = shares_of(shares)
    return shares
