"""What the attackers who guess a sensitive value share: how guesses are counted, and which figures come with them.

The figures are those of the correct attribution probability of Taub and others (Differential correct attribution
probability for synthetic data, PSD 2018). dcap: the mean share of a target's own value among the values that the
release offers for the target. dcap_baseline: among all released values. weap: the share of targets for whom all that is
offered is one value, to 0.95 of its weight (WEAP). tcap: of these, the share whose own value it is (TCAP).

rapid: the share of targets for whom (p - b) / (1 - b) is above 0.3, p the share of the target's own value among those
offered and b among all released values: of Thees, Müller and Templ, RAPID: risk of attribute prediction-induced
disclosure, 2026, for categories; whoever guesses, and not only a model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anonymize.attacks.scene import Scene, ShownRows
from anonymize.attacks.success import Success
from anonymize.classes import Floats, Ints

CERTAIN = 0.95
GAIN = 0.3
"""Beyond which a target is at risk, of what there was to gain."""


def prior(release: ShownRows, name: str, size: int) -> Floats:
    """(size,) the share of each value in all of the release."""
    values = release.values[name]
    counts = np.bincount(values[values >= 0], minlength=size).astype(float)
    return np.asarray(counts / max(counts.sum(), 1.0))


def normalized(weights: Floats, otherwise: Floats) -> Floats:
    """(people, size) each row as shares; the shares of `otherwise` (size,) where a row has no weight at all."""
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    shares[total[:, 0] <= 0] = otherwise
    return np.asarray(shares)


def right(shares: Floats, truth: Ints) -> Floats:
    """(people,) the chance that the likeliest value is the true one, if ties are broken at random."""
    best = shares >= shares.max(axis=1, keepdims=True) * (1 - 1e-12)
    return np.asarray(best[np.arange(len(truth)), truth] / best.sum(axis=1))


def guesses(scene: Scene, offered: Callable[[str, int, Floats], list[Floats]]) -> list[Success]:
    """A success for each sensitive attribute. `offered`: from an attribute's name, how many values it has and (size,)
    the share of each in all of the release to (people, size) the shares that are offered to the targets, and to the
    control if there is one."""
    successes = []
    for name, size in scene.sensitive.items():
        before = prior(scene.release, name, size)
        successes.append(guessed(offered(name, size, before), scene.truths(name), before, name))
    return successes


def guessed(shares: list[Floats], truths: list[Ints], before: Floats, about: str) -> Success:
    """The success of guesses: `shares` and `truths` of the targets, and of the control if there is one. `before`
    (size,): what the baseline guesses by, or (targets, size) where that differs between targets."""
    present = [truth >= 0 for truth in truths]
    offered, correct = shares[0][present[0]], truths[0][present[0]]
    earlier = before[present[0]] if before.ndim > 1 else np.broadcast_to(before, offered.shape)
    control = right(shares[1][present[1]], truths[1][present[1]]) if len(shares) > 1 else None
    figures = _figures(offered, earlier, correct)
    return Success(right(offered, correct), right(earlier, correct), control, about, figures=figures)


def _figures(offered: Floats, before: Floats, truth: Ints) -> dict[str, float | int | None]:
    if not len(truth):
        return {}
    every = np.arange(len(truth))
    certain = offered.max(axis=1) >= CERTAIN
    hit = offered.argmax(axis=1) == truth
    of_truth, common = offered[every, truth], before[every, truth]
    gain = np.divide(of_truth - common, 1 - common, out=np.zeros_like(of_truth), where=common < 1)
    return {
        "dcap": float(of_truth.mean()),
        "dcap_baseline": float(common.mean()),
        "weap": float(certain.mean()),
        "tcap": float(hit[certain].mean()) if certain.any() else None,
        "rapid": float((gain > GAIN).mean()),
    }
