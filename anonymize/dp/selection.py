"""Which marginals of a table are measured: those of single columns always, then what the method says.

`independent` stops there. `fixed` measures a list. `mst` (McKenna, Miklau, Sheldon: Winning the NIST contest, 2021)
joins columns by a tree of pairs, each the one whose counts are furthest from those of independent columns, less half of
what noise would add. `aim` (McKenna, Mullins, Sheldon, Miklau: AIM, 2022) begins with such a tree, and goes on round by
round with the marginals that the model so far gets most wrong, weighted by how much of the workload they touch, as long
as the model stays small; noise is halved where a round has taught nothing, and the last round spends what is left.

What is chosen by the data is chosen by the noisy maximum of scores, whole numbers that one individual changes by their
sensitivity at most, whatever the rounding: differences of counts from those of the model, which is noise already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod, sqrt

import numpy as np

from anonymize.domain import Codes, Floats, Ints
from anonymize.dp.estimation import FittedModel, Measurement, fit, independent, size_in_mb, total_of
from anonymize.dp.mechanisms import Spending, sigma_of
from anonymize.dp.sampler import sample

Columns = tuple[str, ...]
SCALE = 16
"""Scores are of counts in so many parts."""
PER_ROUND = 4
"""Marginals that are chosen by one model: fitting another takes most of the time, as it is compiled for its cliques."""
MOST_CELLS = 1 << 22
"""Cells of a marginal that is considered, at most."""
MANY_ROWS = 500_000
"""Rows of a model by which it is compared, where it stands for fewer."""
UNSPENT = 1e-9
"""The share of a budget that may be left."""
STEPS, FEW_STEPS = 3000, 300
"""Steps of a fit, at most: of the last one, and of those between rounds."""


@dataclass(frozen=True)
class CountedTable:
    """A table over its public domain: `codes` (rows,) of each column, each below its size in `sizes`."""

    codes: Mapping[str, Codes | Ints]
    sizes: Mapping[str, int]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(next(iter(self.codes.values())))

    def cells(self, columns: Columns) -> int:
        """How many cells some columns have."""
        return prod(self.sizes[name] for name in columns)

    def counts(self, columns: Columns) -> Ints:
        """(cells,) the rows of each cell, the last column running fastest."""
        place = np.zeros(self.rows, np.int64)
        for name in columns:
            place = place * self.sizes[name] + self.codes[name]
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

    def fitted(self, steps: int = STEPS, start: FittedModel | None = None) -> FittedModel:
        """The model of what has been measured."""
        return fit(self.table.sizes, self.measurements, self.total, steps=steps, start=start)


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
    """A tree of pairs: 0.3 of the budget for columns, 0.2 for choosing pairs, and the rest for their counts."""
    rho, joins = drawing.spending.rho, len(drawing.table.sizes) - 1
    if not joins:
        return by_independent(drawing)
    drawing.singles(0.3 * rho)
    pairs = list(_tree(drawing, 0.2 * rho / joins, 0.5 * rho / joins))
    for left, pair in zip(range(joins, 0, -1), pairs, strict=True):
        drawing.measure(pair, drawing.spending.left / left)
    return drawing.fitted()


def _tree(drawing: Drawing, rho: float, measuring: float) -> Iterator[Columns]:
    """Pairs that join all columns, each chosen at a cost of `rho`: of those that join two parts, the one whose counts
    are furthest from those of independent columns, less half the noise of measuring them at a cost of `measuring`."""
    table = drawing.table
    model = independent(table.sizes, drawing.measurements, drawing.total)
    shares = {each.columns[0]: each.counts for each in model.cliques}
    scores: dict[Columns, int] = {
        pair: difference(table.counts(pair), np.outer(shares[pair[0]], shares[pair[1]]).ravel() / model.total)
        - drawing.noise(pair, measuring) // 2  # of a tree, the model takes out about as much as it leaves
        for pair in combinations(table.sizes, 2)
        if table.cells(pair) <= MOST_CELLS
    }
    part = {name: number for number, name in enumerate(table.sizes)}
    while joining := {pair: score for pair, score in scores.items() if part[pair[0]] != part[pair[1]]}:
        chosen = drawing.choose(joining, 1, rho)
        into, old = part[chosen[0]], part[chosen[1]]
        part = {name: into if own == old else own for name, own in part.items()}
        yield chosen


@dataclass(frozen=True)
class WeightedMarginals:
    """Marginals that should be right, each with a weight."""

    marginals: Mapping[Columns, int]

    @classmethod
    def of(cls, columns: Sequence[str], order: int, wanted: frozenset[str]) -> WeightedMarginals:
        """All marginals of so many columns, those with more `wanted` columns at a larger weight."""
        size = min(order, len(columns))
        return cls({each: 1 + len(wanted & set(each)) for each in combinations(columns, size)})

    def weight(self, columns: Columns) -> int:
        """How much of the workload some columns touch."""
        return sum(weight * len(set(each) & set(columns)) for each, weight in self.marginals.items())


def by_error(drawing: Drawing, order: int, wanted: frozenset[str]) -> FittedModel:
    """A tree of pairs, and then what the model gets most wrong, of up to `order` columns."""
    table, spending = drawing.table, drawing.spending
    names = list(table.sizes)
    if len(names) == 1 or order == 1:
        return by_independent(drawing)
    workload = WeightedMarginals.of(names, order, wanted)
    weights = {each: workload.weight(each) for size in range(2, order + 1) for each in combinations(names, size)}
    weights = {each: weight for each, weight in weights.items() if table.cells(each) <= MOST_CELLS}
    rounds = round(8 * len(names) / 3)
    measuring, choosing = 0.9 * spending.rho / (len(names) + rounds), 0.1 * spending.rho / rounds
    drawing.singles(measuring * len(names))
    for pair in list(_tree(drawing, choosing, measuring)):
        drawing.measure(pair, measuring)
    return _Rounds(drawing, weights, measuring, choosing).run()


@dataclass
class _Rounds:
    """Rounds of choosing, measuring and fitting. `weights`: of the candidates; `measuring`, `choosing`: what one
    marginal costs in the next round."""

    drawing: Drawing
    weights: Mapping[Columns, int]
    measuring: float
    choosing: float

    def run(self) -> FittedModel:
        """The model when all has been spent."""
        drawing, spending = self.drawing, self.drawing.spending
        true = {each: drawing.table.counts(each) for each in self.weights}
        model = drawing.fitted(FEW_STEPS)
        while spending.left > UNSPENT * spending.rho:
            last = spending.left < 1.5 * PER_ROUND * (self.measuring + self.choosing)
            if last:
                self.measuring, self.choosing = (share * spending.left / PER_ROUND for share in (0.9, 0.1))
            drawn = _sampled(model, drawing.table.rows if drawing.replaced else round(model.total))
            before = self._round(true, drawn)
            if last and spending.left > UNSPENT * spending.rho:  # fewer marginals were small enough
                drawing.singles(spending.left)
            model = drawing.fitted(STEPS if last else FEW_STEPS, model)
            if not any(self._taught(model.counts(each), counts) for each, counts in before.items()):
                self.measuring, self.choosing = 4 * self.measuring, 4 * self.choosing
        return model

    def _round(self, true: Mapping[Columns, Ints], drawn: _Sampled) -> dict[Columns, Floats]:
        """Chooses and measures some marginals; the counts of each as the model had them."""
        before: dict[Columns, Floats] = {}
        for _ in range(PER_ROUND):
            candidates = [each for each in self._small() if each not in before]
            if not candidates:
                break
            scores = {
                each: self.weights[each]
                * (difference(true[each], drawn.counts(each)) - self.drawing.noise(each, self.measuring))
                for each in candidates
            }
            chosen = self.drawing.choose(scores, max(self.weights[each] for each in candidates), self.choosing)
            self.drawing.measure(chosen, self.measuring)
            before[chosen] = drawn.counts(chosen)
        return before

    def _small(self) -> list[Columns]:
        """The candidates with which the model stays within its limit, which grows with what has been spent."""
        drawing = self.drawing
        measured = [each.columns for each in drawing.measurements]
        share = (drawing.spending.spent + self.measuring + self.choosing) / drawing.spending.rho
        limit = drawing.limit * max(0.1, min(share, 1.0))
        sizes = drawing.table.sizes
        return [each for each in self.weights if size_in_mb(sizes, [*measured, each]) <= limit]

    def _taught(self, after: Floats, before: Floats) -> bool:
        """Whether the model has changed by more than what noise alone would have changed."""
        return bool(
            np.abs(after - before).sum() > sigma_of(self.measuring, self.drawing.l2) * sqrt(2 / np.pi) * len(after)
        )


@dataclass(frozen=True)
class _Sampled:
    """Rows of a model, many more than it stands for: each for a `share` of a row."""

    table: CountedTable
    share: float

    def counts(self, columns: Columns) -> Floats:
        """(cells,) of the model."""
        return np.asarray(self.share * self.table.counts(columns), np.float64)


def _sampled(model: FittedModel, rows: int) -> _Sampled:
    """The rows by which a model is compared. Of what is noise already, so that any seed will do."""
    count = max(rows, min(10 * rows, MANY_ROWS))
    sizes = {name: size for each in model.cliques for name, size in zip(each.columns, each.sizes, strict=True)}
    return _Sampled(CountedTable(sample(model.cliques, count, 0), sizes), model.total / count)
