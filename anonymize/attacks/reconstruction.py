"""Attackers who undo what a release did to its values: on average, or for the row of one person."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from anonymize.attacks.methods import NO_CHANNEL, Capabilities, Success, guessed, guesses, normalized
from anonymize.attacks.scene import ChannelRows, Scene, ShownRows, TargetPeople, undone
from anonymize.classes import Floats, Ints

# --- reconstruction ---------------------------------------------------------------------------------------------------

ROUNDS = 10
BALANCING = 4
"""Times that the rows of a group, and its values, are made to add up in each round."""
PAIRS = 500_000_000
"""Pairs of a target and a combination of quasi-identifiers that are looked at."""
FEWEST = 500


# --- a randomized release --------------------------------------------------------------------------------------------


def joint(scene: Scene, channels: ChannelRows, name: str, people: TargetPeople) -> tuple[Floats, Floats]:
    """(people, size) the share of each sensitive value among people of the same quasi-identifiers, and (size,) among
    all."""
    size, column = scene.sensitive[name], channels.values[name]
    counts = channels.counts(scene.release.values[name], size)
    before = undone(counts.sum(axis=0)[None], column)[0, :size]
    before /= max(before.sum(), 1e-300)
    beside = undone(channels.beside(people.codes, counts), column)[:, :size]
    return normalized(beside, before), before


def some_of(people: TargetPeople, channels: ChannelRows) -> TargetPeople:
    """All of them, or as many as can be compared with every combination."""
    most = max(PAIRS // max(len(channels.distinct[0]), 1), FEWEST)
    if len(people) <= most:
        return people
    return people.of(np.unique(np.linspace(0, len(people) - 1, most).astype(int)))


def _undone(scene: Scene, channels: ChannelRows, name: str) -> Success:
    groups = [some_of(each, channels) for each in (scene.targets, scene.control) if each is not None]
    shares, befores = zip(*(joint(scene, channels, name, people) for people in groups), strict=True)
    return guessed(list(shares), [people.values[name] for people in groups], befores[0], name)


# --- anatomy's pair --------------------------------------------------------------------------------------------------


def _regrouped(scene: Scene, name: str, size: int, before: Floats) -> list[Floats]:
    rows = row_shares(scene.release, scene.sizes, name, size)
    of_class = _sums(scene.release.class_of, len(scene.release.first)) @ rows
    return [normalized(pairs @ of_class, before) for _, pairs in scene.groups()]


def row_shares(release: ShownRows, sizes: tuple[int, ...], name: str, size: int) -> Floats:
    """(rows, size) how probable each value of a group is for each of its rows, when all rows of a group must have its
    values between them."""
    assert release.group_of is not None
    groups = _sums(release.group_of, int(release.group_of.max(initial=-1)) + 1)
    values = release.values[name]
    present = values >= 0
    held = (groups[:, present] @ _sums(values[present], size).T).toarray()
    offered = held[release.group_of]
    offered /= np.maximum(offered.sum(axis=1, keepdims=True), 1e-300)
    columns = [_sums(release.first[release.class_of, axis], each) for axis, each in enumerate(sizes)]
    shares = offered
    for _ in range(ROUNDS):
        shares = offered * _likelihood(columns, shares)
        for _ in range(BALANCING):
            shares *= (held / np.maximum(groups @ shares, 1e-300))[release.group_of]
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(shares)


def _likelihood(columns: list[Any], shares: Floats) -> Floats:
    """(rows, size) how much the codes of each row speak for each value, the most being 1: as naive Bayes has it, with
    one row added to every value, spread as all rows are."""
    score = np.zeros_like(shares)
    overall = shares.sum(axis=0)
    for column in columns:
        beside = column @ shares
        common = beside.sum(axis=1, keepdims=True) / max(float(beside.sum()), 1e-300)
        score += column.T @ np.log(np.maximum((beside + common) / (overall + 1), 1e-300))
    return np.asarray(np.exp(score - score.max(axis=1, keepdims=True)))


def _sums(labels: Ints, size: int) -> Any:
    """(size, rows) sparse: what sums up rows by their label."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(size, len(labels)))


class Reconstruction:
    """Reconstruction: undoes on average what a randomized release or groups of values did, and guesses the likeliest
    value.

    Knows: the quasi-identifiers of one person and, for a randomized release, the parameters that come with it.
    Does: for a randomized table, estimates by the inverse distortion how many people with these quasi-identifiers have
    each sensitive value, and guesses the most frequent one. For a bucketized one (anatomy's pair), learns in turn how
    values go together with each quasi-identifier, and which row of a group each value belongs to, for ten rounds; then
    guesses the value that the person's rows most likely have.
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


# --- reconstruction row -----------------------------------------------------------------------------------------------


class RowReconstruction:
    """Reconstruction of one row: weighs what the person's row shows by the true parameters (Bayes).

    Knows: the quasi-identifiers of one person, which row of a randomized release is the person's, and the parameters.
    Does: takes the shares of sensitive values among people of the same quasi-identifiers, as `reconstruction` estimates
    them, multiplies each by the probability that the row shows what it shows if it were the person's value, and guesses
    the largest.
    Success: the value is the person's. Baseline: the most frequent value of the whole release, as reconstructed.
    Control: none, as people who are not in the release have no row.
    Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
    Limits: those of `reconstruction`. Where it is not known whose each row is, it could not be measured.
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
