"""Random tables of codes, and requirements, for the tests of searches; no file is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from numpy.typing import NDArray

from anonymize.algorithms.cuts import BY_TARGET, RULES, CutRule, Selecting
from anonymize.algorithms.splitting import Batch
from anonymize.domain import Domain
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.tree import Tree
from anonymize.privacy import PARAMETERS, Requirement
from anonymize.table import Attribute, Codes, Selection, SensitiveColumn, Table, TargetColumn


def requirement(model: str, attribute: str | None = None, /, **parameters: Any) -> Requirement:
    return Requirement(model, attribute, PARAMETERS[model](**parameters))


def k_anonymity(k: int) -> Requirement:
    return requirement("k-anonymity", k=k)


def narrow(codes: Any) -> Codes:
    """Codes in the smallest type that holds them."""
    codes = np.asarray(codes)
    return cast(Codes, codes.astype(np.min_scalar_type(int(codes.max(initial=0)))))


def numeric(values: Sequence[float | None], name: str = "x", weight: float = 1.0) -> Attribute:
    """A numeric attribute from the numbers of its rows, None where missing."""
    present = np.unique([value for value in values if value is not None])
    absent = len(present) < len(set(values))
    codes = [len(present) if value is None else int(np.searchsorted(present, value)) for value in values]
    return Attribute(name, narrow(codes), Numeric(name, present, "?" if absent else None), weight)


def taxonomy(*paths: str, missing: str | None = None, name: str = "c") -> Taxonomy:
    """A taxonomy from paths such as `a A *`, from the leaf to the root."""
    return Taxonomy.of(name, Tree.from_paths([tuple(path.split()) for path in paths]), missing)


def categorical(values: Sequence[str], domain: Taxonomy, weight: float = 1.0) -> Attribute:
    """A categorical attribute from the leaves of its rows."""
    leaves = domain.leaf_text()
    return Attribute(domain.name, narrow([leaves.index(value) for value in values]), domain, weight)


def sensitive(values: Sequence[Any], name: str = "s") -> SensitiveColumn:
    """A sensitive column from the values of its rows, None where missing; categorical where they are texts."""
    present = sorted(set(values) - {None})
    leaves = [*present, None] if None in values else present
    code = {value: index for index, value in enumerate(leaves)}
    texts = any(isinstance(value, str) for value in present)
    numbers = None if texts else np.array([np.nan if value is None else value for value in leaves])
    return SensitiveColumn(name, narrow([code[v] for v in values]), len(leaves), code.get(None), numbers)


def target(values: Sequence[Any], name: str = "y") -> TargetColumn:
    """A target from the values of its rows, as `sensitive`."""
    column = sensitive(values, name)
    return TargetColumn(name, column.codes, column.size, column.missing, column.values)


def table_of(
    *attributes: Attribute, sensitive: Sequence[SensitiveColumn] = (), targets: Sequence[TargetColumn] = ()
) -> Table:
    columns: tuple[Attribute | SensitiveColumn | TargetColumn, ...] = (*attributes, *sensitive, *targets)
    rows, names = len(columns[0].codes), tuple(column.name for column in columns)
    return Table(rows, attributes, tuple(sensitive), names, cast(Any, None), (), targets=tuple(targets))


def whole(table: Table) -> Batch:
    """All rows of a table as one class."""
    columns = tuple(attribute.codes for attribute in table.attributes)
    every, hidden = np.arange(table.rows, dtype=np.uint32), tuple(column.codes for column in table.sensitive)
    return Batch.whole(every, columns, hidden, tuple(column.codes for column in table.targets))


def batch_of(labels: Sequence[int] | NDArray[np.integer[Any]], *columns: Codes) -> Batch:
    """Classes given by a label, 0 ... C - 1, of every row."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    shape = (len(sizes), len(columns))
    picked = tuple(codes[order] for codes in columns)
    return Batch(order.astype(np.uint32), picked, (), sizes, np.zeros(shape, np.bool_), np.zeros(shape, np.uint8))


# --- random ones ----------------------------------------------------------------------------------------------------
# Hypothesis chooses the sizes and a seed, numpy the rest: drawing every cell would take longer than the searches.

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def _paths(rng: np.random.Generator, label: str, depth: int) -> list[tuple[str, ...]]:
    """Paths of a subtree from its leaves up to `label`: 1 to 4 children each, some branches shorter than others."""
    if depth == 0 or (len(label) > 1 and rng.random() < 0.5):
        return [(label,)]
    children = [f"{label}{letter}" for letter in "abcd"[: rng.integers(1, 5)]]
    return [(*path, label) for child in children for path in _paths(rng, child, depth - 1)]


