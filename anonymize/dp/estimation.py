"""The model of some measurements: marginals of a junction tree that are as near to them as any distribution is.

Measurements of single columns alone give the product of their distributions, which is computed here. Those of several
are fitted as a graphical model over a junction tree (McKenna, Sheldon, Miklau: Graphical-model based estimation and
inference for differential privacy, ICML 2019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from anonymize.domain import Floats, Ints
from anonymize.dp.descent import MeasuredCounts, MirrorDescent
from anonymize.dp.junction import junction_tree
from anonymize.dp.sampler import Clique
from anonymize.records import dataclass

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
    cliques = []
    for name, size in sizes.items():
        own = [each for each in measurements if each.columns == (name,)]
        precision = [1 / each.sigma**2 for each in own]
        noisy = np.average([each.values for each in own], axis=0, weights=precision)
        cliques.append(Clique.of_counts((name,), (size,), nearest_counts(noisy, total)))
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
