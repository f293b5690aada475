"""Research value: what the levels of a full-domain generalization leave for a researcher, by weights and rules.

The research value of an attribute with weight w, at level k of its hierarchy, level 0 being the raw values:

- a number: w x (sum over groups of R_0 N_0) / (sum over groups of R_k N_k) x (DR_k / DR_0). A group is a node of the
  level, N its rows, R the leaves that it spans; at level 0 R is 1, so the numerator is the number of rows. All rows of
  the input count, whether or not they are suppressed.
- a category: w x |A_k| / |A_0| x (DR_k / DR_0), |A_k| the nodes of the level, of the whole hierarchy, missing included
  where the column has any.

DR_k is the sum of the importances of the `keep_apart` rules that the level keeps, DR_0 that of all; their ratio is 1
where there are no rules. Weights are normalized to sum 1, so the raw table has the research value 1. No level has a
higher value than a level below it.

With `weights: correlation` in the spec, an attribute's weight is 1 - the mean of its associations with the other
quasi-identifiers, so that one that little goes with weighs more. The association of two numbers is the absolute value
of Pearson's correlation, of two categories Cramer's V, of a number and a category the correlation ratio, the latter two
corrected for the number of categories.

A rule between two numbers is broken where the nearest leaves on its two sides are in one node, a rule between two
leaves or nodes where one node of the level holds leaves of both. A rule that names no leaf and no node, or a boundary
with no leaf on one of its sides, has no effect.

Defined for full-domain generalization only, where each attribute has one level.

Source: Morton, Mahoui, Gibson, Yechuri, An enhanced utility-driven data anonymization method, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from anonymize.classes import Floats, Ints
from anonymize.domain.generalization import Generalization
from anonymize.domain.rules import in_force
from anonymize.domain.taxonomy import Taxonomy
from anonymize.metrics.association import independence_weights
from anonymize.metrics.base import Bounds, Goal, View
from anonymize.spec import Rule
from anonymize.table import Attribute, Table

ID = "research_value"
GOAL: Goal = "higher"
BOUNDS: Bounds = (0.0, 1.0)

Weights = Literal["given", "correlation"]


def compute(view: View) -> float | None:
    """The sum over the attributes of the research value of the released level; None for another recoding model."""
    if view.levels is None:
        return None
    values = values_of(view.attributes, view.weights)
    return float(sum(of_level[level] for of_level, (level, _) in zip(values, view.levels, strict=True)))


def research_values(table: Table) -> list[Floats]:
    """Per quasi-identifier, (levels,) the research value of each level of its hierarchy: level 0 is its weight."""
    return values_of(table.attributes, table.weights)


def values_of(attributes: Sequence[Attribute], weights: Weights) -> list[Floats]:
    """As `research_values`, for attributes whose weights are given or follow from their correlation."""
    shares = normalized_weights(attributes, weights).tolist()
    return [
        share * level_values(attribute.generalization, attribute.rules, leaf_rows(attribute))
        for attribute, share in zip(attributes, shares, strict=True)
    ]


def normalized_weights(attributes: Sequence[Attribute], weights: Weights) -> Floats:
    """(attributes,) weights that sum to 1."""
    if weights == "correlation":
        return independence_weights(attributes)
    given = np.array([attribute.weight for attribute in attributes])
    return np.asarray(given / given.sum())


def leaf_rows(attribute: Attribute) -> Ints:
    """(leaves,) rows of each leaf of the attribute's hierarchy."""
    leaves = attribute.generalization.leaf_of(attribute.codes)
    return np.bincount(leaves, minlength=attribute.hierarchy.size)


def level_values(over: Generalization, rules: Sequence[Rule], rows: Ints) -> Floats:
    """(levels,) research value of each level at weight 1; `rows` (leaves,) counts for numbers only."""
    hierarchy = over.hierarchy
    shares = node_share(hierarchy) if over.numbers is None else spread_share(hierarchy, rows)
    return np.asarray(shares * kept_share(over, rules))


def spread_share(hierarchy: Taxonomy, rows: Ints) -> Floats:
    """(levels,) rows over the sum of rows x leaves spanned by their node; 1 where there are no rows."""
    spans = (hierarchy.stop - hierarchy.start)[hierarchy.levels]
    total = int(rows.sum())
    return np.asarray(total / (spans @ rows)) if total else np.ones(len(spans))


def node_share(hierarchy: Taxonomy) -> Floats:
    """(levels,) nodes of each level over leaves."""
    changes = np.count_nonzero(np.diff(hierarchy.levels, axis=1), axis=1)
    return np.asarray((changes + 1) / hierarchy.size)


def kept_share(over: Generalization, rules: Sequence[Rule]) -> Floats:
    """(levels,) importance of the rules that each level keeps over that of all; 1 without rules."""
    effective = in_force(rules, over)
    if not effective:
        return np.ones(over.hierarchy.height + 1)
    importance = np.array([rule.importance for rule in effective])
    broken = np.stack([rule.broken(over.hierarchy) for rule in effective])
    return np.asarray((importance[:, None] * ~broken).sum(axis=0) / importance.sum())
