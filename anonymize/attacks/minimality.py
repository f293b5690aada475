"""Minimality: asks why a class was not made finer, and concludes that its parts would not have been diverse.

Knows: everybody's quasi-identifiers, what the release had to meet, and that a class is refined wherever it may be:
numbers cut at their median, nodes replaced by the branches below them.
Does: takes a class whose people are known, and every refinement of it all of whose parts have enough people. Since it
was not taken, some part would not have been diverse. Deals the values of the class to its people at random, keeps the
deals in which this is so of every refinement, and guesses for each person the value that most of these have.
Success: the value is the person's. Baseline: the most frequent value of the class, so that the excess is what is
learned from the refusal. Control: none, as people who are not in the release have no class.
Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md; how many targets are in classes of which a refusal tells
something (`refused`).
Limits: distinct and frequency l-diversity; 400 deals; classes whose regions overlap are left out, and so are those for
which hardly a deal is left: there the method did not try what he thinks.
Remedy: make the release again with `--mask-minimality`.
Source: Wong, Fu, Wang and Pei, Minimality attack in privacy preserving data publishing, VLDB 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from anonymize.attacks.methods import NO_CELLS, Capabilities, Success, guessed
from anonymize.attacks.scene import KnownDiversity, Scene, ShownRows
from anonymize.classes import Floats, Ints
from anonymize.domain.taxonomy import Taxonomy

ID = "minimality"
KNOWS = "everybody's quasi-identifiers, what the release had to meet, and the method"
CAPABILITIES = Capabilities(link=True, invented=NO_CELLS)
DEALS = 400
FEWEST = 8
"""Deals that must be left for the attacker to believe what he assumes."""
CLASSES = 500
"""Classes that are attacked, at most."""


def attack(scene: Scene) -> list[Success]:
    """A success for each sensitive attribute of which diversity is required; none where rows are not linked."""
    required, row_of = scene.required, scene.targets.row_of
    if required is None or row_of is None or scene.release.group_of is not None:
        return []
    names = [name for name in scene.sensitive if required.diversities.get(name)]
    return [_attacked(scene, name, required.diversities[name], required.k) for name in names]


def _attacked(scene: Scene, name: str, diversities: Sequence[KnownDiversity], fewest: int) -> Success:
    release, people = scene.release, scene.targets
    assert people.row_of is not None
    class_of = release.class_of[people.row_of]
    shares = normalized_counts(release, name, scene.sensitive[name], class_of)
    before, refused = shares.copy(), 0
    generator = scene.generator(ID)
    classes = np.unique(class_of)
    if len(classes) > CLASSES:
        classes = np.sort(generator.choice(classes, CLASSES, replace=False))
    for each, members in zip(classes.tolist(), _members(scene, classes), strict=True):
        values = release.values[name][release.class_of == each] if len(members) else members
        parts = _refinements(scene, members, fewest) if len(members) == len(values) and len(values) else []
        believed = _believed(values, parts, diversities, generator) if parts and (values >= 0).all() else None
        if believed is None:
            continue
        targets = np.flatnonzero(class_of == each)
        places = _places(scene, members, targets)
        matched = places >= 0
        shares[targets[matched]] = _spread(believed, places[matched], scene.sensitive[name])
        refused += int(matched.sum())
    success = guessed([shares], [people.values[name]], before, name)
    return replace(success, figures={**success.figures, "refused": refused})


def normalized_counts(release: ShownRows, name: str, size: int, classes: Ints) -> Floats:
    """(classes, size) the share of each value among the rows of each class."""
    counts = release.counts(name, size).tocsr()[classes].toarray()
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))


def _members(scene: Scene, classes: Ints) -> list[Ints]:
    """The people of each class, as far as regions tell."""
    release = scene.release
    drawn = release.of_classes(classes)
    pairs = drawn.candidates(scene.everybody.codes).T.tocsr()
    return np.split(pairs.indices, pairs.indptr[1:-1]) if len(classes) else []


def _places(scene: Scene, members: Ints, targets: Ints) -> Ints:
    """(targets,) where each of them is among the members, by the row that is theirs; -1 for nowhere."""
    rows, target_rows = scene.everybody.row_of, scene.targets.row_of
    assert rows is not None and target_rows is not None
    order = np.argsort(rows[members])
    place = np.minimum(np.searchsorted(rows[members][order], target_rows[targets]), len(members) - 1)
    return np.where(rows[members][order][place] == target_rows[targets], order[place], -1)


def _refinements(scene: Scene, members: Ints, fewest: int) -> list[Ints]:
    """For each attribute that can be refined with enough people in every part, (members,) the part of each member."""
    codes = scene.everybody.codes[members]
    refinements = []
    for column in range(codes.shape[1]):
        tree = scene.trees[column] if scene.trees else None
        column_codes = codes[:, column]
        if (column_codes < 0).any() or column_codes.min() == column_codes.max():
            continue
        for part in _branches(tree, column_codes) if tree is not None else _halves(column_codes):
            if np.bincount(part).min() >= fewest:
                refinements.append(part)
                break
    return refinements


def _halves(codes: Ints) -> list[Ints]:
    """The cut below the median and that above it."""
    middle = np.sort(codes)[(len(codes) - 1) // 2]
    cuts = [(codes > middle).astype(np.int64), (codes >= middle).astype(np.int64)]
    return [each for each in cuts if 0 < each.sum() < len(each)]


def _branches(tree: Taxonomy, codes: Ints) -> list[Ints]:
    """The branches below the lowest node that covers all."""
    node = tree.lca(codes.min()[None], codes.max()[None])[0]
    below = np.flatnonzero(tree.parent == node)
    starts = np.sort(tree.start[below])
    return [np.unique(np.searchsorted(starts, codes, side="right"), return_inverse=True)[1]]


def _believed(
    values: Ints, refinements: Sequence[Ints], diversities: Sequence[KnownDiversity], generator: np.random.Generator
) -> tuple[Ints, Floats] | None:
    """The values of a class, and (members, values) how many of the deals that are left give each to each; None where
    hardly one is left, or all are."""
    distinct, codes = np.unique(values, return_inverse=True)
    deals = generator.permuted(np.tile(codes, (DEALS, 1)), axis=1)
    dealt = deals[:, :, None] == np.arange(len(distinct))
    possible = np.ones(DEALS, np.bool_)
    for part in refinements:
        counts = np.stack([dealt[:, part == each].sum(axis=1) for each in range(int(part.max()) + 1)], axis=1)
        passes = np.all([diversity.met(counts).all(axis=1) for diversity in diversities], axis=0)
        possible &= ~passes
    left = int(possible.sum())
    return None if left < FEWEST or left == DEALS else (distinct, dealt[possible].mean(axis=0))


def _spread(believed: tuple[Ints, Floats], places: Ints, size: int) -> Floats:
    """(members, size) what is believed of some members, over all values."""
    distinct, shares = believed
    spread = np.zeros((len(places), size))
    spread[:, distinct] = shares[places]
    return spread
