"""Attackers who combine several releases of the same people: as classes, or as histories of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from anonymize.attacks import methods
from anonymize.attacks.inference import offered
from anonymize.attacks.scene import CLASS_PAIRS, EarlierRows, Scene, ShownRows
from anonymize.classes import Bools, Floats, Ints
from anonymize.records import dataclass

LEAVERS = 20_000
"""Of those who left, who are attacked at most."""


def _of_leavers(scene: Scene, name: str, size: int) -> list[methods.Success]:
    """The values of those who are in the last of the earlier releases and not in this one; none where nobody left."""
    earlier = scene.earlier[-1]
    common = methods.prior(earlier.release, name, size)
    before = earlier.release.counts(name, size).toarray()
    gone = missing_values(scene.release, earlier.release, name, size)
    if earlier.row_of is None:
        which, truth = (np.repeat(each, gone[gone > 0].astype(np.int64)) for each in np.nonzero(gone))
    else:
        rows = np.setdiff1d(np.arange(earlier.release.rows), earlier.row_of)
        which, truth = earlier.release.class_of[rows], earlier.release.values[name][rows]
    if len(which) > LEAVERS:
        chosen = scene.generator(Composition.ID).choice(len(which), LEAVERS, replace=False)
        which, truth = which[chosen], truth[chosen]
    alone = methods.normalized(before[which], common)
    difference = gone[which]
    shares = np.where(difference.any(axis=1, keepdims=True), difference, alone)
    if not (truth >= 0).any():
        return []
    return [methods.guessed([shares], [truth], alone, f"{name} of those who left")]


def missing_values(release: ShownRows, earlier: ShownRows, name: str, size: int) -> Floats:
    """(earlier classes, size) how many rows more each class had of each value than the rows have that are within it
    now. Each class of now is within the smallest earlier one that spans all of it, or within none."""
    spanning = earlier.candidates(release.first).multiply(earlier.candidates(release.last)).tocsr()
    spanning.data = earlier.density[spanning.indices]
    within = np.asarray(spanning.argmax(axis=1)).ravel()
    some = np.flatnonzero(np.diff(spanning.indptr))
    now = np.zeros((len(earlier.first), size))
    np.add.at(now, within[some], release.counts(name, size).toarray()[some])
    return np.asarray(np.maximum(earlier.counts(name, size).toarray() - now, 0.0))


def _together(new: Floats, old: Floats, common: Floats) -> Floats:
    """(people, size) what both say of each value, beyond how common it is; what the new one says where they contradict
    each other. What several releases say is put together one by one."""
    weights = np.divide(new * old, common, out=np.zeros_like(new), where=common > 0)
    empty = weights.sum(axis=1) <= 0
    weights[empty] = new[empty]
    return methods.normalized(weights, common)


class Composition:
    """Composition: combines releases of the same people.

    Knows: the quasi-identifiers of one person, who is in all releases, or was in the previous one and has left since;
    not which rows belong together.
    Does: finds in each release the sensitive values of the rows that could be the person's, by overlapping regions, and
    guesses the value that is likeliest in all of them together; a value that one release rules out is excluded. For
    somebody who left, compares two files: takes the values of the person's class in the earlier one, and those of the
    rows in the later one whose regions lie within it (of several such classes the smallest), and guesses the value of
    which most are missing.
    Success: the value is the person's.
    Baseline: the same guess from one release alone, so that the excess is what the other one adds: from this release,
    and for those who left from their class in the previous one.
    Control: the same attack on people who are in no release; for those who left there is none.
    Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md; their baselines are those of one release alone. If it is
    not known who left (`--series` with `--key` says so), every missing value counts as that of somebody who did.
    Limits: nothing bounds what two files reveal about those who left, not even a series, which bounds it for those who
    are still there. In groups of values (anatomy) those who left are not attacked.
    Remedy: make releases of the same people in one series (`--start-series STATE`, then `--after STATE`); for those who
    leave, a larger k and `series: {departures: deferred}`, where they leave k together.
    Source: Ganta, Kasiviswanathan and Smith, Composition attacks and auxiliary information in data privacy, KDD 2008
    (intersection); for those who left, Xiao and Tao, m-Invariance, SIGMOD 2007, whose counterfeits keep the difference
    from revealing a value.
    """

    ID = "composition"
    KNOWS = "the quasi-identifiers of a person, and earlier releases"
    CAPABILITIES = methods.Capabilities(invented=methods.NO_HISTORY)

    @staticmethod
    def attack(scene: Scene) -> list[methods.Success]:
        """A success for each sensitive attribute, and one for those who left; none without an earlier release."""
        if not scene.earlier:
            return []
        before = [replace(scene, release=each.release, earlier=()) for each in scene.earlier]
        grouped = scene.release.group_of is not None or scene.earlier[-1].release.group_of is not None
        successes = []
        for name, size in scene.sensitive.items():
            common = methods.prior(scene.release, name, size)
            alone = offered(scene, name)
            shares = alone
            for other in before:
                shares = [_together(now, old, common) for now, old in zip(shares, offered(other, name), strict=True)]
            successes.append(methods.guessed(shares, scene.truths(name), alone[0], name))
            successes += [] if grouped else _of_leavers(scene, name, size)
        return successes


@dataclass(frozen=True)
class _Chains:
    """The rows of a release by history. `classes` (histories, releases): in the release itself, then in each earlier
    one, -1 for none; `history_of` (rows,); `sizes`, `density` (histories,): rows, and the logarithm of one over how
    many combinations of values its classes stand for, up to a constant."""

    classes: Ints
    history_of: Ints
    sizes: Ints
    density: Floats

    @classmethod
    def of(cls, scene: Scene, linked: list[EarlierRows]) -> _Chains:
        columns = [scene.release.class_of]
        density = [np.log(np.maximum(scene.release.density, 1e-300))]
        for each in linked:
            assert each.row_of is not None
            columns.append(np.where(each.row_of >= 0, each.release.class_of[each.row_of], -1))
            density.append(np.log(np.maximum(each.release.density, 1e-300)))
        together = np.stack(columns, axis=1)
        classes, history_of, sizes = np.unique(together, axis=0, return_inverse=True, return_counts=True)
        pairs = zip(classes.T, density, strict=True)
        weights = [np.where(class_of >= 0, of_class[class_of], 0) for class_of, of_class in pairs]
        return cls(classes, history_of.ravel(), sizes, np.sum(weights, axis=0))

    def fitting(self, scene: Scene, linked: list[EarlierRows], true_history: Ints) -> Iterator[tuple[slice, Bools]]:
        """By batches of targets, whose histories are `true_history`: (targets, histories) which could be theirs."""
        releases = [scene.release, *(each.release for each in linked)]
        step = max(CLASS_PAIRS // 8 // max(len(self.classes), *(len(each.first) for each in releases)), 1)
        for start in range(0, len(true_history), step):
            some = slice(start, start + step)
            fits = np.ones((len(true_history[some]), len(self.classes)), np.bool_)
            for release, classes in zip(releases, self.classes.T, strict=True):
                could_be = release.candidates(scene.targets.codes[some]).toarray() > 0
                released = classes[true_history[some]] >= 0
                fits &= np.where(released[:, None], could_be[:, classes] & (classes >= 0), classes < 0)
            yield some, fits

    def counts(self, scene: Scene, name: str, size: int) -> Floats:
        """(histories, size) how often each history has each value in the release itself."""
        values = scene.release.values[name]
        present = values >= 0
        places = self.history_of[present] * size + values[present]
        return np.bincount(places, minlength=len(self.classes) * size).reshape(-1, size).astype(float)


class Histories:
    """Histories: knows which rows of a series of releases belong together.

    Knows: the quasi-identifiers of one person, in which releases of a series the person is, and which rows of different
    releases are about the same individual.
    Does: finds the chains of rows whose cells could all be about the person, by overlapping regions, and that are
    present and absent in the same releases as the person. Picks one of those that stand for the fewest combinations of
    values, and guesses the sensitive value that is most frequent in them, weighted in the same way.
    Success: the chain is the person's: one over the people of the history, if the history is right. Or the value is the
    person's.
    Baseline: the same from this release alone, so that the excess is what the earlier ones add.
    Control: none, as people who are not in the releases have no chain.
    Figures: the smallest number of chains that could be a target's, the highest chance of any, and the share of targets
    whose chance is above 0.2.
    Limits: if a person's quasi-identifiers have changed, the present ones are used.
    Remedy: leave out the pseudonym (`output.pseudonym`), or make the releases in one series with a larger k.
    Source: the attacker of docs/over-time.md; Fung, Wang, Fu and Pei, Anonymity for continuous data publishing, EDBT
    2008, whose attacker has to find out which rows belong together.
    """

    ID = "histories"
    KNOWS = "the quasi-identifiers of a person, and which rows of the releases belong together"
    CAPABILITIES = methods.Capabilities(link=True, invented=methods.NO_HISTORY)

    @staticmethod
    def attack(scene: Scene) -> list[methods.Success]:
        """A success for the chain, and one for each sensitive attribute; none where it is not known which rows belong
        together, or whom they are about."""
        linked = [each for each in scene.earlier if each.row_of is not None]
        if not linked or scene.targets.row_of is None or not len(scene.targets):
            return []
        chains, targets, release = _Chains.of(scene, linked), scene.targets, scene.release
        true_history = chains.history_of[scene.targets.row_of]
        hits, counts = np.empty(len(targets)), np.empty(len(targets), np.int64)
        shares = {name: np.empty((len(targets), size)) for name, size in scene.sensitive.items()}
        for some, fits in chains.fitting(scene, linked, true_history):
            best = np.where(fits, chains.density, -np.inf).argmax(axis=1)
            hits[some] = (best == true_history[some]) / chains.sizes[best]
            counts[some] = fits @ chains.sizes
            weights = np.where(fits, np.exp(chains.density - chains.density.max()), 0)
            for name, of_people in shares.items():
                of_people[some] = weights @ chains.counts(scene, name, of_people.shape[1])
        alone = methods.picked(methods.shares_of(methods.weighed(scene.candidates, release)), targets, release)
        successes = [methods.Success(hits, alone, figures={"fewest": int(counts.min()), **methods.at_risk(hits)})]
        for name, of_people in shares.items():
            likely = methods.normalized(of_people, methods.prior(release, name, of_people.shape[1]))
            successes.append(methods.guessed([likely], [targets.values[name]], offered(scene, name)[0], name))
        return successes
