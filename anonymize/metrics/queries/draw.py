"""Random COUNT queries.

Each restricts some quasi-identifiers: as many as it is told, or any number of them, drawn evenly; which ones is drawn
evenly, too. From each it takes

- a range between two leaves that are drawn evenly;
- with a selectivity s, a range of so many leaves that all ranges of the query together cover the share s of the joint
  domain, s^(1/d) of the leaves of each of its d attributes (at least one leaf), wherever it falls;
- as a point, the value of a row of the original that is drawn evenly, so that its true count is not 0. In place of a
  missing number it takes the value of another row, and then there may be no such row.

A range of numbers runs over the values that occur. The queries of several seeds are put together.

Source for selectivities: Xiao and Tao, Anatomy: simple and effective privacy preservation, VLDB 2006, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from anonymize.classes import Bools, Integers, Ints
from anonymize.errors import Problem, UsageError
from anonymize.metrics.queries.batch import Queries, sizes, values, whole, widened
from anonymize.table import Table


@dataclass(frozen=True)
class QueryPlan:
    """Which queries are drawn: `number` of them from each of `repeats` seeds, the first of which is `seed`.

    `dimensions`: how many quasi-identifiers a query may restrict; () for any number. `attributes`: those that it may;
    () for all. `selectivity`: in (0, 1], None for ranges of any length. `points`: single values instead of ranges.
    `bound`: rows below which no true count is taken to be.
    """

    number: int = 1000
    seed: int = 0
    repeats: int = 1
    dimensions: tuple[int, ...] = ()
    attributes: tuple[str, ...] = ()
    selectivity: float | None = None
    points: bool = False
    bound: float = 0.0

    @property
    def settings(self) -> dict[str, Any]:
        """What the report says about them; the keys that are not as they are by default."""
        given = {
            "repeats": (self.repeats, 1),
            "dimensions": (list(self.dimensions), []),
            "attributes": (list(self.attributes), []),
            "selectivity": (self.selectivity, None),
            "points": (self.points, False),
            "bound": (self.bound, 0.0),
        }
        return {name: value for name, (value, default) in given.items() if value != default}


def drawn(table: Table, plan: QueryPlan) -> Queries:
    """The queries; none restricts an attribute without any value, and none are drawn where no attribute has one.

    Raises UsageError for attributes that are not quasi-identifiers, and for more dimensions than there are.
    """
    domains = [attribute.domain for attribute in table.attributes]
    allowed = _allowed(table, plan, sizes(domains))
    parts = [_of_seed(table, plan, allowed, plan.seed + index) for index in range(plan.repeats)]
    restricted, first, last = (np.concatenate(each) for each in zip(*parts, strict=True))
    queries = len(restricted)
    low, high = widened(domains, values(domains, first), values(domains, last))
    return Queries(
        restricted=restricted,
        first=first,
        last=last,
        low=low,
        high=high,
        whole=whole(domains),
        query=np.arange(queries),
        dimensions=restricted.sum(axis=1),
        repeat=np.repeat(np.arange(plan.repeats), queries // plan.repeats),
        bound=plan.bound,
        settings=plan.settings,
    )


def _allowed(table: Table, plan: QueryPlan, leaves: Ints) -> Ints:
    """The quasi-identifiers that a query may restrict."""
    names = [attribute.name for attribute in table.attributes]
    unknown = [name for name in plan.attributes if name not in names]
    if unknown:
        hint = f"quasi-identifiers: {', '.join(names)}"
        raise UsageError(
            [Problem(f"--query-attributes {name}: is not a quasi-identifier", hint=hint) for name in unknown]
        )
    chosen = [index for index, name in enumerate(names) if name in plan.attributes or not plan.attributes]
    most = max(plan.dimensions, default=0)
    if most > len(chosen):
        message = f"--query-dimensions {most}: queries are over {len(chosen)} quasi-identifiers"
        raise UsageError(message)
    return np.array([index for index in chosen if leaves[index]], np.int64)


def _of_seed(table: Table, plan: QueryPlan, allowed: Ints, seed: int) -> tuple[Bools, Ints, Ints]:
    """(queries, attributes) what is restricted, and to which leaves."""
    number = plan.number if len(allowed) and (table.rows or not plan.points) else 0
    random = np.random.default_rng(seed)
    restricted = np.zeros((number, len(table.attributes)), np.bool_)
    first, last = np.zeros(restricted.shape, np.int64), np.zeros(restricted.shape, np.int64)
    if not number:
        return restricted, first, last
    choices = np.array([each for each in plan.dimensions if each <= len(allowed)] or range(1, len(allowed) + 1))
    counts = choices[random.integers(0, len(choices), number)]
    ranks = random.random((number, len(allowed))).argsort(axis=1).argsort(axis=1)
    restricted[:, allowed] = ranks < counts[:, None]
    leaves = sizes([attribute.domain for attribute in table.attributes])
    rows = random.integers(0, table.rows, number) if plan.points else None
    for index in allowed.tolist():
        if rows is not None:
            first[:, index] = last[:, index] = _points(random, table.attributes[index].codes, rows, int(leaves[index]))
        else:
            first[:, index], last[:, index] = _ranges(random, int(leaves[index]), plan.selectivity, counts)
    return restricted, first, last


def _points(random: np.random.Generator, codes: Integers, rows: Ints, size: int) -> Ints:
    """(queries,) the leaves of some rows; of others where they have none."""
    points: Ints = codes[rows].astype(np.int64)
    absent = np.flatnonzero(points >= size)
    points[absent] = random.choice(codes[codes < size], len(absent))
    return points


def _ranges(random: np.random.Generator, size: int, selectivity: float | None, dimensions: Ints) -> tuple[Ints, Ints]:
    """(queries,) first and last leaf of ranges among `size` leaves."""
    if selectivity is None:
        ends = np.sort(random.integers(0, size, (2, len(dimensions))), axis=0)
        return ends[0], ends[1]
    length = np.clip(np.rint(selectivity ** (1 / dimensions) * size), 1, size).astype(np.int64)
    begin = (random.random(len(dimensions)) * (size - length + 1)).astype(np.int64)
    return begin, begin + length - 1
