"""Data constraint rules on the leaves of a hierarchy: which level still keeps apart what a rule says.

A rule names two values. For categories they are leaves or nodes; as nodes are intervals of leaf codes, a level mixes
two of them if and only if it mixes the last leaf of the first with the first leaf of the second. For numbers they are
the two sides of a boundary: it is lost where the largest leaf that is not above the lower one and the smallest that is
not below the upper one fall into one node, whether or not the two numbers themselves occur.

A rule may also name a set of values, a range, or one value that is to be kept as a whole. It is broken where a node
holds leaves inside of it and leaves outside: whoever reads the level can then no longer say which rows are inside.

Source: Morton, Mahoui, Gibson, Yechuri, An enhanced utility-driven data anonymization method, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.generalization import Generalization
from anonymize.domain.taxonomy import Taxonomy
from anonymize.spec.rules import Rule, RuleRange

EVERYTHING = "covers every leaf of the hierarchy"
UNKNOWN = "names a value that is neither a leaf nor a node of the hierarchy"
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


@dataclass(frozen=True)
class Kept:
    """A rule as a set of leaves, (leaves,) whether each is inside: it is broken at every level where a node holds some
    inside and some outside."""

    inside: NDArray[np.bool_]
    importance: float

    def broken(self, hierarchy: Taxonomy) -> NDArray[np.bool_]:
        """(levels,) whether each level breaks the rule; level 0 never does.

        On each level the leaves of a node lie side by side, so one `reduceat` a level counts those inside of each.
        """
        broken = []
        for level in hierarchy.levels:
            first = np.flatnonzero(np.diff(level, prepend=-1))
            within = np.add.reduceat(self.inside.astype(np.int64), first)
            broken.append(bool(((within > 0) & (within < np.diff(first, append=len(level)))).any()))
        return np.array(broken)


def resolve(rules: Sequence[Rule], over: Generalization) -> list[Apart | Kept | str]:
    """Each rule on the leaves, or what is wrong with it: `UNKNOWN`, `NESTED` or `EVERYTHING`.

    A boundary with no number on one of its sides separates nothing, and is unknown too.
    """
    return [_resolved(rule, over) for rule in rules]


def _resolved(rule: Rule, over: Generalization) -> Apart | Kept | str:
    if rule.keep_apart is None:
        return _kept(rule, over)
    return _nodes(rule, over.hierarchy) if over.numbers is None else _boundary(rule, over.numbers)


def in_force(rules: Sequence[Rule], over: Generalization) -> list[Apart | Kept]:
    """The rules that can be kept or broken; the others have no effect."""
    return [resolved for resolved in resolve(rules, over) if not isinstance(resolved, str)]


def _kept(rule: Rule, over: Generalization) -> Kept | str:
    """A set, a range, or one value; a value that is nowhere makes all of it unknown."""
    hierarchy, together = over.hierarchy, rule.keep_together
    inside = np.zeros(hierarchy.size, np.bool_)
    if isinstance(together, RuleRange):
        assert over.numbers is not None
        inside |= (over.numbers >= together.from_) & (over.numbers <= together.to)
    for value in rule.values:
        leaves = _leaves_of(value, over)
        if not leaves.any():
            return UNKNOWN
        inside |= leaves
    if not inside.any():
        return UNKNOWN
    return EVERYTHING if inside.all() else Kept(inside, rule.importance)


def _leaves_of(value: float | str, over: Generalization) -> NDArray[np.bool_]:
    """(leaves,) which are under a node, the lowest one of that label, or are that number."""
    if over.numbers is not None:
        return np.asarray(over.numbers == value)
    hierarchy, codes = over.hierarchy, np.arange(over.hierarchy.size)
    if value not in hierarchy.labels:
        return np.zeros(hierarchy.size, np.bool_)
    node = hierarchy.labels.index(str(value))
    return np.asarray((codes >= hierarchy.start[node]) & (codes < hierarchy.stop[node]))


def _boundary(rule: Rule, numbers: NDArray[np.float64]) -> Apart | str:
    low, high = sorted(float(value) for value in rule.keep_apart or ())
    below, above = np.flatnonzero(numbers <= low), np.flatnonzero(numbers >= high)
    if not len(below) or not len(above):
        return UNKNOWN
    left, right = below[np.argmax(numbers[below])], above[np.argmin(numbers[above])]
    return Apart(int(left), int(right), rule.importance)


def _nodes(rule: Rule, hierarchy: Taxonomy) -> Apart | str:
    if not all(value in hierarchy.labels for value in rule.values):
        return UNKNOWN
    nodes = [hierarchy.labels.index(str(value)) for value in rule.values]  # the lowest one of that label
    first, second = sorted(nodes, key=lambda node: int(hierarchy.start[node]))
    if hierarchy.stop[first] > hierarchy.start[second]:
        return NESTED
    return Apart(int(hierarchy.stop[first]) - 1, int(hierarchy.start[second]), rule.importance)
