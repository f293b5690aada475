"""Numbers that were changed, and what they still reveal: records linked by distance, intervals that contain the true
values, and the attacker who links a person to the row with the closest numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from anonymize.attacks.methods import Capabilities, Success
from anonymize.attacks.scene import Scene
from anonymize.classes import Floats, Ints
from anonymize.records import dataclass

# --- changed numbers --------------------------------------------------------------------------------------------------
# Numbers that were changed, and what they still give away: records linked by distance, and intervals that hold the true
# values.
#
# An attacker knows the numbers of people from elsewhere, and looks for their rows in a release in which numbers were
# microaggregated, swapped or given noise. `nearest` takes for each of them the row at the least distance; rows at the
# same distance are equally likely. `one_to_one` gives all people different rows, so that the sum of the distances is
# least, which is what an attacker can do who knows everybody. `intervals` is the share of rows all of whose true values
# are within a little of the released ones.
#
# Arrays are (rows, columns) floats, and row i of the released one is about the person of row i of the original, unless
# `row_of` says otherwise. A column without spread tells nobody apart and is left out of distances.
#
# J. Domingo-Ferrer, V. Torra, "A quantitative comparison of disclosure control methods for microdata", in
# "Confidentiality, disclosure, and data access", 2001 (linkage by distance, interval disclosure); J. Herranz, J. Nin,
# P. Rodriguez, T. Tassa, "Revisiting distance-based record linkage", DKE 100, 2015 (one to one). sdcMicro has them as
# `recordLinkage` and `dRisk`. `robust_intervals` is its `dRiskRMD`, after M. Templ, B. Meindl, "Robust statistics meets
# SDC", PSD 2008: outliers are easier to recognize, so that the interval around a row grows with its robust distance.

Scale: TypeAlias = Literal["standardized", "ranks"]
"""How columns are made comparable: by the original's means and standard deviations, or each by its ranks."""
SCALES: tuple[Scale, ...] = get_args(Scale)
Metric: TypeAlias = Literal["euclidean", "manhattan", "gower"]
"""Between rows: of numbers as they stand, or (gower) the mean of the differences relative to each column's range."""

ALIKE = 1 + 1e-9
"""Distances that differ by less than this factor are the same."""
LINKED_ROWS = 10_000
"""The most rows that are linked one to one: the work grows with their cube, the memory with their square."""


@dataclass(frozen=True)
class LinkedRows:
    """`chances` (people,): of each, that the row taken is the right one; `distances` (people,): to the row taken."""

    chances: Floats
    distances: Floats

    @property
    def rate(self) -> float:
        """The share of people who are expected to be linked with their own row; 0 of none."""
        return float(self.chances.mean()) if len(self.chances) else 0.0


def checked(values: NDArray[np.floating], what: str = "the numbers") -> Floats:
    """The numbers as (rows, columns) floats. ValueError with the column, from 1, and how many cells of it are no finite
    numbers."""
    table = np.asarray(values, np.float64)
    table = table[:, None] if table.ndim == 1 else table
    wrong = (~np.isfinite(table)).sum(axis=0)
    if wrong.any():
        column = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"{what}: {wrong[column]} cells of column {column + 1} are no finite numbers")
    return table


def comparable(original: Floats, released: Floats, scale: Scale = "standardized") -> tuple[Floats, Floats]:
    """Both with columns of the same spread, without those that have none in the original."""
    original, released = checked(original, "the original"), checked(released, "the release")
    if original.shape[1] != released.shape[1]:
        raise ValueError(f"the original has {original.shape[1]} columns, and the release {released.shape[1]}")
    if scale == "ranks":
        original, released = _ranks(original), _ranks(released)
    spread = original.std(axis=0, ddof=1) if len(original) > 1 else np.zeros(original.shape[1])
    some = spread > 0
    middle = original.mean(axis=0)[some] if len(original) else np.zeros(int(some.sum()))
    return (original[:, some] - middle) / spread[some], (released[:, some] - middle) / spread[some]


