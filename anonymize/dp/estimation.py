"""The model of some measurements: marginals of a junction tree that are as near to them as any distribution is.

Measurements of single columns alone give the product of their distributions, which is computed here. Those of several
are fitted as a graphical model over a junction tree (McKenna, Sheldon, Miklau: Graphical-model based estimation and
inference for differential privacy, ICML 2019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod
from typing import NamedTuple

import numpy as np

from anonymize.domain import Floats, Ints
from anonymize.dp.sampler import Clique, Columns, junction_tree
from anonymize.records import dataclass

# --- mirror descent ---------------------------------------------------------------------------------------------------
# The loss is the sum of squares of (marginal - measured) / sigma over all cells of all measurements, halved. Mirror
# descent over distributions (McKenna, Sheldon, Miklau: Graphical-model based estimation and inference for differential
# privacy, ICML 2019, algorithm 1) multiplies the distribution by exp(-step * gradient), here with momentum: a share of
# the step before is taken again. Where the loss does not fall, the step is not taken, and the next is half as long.
#
# The state is the marginals of the parts of the tree, which agree where they overlap. A step multiplies them by factors
# of the measured columns and makes them agree again by one pass of messages to the root and one back: sums and products
# of tables, and no logarithm of a large one. Nothing is compiled, so that a model of other columns costs no more than
# its steps. Axes of every table are in the order of the table's columns.

BLOCK = 25
"""Steps between two looks at the progress."""
LEAST_SHARE = 1e-200
"""The smallest share of a cell: below it lie numbers that a processor is slow with, and 0, which no step leaves."""
LONGER, SHORTER = 1.1, 0.5
"""By how much a step that was taken lengthens the next, and one that was not shortens it."""
MOMENTUM = 0.9
"""The share of the step before that is taken again."""


@dataclass(frozen=True)
class MeasuredCounts:
    """What is known of a marginal: noisy `counts` (cells,), and the precision 1 / sigma^2 of each."""

    columns: Columns
    counts: Floats
    precision: float


@dataclass(frozen=True)
class _Summed:
    """A marginal that is summed from another or a part, `source`: over which axes; and its shape when it is spread
    again."""

    source: int
    axes: tuple[int, ...]
    shape: tuple[int, ...]


class _Join(NamedTuple):
    """The common columns of a part of the tree and of the one before it that has them, as they are summed from each."""

    own: _Summed
    parent: _Summed


class MirrorDescent:
    """Mirror descent over the `parts` of a junction tree, each after one that has the columns that it shares with any
    before. `start`: logarithms of factors whose product is the distribution to begin with, each of columns that a
    target has; without any, all cells are alike."""

    def __init__(
        self,
        sizes: Mapping[str, int],
        parts: Sequence[Columns],
        targets: Sequence[MeasuredCounts],
        total: float,
        start: Mapping[Columns, Floats],
    ) -> None:
        self.sizes, self.parts, self.total = sizes, parts, total
        self.targets = sorted(targets, key=lambda each: -prod(sizes[name] for name in each.columns))
        self.observed = [each.counts.reshape(self._shape(each.columns)) for each in self.targets]
        self.joins = [self._join(number) for number in range(1, len(parts))]
        columns = [each.columns for each in self.targets]
        self.nested = [self._nested(columns[:number], own) for number, own in enumerate(columns)]
        self.in_parts = [self._of_part(own) for own in columns]
        self.outer = [place for place, within in enumerate(self.nested) if within is None]
        self.potentials = self._potentials(start)
        self.shares, self.separators = self._started()
        self.marginals = self._marginals(self.shares)
        self.loss = self._loss(self.marginals)

    @property
    def counts(self) -> list[Floats]:
        """The counts of the cells of each part."""
        return [self.total * each for each in self.shares]

    @property
    def factors(self) -> dict[Columns, Floats]:
        """Logarithms of factors whose product the distribution is, but for one of all cells."""
        return {self.targets[place].columns: each for place, each in self.potentials.items()}

    @property
    def cells(self) -> int:
        """How many cells all measured marginals have together."""
        return sum(each.size for each in self.observed)

    def run(self, steps: int, precise: float, enough: float) -> None:
        """Descends. `steps`: at most; `precise`: the progress of a block of steps, relative to the loss, at which it
        ends; `enough`: the loss at which it ends."""
        step, before = 2 / (self.total * self._curvature()), np.inf
        push = {place: np.zeros_like(each) for place, each in self.potentials.items()}
        for number in range(steps):
            if self.loss <= enough:
                return
            if number % BLOCK == 0:
                if before - self.loss <= precise * max(self.loss, 1.0):
                    return
                before = self.loss
            gradient = self._gradient()
            move = {place: MOMENTUM * push[place] - step * slant for place, slant in gradient.items()}
            taken = self._take(move)
            push = move if taken else {place: np.zeros_like(each) for place, each in push.items()}
            step *= LONGER if taken else SHORTER

    def _take(self, move: Mapping[int, Floats]) -> bool:
        """Takes a step if the loss is smaller then, and says whether it did."""
        shares, separators = self._stepped(move)
        marginals = self._marginals(shares)
        loss = self._loss(marginals)
        if not loss < self.loss:
            return False
        for place, own in move.items():
            self.potentials[place] = self.potentials[place] + own
        self.shares, self.separators, self.marginals, self.loss = shares, separators, marginals, loss
        return True

    def _shape(self, columns: Columns, of: Columns | None = None) -> tuple[int, ...]:
        return tuple(self.sizes[name] if name in columns else 1 for name in of or columns)

    def _nested(self, larger: Sequence[Columns], own: Columns) -> _Summed | None:
        """How some columns are summed from the smallest of larger targets that has them."""
        place = next((place for place in reversed(range(len(larger))) if set(own) <= set(larger[place])), None)
        return None if place is None else self._summed(larger[place], place, own)

    def _summed(self, source: Columns, place: int, own: Columns) -> _Summed:
        axes = tuple(axis for axis, name in enumerate(source) if name not in own)
        return _Summed(place, axes, self._shape(own, source))

    def _of_part(self, own: Columns) -> _Summed:
        fitting = [place for place, part in enumerate(self.parts) if set(own) <= set(part)]
        place = min(fitting, key=lambda each: prod(self.sizes[name] for name in self.parts[each]))
        return self._summed(self.parts[place], place, own)

    def _join(self, number: int) -> _Join:
        own, before = self.parts[number], {name for part in self.parts[:number] for name in part}
        common = tuple(name for name in own if name in before)
        parent = next(place for place, part in enumerate(self.parts) if set(common) <= set(part))
        return _Join(self._summed(own, number, common), self._summed(self.parts[parent], parent, common))

    def _potentials(self, start: Mapping[Columns, Floats]) -> dict[int, Floats]:
        """The factors to begin with, over the columns of targets that no other contains."""
        potentials = {place: np.zeros(self.observed[place].shape) for place in self.outer}
        for columns, table in start.items():
            place = next(each for each in potentials if set(columns) <= set(self.targets[each].columns))
            potentials[place] += table.reshape(self._shape(columns, self.targets[place].columns))
        return potentials

    def _started(self) -> tuple[list[Floats], list[Floats]]:
        """The marginals of the parts and of the separators: computed in logarithms, for factors may be far apart."""
        logs = [np.zeros(self._shape(part)) for part in self.parts]
        for place, table in self.potentials.items():
            logs[self.in_parts[place].source] += table.reshape(self.in_parts[place].shape)
        messages: list[Floats] = []
        for own, parent in reversed(self.joins):
            messages.append(_log_sum(logs[own.source], own.axes))
            logs[parent.source] = logs[parent.source] + messages[-1].reshape(parent.shape)
        root = np.exp(logs[0] - logs[0].max())
        shares, separators = [np.maximum(root / root.sum(), LEAST_SHARE)], []
        for (own, parent), log, message in zip(self.joins, logs[1:], reversed(messages), strict=True):
            separators.append(shares[parent.source].sum(axis=parent.axes))
            conditional = np.exp(log - message.reshape(own.shape))
            shares.append(np.maximum(conditional * separators[-1].reshape(own.shape), LEAST_SHARE))
        return shares, separators

    def _stepped(self, move: Mapping[int, Floats]) -> tuple[list[Floats], list[Floats]]:
        """The marginals of the parts and of the separators after a move, which is of logarithms of factors."""
        tables: list[Floats] = [each.copy() for each in self.shares]
        for place, logs in move.items():
            tables[self.in_parts[place].source] *= np.exp(logs - logs.max()).reshape(self.in_parts[place].shape)
        messages: list[Floats] = []
        for (own, parent), separator in zip(reversed(self.joins), reversed(self.separators), strict=True):
            messages.append(np.maximum(tables[own.source].sum(axis=own.axes), LEAST_SHARE))
            tables[parent.source] *= (messages[-1] / separator).reshape(parent.shape)
        tables[0] = np.maximum(tables[0] / tables[0].sum(), LEAST_SHARE)
        separators: list[Floats] = []
        for (own, parent), message in zip(self.joins, reversed(messages), strict=True):
            separators.append(tables[parent.source].sum(axis=parent.axes))
            tables[own.source] *= (separators[-1] / message).reshape(own.shape)
            np.maximum(tables[own.source], LEAST_SHARE, out=tables[own.source])
        return tables, separators

    def _marginals(self, shares: Sequence[Floats]) -> list[Floats]:
        """Of each target: of the total."""
        made: list[Floats] = []
        for nested, part in zip(self.nested, self.in_parts, strict=True):
            if nested is None:
                made.append(self.total * shares[part.source].sum(axis=part.axes))
            else:
                made.append(made[nested.source].sum(axis=nested.axes))
        return made

    def _loss(self, marginals: Sequence[Floats]) -> float:
        return 0.5 * sum(
            target.precision * float(np.square(own - seen).sum())
            for target, own, seen in zip(self.targets, marginals, self.observed, strict=True)
        )

    def _gradient(self) -> dict[int, Floats]:
        """Of the loss in the cells of each target that no other contains."""
        slants = [
            target.precision * (own - seen)
            for target, own, seen in zip(self.targets, self.marginals, self.observed, strict=True)
        ]
        for place in reversed(range(len(slants))):
            if (nested := self.nested[place]) is not None:
                slants[nested.source] += slants[place].reshape(nested.shape)
        return {place: slants[place] for place in self.outer}

    def _curvature(self) -> float:
        """A bound of the second derivative of the loss in the cells of the targets."""
        bounds = dict.fromkeys(self.outer, 0.0)
        for place, target in enumerate(self.targets):
            outer = place
            while (nested := self.nested[outer]) is not None:
                outer = nested.source
            bounds[outer] += target.precision * self.observed[outer].size / self.observed[place].size
        return max(bounds.values())


def _log_sum(logs: Floats, axes: tuple[int, ...]) -> Floats:
    """The logarithm of the sum of exponentials over some axes."""
    if not axes:
        return logs
    most = logs.max(axis=axes, keepdims=True)
    return np.asarray(np.log(np.exp(logs - most).sum(axis=axes)) + most.squeeze(axes))


# --- measurements and their model -------------------------------------------------------------------------------------

PRECISE = 1e-7
"""Relative progress of a block of steps below which a fit ends."""
NOISE_KEPT = 0.65
"""A fit ends once the squares of its distances from the measurements, each by its variance, sum up to this share of
those that noise has on average, one for each cell. The nearest distribution (about 0.5) follows noise as well; one that
is reached sooner from equal cells follows it less, and the table is nearer: on the Adult census the variation of pairs
is less by 0.002 and that of triples by 0.004. At 1 it is worse than the nearest, for a descent takes up the largest
differences first."""


@dataclass(frozen=True)
class Measurement:
    """The noisy counts of the cells of some columns, the last of which runs fastest."""

    columns: tuple[str, ...]
    sigma: float
    sensitivity: float
    rho: float
    values: Ints


@dataclass(frozen=True)
class FittedModel:
    """Marginals of cliques, as the sampler takes them; `total`: of each. `factors`: logarithms of those of
    which it is the product, where the next fit may begin."""

    cliques: tuple[Clique, ...]
    total: float
    factors: Mapping[tuple[str, ...], Floats] = field(default_factory=dict, compare=False)

    def counts(self, columns: tuple[str, ...]) -> Floats:
        """(cells,) of some columns of one clique, the last running fastest."""
        clique = next(each for each in self.cliques if set(columns) <= set(each.columns))
        others = tuple(place for place, name in enumerate(clique.columns) if name not in columns)
        kept = [name for name in clique.columns if name in columns]
        marginal = clique.counts.reshape(clique.sizes).sum(axis=others)
        return np.asarray(marginal.transpose([kept.index(name) for name in columns]).ravel())


def total_of(measurements: Sequence[Measurement]) -> float:
    """The number of rows that the measurements say, by the mean of their sums that varies least; one at least."""
    sums = np.array([each.values.sum() for each in measurements], np.float64)
    precision = np.array([1 / (each.sigma**2 * len(each.values)) for each in measurements])
    return max(1.0, float(np.average(sums, weights=precision)))


def nearest_counts(noisy: Floats, total: float) -> Floats:
    """The counts of that total, none below 0, that are nearest to noisy ones in L2 (Duchi and others 2008)."""
    ordered = np.sort(noisy)[::-1]
    over = (ordered.cumsum() - total) / np.arange(1, len(noisy) + 1)
    shift = over[np.flatnonzero(ordered > over)[-1]]
    return np.asarray(np.maximum(noisy - shift, 0))


def independent(sizes: Mapping[str, int], measurements: Sequence[Measurement], total: float) -> FittedModel:
    """The model of measurements of single columns."""
    noisy = {each.columns: each.counts for each in _targets([each for each in measurements if len(each.columns) == 1])}
    cliques = (Clique.of_counts((name,), (size,), nearest_counts(noisy[name,], total)) for name, size in sizes.items())
    return FittedModel(tuple(cliques), total)


def fit(
    sizes: Mapping[str, int],
    measurements: Sequence[Measurement],
    total: float,
    *,
    steps: int = 3000,
    start: FittedModel | None = None,
    kept: float = NOISE_KEPT,
) -> FittedModel:
    """The model of measurements. `steps`: of mirror descent, at most; `start`: the model of some of them; `kept`: the
    share of their noise at which the descent ends."""
    if all(len(each.columns) == 1 for each in measurements):
        return independent(sizes, measurements, total)
    targets = _targets(measurements)
    parts = junction_tree(sizes, [each.columns for each in targets])
    descent = MirrorDescent(sizes, parts, targets, total, {} if start is None else start.factors)
    descent.run(steps, PRECISE, 0.5 * kept * descent.cells)
    cliques = tuple(
        Clique.of_counts(part, [sizes[name] for name in part], counts)
        for part, counts in zip(parts, descent.counts, strict=True)
    )
    return FittedModel(cliques, total, descent.factors)


def _targets(measurements: Sequence[Measurement]) -> list[MeasuredCounts]:
    """One for each set of columns: measurements of the same are weighed by their precision."""
    of_columns: dict[tuple[str, ...], list[Measurement]] = {}
    for each in measurements:
        of_columns.setdefault(each.columns, []).append(each)
    targets = []
    for columns, own in of_columns.items():
        precision = [1 / each.sigma**2 for each in own]
        counts = np.average([each.values for each in own], axis=0, weights=precision)
        targets.append(MeasuredCounts(columns, counts, sum(precision)))
    return targets
