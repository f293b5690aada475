"""COUNT queries over the quasi-identifiers, many at once, as boxes of leaves: listed ones, and random ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from itertools import product
from typing import Any

import numpy as np

from anonymize.classes import Bools, Floats, Integers, Ints
from anonymize.domain import Domain
from anonymize.domain.numeric import Numeric
from anonymize.errors import Problem, UsageError
from anonymize.records import dataclass
from anonymize.spec.blocks import Condition
from anonymize.spec.model import Spec
from anonymize.table import Table
from anonymize.table.model import leaves


@dataclass(frozen=True)
class Queries:
    """COUNT queries. One that asks for a set that is not a range is several boxes, which have no row in common.

    `restricted` (boxes, attributes): which quasi-identifiers a box restricts; the rest of a row of the next four means
    nothing where it does not. `first`, `last` (boxes, attributes) int64: the leaves of the original that it takes, both
    included. `low`, `high` (boxes, attributes) float64: its ends as they are asked for, numbers or positions of leaves.
    `whole` (attributes,): whether these are whole numbers. `query` (boxes,): which query each box is of. `dimensions`
    (queries,): how many quasi-identifiers each restricts. `repeat` (queries,): of which seed each is, from 0. `bound`:
    rows below which no true count is taken to be, 0 for none. `settings`: how they were made, as the report says it.
    `threads`: by how many of them the queries are answered.
    """

    restricted: Bools
    first: Ints
    last: Ints
    low: Floats
    high: Floats
    whole: Bools
    query: Ints
    dimensions: Ints
    repeat: Ints
    bound: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1

    @classmethod
    def of(
        cls,
        domains: Sequence[Domain],
        restricted: Bools,
        leaves: tuple[Ints, Ints],
        ends: tuple[Floats, Floats],
        **more: Any,
    ) -> Queries:
        """Queries of attributes with these domains: boxes from the first of `leaves` to the second, both (boxes,
        attributes), and their `ends` as they are asked for.

        A single number of a column that is not whole has no width on a line: it stands for all those that would be
        rounded to it, half a unit of the column to either side.
        """
        # Ends of categories are positions, which are always whole.
        whole = np.array([each.whole if isinstance(each, Numeric) else True for each in domains], np.bool_)
        units = np.array([each.unit if isinstance(each, Numeric) else 1.0 for each in domains])
        half = np.where((ends[0] == ends[1]) & ~whole, units / 2, 0.0)
        return cls(restricted, *leaves, ends[0] - half, ends[1] + half, whole, **more)

    @property
    def count(self) -> int:
        """Number of queries."""
        return len(self.dimensions)

    def totals(self, of_boxes: Floats) -> Floats:
        """(queries,) the sums over the boxes of each."""
        return np.asarray(np.bincount(self.query, of_boxes, minlength=self.count), np.float64)


def values(domains: Sequence[Domain], leaves: Ints) -> Floats:
    """(boxes, attributes) the numbers that leaves stand for; of categories and columns without values, their
    positions."""
    columns = [
        domain.values[np.minimum(codes, len(domain.values) - 1)]
        if isinstance(domain, Numeric) and len(domain.values)
        else codes
        for domain, codes in zip(domains, leaves.T, strict=True)
    ]
    return np.stack(columns, axis=1).astype(np.float64) if columns else np.zeros(leaves.shape)


def sizes(domains: Sequence[Domain]) -> Ints:
    """(attributes,) leaves that a query may take: a missing number is none of them."""
    return np.array([len(each.values) if isinstance(each, Numeric) else each.size for each in domains], np.int64)


Part = tuple[int, int, float, float]
"""First and last leaf of a range, and its ends as they are asked for."""


def listed(spec: Spec, table: Table, selections: Sequence[Mapping[str, Condition]], bound: float = 0.0) -> Queries:
    """Queries that are listed as conditions on quasi-identifiers, as the selections of a spec's workload are: a box for
    each combination of the ranges that the conditions of one take."""
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
    return Queries.of(
        domains,
        restricted,
        (ends[0].astype(np.int64), ends[1].astype(np.int64)),
        (ends[2], ends[3]),
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


# --- random queries ---------------------------------------------------------------------------------------------------
# Each restricts some quasi-identifiers: as many as are asked for, or any number of them, drawn evenly; which ones is
# drawn evenly, too. From each it takes
#
# - a range between two leaves that are drawn evenly;
# - with a selectivity s, a range of so many leaves that all ranges of the query together cover the share s of the joint
#   domain, s^(1/d) of the leaves of each of its d attributes (at least one leaf), wherever it falls;
# - as a point, the value of a row of the original that is drawn evenly, so that its true count is not 0. In place of a
#   missing number it takes the value of another row, and then there may be no such row.
#
# A range of numbers runs over the values that occur. The queries of several seeds are put together.
#
# Source for selectivities: Xiao and Tao, Anatomy: simple and effective privacy preservation, VLDB 2006, section 6.


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
        """What the report says about them in addition to `number` and `seed`: what is not as it is by default."""
        further = [each for each in fields(self) if each.name not in ("number", "seed")]
        given = {each.name: getattr(self, each.name) for each in further if getattr(self, each.name) != each.default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def drawn(table: Table, plan: QueryPlan) -> Queries:
    """The queries; none restricts an attribute without any value, and none are drawn where no attribute has one.

    Raises UsageError for attributes that are not quasi-identifiers, and for more dimensions than there are.
    """
    domains = [attribute.domain for attribute in table.attributes]
    allowed = _allowed(table, plan, sizes(domains))
    parts = [_of_seed(table, plan, allowed, plan.seed + index) for index in range(plan.repeats)]
    restricted, first, last = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Queries.of(
        domains,
        restricted,
        (first, last),
        (values(domains, first), values(domains, last)),
        query=np.arange(len(restricted)),
        dimensions=restricted.sum(axis=1),
        repeat=np.repeat(np.arange(plan.repeats), len(restricted) // plan.repeats),
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
        raise UsageError(f"--query-dimensions {most}: queries are over {len(chosen)} quasi-identifiers")
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
