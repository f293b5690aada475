"""The model of some measurements: marginals of a junction tree that are as near to them as any distribution is.

Measurements of single columns alone give the product of their distributions, which is reckoned here. Those of several
are fitted by mbi as a graphical model, by mirror descent over its potentials (McKenna, Sheldon, Miklau: Graphical-model
based estimation and inference for differential privacy, ICML 2019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from anonymize.domain import Floats, Ints
from anonymize.dp.accounting import missing_library
from anonymize.dp.sampler import Clique

PRECISE = 1e-7
"""Relative progress of a block of steps below which a fit ends."""


@cache
def mbi() -> Any:
    """The library of graphical models, which counts in float64 here. Raises UsageError where it is not installed."""
    try:
        import jax

        configure: Any = jax.config
        configure.update("jax_enable_x64", True)
        configure.update("jax_enable_compilation_cache", False)
        configure.update("jax_disable_most_optimizations", True)  # compiling takes longer than all steps of a fit
        import mbi as library
        import mbi.estimation
        import mbi.junction_tree
        import mbi.marginal_oracles
    except ImportError:
        raise missing_library("mbi") from None
    return library


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
    """Marginals of cliques, as the sampler takes them; `total`: of each. `potentials`: where the next fit may begin."""

    cliques: tuple[Clique, ...]
    total: float
    potentials: Any = field(default=None, compare=False)

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
) -> FittedModel:
    """The model of measurements. `steps`: of mirror descent, at most; `start`: the model of some of them."""
    if all(len(each.columns) == 1 for each in measurements):
        return independent(sizes, measurements, total)
    library = mbi()
    domain = library.Domain(list(sizes), list(sizes.values()))
    losses = [
        library.LinearMeasurement(each.values.astype(np.float64), each.columns, stddev=each.sigma)
        for each in measurements
    ]
    warm = None if start is None else start.potentials
    model = library.estimation.MirrorDescent().estimate(
        domain, losses, known_total=total, iters=steps, tol=PRECISE, warm_start=warm
    )
    tree, _ = library.junction_tree.make_junction_tree(domain, [tuple(clique) for clique in model.cliques])
    parts = library.junction_tree.maximal_cliques(tree)
    marginals = library.marginal_oracles.message_passing_stable(model.potentials.expand(parts), total)
    cliques = tuple(
        Clique.of_counts(part, [sizes[name] for name in part], np.asarray(marginals.project(part).datavector()))
        for part in parts
    )
    return FittedModel(cliques, total, model.potentials)


def size_in_mb(sizes: Mapping[str, int], cliques: Sequence[tuple[str, ...]]) -> float:
    """The cells of the junction tree of some cliques, in units of 2^20 bytes."""
    library = mbi()
    domain = library.Domain(list(sizes), list(sizes.values()))
    return float(library.junction_tree.hypothetical_model_size(domain, list(cliques)))