def _ranks(values: Floats) -> Floats:
    """Each column's ranks as shares, those of ties the same: their mean."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=0) / max(len(values), 1), np.float64)


def nearest(
    original: Floats,
    released: Floats,
    *,
    scale: Scale = "standardized",
    weights: Sequence[float] | None = None,
    people: Ints | None = None,
    row_of: Ints | None = None,
) -> LinkedRows:
    """Links people, each by himself, with the nearest released row in Euclidean distance.

    `weights`: of the columns, positive; squared differences count that much. `people`: the rows of the original that
    are tried, None for all. `row_of` (rows of the original,): the released row about each, None for the same one.
    ValueError for numbers that are not finite, or tables that do not go together.
    """
    from scipy.spatial import cKDTree

    known, masked = comparable(original, released, scale)
    if weights is not None:
        factors = _factors(weights, original)
        known, masked = known * factors, masked * factors
    people = np.arange(len(known)) if people is None else people
    own = people if row_of is None else row_of[people]
    if not len(people) or not len(masked):
        return LinkedRows(np.zeros(len(people)), np.zeros(len(people)))
    if not known.shape[1]:
        return LinkedRows(np.full(len(people), 1 / len(masked)), np.zeros(len(people)))
    tree = cKDTree(masked)
    distances = np.asarray(tree.query(known[people])[0], np.float64)
    reach = distances * ALIKE + np.finfo(np.float64).eps * 64
    ties = np.asarray(tree.query_ball_point(known[people], reach, return_length=True), np.int64)
    mine = np.linalg.norm(known[people] - masked[own], axis=1) <= reach
    return LinkedRows(mine / np.maximum(ties, 1), distances)


def _factors(weights: Sequence[float], original: Floats) -> Floats:
    """The square roots of the weights of those columns that have a spread."""
    table = checked(original)
    given = np.asarray(weights, np.float64)
    if given.shape != (table.shape[1],) or not (np.isfinite(given) & (given > 0)).all():
        raise ValueError(f"weights: one positive number for each of {table.shape[1]} columns")
    return np.asarray(np.sqrt(given[table.std(axis=0) > 0]), np.float64)


def one_to_one(
    original: Floats, released: Floats, *, metric: Metric = "euclidean", weights: Sequence[float] | None = None
) -> LinkedRows:
    """Links everybody with a row of his own so that the sum of the distances is least, numbers as they stand.

    Rows that read the same are told apart by nothing: who gets one of them has the right one with a chance of one over
    their number. (Solvers give out equal rows in their order, which sdcMicro counts as correct matches.) `weights`: of
    the columns, for gower. ValueError for tables of different sizes, or of more than `LINKED_ROWS` rows.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    known, masked = checked(original, "the original"), checked(released, "the release")
    if known.shape != masked.shape:
        raise ValueError("rows are linked one to one where both tables have the same rows and columns")
    if len(known) > LINKED_ROWS:
        raise ValueError(f"{len(known)} rows: at most {LINKED_ROWS} are linked one to one")
    if metric == "gower":
        span = np.ptp(np.vstack([known, masked]), axis=0)
        share = np.ones(len(span)) if weights is None else np.asarray(weights, np.float64)
        factors = np.where(span > 0, share / np.where(span > 0, span, 1), 0) / share.sum()
        known, masked = known * factors, masked * factors
    distances = cdist(known, masked, "euclidean" if metric == "euclidean" else "cityblock")
    people, rows = linear_sum_assignment(distances)
    _, alike, sizes = np.unique(released, axis=0, return_inverse=True, return_counts=True)
    alike = alike.ravel()
    return LinkedRows(np.where(alike[rows] == alike[people], 1 / sizes[alike[people]], 0.0), distances[people, rows])


def intervals(original: Floats, released: Floats, width: float = 0.05, *, scale: Scale = "standardized") -> float:
    """The share of rows of which every true value is within `width` standard deviations of the released column, around
    the released value; by ranks: within a share `width` of the ranks. 0 without rows."""
    known, masked = checked(original, "the original"), checked(released, "the release")
    if known.shape != masked.shape:
        raise ValueError("the original and the release have different rows or columns")
    if not len(known):
        return 0.0
    if scale == "ranks":
        reach = np.full(known.shape[1], width)
        known, masked = _ranks(known), _ranks(masked)
    else:
        reach = width * (masked.std(axis=0, ddof=1) if len(masked) > 1 else np.zeros(masked.shape[1]))
    return float((np.abs(known - masked) <= reach).all(axis=1).mean())


