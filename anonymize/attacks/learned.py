"""Inference by a model: trains on the release, and predicts each person's sensitive value.

Knows: the quasi-identifiers of one person.
Does: parts each quasi-identifier into at most 32 bins that are about as frequent, describes each class by the share of
its span in each bin, and fits a multinomial logistic regression to how often classes have each value. Predicts the
value from the bins of the person.
Success: the value is the person's. Baseline: the most frequent value of the whole release. Control: the same attack on
people who are not in the release; a model that has learned how things are succeeds there as well.
Figures: DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
Limits: at most 20,000 classes, drawn, and 50 sensitive values: of more, the most frequent ones.
Remedy: require closeness of the column (`model: t-closeness, t: 0.2`); `-l` alone does not bound it.
Source: Thees, Müller and Templ, RAPID: risk of attribute prediction-induced disclosure, 2026; the attacker of Taub and
others, PSD 2018, with a model in place of equal keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anonymize.attacks.methods import guesses
from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success
from anonymize.classes import Floats, Ints
from anonymize.domain.leafsets import LeafSets

ID = "inference-model"
KNOWS = "the quasi-identifiers of a person"
BINS = 32
CLASSES = 20_000
VALUES = 50
PENALTY = 1.0
"""The weight of squared coefficients beside the log-likelihood of all rows."""
STEPS = 100


def attack(scene: Scene) -> list[Success]:
    """A success for each sensitive attribute."""
    classes = np.arange(len(scene.release.first))
    if len(classes) > CLASSES:
        classes = np.sort(scene.generator(ID).choice(classes, CLASSES, replace=False))
    bins = [PartedColumn.of(scene, column) for column in range(len(scene.sizes))]
    release = scene.release
    seen = np.hstack([each.spanned(release.cells(column).of_cells(classes)) for column, each in enumerate(bins)])
    people = [each for each in (scene.targets, scene.control) if each is not None]
    unseen = [np.hstack([part.of_codes(each.codes[:, column]) for column, part in enumerate(bins)]) for each in people]

    def offered(name: str, size: int, before: Floats) -> list[Floats]:
        counts = release.counts(name, size).tocsr()[classes]
        return [_over_all(each, before) for each in _predicted(seen, counts, unseen)]

    return guesses(scene, offered)


@dataclass(frozen=True)
class PartedColumn:
    """A quasi-identifier in bins. `mass` (size, bins): how frequent each code is, in its bin; `bin_of` (size,); `share`
    (bins,) of all rows."""

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
        """(classes, bins) the share of each cell in each bin, beyond what it is of all rows: a cell that shows
        everything says nothing."""
        inside = cells.sums(self.mass)
        return np.asarray(inside / inside.sum(axis=1, keepdims=True) - self.share)

    def of_codes(self, codes: Ints) -> Floats:
        """(people, bins) the same of people; 0 where a code is not known."""
        inside = np.zeros((len(codes), len(self.share)))
        present = codes >= 0
        inside[present, self.bin_of[codes[present]]] = 1.0
        inside[present] -= self.share
        return inside


def _predicted(seen: Floats, counts: Any, unseen: list[Floats]) -> list[tuple[Ints, Floats]]:
    """For each group of people the values that are predicted, and (people, values) how probable each is."""
    total = np.asarray(counts.sum(axis=0)).ravel()
    values = np.sort(np.argsort(-total, kind="stable")[:VALUES])
    values = values[total[values] > 0]
    if len(values) < 2:
        return [(values, np.ones((len(each), len(values)))) for each in unseen]
    weights = _fitted(seen, counts[:, values].toarray())
    return [(values, _chances(each, weights)) for each in unseen]


def _over_all(predicted: tuple[Ints, Floats], before: Floats) -> Floats:
    """(people, size) the predicted probabilities, and 0 for values that are none of those predicted; what was known
    before where there is nothing to predict."""
    values, chances = predicted
    if not len(values):
        return np.broadcast_to(before, (len(chances), len(before))).copy()
    over = np.zeros((len(chances), len(before)))
    over[:, values] = chances
    return over


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


def _chances(features: Floats, weights: Floats) -> Floats:
    from scipy.special import softmax

    return np.asarray(softmax(features @ weights[:-1] + weights[-1], axis=1))
