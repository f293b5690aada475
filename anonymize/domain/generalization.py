"""The hierarchy of one attribute of either kind, and what each of its nodes costs.

A categorical attribute's hierarchy is its domain. A numeric one has a hierarchy beside its domain, whose leaves may be
more than the numbers that occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from anonymize.domain import Codes, Domain, tree
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import CodedTaxonomy, Taxonomy
from anonymize.records import dataclass
from anonymize.spec.columns import Rule, RuleRange

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Generalization:
    """A hierarchy over a domain.

    Attributes:
        domain: the attribute's leaves as the table has them.
        hierarchy: the value generalization hierarchy.
        leaves: (domain.size,) the hierarchy's leaf of each code of the domain; None: the code itself.
        numbers: (hierarchy.size,) the number of each leaf of the hierarchy, nan for one that is not a number; None
            where the attribute is categorical.
        widths: (nodes,) how wide the interval is that each label shows, nan for a label that is not an interval; None
            where no label is one.
        excluded: (nodes,) how many of its ends that interval leaves out, 0 for any other label; None where no label is
            one.
    """

    domain: Domain
    hierarchy: Taxonomy
    leaves: NDArray[np.int64] | None = None
    numbers: Floats | None = None
    widths: Floats | None = None
    excluded: NDArray[np.int64] | None = None

    @classmethod
    def plain(cls, domain: Domain, suppressed: str = "*") -> Generalization:
        """The hierarchy of a domain that has no other: a taxonomy is its own, numbers have one root above them all."""
        if isinstance(domain, Taxonomy):
            return cls(domain, domain)
        assert isinstance(domain, Numeric)
        texts = domain.leaf_text()
        ground = tree.Level(np.arange(len(texts)), texts)
        numbered = tree.Tree((ground, tree.Level(np.zeros(len(texts), np.intp), [suppressed]))).numbered()
        return cls.over(domain, Taxonomy(domain.name, numbered.levels, numbered.labels, domain.missing))

    @classmethod
    def over(
        cls,
        domain: Numeric,
        hierarchy: Taxonomy,
        widths: Floats | None = None,
        excluded: NDArray[np.int64] | None = None,
    ) -> Generalization:
        """Numbers with a hierarchy whose leaf codes are the domain's."""
        numbers = np.full(hierarchy.size, np.nan)
        numbers[: len(domain.values)] = domain.values
        return cls(domain, hierarchy, None, numbers, widths, excluded)

    @property
    def of_file(self) -> bool:
        """Whether the leaves are those of a file of numbers, whatever numbers occur."""
        return self.leaves is not None

    def leaf_of(self, codes: Codes) -> NDArray[np.int64]:
        """The hierarchy's leaf of each code of the domain, same shape."""
        return codes.astype(np.int64) if self.leaves is None else self.leaves[codes]

    def text_of(self, codes: Codes, nodes: Codes) -> list[str]:
        """How each node reads; a node that is a leaf as the value (its code) does."""
        values = self.domain.leaf_text()
        size, labels = self.hierarchy.size, self.hierarchy.labels
        pairs = zip(codes.tolist(), nodes.tolist(), strict=True)
        return [values[code] if node < size else labels[node] for code, node in pairs]

    @cached_property
    def share(self) -> Floats:
        """(nodes,) leaves under each node over all leaves."""
        return (self.hierarchy.stop - self.hierarchy.start) / self.hierarchy.size

    @cached_property
    def ncp(self) -> Floats:
        """(nodes,) normalized certainty penalty: 0 of a leaf, 1 of the root.

        For numbers: the width of the interval that the node's label shows, over the column's span, at most 1; of a
        label that is not an interval, what the leaves under the node that are numbers span. For categories: the
        hierarchy's `node_cost`, which is weight x share, at most 1, and 0 where one leaf is all there is.
        """
        cost = self._width() if self.numbers is not None else self.hierarchy.node_cost.copy()
        cost[: self.hierarchy.size] = 0.0
        cost[self.hierarchy.root] = 1.0
        return cost

    @cached_property
    def loss(self) -> Floats:
        """(nodes,) Iyengar's loss: (leaves under the node - 1) / (leaves - 1) for categories, the `ncp` for numbers."""
        if self.numbers is not None:
            return self.ncp
        cost = (self.hierarchy.stop - self.hierarchy.start - 1) / max(self.hierarchy.size - 1, 1)
        cost[self.hierarchy.root] = 1.0
        return np.asarray(cost)

    def _width(self) -> Floats:
        """(nodes,) what each node shows, over the span of the column, at most 1; 1 where the column has no span and the
        node has one. Quarters keep the difference of two large numbers within a float64.
        """
        assert self.numbers is not None and isinstance(self.domain, Numeric)
        span, quarter = self.domain.span, self._quarter_shown(self.numbers)
        return np.minimum(quarter / (span / 4), 1.0) if span else (quarter > 0).astype(np.float64)

    def spanned(self, occurring: NDArray[np.bool_]) -> Floats:
        """(nodes,) how many numbers each node spans, ends counted but for those that its label leaves out, so that a
        leaf has 1; no node spans less than one below it.

        `occurring` (hierarchy.size,): the leaves that count where a label is not an interval.
        """
        assert self.numbers is not None and isinstance(self.domain, Numeric)
        quarter = self._quarter_shown(np.where(occurring, self.numbers, np.nan))
        with np.errstate(over="ignore"):
            spans = np.asarray(quarter / (self.domain.unit / 4) + 1)
        if self.excluded is not None:
            spans = np.maximum(spans - self.excluded, 1.0)
            self._raise(spans)
        return spans

    def _quarter_shown(self, numbers: Floats) -> Floats:
        """(nodes,) a quarter of the width of the interval that each label shows, or of what the numbers (leaves,) under
        it span; no less than of a node below it."""
        quarter = self._quarter(numbers)
        if self.widths is not None:
            quarter = np.where(np.isnan(self.widths), quarter, self.widths / 4)
        self._raise(quarter)
        return quarter

    def _quarter(self, numbers: Floats) -> Floats:
        """(nodes,) a quarter of what the numbers under each node span; 0 where there is none.

        On each level the leaves of a node lie side by side, so one `reduceat` per level has the lowest and the highest
        number of all its nodes.
        """
        low = np.where(np.isnan(numbers), np.inf, numbers)
        high = np.where(np.isnan(numbers), -np.inf, numbers)
        quarter = np.zeros(len(self.hierarchy.labels))
        for level in self.hierarchy.levels[1:]:
            first = np.flatnonzero(np.diff(level, prepend=-1))
            most, least = np.maximum.reduceat(high, first), np.minimum.reduceat(low, first)
            some = most > least
            quarter[level[first[some]]] = most[some] / 4 - least[some] / 4
        return quarter

    def _raise(self, cost: Floats) -> None:
        """No node costs less than one below it, whatever its label says: the bounds of a search rest on that."""
        for lower, upper in pairwise(self.hierarchy.levels):
            np.maximum.at(cost, upper, cost[lower])


