"""What nodes are compared by: metrics of a level vector and of the rows that it suppresses; lower is better.

With N rows, of which S are in classes that fail (all of them are suppressed in a score, whatever the limit), n
attributes, and a factor g in [0, 1] that weighs suppression against generalization: sF = min(2 g, 1) for suppressed
rows, gF = min(1, 2 - 2 g) for generalized ones. At 0.5 both are 1, at 0 suppression costs nothing beyond the level.

Metrics of one figure an attribute, v_i in [0, 1] unless said otherwise, put together by an aggregate:

- `loss`: x = gF sum over all rows of share + sF sum over suppressed rows of (1 - gF share), share the leaves under the
  row's node over all leaves D; v = (x - m) / (N - m), m = gF N / D, rounded down to ten decimals. Default: geometric.
- `ncp`: x likewise of the node's normalized certainty penalty; v = x / N. Default: mean, which is the report's gcp.
- `precision`: v = (kept rows x gF x level / height + S sF) / N. Default: mean: 1 - Prec.
- `height`: v = level, not in [0, 1]; does not look at suppression. Default: sum.
- `entropy`: non-uniform entropy in bits, not in [0, 1]: v = gF sum over all rows of log2(rows of its node / rows of its
  value) + sF sum over the nodes of suppressed rows of c log2(S / c), c of them at the node; to ten decimals. Default:
  sum.

- `normalized-entropy`: that of `entropy` over what it is where every row shows the root. Default: mean.
- `entropy-loss`: x likewise of log(leaves under the row's node) over the log of all combinations of leaves there are;
  v = x / N, which in sum is in [0, 1]. Default: sum. (Rows are not weighed by how frequent their values are.)

Aggregates, w_i the attribute's weight over the largest: `mean` and `sum` of w_i v_i, `geometric` the product of
(w_i v_i + 1) ^ (1 / n), less 1, `max` of w_i v_i, `rank` all w_i v_i from the largest to the smallest, compared in this
order.

Metrics of one figure, for which aggregate and weights do not matter:

- `discernibility`: sum of kept classes squared + N S.
- `discernibility-star`: DM*, sum of all classes squared, as if none were suppressed.
- `ambiguity`: mean over the rows of how many combinations of leaves a row may stand for: the product of the leaves
  under its nodes, for a suppressed row of all leaves there are.
- `kl-divergence`: in bits, of the table's distribution from what a recipient expects who spreads each class evenly over
  the combinations of leaves that it may stand for, and the suppressed rows, as one class, over all: sum over distinct
  rows of p log2(p / q), q = class / N / combinations.
- `c_avg`: N / (sF kept classes + gF if any row is suppressed); infinite where that is 0.
- `research-value`: 1 - the research value of the levels.
- `publisher-payout`: what the publisher gives up in the game of the spec's first `profitability`, in its unit of money:
  sum over kept rows of gF (benefit - payout) + sF S benefit, the payout of a row of a class being benefit x (1 - IL),
  less the loss times the chance of a correct link where a rational attacker tries, and IL the figure of
  `entropy-loss`, without weights. The table as it is, unattacked, gives up nothing.

Lower bounds. `lower_bounds` needs no check: what a vector costs if no more rows are suppressed than need be.
`bounds_above` and `bounds_below` tell what a checked node says about those above and below it.

Source: the metrics of ARX (Prasser, Kohlmayer, Lautenschlaeger, Kuhn, AMIA 2014), whose figures those up to `entropy`,
`discernibility` and `c_avg` reproduce; Xu et al., KDD 2006 (ncp); Sweeney 2002 (precision); Samarati 2001 (height);
Bayardo, Agrawal, ICDE 2005 (DM*); Goldberger, Tassa, Transactions on Data Privacy 3, 2010 (ambiguity);
Machanavajjhala et al., TKDD 1(1), 2007 (KL divergence); Wan et al., PLoS ONE 10(3), 2015 (entropy-loss and
publisher-payout, which are ARX's as well).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.lattice import HierarchyLevels, Ordinals, Vector, aggregate
from anonymize.algorithms.lattice.nodes import Checker, NodeCheck
from anonymize.classes import Bools, Floats, Ints
from anonymize.errors import Problem, UsageError
from anonymize.metrics.research_value import research_values
from anonymize.privacy import profitability
from anonymize.records import dataclass

Score: TypeAlias = tuple[float, ...]
"""Compared in order; a single number for all aggregates except rank."""
Vectors: TypeAlias = NDArray[np.integer[Any]]
"""Level vectors (n, attributes)."""

DEFAULT_AGGREGATE = {
    "loss": "geometric",
    "ncp": "mean",
    "precision": "mean",
    "height": "sum",
    "entropy": "sum",
    "normalized-entropy": "mean",
    "entropy-loss": "sum",
}
"""Metrics of one figure an attribute, and what puts these together unless something else is asked for."""
SPREAD = ("ambiguity", "kl-divergence")
"""Metrics of what each class may stand for."""
PAYOUT = "publisher-payout"
WHOLE = ("discernibility", "discernibility-star", "c_avg", *SPREAD, "research-value", PAYOUT)
"""Metrics of one figure."""
METRICS = (*DEFAULT_AGGREGATE, *WHOLE)
ENTROPIES = ("entropy", "normalized-entropy")
DECIMALS = 1e10
LEAST: dict[str, float | None] = {
    "discernibility": None,
    "discernibility-star": None,
    "c_avg": 1.0,
    "ambiguity": 1.0,
    "kl-divergence": 0.0,
}
"""What metrics are at least at any node; None: the number of rows."""
ROUNDING = 1e-12
"""By how much a sum of logarithms may be off, relatively."""


def as_json(score: Sequence[float]) -> Any:
    """A score as a JSON file has it: a number, or a list for `rank`; null in place of an infinite figure."""
    figures = [figure if np.isfinite(figure) else None for figure in score]
    return figures[0] if len(figures) == 1 else figures


@dataclass(frozen=True)
class Scorer:
    """A metric on the nodes of a checker. `aggregate`: one of AGGREGATES; None for the metric's own."""

    checker: Checker
    metric: str = "loss"
    aggregate: str | None = None
    gs_factor: float = 0.5

    def over(self, checker: Checker) -> Scorer:
        """A scorer by the same metric, on the nodes of another checker."""
        return Scorer(checker, self.metric, self.aggregate, self.gs_factor)

    def score(self, vector: Vector) -> Score:
        """The score of a node; checks it if need be."""
        checked = self.checker.check(vector)
        if self.metric == "discernibility":
            return (float(checked.squares + self._rows * checked.suppressed),)
        if self.metric == "c_avg":
            classes = self._suppression * checked.classes + self._generalization * (checked.suppressed > 0)
            return (self._rows / classes if classes else np.inf,)
        if self.metric == "discernibility-star":
            return (float(checked.squares + checked.failing_squares),)
        if self.metric in SPREAD:
            return (self._spread(vector, self.checker.failing(vector)),)
        if self.metric == PAYOUT:
            return (self._given_up(vector),)
        if self.metric in ("height", "research-value") or not checked.suppressed:
            return self.lower_bound(vector, suppressed=0)
        extra = self._extra(vector)
        return tuple(self._aggregated(self._figures(np.array([vector]), extra, checked.suppressed))[0].tolist())

    def lower_bound(self, vector: Vector, suppressed: int | None = None) -> Score:
        """A lower bound of the node's score, without a check. `suppressed`: how many rows are; None if that is not
        known."""
        return tuple(self.lower_bounds(np.array([vector]), suppressed)[0].tolist())

    def lower_bounds(self, vectors: Vectors, suppressed: int | None = None) -> Floats:
        """(n, length of a score) a lower bound of each node's score."""
        if self.metric in LEAST:
            least = LEAST[self.metric]
            return np.full((len(vectors), 1), float(self._rows) if least is None else least)
        if self.metric == "research-value":
            return 1 - self._values_summed(vectors)
        if self.metric == PAYOUT:  # without attacks, and with suppressed rows at their levels, or for nothing
            lost = np.sum(self._information._figures(vectors, None, 0), axis=0)
            most = self.checker.suppression_limit if suppressed is None else suppressed
            spared = 0.0 if self._suppression >= self._generalization else self._generalization * most
            least = (self._game.publisher_benefit or 0) * np.maximum(lost * self._rows - spared, 0.0)
            return np.asarray(least[:, None] * (1 - ROUNDING))
        return self._aggregated(self._figures(vectors, None, suppressed))

    def bounds_above(self, checked: NodeCheck) -> Score | None:
        """A lower bound of the scores of all nodes above a checked one; None where `lower_bounds` is at least as
        good."""
        if self.metric in ("discernibility", "discernibility-star"):  # a row costs at least its class, which grows
            return (float(checked.squares + checked.failing_squares),)
        if self.metric in SPREAD:  # what classes may stand for grows, and more so for suppressed ones
            return (self._spread(checked.vector, np.zeros(checked.all_classes, np.bool_)) * (1 - ROUNDING),)
        if self.metric == "c_avg":
            most = max(self._suppression, self._generalization)
            return (self._rows / (most * checked.all_classes) if most else np.inf,)
        return None

    def bounds_below(self, checked: NodeCheck) -> Callable[[Vectors], Floats] | None:
        """The bounds of nodes below a checked one, whose failing rows are suppressed there too; None if nothing new."""
        if not self.checker.growing or not checked.suppressed or self._suppression == 0:
            return None
        if self.metric == "discernibility":
            least = self._rows * checked.suppressed + (self._rows - checked.suppressed)
            return lambda vectors: np.full((len(vectors), 1), float(least))
        if self.metric in ("loss", "ncp", "entropy-loss"):
            extra = self._extra(checked.vector)
            return lambda vectors: self._aggregated(self._figures(vectors, extra, checked.suppressed))
        if self.metric == "precision" and self._suppression >= self._generalization:
            return lambda vectors: self._aggregated(self._figures(vectors, None, checked.suppressed))
        return None

    # --- figures ---

    @property
    def _rows(self) -> int:
        return self.checker.rows

    @property
    def _suppression(self) -> float:
        return min(2 * self.gs_factor, 1.0)

    @property
    def _generalization(self) -> float:
        return min(1.0, 2 - 2 * self.gs_factor)

    @cached_property
    def _weights(self) -> Floats:
        weights = np.array([attribute.weight for attribute in self.checker.table.attributes])
        return np.asarray(weights / (weights.max(initial=0.0) or 1.0))

    def _figures(self, vectors: Vectors, extra: Floats | None, suppressed: int | None) -> list[Floats]:
        """Per attribute (n,) its v_i. `extra` (attributes,): what the suppressed rows add to x."""
        if self.metric == "height":
            return [level.astype(np.float64) for level in vectors.T]
        if self.metric == "precision":
            return self._precision(vectors, suppressed)
        losses = []
        for index, levels in enumerate(vectors.T):
            x = self._sums[index][levels] + (0.0 if extra is None else extra[index])
            losses.append(self._scaled(index, x))
        return losses

    def _scaled(self, index: int, x: Floats) -> Floats:
        """x of one attribute as its v."""
        if self.metric in ENTROPIES:
            most = 1.0 if self.metric == "entropy" else self._plain_sums[index][-1]
            return np.asarray(np.floor(x / (most or 1.0) * DECIMALS) / DECIMALS)
        if self.metric in ("ncp", "entropy-loss"):
            return x / self._rows
        least = self._generalization * self._rows / self._hierarchies[index].sizes[0]
        scaled = np.maximum(0.0, x - least) / ((self._rows - least) or 1.0)
        return np.asarray(np.floor(scaled * DECIMALS) / DECIMALS)

    def _precision(self, vectors: Vectors, suppressed: int | None) -> list[Floats]:
        losses = []
        for hierarchy, levels in zip(self._hierarchies, vectors.T, strict=True):
            share = self._generalization * levels / hierarchy.height
            most = self.checker.suppression_limit if suppressed is None else suppressed
            with_most = (share * (self._rows - most) + self._suppression * most) / self._rows
            losses.append(np.minimum(share, with_most) if suppressed is None else with_most)
        return losses

    def _extra(self, vector: Vector) -> Floats:
        """(attributes,) what the suppressed rows of a node add to x."""
        failing = self.checker.failing(vector)
        frequency_set = self.checker.frequency_set(vector)
        counts, extra = frequency_set.counts[failing], []
        for index, (hierarchy, level) in enumerate(zip(self._hierarchies, vector, strict=True)):
            rows = _counted(frequency_set.columns[index][failing], counts, hierarchy.sizes[level])
            extra.append(self._suppression * self._suppressed(index, level, rows))
        return np.array(extra)

    def _suppressed(self, index: int, level: int, rows: Floats) -> float:
        """The sum over suppressed rows, of which `rows` (nodes of the level,) are at each node."""
        if self.metric in ENTROPIES:
            some = rows[rows > 0]
            return float((some * np.log2(some.sum() / some)).sum())
        hierarchy = self._hierarchies[index]
        cost = self._cost(hierarchy)
        return float(
            rows @ (cost[hierarchy.attribute.hierarchy.root] - self._generalization * cost[hierarchy.nodes(level)])
        )

    def _cost(self, hierarchy: HierarchyLevels) -> Floats:
        """(nodes of the taxonomy,) the cost of a cell."""
        over = hierarchy.attribute.generalization
        if self.metric == "entropy-loss":
            return hierarchy.leaves / (self._combinations or 1.0)
        return over.share if self.metric == "loss" else over.ncp

    @property
    def _hierarchies(self) -> Sequence[HierarchyLevels]:
        return self.checker.bottom.hierarchies

    @cached_property
    def _values(self) -> list[Floats]:
        """Per attribute (levels,) research values."""
        return research_values(self.checker.table)

    @cached_property
    def _sums(self) -> list[Floats]:
        """Per attribute (levels,) x of all rows."""
        return [np.array([self._generalization * x for x in of_level]) for of_level in self._plain_sums]

    @cached_property
    def _plain_sums(self) -> list[list[float]]:
        """Per attribute and level the sum over all rows, whatever the factor is."""
        bottom = self.checker.bottom
        columns = zip(self._hierarchies, bottom.columns, strict=True)
        return [
            self._of_levels(hierarchy, _counted(column, bottom.counts, hierarchy.sizes[0]))
            for hierarchy, column in columns
        ]

    def _of_levels(self, hierarchy: HierarchyLevels, rows: Floats) -> list[float]:
        """The sum over all rows at each level; `rows` (leaves,)."""
        if self.metric not in ENTROPIES:
            cost = self._cost(hierarchy)
            return [float(rows @ hierarchy.of_leaves(level, cost)) for level in range(hierarchy.height + 1)]
        some = rows > 0
        sums = []
        for ordinals in hierarchy.ordinals:
            together = np.bincount(ordinals, rows)[ordinals]
            sums.append(float((rows[some] * np.log2(together[some] / rows[some])).sum()))
        return sums

    @cached_property
    def _combinations(self) -> float:
        """The base-2 logarithm of how many combinations of leaves there are."""
        return float(sum(np.log2(hierarchy.sizes[0]) for hierarchy in self._hierarchies))

    @property
    def _game(self) -> profitability.Parameters:
        """The sums of the game that the requirements name. UsageError where there is none."""
        for each in self.checker.requirements:
            if isinstance(each.parameters, profitability.Parameters) and each.parameters.publisher_benefit is not None:
                return each.parameters
        hint = "`privacy: {models: [{model: profitability, publisher_benefit: 1200, publisher_loss: 300, ...}]}`"
        raise UsageError(Problem(f"--metric {PAYOUT}: the spec names no game with a publisher_benefit", hint=hint))

    @cached_property
    def _information(self) -> Scorer:
        return Scorer(self.checker, "entropy-loss", None, self.gs_factor)

    def _given_up(self, vector: Vector) -> float:
        """What the publisher gives up at a node."""
        game, frequency_set = self._game, self.checker.frequency_set(vector)
        groups = replace(frequency_set.groups(), kept=1 - frequency_set.lost())
        failing, benefit = self.checker.failing(vector), game.publisher_benefit or 0.0
        rows = frequency_set.counts
        given = float(rows[~failing] @ (benefit - profitability.payouts(groups, game)[~failing]))
        return self._generalization * given + self._suppression * float(rows[failing].sum()) * benefit

    def _spread(self, vector: Vector, failing: Bools) -> float:
        """A metric of what classes may stand for; `failing` (m,): those that are suppressed."""
        frequency_set = self.checker.frequency_set(vector)
        area = np.zeros(frequency_set.size)  # base-2 logarithms
        for hierarchy, level, column in zip(self._hierarchies, vector, frequency_set.columns, strict=True):
            area += hierarchy.leaves[hierarchy.nodes(level)][column]
        counts = frequency_set.counts[~failing].astype(np.float64)
        suppressed = float(frequency_set.counts[failing].sum())
        if self.metric == "ambiguity":
            return float(counts @ np.exp2(area[~failing]) + suppressed * np.exp2(self._combinations)) / self._rows
        unlike = counts @ (area[~failing] - np.log2(counts / self._rows))
        if suppressed:
            unlike += suppressed * (self._combinations - np.log2(suppressed / self._rows))
        bottom_counts = self.checker.bottom.counts.astype(np.float64)
        return float(bottom_counts @ np.log2(bottom_counts / self._rows) + unlike) / self._rows

    def _values_summed(self, vectors: Vectors) -> Floats:
        """(n, 1) sums of the research values over the attributes."""
        total = np.zeros(len(vectors))
        for of_level, levels in zip(self._values, vectors.T, strict=True):
            total += of_level[levels]
        return total[:, None]

    def _aggregated(self, figures: list[Floats]) -> Floats:
        name = self.aggregate or DEFAULT_AGGREGATE[self.metric]
        return aggregate(name, [w * v for w, v in zip(self._weights.tolist(), figures, strict=True)])


def _counted(column: Ordinals, counts: Ints, size: int) -> Floats:
    """(size,) rows at each node, as float64: exact up to 2 ** 53."""
    return np.bincount(column, counts, size).astype(np.float64)
