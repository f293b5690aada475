"""Data constraint rules on the leaves of a hierarchy: which level still keeps apart what a rule says.

A rule names two values. For categories they are leaves or nodes; as nodes are intervals of leaf codes, a level mixes
two of them if and only if it mixes the last leaf of the first with the first leaf of the second. For numbers they are
the two sides of a boundary: it is lost where the largest leaf that is not above the lower one and the smallest that is
not below the upper one fall into one node, whether or not the two numbers themselves occur.

Source: Morton, Mahoui, Gibson, Yechuri, An enhanced utility-driven data anonymization method, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.generalization import Generalization
from anonymize.domain.taxonomy import Taxonomy
from anonymize.spec.model import Rule

UNKNOWN = "names a value that is no leaf and no node of the hierarchy"
NESTED = "names two nodes of which one lies within the other"


@dataclass(frozen=True)
class Apart:
    """A rule as two leaf codes: it is broken at every level where both have the same ancestor."""

    left: int
    right: int
    importance: float

    def broken(self, hierarchy: Taxonomy) -> NDArray[np.bool_]:
        """(levels,) whether each level breaks the rule; level 0 never does."""
        return np.asarray(hierarchy.levels[:, self.left] == hierarchy.levels[:, self.right])


def resolve(rules: Sequence[Rule], over: Generalization) -> list[Apart | str]:
    """Each rule on the leaves, or what is wrong with it: `UNKNOWN` or `NESTED`.

    A boundary with no number on one of its sides separates nothing, and is unknown too.
    """
    return [_nodes(rule, over.hierarchy) if over.numbers is None else _boundary(rule, over.numbers) for rule in rules]


def in_force(rules: Sequence[Rule], over: Generalization) -> list[Apart]:
    """The rules that can be kept or broken; the others have no effect."""
    return [resolved for resolved in resolve(rules, over) if isinstance(resolved, Apart)]


def _boundary(rule: Rule, numbers: NDArray[np.float64]) -> Apart | str:
    low, high = sorted(float(value) for value in rule.keep_apart)
    below, above = np.flatnonzero(numbers <= low), np.flatnonzero(numbers >= high)
    if not len(below) or not len(above):
        return UNKNOWN
    left, right = below[np.argmax(numbers[below])], above[np.argmin(numbers[above])]
    return Apart(int(left), int(right), rule.importance)


def _nodes(rule: Rule, hierarchy: Taxonomy) -> Apart | str:
    if not all(value in hierarchy.labels for value in rule.keep_apart):
        return UNKNOWN
    nodes = [hierarchy.labels.index(str(value)) for value in rule.keep_apart]  # the lowest one of that label
    first, second = sorted(nodes, key=lambda node: int(hierarchy.start[node]))
    if hierarchy.stop[first] > hierarchy.start[second]:
        return NESTED
    return Apart(int(hierarchy.stop[first]) - 1, int(hierarchy.start[second]), rule.importance)
