"""Attackers who infer a sensitive value: the most frequent one, the only one, a kept value that is the same in a whole
class, or the likeliest one by naive Bayes or another model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.attacks.methods import CERTAIN, Capabilities, Success, guesses, normalized, prior
from anonymize.attacks.scene import Scene, TargetPeople
from anonymize.classes import Bools, Floats, Ints
from anonymize.domain import LeafSets
from anonymize.records import dataclass


def offered(scene: Scene, name: str) -> list[Floats]:
    """(people, size) of all who are attacked, the share of each value in the rows that could be theirs."""
    size = scene.sensitive[name]
    counts = scene.release.counts(name, size).multiply(scene.release.density[:, None]).tocsr()
    return [normalized((pairs @ counts).toarray(), prior(scene.release, name, size)) for _, pairs in scene.groups()]


class Majority:
    """Inference by the majority: guesses the most frequent sensitive value of the rows that could be the person's.

    Knows: the quasi-identifiers of one person.
    Does: finds the classes that could be the person's, by overlapping regions, counts their sensitive values, where a
    class counts more the fewer combinations of values it stands for, and guesses the most frequent value.
    Success: the value is the person's. Baseline: the most frequent value of the whole release.
    Control: the same attack on people who are not in the release; success there comes from general patterns, and not
    from the person's data.
    Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
    Remedy: require diversity of the column (`-l 3`), or closeness (`model: t-closeness, t: 0.2`).
    Source: Machanavajjhala and others, l-diversity, TKDD 2007 (homogeneity); Taub and others, PSD 2018.
    """

    ID = "inference-majority"
    KNOWS = "the quasi-identifiers of a person"
    CAPABILITIES = Capabilities(invented=None)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success for each sensitive attribute."""
        return guesses(scene, lambda name, size, before: offered(scene, name))


class Certain:
    """Inference where it is certain: guesses a sensitive value only where the release leaves no other (homogeneity).

    Knows: the quasi-identifiers of one person.
    Does: the same as the majority, but guesses as if there were no release unless one value makes up at least 0.95 of
    what the release offers for the person. A single class that leaks thus stands out among many that do not.
    Success: the value is the person's. Baseline: the most frequent value of the whole release.
    Control: the same attack on people who are not in the release.
    Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md; WEAP is the share of targets for whom there is certainty.
    Remedy: require diversity of the column (`-l 3`), so that no class leaves one value.
    Source: Machanavajjhala and others, l-diversity, TKDD 2007; Taub and others, PSD 2018 (TCAP).
    """

    ID = "inference-certain"
    KNOWS = "the quasi-identifiers of a person"
    CAPABILITIES = Capabilities(invented=None)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success for each sensitive attribute."""

        def only_certain(name: str, size: int, before: Floats) -> list[Floats]:
            return [np.where(each.max(axis=1, keepdims=True) >= CERTAIN, each, before) for each in offered(scene, name)]

        return guesses(scene, only_certain)


def _of_column(scene: Scene, name: str, size: int) -> Success:
    common = int(prior(scene.release, name, size).argmax())
    hits, named = [], []
    for truth, (values, certain) in zip(scene.truths(name), _named(scene, name, size), strict=True):
        present = truth >= 0
        hits.append((np.where(certain, values, common) == truth)[present].astype(float))
        named.append(certain[present])
    truth = scene.targets.values[name]
    baseline = (truth[truth >= 0] == common).astype(float)
    figures = {"named": float(named[0].mean()) if len(named[0]) else None}
    control = hits[1] if len(hits) > 1 else None
    return Success(hits[0], baseline, control, name, figures=figures)


def _named(scene: Scene, name: str, size: int) -> list[tuple[Ints, Bools]]:
    """Of the targets, and of the control if there is one: (people,) the value that most of what is shown of each is,
    and whether nearly all is. Only values that nearly all of some class has can be that."""
    release = scene.release
    counts: Any = release.counts(name, size)
    rows = np.asarray(counts.sum(axis=1)).ravel()
    shares = counts.tocoo()
    values = np.unique(shares.coords[1][shares.data >= CERTAIN * rows[shares.coords[0]]])
    weighed = counts.tocsc()[:, values].multiply(release.density[:, None]).tocsr()
    results = []
    for people, pairs in scene.groups():
        if not len(values):
            results.append((np.zeros(len(people), np.int64), np.zeros(len(people), np.bool_)))
            continue
        offered, total = (pairs @ weighed).tocsr(), pairs @ (rows * release.density)
        most = offered.max(axis=1).toarray().ravel()
        results.append((values[np.asarray(offered.argmax(axis=1)).ravel()], (total > 0) & (most >= CERTAIN * total)))
    return results


class RetainedHomogeneity:
    """Homogeneity of kept columns: names the value of a kept column where everybody in a class has the same one.

    Knows: the quasi-identifiers of one person.
    Does: finds the classes that could be the person's, by overlapping regions; a class counts more the fewer
    combinations of values it stands for. If one value makes up at least 0.95 of what these classes show of a kept
    column (insensitive, targets, the sampling weight as it is released), names that value; otherwise the most frequent
    one of the whole release.
    Success: the value is the person's. Baseline: the most frequent value of the whole release.
    Control: the same attack on people who are not in the release.
    Figures: the share of targets for whom classes name a value (`named`).
    Limits: no privacy model bounds what is kept, so this attacker is judged by `--max-excess` or `risk.max_excess` only
    if named. A column that needs protection belongs under `sensitive`.
    Remedy: list the column as `sensitive`, so that `-l` is about it.
    Source: Machanavajjhala and others, l-diversity, TKDD 2007 (homogeneity).
    """

    ID = "homogeneity-retained"
    KNOWS = "the quasi-identifiers of a person"
    CAPABILITIES = Capabilities(only_named=True, invented="reads what a class has in common, and no class is of people")

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success for each kept column; none where no column is kept."""
        kept = scene.kept()
        return [] if kept is None else [_of_column(kept, name, size) for name, size in kept.sensitive.items()]