def random_taxonomy(rng: np.random.Generator, name: str = "c") -> Taxonomy:
    """A deep and uneven hierarchy, or a flat one, or a single leaf; a missing leaf at the end, first, or none; nodes
    with weights or without."""
    paths = _paths(rng, "n", int(rng.integers(1, 5)))
    missing = [None, None, "?", paths[0][0]][rng.integers(4)]
    weights = _node_weights(rng, paths) if rng.random() < 0.3 else None
    return Taxonomy.of(name, Tree.from_paths(paths, weights), missing)


def _node_weights(rng: np.random.Generator, paths: list[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
    """Weights of the nodes between leaves and root: none costs more than the one above it."""
    leaves = Counter(path[at:] for path in paths for at in range(1, len(path)))
    found: dict[tuple[str, ...], float] = {}
    for node in sorted((node for node in leaves if len(node) > 1), key=len):
        weight = float(rng.choice([0.3, 1.0, 1.7, 4.0]))
        above = found.get(node[1:])
        heavy = above is not None and weight * leaves[node] > above * leaves[node[1:]]
        found[node] = above if above is not None and heavy else weight
    return found


def _skewed(rng: np.random.Generator, rows: int, size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Codes below `size`, evenly spread or most of them low."""
    found = np.minimum((rng.random(rows) ** rng.choice([1, 1, 4]) * size).astype(np.int64), size - 1)
    return np.asarray(found, np.int64)


def _random_attribute(rng: np.random.Generator, rows: int, name: str) -> Attribute:
    weight = float(rng.choice([1.0, 1.0, 0.3, 2.0]))
    if rng.random() < 0.5:
        domain = random_taxonomy(rng, name)
        return Attribute(name, narrow(_skewed(rng, rows, domain.size)), domain, weight)
    values = (_skewed(rng, rows, int(rng.choice([1, 2, 6, 40]))) * 1.5 - 3).tolist()
    absent = rng.random(rows) < rng.choice([0.0, 0.0, 0.2, 1.0])
    return numeric([None if gone else value for value, gone in zip(values, absent, strict=True)], name, weight)


def _random_sensitive(rng: np.random.Generator, rows: int, name: str) -> SensitiveColumn:
    """Numbers, so that every model can be asked of them."""
    values = (_skewed(rng, rows, int(rng.integers(2, 9))) * 2.5).tolist()
    absent = rng.random(rows) < rng.choice([0.0, 0.1])
    return sensitive([None if gone else value for value, gone in zip(values, absent, strict=True)], name)


def _random_target(rng: np.random.Generator, rows: int, name: str, labels: bool) -> TargetColumn:
    """Numbers or labels, few or many different ones, some of them missing."""
    values = _skewed(rng, rows, int(rng.choice([1, 2, 3, 20]))).tolist()
    absent = rng.random(rows) < rng.choice([0.0, 0.2])
    cells = [
        None if gone else f"{value:02}" if labels else value / 3 for value, gone in zip(values, absent, strict=True)
    ]
    return target(cells, name)


def _random_selection(rng: np.random.Generator, attributes: Sequence[Attribute]) -> Selection:
    """A range of the leaves, or some of them, of one or two attributes."""
    leaves = {}
    for index in rng.permutation(len(attributes))[: rng.integers(1, 3)].tolist():
        size = attributes[index].domain.size
        low, high = np.sort(rng.integers(0, size, 2))
        at = np.arange(size)
        leaves[index] = (low <= at) & (at <= high) if rng.random() < 0.7 else rng.random(size) < 0.5
    return Selection(leaves)


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 60, max_attributes: int = 4, sensitive_columns: int = 0) -> Table:
    """Few or many rows, some of them repeated; attributes of either kind; missing values; constant columns."""
    rows, count, rng = draw(st.integers(1, max_rows)), draw(st.integers(1, max_attributes)), draw(seeds)
    distinct = int(rng.choice([rows, int(rng.integers(1, rows + 1))]))
    spread = rng.permutation(np.append(np.arange(distinct), rng.integers(0, distinct, rows - distinct)))
    attributes = [_random_attribute(rng, distinct, f"q{index}") for index in range(count)]
    columns = [_random_sensitive(rng, rows, f"s{index}") for index in range(sensitive_columns)]
    return table_of(*(replace(a, codes=a.codes[spread]) for a in attributes), sensitive=columns)


@st.composite
def with_units(draw: st.DrawFn, of: st.SearchStrategy[Table]) -> Table:
    """A table whose rows are about units, some of which have many rows: few units or nearly as many as rows."""
    table, rng = draw(of), draw(seeds)
    return replace(table, units=narrow(_skewed(rng, table.rows, int(rng.integers(1, 2 * table.rows + 1)))))


def units_or_not(of: st.SearchStrategy[Table]) -> st.SearchStrategy[Table]:
    """Tables whose rows are about units, and tables where each row is about somebody else."""
    return of | with_units(of)


@st.composite
def with_workload(draw: st.DrawFn, of: st.SearchStrategy[Table]) -> Table:
    """A table with two targets of each kind and three selections."""
    table, rng = draw(of), draw(seeds)
    targets = [_random_target(rng, table.rows, f"t{index}", index < 2) for index in range(4)]
    selections = tuple(_random_selection(rng, table.attributes) for _ in range(3))
    return replace(table, targets=tuple(targets), selections=selections)


def rule_and_batch(name: str, table: Table, minimum: int, relaxed: bool = False) -> tuple[CutRule, Batch]:
    """A rule, and all rows as one class with the targets that the rule looks at. Selections go before `widest`."""
    common: dict[str, Any] = {
        "domains": domains(table),
        "weights": weights(table),
        "minimum": minimum,
        "relaxed": relaxed,
    }
    if name == Selecting.ID:
        then = RULES["widest"](**common)
        return Selecting(**common, selections=table.selections, then=then), whole(replace(table, targets=()))
    if name not in BY_TARGET:
        return RULES[name](**common), whole(replace(table, targets=()))
    weighed = [(column, BY_TARGET[name].weighs(column)) for column in table.targets]
    columns = tuple(column for column, target in weighed if target is not None)
    targets = [target for _, target in weighed if target is not None]
    return BY_TARGET[name](**common, targets=targets), whole(replace(table, targets=columns))


def domains(table: Table) -> list[Domain]:
    return [attribute.domain for attribute in table.attributes]


def weights(table: Table) -> list[float]:
    return [attribute.weight for attribute in table.attributes]


# --- slow ways ------------------------------------------------------------------------------------------------------


def cost(domain: Domain, codes: Iterable[int], *, shown: bool = False, most: float = 1.0) -> float:
    """NCP of a class with these codes in one attribute, from what the leaves are.

    `shown`: as it reads, and not as its box says; numbers beside missing ones then cost `most` at most.
    """
    present = set(codes)
    if len(present) == 1:
        return 0.0
    if isinstance(domain, Taxonomy):
        covering = (
            (stop - start, weight)
            for start, stop, weight in zip(
                domain.start.tolist(), domain.stop.tolist(), domain.weights.tolist(), strict=True
            )
            if start <= min(present) and max(present) < stop
        )
        size, weight = min(covering, key=lambda node: node[0])
        return float(min(1.0, weight * size / domain.size))
    assert isinstance(domain, Numeric)
    values = domain.values.tolist()
    span = values[-1] - values[0]
    if domain.missing in present and shown:
        numbers = sorted(present - {domain.missing})
        return min(most, float((values[numbers[-1]] - values[numbers[0]]) / (span or 1)) + 1 / domain.size)
    if domain.missing in present:  # what lies between is not known, so up to the highest of all
        to_the_end = (values[-1] - values[min(present)]) / span if span else 0.0
        return min(1.0, float(to_the_end) + 1 / domain.size)
    return float((values[max(present)] - values[min(present)]) / span)


def nearest_below(codes: Sequence[int], wanted: float, minimum: int, cuts: Iterable[int] | None = None) -> int | None:
    """Rows below the allowed boundary nearest to `wanted` of them, the upper one at a tie; None where none is allowed.

    `cuts`: the codes before which a boundary may be; default every one.
    """
    boundaries = {sum(code < cut for code in codes) for cut in (set(codes) if cuts is None else cuts)}
    allowed = [below for below in boundaries if minimum <= below <= len(codes) - minimum]
    return min(allowed, key=lambda below: (abs(below - wanted), -below), default=None)


@st.composite
def one_attribute(draw: st.DrawFn) -> tuple[Domain, Batch]:
    """A batch of classes with one attribute, in each of which it has at least two values."""
    table = draw(tables(max_attributes=1))
    attribute = table.attributes[0]
    labels = draw(seeds).integers(0, draw(st.integers(1, 4)), table.rows)
    several = [label for label in range(4) if len(set(attribute.codes[labels == label].tolist())) > 1]
    assume(several)
    rows = np.flatnonzero(np.isin(labels, several))
    return attribute.domain, batch_of(np.searchsorted(several, labels[rows]), attribute.codes[rows])


def codes_by_class(batch: Batch) -> list[list[int]]:
    return [codes.tolist() for codes in np.split(batch.columns[0], batch.starts[1:-1])]
