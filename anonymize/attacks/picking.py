"""What the attackers who pick a row share: which class they think is a person's, and whether they are right."""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.attacks.scene import ShownRows, TargetPeople
from anonymize.classes import Floats


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
