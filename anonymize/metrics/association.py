"""How strongly quasi-identifiers go together, and the weights that follow from it.

The association of two attributes is a number from 0 to 1, whatever their kinds, computed from the raw values:

- two numbers: the absolute value of Pearson's correlation, over the rows where neither is missing;
- two categories: Cramer's V, corrected for the bias of few rows (Bergsma 2013), missing being one more category;
- a number and a category: the correlation ratio, the root of the share of the number's variance that lies between the
  categories, corrected for their number in the same way (epsilon squared, Kelley 1935), over the rows where the number
  is not missing.

Without the corrections an attribute of many values would seem to go with every other. A column with a single value goes
with none: 0. The weight of an attribute is 1 - the mean of its associations with the others, over the sum of these; all
are equal where every association is 1.

Source: Morton, Mahoui, Gibson, Yechuri, An enhanced utility-driven data anonymization method, section 4, which asks for
a weight that is the higher the less an attribute correlates with the others, and leaves the measure open.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from anonymize.classes import Bools, Codes, Floats, Runs
from anonymize.domain.numeric import Numeric
from anonymize.table import Attribute


def independence_weights(attributes: Sequence[Attribute]) -> Floats:
    """(attributes,) the weights, summing to 1."""
    count = len(attributes)
    raw = 1 - associations(attributes).sum(axis=1) / max(count - 1, 1)
    return np.asarray(raw / raw.sum()) if raw.sum() > 0 else np.full(count, 1 / count)


def associations(attributes: Sequence[Attribute]) -> Floats:
    """(attributes, attributes) association of each pair, symmetric; 0 on the diagonal."""
    matrix = np.zeros((len(attributes), len(attributes)))
    for (i, one), (j, other) in combinations(enumerate(attributes), 2):
        matrix[i, j] = matrix[j, i] = association(one, other)
    return matrix


def association(one: Attribute, other: Attribute) -> float:
    """The association of two attributes, in [0, 1]."""
    numbers = [attribute for attribute in (one, other) if isinstance(attribute.domain, Numeric)]
    if len(numbers) == 2:
        present = _present(one) & _present(other)
        return _pearson(_values(one)[present], _values(other)[present])
    if len(numbers) == 1:
        present = _present(numbers[0])
        groups = (other if numbers[0] is one else one).codes[present]
        return _correlation_ratio(_values(numbers[0])[present], groups)
    return _cramers_v(one.codes, other.codes)


def _present(attribute: Attribute) -> Bools:
    missing = attribute.domain.missing
    return np.ones(len(attribute.codes), np.bool_) if missing is None else np.asarray(attribute.codes != missing)


def _values(attribute: Attribute) -> Floats:
    """(rows,) the numbers, scaled so that squares do not overflow; 0 where missing."""
    assert isinstance(attribute.domain, Numeric)
    values = attribute.domain.values.astype(np.float64)
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    return np.append(values / largest, 0.0)[attribute.codes]


def _pearson(x: Floats, y: Floats) -> float:
    if not len(x):
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return min(abs(float(x @ y)) / spread, 1.0) if spread > 0 else 0.0


def _correlation_ratio(x: Floats, groups: Codes) -> float:
    sizes = np.bincount(groups)
    count, categories = len(x), int(np.count_nonzero(sizes))
    if count <= categories or categories < 2:
        return 0.0
    x = x - x.mean()
    total = float(x @ x)
    between = float((np.bincount(groups, x) ** 2 / np.maximum(sizes, 1)).sum())
    if total <= 0:
        return 0.0
    return float(np.sqrt(max(0.0, 1 - max(0.0, 1 - between / total) * (count - 1) / (count - categories))))


def _cramers_v(one: Codes, other: Codes) -> float:
    """From chi squared over n = sum of n_ij^2 / (n_i n_j) - 1, over the cells that are not empty."""
    rows, columns = np.bincount(one), np.bincount(other)
    count = len(one)
    if count < 2:
        return 0.0
    cells = Runs.count_values(one, other, len(rows), len(columns))
    expected = rows[cells.classes].astype(np.float64) * columns[cells.codes]
    phi2 = float((cells.counts**2 / expected).sum()) - 1
    r, c = int(np.count_nonzero(rows)), int(np.count_nonzero(columns))
    phi2 = max(0.0, phi2 - (r - 1) * (c - 1) / (count - 1))
    least = min(r - (r - 1) ** 2 / (count - 1), c - (c - 1) ** 2 / (count - 1)) - 1
    return float(min(np.sqrt(phi2 / least), 1.0)) if least > 1e-12 else 0.0
