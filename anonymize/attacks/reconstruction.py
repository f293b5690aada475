"""Attackers who reverse what a release did to its values, on average or for the row of one person, and one who asks why
a class was not made finer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from anonymize.attacks.methods import NO_CELLS, NO_CHANNEL, Capabilities, Success, guessed, guesses, normalized
from anonymize.attacks.scene import ChannelRows, KnownDiversity, Scene, ShownRows, TargetPeople, undone
from anonymize.classes import Floats, Ints
from anonymize.domain.taxonomy import Taxonomy

ROUNDS = 10
BALANCING = 4
"""Times that the rows of a group, and its values, are made to add up in each round."""
PAIRS = 500_000_000
"""Pairs of a target and a combination of quasi-identifiers that are looked at."""
FEWEST = 500


def joint(scene: Scene, channels: ChannelRows, name: str, people: TargetPeople) -> tuple[Floats, Floats]:
    """(people, size) the share of each value among people of the same quasi-identifiers, and (size,) among all."""
    size, column = scene.sensitive[name], channels.values[name]
    counts = channels.counts(scene.release.values[name], size)
    before = undone(counts.sum(axis=0)[None], column)[0, :size]
    before /= max(before.sum(), 1e-300)
    of_people = undone(channels.counts_of(people.codes, counts), column)[:, :size]
    return normalized(of_people, before), before


def some_of(people: TargetPeople, channels: ChannelRows) -> TargetPeople:
    """All of them, or as many as can be compared with every combination."""
    return people.spaced(max(PAIRS // max(len(channels.distinct[0]), 1), FEWEST))


def _undone(scene: Scene, channels: ChannelRows, name: str) -> Success:
    groups = [some_of(each, channels) for each in scene.attacked]
    shares, befores = zip(*(joint(scene, channels, name, people) for people in groups), strict=True)
    return guessed(list(shares), [people.values[name] for people in groups], befores[0], name)


# --- anatomy's pair --------------------------------------------------------------------------------------------------


def _regrouped(scene: Scene, name: str, size: int, before: Floats) -> list[Floats]:
    rows = row_shares(scene.release, scene.sizes, name, size)
    of_class = _sums(scene.release.class_of, len(scene.release.first)) @ rows
    return [normalized(pairs @ of_class, before) for _, pairs in scene.groups()]


def row_shares(release: ShownRows, sizes: tuple[int, ...], name: str, size: int) -> Floats:
    """(rows, size) how probable each value is for each row, if the rows of a group share the group's values."""
    assert release.group_of is not None
    groups = _sums(release.group_of, int(release.group_of.max(initial=-1)) + 1)
    values = release.values[name]
    present = values >= 0
    in_groups = (groups[:, present] @ _sums(values[present], size).T).toarray()
    offered = in_groups[release.group_of]
    offered /= np.maximum(offered.sum(axis=1, keepdims=True), 1e-300)
    columns = [_sums(release.first[release.class_of, axis], each) for axis, each in enumerate(sizes)]
    shares = offered
    for _ in range(ROUNDS):
        shares = offered * _likelihood(columns, shares)
        for _ in range(BALANCING):
            shares *= (in_groups / np.maximum(groups @ shares, 1e-300))[release.group_of]
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(shares)


def _likelihood(columns: list[Any], shares: Floats) -> Floats:
    """(rows, size) how much the codes of each row speak for each value, the most being 1: as naive Bayes has it, with
    one row added to every value, spread as all rows are."""
    score = np.zeros_like(shares)
    overall = shares.sum(axis=0)
    for column in columns:
        of_code = column @ shares
        common = of_code.sum(axis=1, keepdims=True) / max(float(of_code.sum()), 1e-300)
        score += column.T @ np.log(np.maximum((of_code + common) / (overall + 1), 1e-300))
    return np.asarray(np.exp(score - score.max(axis=1, keepdims=True)))


