"""Research value: what the levels of a full-domain generalization leave for a researcher, by weights and rules.

The research value of an attribute with weight w, at level k of its hierarchy, level 0 being the raw values:

- a number: w x (sum over groups of R_0 N_0) / (sum over groups of R_k N_k) x (DR_k / DR_0). A group is a node of the
  level, N its rows, R the numbers that it spans: those of the interval that its label shows, but for ends that it
  leaves out, else from the lowest to the highest number that occurs in it. R is in units, 1 where all numbers of the
  column are whole, else the least difference of two that occur. At level 0 R is 1, so the numerator is the number of
  rows. All rows of the input count, whether or not they are suppressed. With `range: leaves` of the quasi-identifier, R
  is the number of leaves under the node, whether or not they occur.
- a category: w x |A_k| / |A_0| x (DR_k / DR_0), |A_k| the nodes of the level, of the whole hierarchy, missing included
  where the column has any.

DR_k is the sum of the importances of the rules that the level keeps, DR_0 that of all; their ratio is 1 where there are
no rules. Weights are normalized to sum 1, so the raw table has the research value 1. No level has a higher value than a
level below it.

With `research_value: [0.95, 0.72, 0.58, 0.1]` of a quasi-identifier, its levels have the values that an expert gives
them, from the values to the root, whose value may be left out and is 0. Weight, detail and rules do not matter to it.
Beside it, weights of other quasi-identifiers are taken as they are given, those by correlation so that their mean is 1,
and the raw table has the sum of all level 0 values. Expert's values are on the scale of the weights: 1 is what a raw
attribute of weight 1 is worth.

With `weights: correlation` in the spec, an attribute's weight is 1 - the mean of its associations with the other
quasi-identifiers, so that one that little goes with weighs more. The association of two numbers is the absolute value
of Pearson's correlation, of two categories Cramer's V, of a number and a category the correlation ratio, the latter two
corrected for the number of categories.

A `keep_apart` rule between two numbers is broken where the nearest leaves on its two sides are in one node, one between
two leaves or nodes where one node of the level holds leaves of both. A rule that names no leaf and no node, or a
boundary with no leaf on one of its sides, has no effect. A `keep_together` rule holds as a whole or not at all: it is
broken where one node holds values of its set or range and values outside of it. `keep` is the same of one value.

Defined for full-domain generalization only, where each attribute has one level.

Source: Morton, Mahoui, Gibson, Yechuri, An enhanced utility-driven data anonymization method, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from anonymize.classes import Bools, Codes, Floats, Ints, Runs
from anonymize.domain import generalization, taxonomy
from anonymize.domain.numeric import Numeric
from anonymize.metrics.base import Metric, View
from anonymize.spec import Rule
from anonymize.table import Attribute, Table

# --- associations -----------------------------------------------------------------------------------------------------
# The association of two attributes is a number from 0 to 1, whatever their kinds, computed from the raw values:
#
# - two numbers: the absolute value of Pearson's correlation, over the rows where neither is missing;
# - two categories: Cramer's V, corrected for the bias of few rows (Bergsma 2013), missing being one more category;
# - a number and a category: the correlation ratio, the root of the share of the number's variance that lies between the
#   categories, corrected for their number in the same way (epsilon squared, Kelley 1935), over the rows where the
#   number is not missing.
#
# Without the corrections an attribute of many values would seem to be associated with every other. A column with a
# single value is associated with none: 0. The weight of an attribute is 1 - the mean of its associations with the
# others, over the sum of these; all are equal where every association is 1. The source asks for a weight that is higher
# for an attribute that correlates less with the others, and leaves the measure open.


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


# --- research value ---------------------------------------------------------------------------------------------------

Weights = Literal["given", "correlation"]


def compute(view: View) -> float | None:
    """The figure of a release; see `Metric`."""
    if view.levels is None:
        return None
    values = values_of(view.attributes, view.weights)
    return float(sum(of_level[level] for of_level, (level, _) in zip(values, view.levels, strict=True)))


RESEARCH_VALUE = Metric(
    "research_value",
    "higher",
    (0.0, None),
    "The sum over the attributes of the research value of the released level; None for another recoding model.",
    "worth of the levels by weights and rules, 0 to 1",
    SUM=False,
    compute=compute,
    manual=__doc__,
)


def research_values(table: Table) -> list[Floats]:
    """Per quasi-identifier, (levels,) the research value of each level of its hierarchy: level 0 is its weight."""
    return values_of(table.attributes, table.weights)


def values_of(attributes: Sequence[Attribute], weights: Weights) -> list[Floats]:
    """Per attribute, (levels,) the research values; `weights` are given, or follow from the attributes' correlation."""
    scale = scaled_weights(attributes, weights).tolist()
    return [worths(attribute, weight) for attribute, weight in zip(attributes, scale, strict=True)]


def worths(attribute: Attribute, weight: float) -> Floats:
    """(levels,) research value of each level: what an expert gives it, else what follows from the weight."""
    if attribute.research_value is not None:
        missing = attribute.hierarchy.height + 1 - len(attribute.research_value)
        return np.array([*attribute.research_value, *[0.0] * missing])
    over = attribute.generalization
    shares = node_share(over.hierarchy) if over.numbers is None else spread_share(attribute)
    return np.asarray(weight * (shares * kept_share(over, attribute.rules)))


def scaled_weights(attributes: Sequence[Attribute], weights: Weights) -> Floats:
    """(attributes,) weights that sum to 1; next to an expert's values the given ones, or computed ones of mean 1."""
    if all(attribute.research_value is None for attribute in attributes):
        return normalized_weights(attributes, weights)
    if weights == "given":
        return np.array([attribute.weight for attribute in attributes])
    return normalized_weights(attributes, weights) * len(attributes)


def normalized_weights(attributes: Sequence[Attribute], weights: Weights) -> Floats:
    """(attributes,) weights that sum to 1."""
    if weights == "correlation":
        return independence_weights(attributes)
    given = np.array([attribute.weight for attribute in attributes])
    return np.asarray(given / given.sum())


def leaf_rows(attribute: Attribute) -> Ints:
    """(leaves,) rows of each leaf of the attribute's hierarchy."""
    leaves = attribute.generalization.leaf_of(attribute.codes)
    return np.bincount(leaves, attribute.counts, minlength=attribute.hierarchy.size).astype(np.int64)


def spread_share(attribute: Attribute) -> Floats:
    """(levels,) rows over the sum of rows x range of their node; 1 where there are no rows."""
    hierarchy, rows = attribute.hierarchy, leaf_rows(attribute)
    leaves = attribute.range == "leaves"
    ranges = hierarchy.stop - hierarchy.start if leaves else attribute.generalization.spanned(rows > 0)
    spans, total = ranges[hierarchy.levels], int(rows.sum())
    return np.asarray(total / (spans @ rows)) if total else np.ones(len(spans))


def node_share(hierarchy: taxonomy.Taxonomy) -> Floats:
    """(levels,) nodes of each level over leaves."""
    changes = np.count_nonzero(np.diff(hierarchy.levels, axis=1), axis=1)
    return np.asarray((changes + 1) / hierarchy.size)


def kept_share(over: generalization.Generalization, rules: Sequence[Rule]) -> Floats:
    """(levels,) importance of the rules that each level keeps over that of all; 1 without rules."""
    effective = generalization.in_force(rules, over)
    if not effective:
        return np.ones(over.hierarchy.height + 1)
    importance = np.array([rule.importance for rule in effective])
    broken = np.stack([rule.broken(over.hierarchy) for rule in effective])
    return np.asarray((importance[:, None] * ~broken).sum(axis=0) / importance.sum())