def likelihoods(scene: Scene, counts: Any) -> list[Floats]:
    """For each quasi-identifier (codes, size) how much more probable each code is with each sensitive value than
    altogether. Rows are spread evenly over their cells, and one row is added, spread as all rows are."""
    cells = counts.tocoo()
    classes, values = cells.coords
    ratios = []
    for column, size in enumerate(scene.sizes):
        cells_of_classes = scene.release.cells(column).of_cells(classes)
        of_value = cells_of_classes.spread(cells.data, size, values, counts.shape[1])
        overall = np.maximum(of_value.sum(axis=1, keepdims=True), 1e-9)
        overall /= overall.sum()
        ratios.append(np.asarray((of_value + overall) / (of_value.sum(axis=0) + 1) / overall))
    return ratios


def _evidence(people: TargetPeople, model: list[Floats]) -> Floats:
    """(people, size) how much what is known of each person speaks for each sensitive value, the most being 1."""
    score = np.zeros((len(people), model[0].shape[1] if model else 1))
    for column, ratio in enumerate(model):
        present = people.codes[:, column] >= 0
        score[present] += np.log(np.maximum(ratio[people.codes[present, column]], 1e-12))
    return np.asarray(np.exp(score - score.max(axis=1, keepdims=True)))


class Bayes:
    """Inference by naive Bayes: learns relations between values from all classes, and applies them within one
    (deFinetti).

    Knows: the quasi-identifiers of one person.
    Does: estimates from the whole release the probability of each value of each quasi-identifier given each sensitive
    value; a cell that spans several values counts equally for each. Weighs the sensitive values of the classes that
    could be the person's with these probabilities, and guesses the likeliest.
    Success: the value is the person's. Baseline: the most frequent value of the whole release.
    Control: the same attack on people who are not in the release.
    Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
    Limits: quasi-identifiers are taken to be independent given the sensitive value, and nothing is iterated.
    Remedy: require closeness of the column (`model: t-closeness, t: 0.2`); `-l` alone does not bound it.
    Source: Kifer, Attacks on privacy and deFinetti's theorem, SIGMOD 2009.
    """

    ID = "inference-bayes"
    KNOWS = "the quasi-identifiers of a person"
    CAPABILITIES = Capabilities(invented=None)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success for each sensitive attribute."""

        def offered(name: str, size: int, before: Floats) -> list[Floats]:
            counts = scene.release.counts(name, size)
            model = likelihoods(scene, counts)
            return [
                normalized((pairs @ counts).toarray() * _evidence(people, model), before)
                for people, pairs in scene.groups()
            ]

        return guesses(scene, offered)


BINS = 32
CLASSES = 20_000
VALUES = 50
PENALTY = 1.0
"""The weight of squared coefficients, that of the log-likelihood of all rows being 1."""
STEPS = 100


@dataclass(frozen=True)
class PartedColumn:
    """A column in bins: `mass` (size, bins) of each code in its bin; `bin_of` (size,); `share` (bins,) of all rows."""

    mass: Floats
    bin_of: Ints
    share: Floats

    @classmethod
    def of(cls, scene: Scene, column: int) -> PartedColumn:
        """Bins that are about as frequent; where there are few codes, each is one."""
        size = scene.sizes[column]
        shares = scene.release.code_shares(column, size) + 1e-9
        middle = (shares.cumsum() - shares / 2) / shares.sum()
        bin_of = np.arange(size) if size <= BINS else np.minimum((middle * BINS).astype(np.int64), BINS - 1)
        bins = int(bin_of.max(initial=0)) + 1
        mass = np.zeros((size, bins))
        mass[np.arange(size), bin_of] = shares
        return cls(mass, bin_of, mass.T.copy().sum(axis=1) / shares.sum())

    def spanned(self, cells: LeafSets) -> Floats:
        """(classes, bins) the share of each cell in each bin less that of all rows: showing everything says nothing."""
        inside = cells.sums(self.mass)
        return np.asarray(inside / inside.sum(axis=1, keepdims=True) - self.share)

    def of_codes(self, codes: Ints) -> Floats:
        """(people, bins) the same of people; 0 where a code is not known."""
        inside = np.zeros((len(codes), len(self.share)))
        present = codes >= 0
        inside[present, self.bin_of[codes[present]]] = 1.0
        inside[present] -= self.share
        return inside


def _predicted(seen: Floats, counts: Any, unseen: list[Floats], before: Floats) -> list[Floats]:
    """For each group of people (people, size) how probable each value is, 0 for values that are not predicted; what was
    known `before` (size,) where there is nothing to predict."""
    from scipy.special import softmax

    total = np.asarray(counts.sum(axis=0)).ravel()
    values = np.sort(np.argsort(-total, kind="stable")[:VALUES])
    values = values[total[values] > 0]
    if not len(values):
        return [np.tile(before, (len(each), 1)) for each in unseen]
    predicted = [np.zeros((len(each), len(before))) for each in unseen]
    weights = _fitted(seen, counts[:, values].toarray()) if len(values) > 1 else np.zeros((seen.shape[1] + 1, 1))
    for chances, features in zip(predicted, unseen, strict=True):
        chances[:, values] = softmax(features @ weights[:-1] + weights[-1], axis=1)
    return predicted


def _fitted(features: Floats, counts: Floats) -> Floats:
    """(features + 1, values) the coefficients, the last row for what holds of all; by L-BFGS."""
    from scipy.optimize import minimize
    from scipy.special import softmax

    with_one = np.hstack([features, np.ones((len(features), 1))])
    rows, shape = counts.sum(axis=1, keepdims=True), (with_one.shape[1], counts.shape[1])

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        chances = softmax(with_one @ weights, axis=1)
        slope = with_one.T @ (rows * chances - counts) + PENALTY * weights
        fit = -float((counts * np.log(np.maximum(chances, 1e-300))).sum())
        return fit + PENALTY / 2 * float(np.square(weights).sum()), slope.ravel()

    result = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(result.x).reshape(shape)


class ModelAttacker:
    """Inference by a model: trains on the release, and predicts each person's sensitive value.

    Knows: the quasi-identifiers of one person.
    Does: divides each quasi-identifier into at most 32 bins of about equal frequency, describes each class by the share
    of its span in each bin, and fits a multinomial logistic regression to the frequencies of values in the classes.
    Predicts the value from the bins of the person.
    Success: the value is the person's. Baseline: the most frequent value of the whole release.
    Control: the same attack on people who are not in the release; a model that has learned general patterns succeeds
    there as well.
    Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
    Limits: at most 20,000 classes, drawn, and 50 sensitive values: if there are more, the most frequent ones.
    Remedy: require closeness of the column (`model: t-closeness, t: 0.2`); `-l` alone does not bound it.
    Source: Thees, Müller and Templ, RAPID: risk of attribute prediction-induced disclosure, 2026; the attacker of Taub
    and others, PSD 2018, with a model instead of equal keys.
    """

    ID = "inference-model"
    KNOWS = "the quasi-identifiers of a person"
    CAPABILITIES = Capabilities(invented=None)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success for each sensitive attribute; none without quasi-identifiers."""
        if not scene.sizes:
            return []
        release = scene.release
        classes = scene.drawn(len(release.first), ModelAttacker.ID, CLASSES)
        bins = [PartedColumn.of(scene, column) for column in range(len(scene.sizes))]
        seen = np.hstack([each.spanned(release.cells(column).of_cells(classes)) for column, each in enumerate(bins)])
        unseen = [
            np.hstack([part.of_codes(people.codes[:, column]) for column, part in enumerate(bins)])
            for people in scene.attacked
        ]

        def offered(name: str, size: int, before: Floats) -> list[Floats]:
            return _predicted(seen, release.counts(name, size).tocsr()[classes], unseen, before)

        return guesses(scene, offered)
