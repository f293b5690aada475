"""What attackers share: how a row is picked, how a sensitive value is guessed, whom a condition singles out; and how
often an attack succeeds, compared with how often it would have succeeded anyway, with intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, field, replace
from math import sqrt
from typing import Any

import numpy as np

from anonymize.attacks.scene import Scene, ShownRows, TargetPeople
from anonymize.classes import Floats, Ints
from anonymize.domain import LeafSets
from anonymize.records import dataclass

# --- how often an attack succeeds -------------------------------------------------------------------------------------
# The excess is what an attacker learns because of the release, as a share of what there was left to learn: (rate -
# baseline) / (1 - baseline), or, against people who are not in the release, (rate - control) / (1 - control). Below 0
# nothing is learned.
#
# Rates have Wilson's 95 % intervals. The release and the baseline are tried on the same people, so the interval of
# their difference is that of pairs, with half a pair added to each of the four outcomes (Agresti and Min, Statistics in
# Medicine 2005); people of the control are others, so that the errors of both rates add up, as in Anonymeter. A success
# may be a chance, such as 1/5 of picking the right one of five rows: intervals are then wider than they need to be.
#
# Source: Giomi, Boenisch, Wehmeyer and Tasnádi, A unified framework for quantifying privacy risk in synthetic data,
# PoPETs 2023, section 3.

Z = 1.959963984540054
"""The quantile of the normal distribution for 95 %."""


NO_CELLS = "reads what cells were widened to, and invented rows show single values"
NO_CHANNEL = "undoes a distortion whose probabilities are published, and invented rows have none"
NO_HISTORY = "puts releases of the same people together, and an invented row is the same person's in none"


@dataclass(frozen=True)
class Capabilities:
    """What an attacker needs, and what he can do with a release.

    `link`: he has to know whose rows are whose. `numbers`: he knows numbers, and needs no quasi-identifiers.
    `channels`: he reads cells that may show anything; to all others a cell is true. `only_named`: `max_excess` applies
    to him only where he is named, as no privacy model promises anything against him. `control`: he needs people who are
    not in the release. `released`: he attacks rows of people; `invented`: why there is nothing for him in invented
    rows, None where there is.
    """

    link: bool = False
    numbers: bool = False
    channels: bool = False
    only_named: bool = False
    control: bool = False
    released: bool = True
    invented: str | None = "looks for somebody's row, and no invented row is anybody's"


@dataclass(frozen=True)
class ExcessEstimate:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: float, tries: int) -> ExcessEstimate:
    """The rate of `successes` in at least one try, with Wilson's interval."""
    rate = successes / tries
    scale = 1 + Z**2 / tries
    middle = (rate + Z**2 / (2 * tries)) / scale
    error = Z * sqrt(max(rate * (1 - rate), 0.0) / tries + Z**2 / (4 * tries**2)) / scale
    return ExcessEstimate(rate, max(middle - error, 0.0), min(middle + error, 1.0))


def over_baseline(hits: Floats, baseline: Floats) -> ExcessEstimate:
    """The excess of `hits` over `baseline`, (tries,) both, of the same tries. 0 where nothing was left to learn."""
    share = float(baseline.mean())
    if share >= 1:
        return ExcessEstimate(0.0, 0.0, 0.0)
    difference, tries = hits - baseline, len(hits) + 2
    middle = float(difference.sum()) / tries
    spread = (float(np.square(difference).sum()) + 1) / tries - middle**2
    error = Z * sqrt(max(spread, 0.0) / tries)
    value = float(difference.mean())
    low, high = min(middle - error, value), max(middle + error, value)
    return ExcessEstimate(value / (1 - share), low / (1 - share), min(high / (1 - share), 1.0))


def over_control(hits: Floats, control: Floats) -> ExcessEstimate:
    """The excess of `hits` over those of other people, (tries,) and (others,). 0 where nothing was left to learn, and
    at most what so few others leave open."""
    rate, other = (wilson(float(each.sum()), len(each)) for each in (hits, control))
    if other.value >= 1:
        return ExcessEstimate(0.0, 0.0, max(rate.value - other.low, 0.0))
    left = 1 - other.value
    value = (rate.value - other.value) / left
    rate_error, other_error = ((each.high - each.low) / 2 for each in (rate, other))
    error = sqrt((rate_error / left) ** 2 + ((rate.value - 1) * other_error / left**2) ** 2)
    return ExcessEstimate(value, value - error, min(value + error, 1.0))


def over_estimate(hits: Floats, other: ExcessEstimate) -> ExcessEstimate:
    """The excess of `hits` (tries,) over a rate whose interval may be wide. Each rate is put at its ends in turn, and
    the errors add up as independent ones do: a reference that is hardly known leaves everything open."""
    rate = wilson(float(hits.sum()), len(hits))

    def excess(rate: float, other: float) -> float:
        return max((rate - other) / (1 - other), -1.0) if other < 1 else min(rate - 1.0, 0.0)

    value = excess(rate.value, other.value)
    high = excess(rate.high, other.value), excess(rate.value, other.low)
    low = excess(rate.low, other.value), excess(rate.value, other.high)
    above, below = (sqrt(sum((end - value) ** 2 for end in ends)) for ends in (high, low))
    return ExcessEstimate(value, max(value - below, -1.0), min(value + above, 1.0))