def _sums(labels: Ints, size: int) -> Any:
    """(size, rows) sparse: what sums up rows by their label."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(size, len(labels)))


class Reconstruction:
    """Reconstruction: reverses a randomization or a grouping of values on average, and guesses the likeliest value.

    Knows: the quasi-identifiers of one person and, for a randomized release, the parameters that come with it.
    Does: for a randomized table, estimates by the inverse distortion how many people with these quasi-identifiers have
    each sensitive value, and guesses the most frequent one. For a bucketized one (anatomy's pair), learns in turn how
    values relate to each quasi-identifier, and which row of a group each value belongs to, for ten rounds; then guesses
    the value that the person's rows most likely have.
    Success: the value is the person's. Baseline: the most frequent value of the whole release, as reconstructed.
    Control: the same attack on people who are not in the release.
    Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
    Limits: at most 500 targets where a randomized release shows more than 250,000 combinations of quasi-identifiers.
    Remedy: a smaller p (`--p COLUMN=0.5`), or a larger l of `disclosure`.
    Source: Guo, Ying and Wu, On attribute disclosure in randomization based privacy preserving data publishing, ICDMW
    2010; Kifer, Attacks on privacy and deFinetti's theorem, SIGMOD 2009.
    """

    ID = "reconstruction"
    KNOWS = "the quasi-identifiers of a person, and the parameters of the distortion"
    CAPABILITIES = Capabilities(channels=True, invented=NO_CHANNEL)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success for each sensitive attribute; none of a release with equivalence classes."""
        if scene.channels is not None:
            return [_undone(scene, scene.channels, name) for name in scene.sensitive if name in scene.channels.values]
        if scene.release.group_of is None:
            return []
        return guesses(scene, partial(_regrouped, scene))


class RowReconstruction:
    """Reconstruction of a row: weighs what the person's row shows by the true parameters (Bayes).

    Knows: the quasi-identifiers of one person, which row of a randomized release is the person's, and the parameters.
    Does: takes the shares of sensitive values among people with the same quasi-identifiers, as estimated by
    `reconstruction`. Multiplies each by the probability that the row would show its value if this were the person's
    value, and guesses the largest.
    Success: the value is the person's. Baseline: the most frequent value of the whole release, as reconstructed.
    Control: none, as people who are not in the release have no row.
    Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
    Limits: those of `reconstruction`. If it is not known whom each row is about, it could not be measured.
    Remedy: a smaller p (`--p COLUMN=0.5`), or a larger l of `disclosure`.
    Source: Guo, Ying and Wu, On attribute disclosure in randomization based privacy preserving data publishing, ICDMW
    2010, formula 4.
    """

    ID = "reconstruction-row"
    KNOWS = "the quasi-identifiers of a person, the person's row, and the parameters of the distortion"
    CAPABILITIES = Capabilities(channels=True, invented=NO_CHANNEL)

    @staticmethod
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


DEALS = 400
FEWEST_DEALS = 8
"""Deals that must be left for the attacker to believe what he assumes."""
CLASSES = 500
"""Classes that are attacked, at most."""


class Minimality:
    """Minimality: asks why a class was not made finer, and concludes that its parts would not have been diverse.

    Knows: everybody's quasi-identifiers, the requirements of the release, and that a class is refined wherever
    possible: numbers cut at their median, nodes replaced by the branches below them.
    Does: takes a class whose people are known, and every refinement of it whose parts all have enough people. As the
    refinement was not made, some part would not have been diverse. Assigns the values of the class to its people at
    random, keeps the assignments for which this holds for every refinement, and guesses for each person the value that
    is most frequent among these.
    Success: the value is the person's. Baseline: the most frequent value of the class, so that the excess is what is
    learned from the refusal. Control: none, as people who are not in the release have no class.
    Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md; how many targets are in classes where a refusal reveals
    something (`refused`).
    Limits: distinct and frequency l-diversity; 400 assignments; classes whose regions overlap are left out, and so are
    those for which hardly any assignment is left: there the method did not try what the attacker assumes.
    Remedy: make the release again with `--mask-minimality`.
    Source: Wong, Fu, Wang and Pei, Minimality attack in privacy preserving data publishing, VLDB 2007.
    """

    ID = "minimality"
    KNOWS = "everybody's quasi-identifiers, what the release had to meet, and the method"
    CAPABILITIES = Capabilities(link=True, invented=NO_CELLS)

    def attack(self, scene: Scene) -> list[Success]:
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
    before = release.counts(name, scene.sensitive[name]).tocsr()[class_of].toarray()
    before = np.asarray(before / np.maximum(before.sum(axis=1, keepdims=True), 1.0))
    shares, refused = before.copy(), 0
    generator = scene.generator(Minimality.ID)
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
        targets, places = targets[places >= 0], places[places >= 0]
        distinct, chances = believed
        shares[targets] = 0.0
        shares[targets[:, None], distinct] = chances[places]
        refused += len(targets)
    success = guessed([shares], [people.values[name]], before, name)
    return replace(success, figures={**success.figures, "refused": refused})


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
        for part in [_branches(tree, column_codes)] if tree is not None else _halves(column_codes):
            if np.bincount(part).min() >= fewest:
                refinements.append(part)
                break
    return refinements


def _halves(codes: Ints) -> list[Ints]:
    """The cut below the median and that above it."""
    middle = np.sort(codes)[(len(codes) - 1) // 2]
    cuts = [(codes > middle).astype(np.int64), (codes >= middle).astype(np.int64)]
    return [each for each in cuts if 0 < each.sum() < len(each)]


def _branches(tree: Taxonomy, codes: Ints) -> Ints:
    """The branches below the lowest node that covers all."""
    node = tree.lca(codes.min()[None], codes.max()[None])[0]
    starts = np.sort(tree.start[tree.parent == node])
    return np.unique(np.searchsorted(starts, codes, side="right"), return_inverse=True)[1]


def _believed(
    values: Ints, refinements: Sequence[Ints], diversities: Sequence[KnownDiversity], generator: np.random.Generator
) -> tuple[Ints, Floats] | None:
    """The values of a class, and (members, values) how often the deals left give each to each; None if few are, or
    all."""
    distinct, codes = np.unique(values, return_inverse=True)
    deals = generator.permuted(np.tile(codes, (DEALS, 1)), axis=1)
    dealt = deals[:, :, None] == np.arange(len(distinct))
    possible = np.ones(DEALS, np.bool_)
    for part in refinements:
        counts = np.stack([dealt[:, part == each].sum(axis=1) for each in range(int(part.max()) + 1)], axis=1)
        passes = np.all([diversity.met(counts).all(axis=1) for diversity in diversities], axis=0)
        possible &= ~passes
    left = int(possible.sum())
    return None if left < FEWEST_DEALS or left == DEALS else (distinct, dealt[possible].mean(axis=0))