FITTED = 5000
"""The most rows that robust distances are estimated from, spread evenly over the table."""
TYPICAL = 0.975
"""The share of normal rows that count as typical, once a first estimate says how far each is from the centre."""


@dataclass(frozen=True)
class RobustIntervals:
    """What intervals that grow with the robust distance of a row hold. `share`: of the rows, those with at least one
    released value in the interval around the true one; `every`: those with all of them; `apart`: those of `share` whose
    released row has no other near it. `weighted` and `weighted_apart`: the two shares, each times the sum of the
    distances of its rows, which are sdcMicro's `wrisk1` and `wrisk2`."""

    share: float
    every: float
    apart: float
    weighted: float
    weighted_apart: float


def robust_distances(values: Floats) -> Floats:
    """(rows,) Mahalanobis distances from the mean, by the covariance of the half of the rows that lie closest together.

    The minimum covariance determinant of scikit-learn, reweighted and made consistent as R's `covMcd` is, but for its
    corrections for small samples. Where typical rows leave a direction without spread, the covariance of all rows; one
    without spread among all counts for nothing. ImportError without scikit-learn.
    """
    from scipy.linalg import pinvh
    from sklearn.covariance import MinCovDet

    rows, columns = values.shape
    some = values[np.linspace(0, rows - 1, min(rows, FITTED)).astype(np.int64)]
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


def robust_intervals(original: Floats, released: Floats, width: float = 0.01, near: float = 0.05) -> RobustIntervals:
    """sdcMicro's `dRiskRMD`: both tables standardized, each by its own means and standard deviations.

    The interval around a true value reaches `width` x 0.05 robust distances of its row to either side. A released row
    is apart where no other is within `near` of it, in Euclidean distance. Columns without spread are left out.
    ValueError for tables that do not go together, ImportError without scikit-learn.
    """
    from scipy.spatial import cKDTree

    known, masked = checked(original, "the original"), checked(released, "the release")
    if known.shape != masked.shape:
        raise ValueError("the original and the release have different rows or columns")
    if len(known) < 2:
        return RobustIntervals(0.0, 0.0, 0.0, 0.0, 0.0)
    spread = (known.std(axis=0) > 0) & (masked.std(axis=0) > 0)
    if not spread.any():
        return RobustIntervals(0.0, 0.0, 0.0, 0.0, 0.0)
    known, masked = (
        (each[:, spread] - each[:, spread].mean(axis=0)) / each[:, spread].std(axis=0, ddof=1)
        for each in (known, masked)
    )
    distances = robust_distances(known) * 0.05
    inside = np.abs(known - masked) < width * distances[:, None]
    unsafe = inside.any(axis=1)
    apart = unsafe.copy()
    apart[unsafe] = cKDTree(masked).query(masked[unsafe], k=2)[0][:, 1] > near
    share, alone = float(unsafe.mean()), float(apart.mean())
    sums = share * float(distances[unsafe].sum()), alone * float(distances[apart].sum())
    return RobustIntervals(share, float(inside.all(axis=1).mean()), alone, *sums)


def _by_robust_distance(original: Floats, released: Floats) -> dict[str, float]:
    """The figures of `robust_intervals` for a report; none where scikit-learn is not installed."""
    try:
        measured = robust_intervals(original, released)
    except ImportError:
        return {}
    return {"robust": measured.share, "robust_apart": measured.apart}


# --- an attacker ------------------------------------------------------------------------------------------------------

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
        tried = [nearest(original, released, scale=scale, people=targets) for scale in SCALES]
        best = max(tried, key=lambda each: each.rate)
        rates = {str(scale): each.rate for scale, each in zip(SCALES, tried, strict=True)}
        if len(original) <= MOST_LINKED:
            rates["one_to_one"] = one_to_one(*comparable(original, released)).rate
        figures = {"columns": original.shape[1], **rates, "intervals": intervals(original, released)}
        figures |= _by_robust_distance(original, released)
        complete = len(targets) == int(whole.sum())
        baseline = np.full(len(targets), 1 / max(len(released), 1))
        return [Success(best.chances, baseline, complete=complete, figures=figures)]
