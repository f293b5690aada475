"""What a metric is computed from, and what a metric is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np

from anonymize.classes import Floats, Ints, Partition, distinct_values
from anonymize.meaning.kinds import DEFINED
from anonymize.records import dataclass
from anonymize.table import Attribute

Goal: TypeAlias = Literal["lower", "higher"]
Bounds: TypeAlias = tuple[float, float | None]
DRAWN = frozenset({"exact", "channel"})
"""The meanings of the columns of a release through channels."""
OF_CELLS = frozenset({"exact", "spans", "detached"})
"""The meanings of columns whose cells lose a share of what was known, nothing where they are exact."""
OF_CLASSES = frozenset({"exact", "spans"})
"""The meanings of columns that put rows into classes."""
OF_ESTIMATES = frozenset({"exact", "spans", "detached", "channel"})
"""The meanings of columns of which a recipient can estimate how values are spread."""


@dataclass(frozen=True)
class View:
    """A release as the metrics see it.

    `ncp`, `loss`: per quasi-identifier, (classes,) unweighted NCP and Iyengar's loss of a cell of each class. `sizes`
    (classes,) rows of each class that is not suppressed. `suppressed_rows`: rows that are published suppressed or left
    out. `k`: the size that classes had to have (1 where nothing asked for one). `levels`: where every attribute is
    generalized to one level of its hierarchy, the pairs (level, height); else None. `weights`: what the attributes'
    utility follows from, where a metric weighs them by the spec's `weights`. `partition`: the classes that the
    algorithm made, where each is released as the smallest region around its rows; else None. `ncp_set`: as `ncp`, sets
    by the number of their members, where some recoding writes sets and `partition` does not say it; else None.
    """

    attributes: Sequence[Attribute]
    ncp: Sequence[Floats]
    loss: Sequence[Floats]
    sizes: Ints
    suppressed_rows: int
    k: int
    levels: Sequence[tuple[int, int]] | None = None
    weights: Literal["given", "correlation"] = "given"
    partition: Partition | None = None
    ncp_set: Sequence[Floats] | None = None

    @property
    def rows(self) -> int:
        """Rows of the input."""
        return int(self.sizes.sum()) + self.suppressed_rows

    @cached_property
    def attribute_ncp(self) -> Floats:
        """(attributes,) unweighted NCP of each attribute, summed over all rows; a suppressed cell costs 1."""
        return np.array([self._summed(of_class) for of_class in self.ncp])

    @cached_property
    def attribute_loss(self) -> Floats:
        """(attributes,) Iyengar's loss of each attribute, summed over all rows; a suppressed cell costs 1."""
        return np.array([self._summed(of_class) for of_class in self.loss])

    @cached_property
    def attribute_ncp_set(self) -> Floats | None:
        """(attributes,) as `attribute_ncp`, a category by how many values its class or set has; None if not known."""
        if self.ncp_set is not None:
            return np.array([self._summed(of_class) for of_class in self.ncp_set])
        if self.partition is None:
            return None
        suppressed = self.rows - len(self.partition.order)
        sums = self.attribute_ncp.copy()
        for index, attribute in enumerate(self.attributes):
            if attribute.domain.kind == "categorical" and sums[index] > suppressed:  # else every class has one value
                sums[index] = _of_sets(attribute, self.partition) + suppressed
        return sums

    def _summed(self, of_class: Floats) -> float:
        return float(of_class @ self.sizes) + self.suppressed_rows


def _of_sets(attribute: Attribute, partition: Partition) -> float:
    """Sum over the rows of values in the class / leaves, 0 for a single value."""
    sizes, values = partition.sizes, distinct_values(partition, attribute.codes, attribute.domain.size)
    several = values > 1
    return float(values[several] @ sizes[several]) / attribute.domain.size


Compute = Callable[[View], float | None]


@dataclass
class Metric:
    """A metric. Its own docstring is the `manual`, that of `compute` where there is none."""

    ID: str
    """Key in the report."""
    GOAL: Goal
    """Which end is better."""
    BOUNDS: Bounds
    """Lowest and highest possible figure; None for no limit."""
    FORMULA: str
    """How it is computed, in a sentence."""
    MEANING: str
    """What it says, in the few words next to the figure."""
    SUM: bool
    """It is a sum over rows: it grows with the table, and compares releases of one table alone."""
    compute: Compute
    """The figure; None where the metric is not defined for the release."""
    DEFINED_FOR: frozenset[str] = OF_CELLS
    """The meanings that columns may have."""
    manual: str | None = None

    def __post_init__(self) -> None:
        self.__doc__ = self.manual or self.compute.__doc__


class Declaring(Protocol):
    """What says for which meanings of columns it is defined."""

    DEFINED_FOR: frozenset[str]


SHOWING = {
    "exact": "values as they were",
    "spans": "intervals or labels",
    "channel": "values changed by chance",
    "detached": "values by group",
    "moved": "values of other people",
    "aggregate": "counts or sums",
    "invented": "invented values",
}
"""What a column of each meaning shows, for people."""


def undefined(metrics: Mapping[str, Declaring], meanings: Collection[str]) -> dict[str, str]:
    """By name, the metrics that are not defined for columns of these meanings, and why."""
    others = {name: set(meanings) - metric.DEFINED_FOR for name, metric in metrics.items()}
    return {
        name: f"some columns show {_listed(others[name])}; this is about columns of {_listed(metric.DEFINED_FOR)}"
        for name, metric in metrics.items()
        if others[name]
    }


def _listed(meanings: Collection[str]) -> str:
    return ", ".join(SHOWING[each] for each in DEFINED if each in meanings)


def computed(metric: Metric) -> str:
    """How a metric is computed, between which bounds, and which end of them is better."""
    low, high = metric.BOUNDS
    bounds = f"From {low:g}{'' if high is None else f' to {high:g}'}; {metric.GOAL} is better."
    return " ".join([metric.FORMULA, bounds, *(["It is a sum over rows."] if metric.SUM else [])])
