"""How far a reconstructed joint distribution is from the original: distances, query errors, correlations.

Tables are arrays (d1, ..., dm) of counts or shares, an axis for each attribute. What every method is compared by:

- Distances are between distributions: negative cells of an unbiased estimate are set to 0 first, and the rest is
  rescaled to sum 1 (`distribution`). The chi-squared distance is the symmetric one, sum of (p - q)^2 / (p + q), which
  no empty cell upsets. KL(p, q), of the original against the reconstruction, is in nats; where p is not empty q is at
  least half a row of the original, and q is then rescaled, as KL would be infinite otherwise. So it is at most
  ln(3 x rows): q is at least 0.5 / rows before the rescaling, and its sum, at most 1.5 after the floor, as at most
  `rows` cells of p are not empty.
- Query errors take counts as they are estimated, and go over the queries whose true count is not 0.

Source: Guo, Ying, Wu, section V, which leaves empty cells and queries open.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np

from anonymize.classes import Floats, Ints


def distribution(table: Floats) -> Floats:
    """The table with negative cells set to 0, rescaled to sum 1."""
    positive = np.maximum(np.asarray(table, np.float64), 0.0)
    positive /= positive.sum()
    return np.asarray(positive)


def distances(original: Floats, reconstructed: Floats, rows: int) -> dict[str, float]:
    """Every distance by its name; `rows` of the original, which sets the least cell of `kl`."""
    p, q = distribution(original), distribution(reconstructed)
    square, total = (p - q) ** 2, p + q
    return {
        "kl": kl(p, q, rows),
        "chi_squared": float(np.divide(square, total, out=np.zeros_like(total), where=total > 0).sum()),
        "euclidean": float(np.sqrt(square.sum())),
        "total_variation": float(np.abs(p - q).sum() / 2),
        "hellinger": float(np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2)),
    }


def kl(p: Floats, q: Floats, rows: int) -> float:
    """Sum of p ln(p / q) over the cells of p that are not empty; q there is at least 0.5 / rows, then rescaled."""
    floored = np.where(p > 0, np.maximum(q, 0.5 / rows), q)
    floored /= floored.sum()
    present = p > 0
    return float((p[present] * np.log(p[present] / floored[present])).sum())


def base_error(original: Floats, estimated: Floats) -> float:
    """Mean of |true - estimated| / true over the cells of the joint table whose true count is not 0."""
    errors, queries = _errors(original, estimated)
    return errors / queries


def cube_error(original: Floats, estimated: Floats) -> float:
    """The mean error over the cells of every group-by of some of the attributes, the total included."""
    total, count, axes = 0.0, 0, np.ndim(original)
    for summed in chain.from_iterable(combinations(range(axes), size) for size in range(axes + 1)):
        errors, queries = _errors(np.sum(original, axis=summed), np.sum(estimated, axis=summed))
        total, count = total + errors, count + queries
    return total / count


def _errors(original: Floats, estimated: Floats) -> tuple[float, int]:
    """The sum of relative errors, and of how many queries."""
    present = np.asarray(original > 0)
    actual = np.asarray(original)[present]
    return float((np.abs(actual - np.asarray(estimated)[present]) / actual).sum()), len(actual)


def uncertainties(pair: Floats) -> tuple[float, float]:
    """U(X, Y) and U(Y, X) of a joint distribution (X, Y). U(X, Y) = (H(X) + H(Y) - H(X, Y)) / H(Y) is how much X says
    about Y; 0 where Y has one value."""
    x, y, both = _entropy(pair.sum(axis=1)), _entropy(pair.sum(axis=0)), _entropy(pair)
    return (x + y - both) / y if y > 0 else 0.0, (x + y - both) / x if x > 0 else 0.0


def _entropy(p: Floats) -> float:
    present = p[p > 0]
    logarithms = np.log(present)
    logarithms *= present
    return float(-logarithms.sum())


def spread_of_boxes(low: Ints, high: Ints, values: Ints, counts: Floats | Ints, shape: Sequence[int]) -> Floats:
    """(*shape) the joint table of a generalized release, its classes spread evenly over their regions.

    An entry is a sensitive value of a class. `low`, `high` (entries, attributes): first and last code of the class in
    each quasi-identifier. `values` (entries,) the sensitive value, `counts` (entries,) the rows of the class with it.
    `shape`: the numbers of codes of the quasi-identifiers, then of values. Classes may overlap. Every corner of a
    region is one addition; sums along the axes do the rest.
    """
    weights = counts / (high - low + 1).prod(axis=1)
    padded = (*(size + 1 for size in shape[:-1]), shape[-1])
    table = np.zeros(padded)
    axes = len(shape) - 1
    for corner in np.ndindex(*(2,) * axes):
        place = np.ravel_multi_index((*np.where(corner, high + 1, low).T, values), padded)
        np.add.at(table.reshape(-1), place, weights * (-1) ** sum(corner))
    for axis in range(axes):
        np.cumsum(table, axis=axis, out=table)
    return np.asarray(table[tuple(slice(size) for size in shape)])


def spread_of_groups(cells: Ints, groups: Ints, listed: tuple[Ints, Ints, Floats], size: int, values: int) -> Floats:
    """(size, values) the joint table of a bucketized release, each group's sensitive values spread over its rows.

    `cells` (rows,) the combination of quasi-identifiers of each row, below `size`; `groups` (rows,) its group.
    `listed`: of the sensitive table the group, the value and the count of each entry. The rows of each cell by group,
    times the share of each value in the groups: both are sparse.
    """
    from scipy.sparse import csr_array

    owner, value, count = listed
    number = int(max(groups.max(initial=-1), owner.max(initial=-1))) + 1
    rows = np.bincount(owner, count, minlength=number)
    shares = csr_array((count / rows[owner], (owner, value)), shape=(number, values))
    members = csr_array((np.ones(len(cells)), (cells, groups)), shape=(size, number))
    return np.asarray((members @ shares).toarray(), np.float64)
