"""Numbers that were changed, and what they still reveal: records linked by distance, intervals that contain the true
values, and the attacker who links a person to the row with the closest numbers.
"""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np

from anonymize.attacks.methods import Capabilities, Success
from anonymize.attacks.scene import Scene
from anonymize.classes import Floats, Ints

# --- changed numbers --------------------------------------------------------------------------------------------------
# An attacker knows the numbers of people from elsewhere, and looks for their rows in a release in which numbers were
# microaggregated, swapped or given noise. `nearest` takes for each of them the row at the least distance; rows at the
# same distance are equally likely. `one_to_one` assigns everybody a different row, so that the sum of the distances is
# least, which an attacker can do who knows everybody. `intervals` is the share of rows all of whose true values are
# within a little of the released ones.
#
# Tables are (rows, columns) finite floats, and row i of the released one is about the person of row i of the original.
#
# J. Domingo-Ferrer, V. Torra, "A quantitative comparison of disclosure control methods for microdata", in
# "Confidentiality, disclosure, and data access", 2001 (linkage by distance, interval disclosure); J. Herranz, J. Nin,
# P. Rodriguez, T. Tassa, "Revisiting distance-based record linkage", DKE 100, 2015 (one to one). sdcMicro has them as
# `recordLinkage` and `dRisk`. `robust_intervals` is its `dRiskRMD`, after M. Templ, B. Meindl, "Robust statistics meets
# SDC", PSD 2008: outliers are easier to recognize, so that the interval around a row grows with its robust distance.

SAME_DISTANCE = 1 + 1e-9
"""Distances that differ by less than this factor are the same."""


def comparable(original: Floats, released: Floats, *, ranks: bool = False) -> tuple[Floats, Floats]:
    """Both, or the `ranks` of both column by column, standardized by the original's means and standard deviations;
    without the columns that have no spread there, which distinguish nobody."""
    if ranks:
        original, released = _ranks(original), _ranks(released)
    if len(original) < 2:
        return original[:, :0], released[:, :0]
    spread = original.std(axis=0, ddof=1)
    some = spread > 0
    middle = original.mean(axis=0)[some]
    return (original[:, some] - middle) / spread[some], (released[:, some] - middle) / spread[some]


def _ranks(values: Floats) -> Floats:
    """Each column's ranks as shares, those of ties the same: their mean."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=0) / max(len(values), 1), np.float64)


def nearest(known: Floats, released: Floats, people: Ints) -> Floats:
    """(people,) the chance of linking each of some rows of the original with its own released row, by taking the
    nearest one in Euclidean distance. Both tables are `comparable`."""
    from scipy.spatial import cKDTree

    if not len(people) or not known.shape[1]:
        return np.full(len(people), 1 / max(len(released), 1))
    tree = cKDTree(released)
    distances = np.asarray(tree.query(known[people])[0], np.float64)
    reach = distances * SAME_DISTANCE + np.finfo(np.float64).eps * 64
    ties = np.asarray(tree.query_ball_point(known[people], reach, return_length=True), np.int64)
    own = np.linalg.norm(known[people] - released[people], axis=1) <= reach
    return np.asarray(own / np.maximum(ties, 1))


def one_to_one(known: Floats, released: Floats) -> Floats:
    """(rows,) the chance of each row to be linked with its own, if every row of the original is linked with a different
    released one so that the sum of the Euclidean distances is least.

    Nothing distinguishes rows that read the same: who gets one of them has the right one with a chance of one over
    their number. (Solvers give out equal rows in their order, which sdcMicro counts as correct matches.)
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    people, rows = linear_sum_assignment(cdist(known, released))
    _, alike, sizes = np.unique(released, axis=0, return_inverse=True, return_counts=True)
    alike = alike.ravel()
    return np.where(alike[rows] == alike[people], 1 / sizes[alike[people]], 0.0)


def intervals(original: Floats, released: Floats, width: float = 0.05) -> float:
    """The share of rows of which every true value is within `width` of the released column's standard deviations."""
    if len(released) < 2:
        return float((original == released).all(axis=1).sum())
    reach = width * released.std(axis=0, ddof=1)
    return float((np.abs(original - released) <= reach).all(axis=1).mean())


FITTED_ROWS = 5000
"""The most rows that robust distances are estimated from, spread evenly over the table."""
TYPICAL = 0.975
"""The share of normal rows that count as typical, once a first estimate says how far each is from the centre."""


