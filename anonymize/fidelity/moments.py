"""Means, variances and covariances of numbers, and what they were before noise that a manifest describes.

Noise whose strength is known can be taken out of moments, though not out of any row. Independent noise of the standard
deviation s times the column's own makes its variance larger by 1 + s squared and leaves covariances with other columns
alone; correlated noise makes all variances and covariances of its columns larger by that factor; a random orthogonal
matrix keeps those of its columns, and shrinks their covariances with all other columns, which are not corrected; a
factor of mean 1 and standard deviation s makes the mean square larger by 1 + s squared and leaves covariances alone.
Correlations and regression coefficients follow. All of this is in expectation: the moments of the noise that was really
drawn differ by chance, by about one over the root of the rows. Rounding is not taken out.

Reference. Kim: A method for limiting disclosure in microdata based on random noise and transformation, 1986; Kim and
Winkler: Multiplicative noise for masking continuous data, 2003; Fuller: Measurement error models, 1987.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from anonymize.classes import Floats
from anonymize.meaning import Changed
from anonymize.records import dataclass

NOISE = "noise"
"""The method of `treatments` that this undoes."""
COLLINEAR = 1e-9
"""An eigenvalue of correlations that is smaller says that columns follow from each other."""
EXCEPTIONS = {
    "by": "is relative to the spread of each part (`by`)",
    "only": "was added to outliers alone (`only`)",
    "least": "was drawn again where a number was too small (`least`)",
    "keep_zero": "left zeros alone (`keep_zero`)",
}
"""Settings of noise with which the moments of a whole column do not follow, as a message says it."""


@dataclass(frozen=True)
class SampleMoments:
    """Of columns of numbers `names`: `means` (columns,) and `covariances` (columns, columns), those of a sample."""

    names: tuple[str, ...]
    means: Floats
    covariances: Floats

    @classmethod
    def of(cls, names: Iterable[str], values: Floats) -> SampleMoments:
        """Of rows in which nothing is missing (rows, columns), at least two."""
        return cls(tuple(names), values.mean(axis=0), np.atleast_2d(np.cov(values.T)))

    @property
    def correlations(self) -> Floats:
        """(columns, columns), between -1 and 1; 0 with a constant column."""
        spread = np.sqrt(np.diag(self.covariances))
        scale = np.outer(spread, spread)
        made = np.divide(self.covariances, scale, out=np.zeros_like(scale), where=scale > 0).clip(-1, 1)
        np.fill_diagonal(made, 1)
        return np.asarray(made)

    @property
    def coefficients(self) -> Floats | None:
        """(columns, columns) in row i those of the regression of column i on all others, nan on the diagonal. None
        where columns follow from each other, as they may where too much was taken out of variances."""
        spread = np.sqrt(np.diag(self.covariances))
        if len(self.names) < 2 or not (spread > 0).all():
            return None
        correlations = self.covariances / np.outer(spread, spread)
        if np.linalg.eigvalsh(correlations)[0] <= COLLINEAR:
            return None
        precision = np.linalg.inv(correlations)
        made = -precision / np.diag(precision)[:, None] * spread[:, None] / spread
        np.fill_diagonal(made, np.nan)
        return np.asarray(made)


def why_not(changed: Changed | None) -> str | None:
    """Why what a step did to a column cannot be taken out of its moments; None where it can, or there was no step."""
    if changed is None:
        return None
    if changed.method != NOISE:
        return f"{changed.method} cannot be undone"
    details = changed.details
    lacking = [key for key in ("kind", "scale") if key not in details]
    if details.get("kind") == "correlated" and "columns" not in details:
        lacking.append("columns")
    if lacking:
        return f"the manifest does not say the {lacking[0]} of the noise"
    if details["kind"] == "romm":
        return None
    return next((f"the noise {said}" for key, said in EXCEPTIONS.items() if details.get(key)), None)


def why_not_together(name: str, others: Iterable[str], known: Mapping[str, Changed]) -> str | None:
    """Why the covariances of a column with `others` are not known: a random orthogonal matrix transformed the columns
    of its own step alone. None where the column is no obstacle."""
    changed = known.get(name)
    if changed is None or changed.method != NOISE or changed.details.get("kind") != "romm":
        return None
    if "columns" not in changed.details:
        alone = all(other == name for other in others)
        return None if alone else "the manifest does not say the columns of the noise"
    outside = [other for other in others if other != name and other not in changed.details["columns"]]
    return f"the random orthogonal matrix left out {', '.join(outside)}" if outside else None


def without_noise(moments: SampleMoments, known: Mapping[str, Changed]) -> SampleMoments:
    """What moments were before noise, in expectation, by what a manifest says (`known`); others stay as they are."""
    before = moments.covariances.copy()
    for place, name in enumerate(moments.names):
        if name not in known or why_not(known[name]) is not None:
            continue
        details = known[name].details
        factor = 1 + details["scale"] ** 2
        if details["kind"] in ("additive", "correlated"):
            before[place, place] /= factor
        if details["kind"] == "multiplicative":
            square = moments.means[place] ** 2
            before[place, place] = max((before[place, place] + square) / factor - square, 0.0)
        if details["kind"] == "correlated":
            others = [other for other, each in enumerate(moments.names) if each in details["columns"] and each != name]
            before[place, others] = moments.covariances[place, others] / factor
    return replace(moments, covariances=before)


def estimates(released: SampleMoments, known: Mapping[str, Changed]) -> list[dict[str, Any]]:
    """A record for each mean, variance, covariance, correlation and regression coefficient: the figure of the release,
    the estimate of what it was, and whether that was `corrected`: `yes`, `not needed`, or `no` and why."""
    before, names = without_noise(released, known), released.names
    made = [_figure("mean", names, (i,), released.means[i], before.means[i], known) for i in range(len(names))]
    alone = [(i, i) for i in range(len(names))]
    pairs = [(one, other) for one in range(len(names)) for other in range(one)]
    for measure, places, own, corrected in (
        ("variance", alone, released.covariances, before.covariances),
        ("covariance", pairs, released.covariances, before.covariances),
        ("correlation", pairs, released.correlations, before.correlations),
    ):
        made += [_figure(measure, names, each, own[each], corrected[each], known) for each in places]
    slopes, others = released.coefficients, before.coefficients
    if slopes is None:
        return made
    for pair in permutations(range(len(names)), 2):
        estimate = None if others is None else others[pair]
        made.append(_figure("coefficient", names, pair, slopes[pair], estimate, known))
    return made


def _figure(
    measure: str,
    names: tuple[str, ...],
    places: tuple[int, ...],
    released: float,
    estimate: float | None,
    known: Mapping[str, Changed],
) -> dict[str, Any]:
    """One record. A coefficient is about all columns, the others about those in their `places`."""
    own = list(dict.fromkeys(names[place] for place in places))
    about = names if measure == "coefficient" else own
    doubts = {name: why_not(known.get(name)) or why_not_together(name, about, known) for name in about}
    reasons = [f"{name}: {why}" for name, why in doubts.items() if why is not None]
    if estimate is None:
        reasons.append("with the noise taken out, columns follow from each other")
    noisy = measure != "mean" and any(name in known for name in about)
    said = f"no: {'; '.join(reasons)}" if reasons else "yes" if noisy else "not needed"
    return {
        "measure": measure,
        "column": own[0],
        "other": own[1] if len(own) > 1 else None,
        "released": float(released),
        "estimate": None if reasons or estimate is None else float(estimate),
        "corrected": said,
    }
