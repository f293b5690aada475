"""Which marginals of a table are measured: those of single columns always, then what the method says.

`independent` stops there. `fixed` measures a list. `mst` (McKenna, Miklau, Sheldon: Winning the NIST contest, 2021)
joins columns by a tree of pairs, each the one whose counts are furthest from those of independent columns, less half of
what noise would add; columns that no pair within the limit of the model joins stay by themselves. `aim` (McKenna,
Mullins, Sheldon, Miklau: AIM, 2022) begins with such a tree, and goes on round by round with the marginal that the
model so far gets most wrong, weighted by how much of the workload it touches, as long as the model stays small; noise
is halved where a round has taught nothing, and the last round spends what is left. A model is fitted after every
marginal: what is chosen without having seen the one before may repeat it.

What is chosen by the data is chosen by the noisy maximum of scores, whole numbers that one individual changes by their
sensitivity at most, whatever the rounding: differences of counts from those of the model, which is noise already.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations, islice
from math import prod, sqrt

import numpy as np

from anonymize.domain import Codes, Floats, Ints
from anonymize.dp.estimation import FittedModel, Measurement, fit, independent, total_of
from anonymize.dp.mechanisms import Spending, sigma_of
from anonymize.dp.sampler import BYTES, MB, Columns, junction_tree, sample, size_in_mb
from anonymize.records import dataclass

SCALE = 16
"""Scores are of counts in so many parts."""
PER_COLUMN = 8 / 3
"""Rounds of `aim` for each column, before noise is halved anywhere."""
SINGLES, CHOOSING = 0.5, 0.1
"""Of `aim`: what the counts of a column cost, in those of a marginal (which says something of its columns as well); and
the share of the budget by which marginals are chosen."""
MOST_CELLS = 1 << 22
"""Cells of a marginal that is considered, at most."""
MANY_ROWS = 250_000
"""Rows of a model by which it is compared, at most: ten for each that it stands for, where that is fewer."""
BETWEEN = 300
"""Steps of a fit between rounds, at most."""


@dataclass(frozen=True)
class CountedTable:
    """A table over its public domain: `codes` (rows,) of each column, each below its size in `sizes`."""

    codes: Mapping[str, Codes | Ints]
    sizes: Mapping[str, int]

    @property
    def rows(self) -> int:
        return len(next(iter(self.codes.values())))

    def cells(self, columns: Columns) -> int:
        return prod(self.sizes[name] for name in columns)

    def counts(self, columns: Columns) -> Ints:
        """(cells,) the rows of each cell, the last column running fastest."""
        place = self.codes[columns[0]].astype(np.int64)
        for name in columns[1:]:
            place *= self.sizes[name]
            place += self.codes[name]
        return np.bincount(place, minlength=self.cells(columns))


@dataclass(frozen=True)
class MarginalChoice:
    """A marginal that was chosen among so many `candidates`, at which scale of the noise."""

    chosen: Columns
    scale: float
    sensitivity: float
    rho: float
    candidates: int


@dataclass
class Drawing:
    """A table that is measured. `rows`: of one individual, at most; `replaced`: neighbours differ by a row in another's
    place, and their number is public. `limit`: of the model, in units of 2^20 bytes."""

    table: CountedTable
    spending: Spending
    rows: int = 1
    replaced: bool = False
    limit: float = 2.0
    measurements: list[Measurement] = field(default_factory=list)
    choices: list[MarginalChoice] = field(default_factory=list)

    @property
    def total(self) -> float:
        """The number of rows: as it is where that is public, else as it was measured."""
        return float(self.table.rows) if self.replaced else total_of(self.measurements)

    @property
    def room(self) -> float:
        """The cells that the model may have."""
        return self.limit * MB / BYTES

    @property
    def l2(self) -> float:
        """By how much one individual changes the counts of a marginal, in L2."""
        return self.rows * (sqrt(2) if self.replaced else 1.0)

    @property
    def _l1(self) -> int:
        return self.rows * (2 if self.replaced else 1)

    def measure(self, columns: Columns, rho: float) -> None:
        """Measures the counts of some columns at a cost of `rho`."""
        sigma, counts = sigma_of(rho, self.l2), self.table.counts(columns)
        values = self.spending.gaussian(counts, sigma, self.l2, columns)
        drawn = self.spending.entries[-1]
        self.measurements.append(Measurement(columns, sigma, self.l2, drawn.rho, values))

    def choose(self, scores: Mapping[Columns, int], weight: int, rho: float) -> Columns:
        """The marginal of the noisy largest score, at a cost of `rho`. Scores are `weight` times differences of counts
        in parts of `SCALE`."""
        sensitivity, names = float(weight * SCALE * self._l1), list(scores)
        place = self.spending.noisy_max(np.array([scores[name] for name in names], np.float64), sensitivity, rho)
        drawn = self.spending.entries[-1]
        self.choices.append(MarginalChoice(names[place], drawn.scale, sensitivity, drawn.rho, len(names)))
        return names[place]

    def noise(self, columns: Columns, rho: float) -> int:
        """By how much noise at a cost of `rho` moves the counts of some columns, all cells together and on average: in
        parts of `SCALE`. What a model gets wrong by less is not worth measuring."""
        return round(sigma_of(rho, self.l2) * sqrt(2 / np.pi) * self.table.cells(columns) * SCALE)

    def singles(self, rho: float) -> None:
        """Measures every column by itself, all together at a cost of `rho`."""
        for name in self.table.sizes:
            self.measure((name,), rho / len(self.table.sizes))

    def fitted(self) -> FittedModel:
        return fit(self.table.sizes, self.measurements, self.total)

    def refitted(self, start: FittedModel | None) -> FittedModel:
        """The model by which the next marginal is chosen: as near to the measurements as some steps from `start` come,
        for what is chosen by a smoother model is what the smoothing lost."""
        return fit(self.table.sizes, self.measurements, self.total, steps=BETWEEN, start=start, kept=0)


def difference(counts: Ints, model: Floats) -> int:
    """How far counts are from those of a model, in parts of `SCALE`: a whole number, which a row more or less in the
    table changes by `SCALE`."""
    return int(np.abs(SCALE * counts - np.rint(SCALE * model).astype(np.int64)).sum())


def by_independent(drawing: Drawing) -> FittedModel:
    """Every column by itself."""
    drawing.singles(drawing.spending.left)
    return drawing.fitted()


def by_list(drawing: Drawing, marginals: Sequence[Columns]) -> FittedModel:
    """The listed marginals, and single columns that are in none of them, at the same cost each."""
    listed = {name for columns in marginals for name in columns}
    order = list(drawing.table.sizes)
    wanted = [tuple(sorted(columns, key=order.index)) for columns in marginals]
    wanted += [(name,) for name in order if name not in listed]
    for left, columns in zip(range(len(wanted), 0, -1), wanted, strict=True):
        drawing.measure(columns, drawing.spending.left / left)
    return drawing.fitted()


def by_tree(drawing: Drawing) -> FittedModel:
    """A tree of pairs, or as many of its branches as the model has room for: 0.3 of the budget for columns, 0.2 for
    choosing pairs, and the rest for their counts."""
    rho, joins = drawing.spending.rho, most_joins(drawing.table, drawing.room)
    if not joins:
        return by_independent(drawing)
    drawing.singles(0.3 * rho)
    pairs = list(islice(_tree(drawing, 0.2 * rho / joins, 0.5 * rho / joins), joins))
    for left, pair in zip(range(len(pairs), 0, -1), pairs, strict=True):
        drawing.measure(pair, drawing.spending.left / left)
    return drawing.fitted()


def _tree(drawing: Drawing, rho: float, measuring: float) -> Iterator[Columns]:
    """Pairs that join all columns, or those that the model has room for, each chosen at a cost of `rho`: of those that
    join two parts, the one whose counts are furthest from those of independent columns, less half the noise of
    measuring them at a cost of `measuring`."""
    table = drawing.table
    model = independent(table.sizes, drawing.measurements, drawing.total)
    shares = {each.columns[0]: each.counts for each in model.cliques}
    scores: dict[Columns, int] = {
        pair: difference(table.counts(pair), np.outer(shares[pair[0]], shares[pair[1]]).ravel() / model.total)
        - drawing.noise(pair, measuring) // 2  # of a tree, the model takes out about as much as it leaves
        for pair in joinable(table, (), drawing.room)
    }
    joined: list[Columns] = []
    while joining := {pair: scores[pair] for pair in joinable(table, joined, drawing.room) if pair in scores}:
        joined.append(drawing.choose(joining, 1, rho))
        yield joined[-1]


def joinable(table: CountedTable, joined: Collection[Columns], room: float) -> list[Columns]:
    """The pairs that join two parts of a forest of pairs with which the model has `room` cells at most: by the sizes of
    columns alone, which are public. The junction tree of a forest has its pairs, and the columns that are in none."""
    part = {name: name for name in table.sizes}
    for one, other in joined:
        into, old = part[one], part[other]
        part = {name: into if own == old else own for name, own in part.items()}
    alone = {name: size for name, size in table.sizes.items() if all(name not in pair for pair in joined)}
    left = room - sum(alone.values()) - sum(map(table.cells, joined))
    return [
        (one, other)
        for one, other in combinations(table.sizes, 2)
        if part[one] != part[other]
        and table.cells((one, other)) <= min(MOST_CELLS, left + alone.get(one, 0) + alone.get(other, 0))
    ]


def most_joins(table: CountedTable, room: float) -> int:
    """How many pairs `by_tree` chooses at most: those of the forest that grows by the smallest pair there is room
    for."""
    joined: list[Columns] = []
    while pairs := joinable(table, joined, room):
        joined.append(min(pairs, key=table.cells))
    return len(joined)


def workload_weights(columns: Sequence[str], order: int, wanted: frozenset[str]) -> dict[Columns, int]:
    """How much of the workload each marginal of 2 to `order` columns touches: all marginals of `order` columns, or of
    as many as there are, those with more `wanted` columns at a larger weight."""
    workload = {each: 1 + len(wanted & set(each)) for each in combinations(columns, min(order, len(columns)))}
    marginals = (each for size in range(2, order + 1) for each in combinations(columns, size))
    return {each: sum(weight * len(set(other) & set(each)) for other, weight in workload.items()) for each in marginals}


def by_error(drawing: Drawing, order: int, wanted: frozenset[str]) -> FittedModel:
    """A tree of pairs, and then what the model gets most wrong, of up to `order` columns."""
    table, spending = drawing.table, drawing.spending
    names = list(table.sizes)
    if len(names) == 1 or order == 1:
        return by_independent(drawing)
    most, weights = min(MOST_CELLS, drawing.room), workload_weights(names, order, wanted)
    weights = {each: weight for each, weight in weights.items() if table.cells(each) <= most}
    rounds = round(PER_COLUMN * len(names))
    measuring = (1 - CHOOSING) * spending.rho / (SINGLES * len(names) + rounds)
    choosing = CHOOSING * spending.rho / rounds
    drawing.singles(SINGLES * measuring * len(names))
    for pair in list(_tree(drawing, choosing, measuring)):
        drawing.measure(pair, measuring)
    return _Rounds(drawing, weights, measuring, choosing).run()


@dataclass
class _Rounds:
    """Rounds of choosing, measuring and fitting. `weights`: of the candidates; `measuring`, `choosing`: what one
    marginal costs in the next round; `least`: the size of the model with each candidate when it was last computed."""

    drawing: Drawing
    weights: Mapping[Columns, int]
    measuring: float
    choosing: float
    true: dict[Columns, Ints] = field(default_factory=dict)
    least: dict[Columns, float] = field(default_factory=dict)

    def run(self) -> FittedModel:
        """The model when all has been spent. A round that would leave less than another costs takes that as well."""
        drawing, left = self.drawing, self.drawing.spending.left
        model = drawing.refitted(None)
        while left >= 2 * (self.measuring + self.choosing):
            drawn = self._sampled(model)
            chosen = self._chosen(drawn)
            if chosen is not None:
                drawing.measure(chosen, self.measuring)
                model = drawing.refitted(model)
            if chosen is None or not self._taught(model.counts(chosen), drawn.counts(chosen)):
                self.measuring, self.choosing = 4 * self.measuring, 4 * self.choosing
            left = drawing.spending.left
        self.measuring, self.choosing = (1 - CHOOSING) * left, CHOOSING * left
        chosen = self._chosen(self._sampled(model))
        if chosen is None:
            drawing.singles(drawing.spending.left)
        else:
            drawing.measure(chosen, drawing.spending.left)
        return drawing.fitted()

    def _chosen(self, drawn: _Sampled) -> Columns | None:
        """The candidate that the model gets most wrong, beyond what measuring it would; None if all are too large."""
        candidates = self._small()
        if not candidates:
            return None
        scores = {
            each: self.weights[each]
            * (difference(self._true(each), drawn.counts(each)) - self.drawing.noise(each, self.measuring))
            for each in candidates
        }
        return self.drawing.choose(scores, max(self.weights[each] for each in candidates), self.choosing)

    def _true(self, columns: Columns) -> Ints:
        """(cells,) of the table, which is counted once."""
        if columns not in self.true:
            self.true[columns] = self.drawing.table.counts(columns)
        return self.true[columns]

    def _small(self) -> list[Columns]:
        """The candidates with which the model stays within its limit, which grows with what has been spent. The model
        only grows, so that one that was too large for a candidate is computed again once the limit has passed that."""
        drawing = self.drawing
        measured, sizes = [each.columns for each in drawing.measurements], drawing.table.sizes
        share = (drawing.spending.spent + self.measuring + self.choosing) / drawing.spending.rho
        limit = drawing.limit * max(0.1, min(share, 1.0))
        parts, size = [set(part) for part in junction_tree(sizes, measured)], size_in_mb(sizes, measured)
        for each in self.weights:
            if self.least.get(each, 0.0) <= limit:
                kept = any(part.issuperset(each) for part in parts)
                self.least[each] = size if kept else size_in_mb(sizes, [*measured, each])
        return [each for each in self.weights if self.least[each] <= limit]

    def _taught(self, after: Floats, before: Floats) -> bool:
        """Whether the model has changed by more than what noise alone would have changed."""
        noise = sigma_of(self.measuring, self.drawing.l2) * sqrt(2 / np.pi) * len(after)
        return bool(np.abs(after - before).sum() > noise)

    def _sampled(self, model: FittedModel) -> _Sampled:
        """The rows by which a model is compared. Of what is noise already, so that any seed will do."""
        rows = self.drawing.table.rows if self.drawing.replaced else round(model.total)
        count = min(10 * rows, MANY_ROWS)
        drawn = CountedTable(sample(model.cliques, count, 0), self.drawing.table.sizes)
        return _Sampled(drawn, model.total / count)


@dataclass(frozen=True)
class _Sampled:
    """Rows of a model, each for a `share` of a row."""

    table: CountedTable
    share: float

    def counts(self, columns: Columns) -> Floats:
        """(cells,) of the model."""
        return np.asarray(self.share * self.table.counts(columns), np.float64)