def robust_distances(values: Floats) -> Floats:
    """(rows,) Mahalanobis distances from the mean, by the covariance of the half of the rows that lie closest together.

    The minimum covariance determinant of scikit-learn, reweighted and made consistent as R's `covMcd` is, but for its
    corrections for small samples. Where typical rows leave a direction without spread, the covariance of all rows; one
    without spread among all counts for nothing. ImportError without scikit-learn.
    """
    from scipy.linalg import pinvh
    from sklearn.covariance import MinCovDet

    rows, columns = values.shape
    some = values[np.linspace(0, rows - 1, min(rows, FITTED_ROWS)).astype(np.int64)]
    covariance = np.atleast_2d(np.cov(some, rowvar=False))
    if len(some) > 2 * columns:
        # half the rows without spread are a warning, and an error where they are all the same: the rank says it as well
        with warnings.catch_warnings(action="ignore"), suppress(ValueError):
            robust = _reweighted(some, some[MinCovDet(random_state=0).fit(some).raw_support_])
            if np.linalg.matrix_rank(robust) == np.linalg.matrix_rank(covariance):
                covariance = robust
    inverse, apart = pinvh(covariance), values - values.mean(axis=0)
    return np.asarray(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", apart, inverse, apart), 0)), np.float64)


def _reweighted(values: Floats, half: Floats) -> Floats:
    """The covariance of the rows that are typical by that of the `half`, each made consistent for normal rows."""
    from scipy.linalg import pinvh
    from scipy.stats import chi2

    columns = values.shape[1]

    def consistent(rows: Floats) -> Floats:
        share = len(rows) / len(values)
        factor = share / chi2.cdf(chi2.ppf(share, columns), columns + 2) if share < 1 else 1.0
        return np.asarray(np.atleast_2d(np.cov(rows, rowvar=False)) * factor, np.float64)

    apart = values - half.mean(axis=0)
    squares = np.einsum("ij,jk,ik->i", apart, pinvh(consistent(half)), apart)
    return consistent(values[squares < chi2.ppf(TYPICAL, columns)])


def robust_intervals(original: Floats, released: Floats, width: float = 0.01, near: float = 0.05) -> dict[str, float]:
    """sdcMicro's `dRiskRMD`: `robust`, the share of rows with at least one released value in the interval around the
    true one, and `robust_apart`, the share of rows that have, in addition, no other released row nearby; `weighted` and
    `weighted_apart`, these shares times the sum of the distances of their rows (`wrisk1`, `wrisk2`).

    Both tables are standardized, each by its own means and standard deviations; columns without spread are left out.
    The interval around a true value reaches `width` x 0.05 robust distances of its row to either side. A released row
    is apart where no other is within `near` of it, in Euclidean distance. ImportError without scikit-learn.
    """
    from scipy.spatial import cKDTree

    spread = np.zeros(original.shape[1], np.bool_)
    if len(original) > 1:
        spread = (original.std(axis=0) > 0) & (released.std(axis=0) > 0)
    if not spread.any():
        return dict.fromkeys(("robust", "robust_apart", "weighted", "weighted_apart"), 0.0)
    known, masked = (
        (each[:, spread] - each[:, spread].mean(axis=0)) / each[:, spread].std(axis=0, ddof=1)
        for each in (original, released)
    )
    distances = robust_distances(known) * 0.05
    unsafe = (np.abs(known - masked) < width * distances[:, None]).any(axis=1)
    apart = unsafe.copy()
    apart[unsafe] = cKDTree(masked).query(masked[unsafe], k=2)[0][:, 1] > near
    share, alone = float(unsafe.mean()), float(apart.mean())
    weighted, weighted_alone = share * float(distances[unsafe].sum()), alone * float(distances[apart].sum())
    return {"robust": share, "robust_apart": alone, "weighted": weighted, "weighted_apart": weighted_alone}


MOST_LINKED = 1000
"""The most rows that are linked one to one."""


class DistanceLinkage:
    """Distance linkage: finds the row whose numbers are closest to those of a person.

    Knows: the numbers of the targets before the release changed them, by microaggregation, noise, swaps, or a mean
    instead of a value.
    Does: standardizes the changed columns and takes, for each target, the released row at the smallest distance; among
    rows at the same distance, any. Also tries ranks instead of values, and counts the better of the two.
    Success: the row is the person's; rows at the same distance share the chance.
    Baseline: a row picked at random. If it is not known whom rows are about, nobody can be attacked.
    Control: none, as people who are not in the release have no row.
    Figures: `columns`, how many numbers are known of a person; `standardized` and `ranks`, the rate of each way;
    `one_to_one`, where there are at most 1,000 rows, the rate of an attacker who knows everybody and assigns each a
    different row; `intervals`, the share of rows whose true values are all within 5 % of a standard deviation of the
    released ones; `robust`, with scikit-learn (extra `ml`), the share of rows with a released value in an interval
    around the true one that grows with the robust Mahalanobis distance of the row, and `robust_apart`, the share of
    rows that, in addition, have no other released row nearby.
    Limits: columns that are numbers in both tables, with at least one changed cell; rows that lack a number are left
    out.
    Remedy: larger groups or more noise: a larger `k` or `scale` of the step in `treatments` that changes the columns.
    Source: Domingo-Ferrer and Torra, A quantitative comparison of disclosure control methods for microdata, 2001.
    """

    ID = "distance-linkage"
    KNOWS = "the numbers of people before they were changed"
    CAPABILITIES = Capabilities(link=True, numbers=True)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """One success; none where no numbers were changed, or it is not known whom rows are about."""
        numbers, rows = scene.numbers(), scene.targets.row_of
        if numbers is None or rows is None:
            return []
        original, released = numbers
        whole = np.asarray(np.isfinite(original).all(axis=1) & np.isfinite(released).all(axis=1))
        place = np.cumsum(whole) - 1
        targets = place[rows[(rows >= 0) & whole[np.maximum(rows, 0)]]]
        original, released = original[whole], released[whole]
        standardized, ranks = comparable(original, released), comparable(original, released, ranks=True)
        tried = {"standardized": nearest(*standardized, targets), "ranks": nearest(*ranks, targets)}
        rates = {scale: _rate(chances) for scale, chances in tried.items()}
        best = tried[max(rates, key=lambda scale: rates[scale])]
        if len(original) <= MOST_LINKED:
            rates["one_to_one"] = _rate(one_to_one(*standardized))
        figures = {"columns": original.shape[1], **rates, "intervals": intervals(original, released)}
        with suppress(ImportError):
            robust = robust_intervals(original, released)
            figures |= {name: robust[name] for name in ("robust", "robust_apart")}
        complete = len(targets) == int(whole.sum())
        baseline = np.full(len(targets), 1 / max(len(released), 1))
        return [Success(best, baseline, complete=complete, figures=figures)]


def _rate(chances: Floats) -> float:
    """The share of people who are expected to be linked with their own row; 0 of none."""
    return float(chances.mean()) if len(chances) else 0.0