@dataclass(frozen=True)
class Success:
    """What an attacker achieved.

    `about`: the column that he attacked; None where he attacks people as a whole. `hits` (tries,): 1 for a success, 0
    for none, or the chance of one; `baseline` (tries,): the same without the release; `control` (others,): the same
    attack on people who are not in the release, None where it cannot be made. `complete`: whether everything that could
    be tried was, so that there is no error of sampling. `figures`: further ones, by name. `control_error`: half the
    width of the interval of the control's rate, None where each of `control` is a separate try.
    """

    hits: Floats
    baseline: Floats
    control: Floats | None = None
    about: str | None = None
    complete: bool = False
    figures: Mapping[str, float | int | None] = field(default_factory=dict)
    control_error: float | None = None

    @property
    def control_rate(self) -> ExcessEstimate | None:
        """How often the attack succeeds on people who are not in the release."""
        if self.control is None or not len(self.control):
            return None
        if self.control_error is None:
            return wilson(float(self.control.sum()), len(self.control))
        value = min(max(float(self.control.mean()), 0.0), 1.0)
        return ExcessEstimate(value, max(value - self.control_error, 0.0), min(value + self.control_error, 1.0))

    @property
    def excess(self) -> ExcessEstimate | None:
        """What is learned from the release, over the control or else the baseline; None where nobody could be
        attacked."""
        if not len(self.hits):
            return None
        if self.control is not None and len(self.control):
            other = None if self.control_error is None else self.control_rate
            return over_control(self.hits, self.control) if other is None else over_estimate(self.hits, other)
        estimate = over_baseline(self.hits, self.baseline)
        return ExcessEstimate(estimate.value, estimate.value, estimate.value) if self.complete else estimate

    def block(self) -> dict[str, Any]:
        """Its block in a report; figures are None where nobody could be attacked."""
        excess, control = self.excess, self.control_rate
        others = 0 if self.control is None else len(self.control)
        rates = [
            asdict(wilson(float(each.sum()), len(each))) if len(each) else None for each in (self.hits, self.baseline)
        ]
        return {
            "about": self.about,
            "targets": len(self.hits),
            "successes": float(self.hits.sum()),
            "rate": rates[0],
            "baseline": rates[1],
            "control": None if control is None else {"targets": others} | asdict(control),
            "against": "baseline" if control is None else "control",
            "excess": None if excess is None else asdict(excess),
            "figures": dict(self.figures),
        }


# --- what attackers do ------------------------------------------------------------------------------------------------
# The figures of a guess are those of the correct attribution probability of Taub and others (Differential correct
# attribution probability for synthetic data, PSD 2018). dcap: the mean share of a target's own value among the values
# that the release offers for the target. dcap_baseline: among all released values. weap: the share of targets for whom
# all that is offered is one value, to 0.95 of its weight (WEAP). tcap: of these, the share whose own value it is
# (TCAP).
#
# rapid: the share of targets for whom (p - b) / (1 - b) is above 0.3, p the share of the target's own value among those
# offered and b among all released values: of Thees, Müller and Templ, RAPID: risk of attribute prediction-induced
# disclosure, 2026, for categories; an attacker who guesses, and not only a model.
#
# A condition that a share w of people meets isolates exactly one of n with the chance n w (1 - w)^(n - 1), whoever they
# are, without any release. At w = 1/n that is 0.37.
#
# That takes columns to be independent. Where they depend on each other, a narrow condition is met by somebody more
# often, with or without the release; so where there are people who are not in it, the same conditions are put to them.
#
# Source: Cohen and Nissim, Towards formalizing the GDPR's notion of singling out, PNAS 2020; for the control Giomi and
# others, PoPETs 2023, section 4.1.


def weighed(pairs: Any, release: ShownRows) -> Any:
    """(people, classes) sparse: how much speaks for each class of each person's, the more rows it has and the fewer
    combinations of values it stands for the more."""
    weights = pairs.copy()
    weights.data *= (release.sizes * release.density)[weights.indices]
    return weights


def shares_of(weights: Any) -> Any:
    """Weights as shares of one for each person."""
    shares = weights.copy()
    people = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
    shares.data /= np.maximum(np.bincount(people, shares.data, shares.shape[0]), 1e-300)[people]
    return shares


def picked(shares: Any, people: TargetPeople, release: ShownRows) -> Floats:
    """(people,) the chance that a row of the class whose rows have the largest share each is the person's. Where it is
    not known which row that is, the share itself. Ties go to the first class."""
    if not len(people):
        return np.zeros(0)
    of_row = shares.copy()
    of_row.data /= np.maximum(release.sizes[of_row.indices], 1)
    if people.row_of is None:
        return np.asarray(np.minimum(np.asarray(of_row.max(axis=1).todense()).ravel(), 1.0))
    best = np.asarray(of_row.argmax(axis=1)).ravel()
    right = best == release.class_of[people.row_of]
    return np.asarray(right / np.maximum(release.sizes[best], 1))