@dataclass(frozen=True)
class CodedGeneralization(Generalization):
    """A hierarchy of which nothing below a level is left, over a domain that is coded at it; `declared` is the whole
    one, whose nodes cost what they do there."""

    declared: Generalization | None = None

    @property
    def of_file(self) -> bool:
        return self.declared is not None and self.declared.of_file

    def declared_leaf(self, leaves: Codes) -> NDArray[np.int64]:
        """(n,) of a file of numbers, the first leaf of the declared hierarchy under each leaf; else the leaf itself,
        which is the code of the domain."""
        if not self.of_file:
            return np.asarray(leaves, np.int64)
        assert self.declared is not None and isinstance(self.hierarchy, CodedTaxonomy)
        first: NDArray[np.int64] = self.declared.hierarchy.start[self.hierarchy.origin[leaves]]
        return first

    @cached_property
    def share(self) -> Floats:
        return self._declared("share")

    @cached_property
    def ncp(self) -> Floats:
        """(nodes,) the normalized certainty penalty in the declared hierarchy, above 0 of the lowest nodes left."""
        return self._declared("ncp")

    @cached_property
    def loss(self) -> Floats:
        """(nodes,) Iyengar's loss in the declared hierarchy, above 0 of the lowest nodes left."""
        return self._declared("loss")

    def _declared(self, figure: str) -> Floats:
        assert self.declared is not None and isinstance(self.hierarchy, CodedTaxonomy)
        of_node: Floats = getattr(self.declared, figure)
        return of_node[self.hierarchy.origin]


# --- data constraint rules --------------------------------------------------------------------------------------------
# A rule names two values. For categories they are leaves or nodes; as nodes are intervals of leaf codes, a level mixes
# two of them if and only if it mixes the last leaf of the first with the first leaf of the second. For numbers they are
# the two sides of a boundary: it is lost where the largest leaf that is not above the lower one and the smallest that
# is not below the upper one fall into one node, whether or not the two numbers themselves occur.
#
# A rule may also name a set of values, a range, or one value that is to be kept as a whole. It is broken where a node
# holds leaves inside of it and leaves outside: whoever reads the level can then no longer say which rows are inside.
#
# Source: Morton, Mahoui, Gibson, Yechuri, An enhanced utility-driven data anonymization method, section 4.

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

    def resolved(rule: Rule) -> Apart | Kept | str:
        if rule.keep_apart is None:
            return _kept(rule, over)
        return _nodes(rule, over.hierarchy) if over.numbers is None else _boundary(rule, over.numbers)

    return [resolved(rule) for rule in rules]


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
        if over.numbers is not None:
            leaves = np.flatnonzero(over.numbers == value)
        else:
            first, last = hierarchy.extent(str(value)) or (0, -1)
            leaves = np.arange(first, last + 1)
        if not len(leaves):
            return UNKNOWN
        inside[leaves] = True
    if not inside.any():
        return UNKNOWN
    return EVERYTHING if inside.all() else Kept(inside, rule.importance)


def _boundary(rule: Rule, numbers: NDArray[np.float64]) -> Apart | str:
    low, high = sorted(float(value) for value in rule.keep_apart or ())
    below, above = np.flatnonzero(numbers <= low), np.flatnonzero(numbers >= high)
    if not len(below) or not len(above):
        return UNKNOWN
    left, right = below[np.argmax(numbers[below])], above[np.argmin(numbers[above])]
    return Apart(int(left), int(right), rule.importance)


def _nodes(rule: Rule, hierarchy: Taxonomy) -> Apart | str:
    extents = [extent for value in rule.values if (extent := hierarchy.extent(str(value))) is not None]
    if len(extents) < len(rule.values):
        return UNKNOWN
    (_, last), (first, _) = sorted(extents)
    return NESTED if last >= first else Apart(last, first, rule.importance)
