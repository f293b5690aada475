"""COUNT queries that somebody has listed: conditions on quasi-identifiers, as the selections of a spec's workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from anonymize.domain.base import Domain
from anonymize.domain.numeric import Numeric
from anonymize.metrics.queries.batch import Queries, whole, widened
from anonymize.spec.model import Spec
from anonymize.spec.workload import Condition
from anonymize.table import Table
from anonymize.table.selections import leaves

Part = tuple[int, int, float, float]
"""First and last leaf of a range, and its ends as they are asked for."""


def listed(spec: Spec, table: Table, selections: Sequence[Mapping[str, Condition]], bound: float = 0.0) -> Queries:
    """The queries: a box for each combination of the ranges that the conditions of one take."""
    position = {attribute.name: index for index, attribute in enumerate(table.attributes)}
    domains = [attribute.domain for attribute in table.attributes]
    boxes: list[tuple[int, dict[int, Part]]] = []
    for number, selection in enumerate(selections):
        parts = {
            position[name]: _parts(domains[position[name]], condition, spec) for name, condition in selection.items()
        }
        boxes += [(number, dict(zip(parts, each, strict=True))) for each in product(*parts.values())]
    shape = (len(boxes), len(domains))
    ends = np.zeros((4, *shape))
    restricted = np.zeros(shape, np.bool_)
    for row, (_, box) in enumerate(boxes):
        for index, part in box.items():
            restricted[row, index] = True
            ends[:, row, index] = part
    low, high = widened(domains, ends[2], ends[3])
    return Queries(
        restricted=restricted,
        first=ends[0].astype(np.int64),
        last=ends[1].astype(np.int64),
        low=low,
        high=high,
        whole=whole(domains),
        query=np.array([number for number, _ in boxes], np.int64),
        dimensions=np.array([len(selection) for selection in selections], np.int64),
        repeat=np.zeros(len(selections), np.int64),
        bound=bound,
        settings={"listed": True} | ({"bound": bound} if bound else {}),
    )


def _parts(domain: Domain, condition: Condition, spec: Spec) -> list[Part]:
    """The ranges that a condition takes, which have no leaf in common."""
    if isinstance(domain, Numeric):
        return _of_numbers(domain, condition)
    taken = leaves(domain, condition, spec.input.compared)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], taken.astype(np.int64), [0]))))
    return [(first, stop - 1, float(first), float(stop - 1)) for first, stop in edges.reshape(-1, 2).tolist()]


def _of_numbers(domain: Numeric, condition: Condition) -> list[Part]:
    """One range, or one for each number that is listed. Ends need not be values of the original."""
    low = -np.inf if condition.from_ is None else float(condition.from_)
    high = np.inf if condition.to is None else float(condition.to)
    ranges = [(low, high)]
    if condition.in_ is not None:
        ranges = [(value, value) for value in dict.fromkeys(float(each) for each in condition.in_)]
    if domain.whole:
        ranges = [(float(np.ceil(low)), float(np.floor(high))) for low, high in ranges]
    places = [
        (int(np.searchsorted(domain.values, low)), int(np.searchsorted(domain.values, high, "right")) - 1)
        for low, high in ranges
    ]
    return [(*place, *ends) for place, ends in zip(places, ranges, strict=True)]