AT_RISK = 0.2
"""The chance above which a target is at risk."""
CERTAIN = 0.95
GAIN_AT_RISK = 0.3
"""The share of what there was to gain above which a target is at risk."""


def at_risk(hits: Floats) -> dict[str, float | int | None]:
    """The highest of some chances (people,), and the share of people who are at risk."""
    return {"max": float(hits.max(initial=0)), "at_risk": float((hits > AT_RISK).mean()) if len(hits) else None}


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
    """A success for each sensitive attribute. `offered`: from its name, how many values it has and (size,) the share of
    each in the release, to (people, size) the shares that are offered to all who are attacked."""
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
        "rapid": float((gain > GAIN_AT_RISK).mean()),
    }


def isolating(
    scene: Scene, name: str, count: Callable[[TargetPeople], Ints], weights: Floats | None, **more: Any
) -> Success:
    """How many of some conditions isolate somebody of the original, over those that isolate somebody of the control.

    `count`: how many of some people meet each condition, (conditions,). `weights` (conditions,): the share who would,
    if columns were independent; None: as many as do. Everybody of the original is asked, and everybody of the control,
    in parts that are drawn for the attacker of this `name`.
    """
    met, people = count(scene.everybody), len(scene.everybody)
    shares = met / max(people, 1) if weights is None else weights
    success = Success((met == 1).astype(float), by_chance(shares, people), **more)
    if scene.outsiders is None or not len(met):
        return success
    parts = scene.outsiders.parted(CONTROL_PARTS, scene.generator(name))
    of_parts, sizes = np.array([count(each) for each in parts]), np.array([*map(len, parts)])
    conditions = ControlConditions(met, people, of_parts, sizes)
    return replace(success, control=conditions.isolated(), control_error=conditions.error())


CONTROL_PARTS = 10
"""Parts of the control, of which each is left out once: that shows how much a rate owes to a few people."""


@dataclass(frozen=True)
class ControlConditions:
    """Conditions that were put to people of the original and of the control. `met` (conditions,): how many of `people`
    of the original meet each; `of_parts` (parts, conditions): how many of each part of the control, and `sizes`
    (parts,) how many there are.

    How often a condition isolates somebody depends on how many people are asked. A larger control is reduced to as many
    as the original has: the mean over all choices of so many. With a smaller one, as many of the original are compared.
    Such a choice has the person whom a condition is about only as often as it is large, so that among all people the
    difference is as many times larger. That is without bias where conditions are narrow, and too much where others meet
    them.
    """

    met: Ints
    people: int
    of_parts: Ints
    sizes: Ints

    def isolated(self, without: int = -1) -> Floats:
        """(conditions,) how often each isolates one of as many people like the control as the original has. True in the
        mean: a single one may be below 0 or above 1. `without`: a part that is left out."""
        some = np.arange(len(self.sizes)) != without
        others = int(self.sizes[some].sum())
        drawn = min(self.people, others)
        theirs = isolated_of(self.of_parts[some].sum(axis=0), others, drawn)
        own = isolated_of(self.met, self.people, drawn)
        return np.asarray((self.met == 1) - (own - theirs) * self.people / drawn)

    def error(self) -> float:
        """Half the width of the interval of the mean, by a jackknife of the control's parts and by the conditions."""
        parts, others = len(self.sizes), int(self.sizes.sum())
        if parts < 2:
            return 1.0
        means = np.array([self.isolated(part).mean() for part in range(parts)])
        by_people = Z * sqrt((parts - 1) * float(means.var()))
        alone = isolated_of(self.of_parts.sum(axis=0), others, min(self.people, others))
        tried = wilson(float(alone.sum()), len(alone))
        return float(np.hypot(by_people, (tried.high - tried.low) / 2 * max(self.people / others, 1.0)))


def isolated_of(met: Ints, people: int, drawn: int) -> Floats:
    """The chance that one of those `drawn` from `people` meets a condition that `met` of them do; the same shape."""
    if drawn >= people:
        return np.asarray(met == 1, float)
    from scipy.special import gammaln

    rest = people - met - drawn + 1
    ways = gammaln(people - met + 1) - gammaln(np.maximum(rest, 0) + 1) - gammaln(drawn)
    every = gammaln(people + 1) - gammaln(people - drawn + 1) - gammaln(drawn + 1)
    return np.asarray(np.where(rest >= 0, met * np.exp(ways - every), 0.0))


def by_chance(weights: Floats, people: int) -> Floats:
    """The chance that a condition of each weight, from 0 to 1, isolates one of so many people; the same shape."""
    within = np.clip(weights, 0.0, 1.0 - 1e-12)
    return np.asarray(people * within * np.exp((people - 1) * np.log1p(-within)))


def spanned(codes: Ints, size: int, cells: LeafSets) -> Ints:
    """How many people have a code that each of some cells stands for. `codes` (people,), -1 where missing."""
    return np.asarray(cells.sums(np.bincount(codes[codes >= 0], minlength=size)))
