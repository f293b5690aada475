"""BUG: generalizations worked by hand, against a slow way, and the guarantee."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms import bug
from anonymize.algorithms.base import Context
from anonymize.algorithms.single import LabelCounts, children
from anonymize.errors import InfeasibleError
from anonymize.privacy import Requirement
from anonymize.recoding import SingleDimensional
from anonymize.table import Table
from tests.algorithms.tables import categorical, k_anonymity, numeric, seeds, table_of, tables, taxonomy, units_or_not
from tests.algorithms.test_k_optimize import MODELS, meets
from tests.algorithms.test_tds import JOBS, with_target

CITIES = taxonomy("p North *", "q North *", "r South *", "s South *", name="city")


def run(table: Table, wanted: tuple[Requirement, ...], limit: int = 0) -> SingleDimensional:
    return bug.run(table, wanted, bug.Options(), Context(limit))


def cut(found: SingleDimensional, name: str) -> list[int]:
    return list(found.cuts[name].starts.tolist())


def test_of_those_that_raise_the_anonymity_the_cheapest_for_a_row() -> None:
    # Eight classes of one row, but for both attributes the labels differ: within a job never, within a city always.
    jobs, cities = categorical(list("aabbccdd"), JOBS), categorical(list("pqpqrsrs"), CITIES)
    table = with_target(table_of(jobs, cities), [0, 1, 0, 1, 0, 1, 0, 1])
    found = run(table, (k_anonymity(2),))
    assert cut(found, "job") == [0, 2]  # a and b tell the same, as do c and d: nothing is lost
    assert cut(found, "city") == [0, 1, 2, 3]
    assert found.summary()["generalizations"] == 2 and found.summary()["anonymity"] == 2


def test_a_step_that_raises_comes_before_a_cheaper_one_that_does_not() -> None:
    # One row is alone: job a. Of the jobs, a and b differ in label; c and d do not, but they help nobody.
    table = with_target(table_of(categorical(list("abbccdd"), JOBS)), [0, 1, 1, 0, 0, 0, 0])
    assert cut(run(table, (k_anonymity(2),)), "job") == [0, 2, 3]


def test_rows_within_the_limit_are_suppressed() -> None:
    table = with_target(table_of(categorical(list("abbccdd"), JOBS)), [0, 1, 1, 0, 0, 0, 0])
    found = run(table, (k_anonymity(2),), limit=1)
    assert cut(found, "job") == [0, 1, 2, 3] and found.suppressed.tolist() == [0]


def test_a_node_waits_for_all_its_children() -> None:
    uneven = taxonomy("a A *", "b A *", "c *", name="u")
    table = with_target(table_of(categorical(list("aabbc"), uneven)), [0, 0, 1, 1, 0])
    found = run(table, (k_anonymity(2),))
    assert cut(found, "u") == [0]
    assert found.summary()["generalizations"] == 2


def test_numbers_without_a_hierarchy_are_all_or_nothing() -> None:
    table = with_target(table_of(numeric([1, 2, 3], "x")), [0, 1, 0])
    assert cut(run(table, (k_anonymity(2),)), "x") == [0]
    assert cut(run(table, (k_anonymity(1),)), "x") == [0, 1, 2]


def test_infeasible() -> None:
    table = with_target(table_of(numeric([1, 2, 3], "x")), [0, 1, 0])
    with pytest.raises(InfeasibleError, match="k-anonymity"):
        run(table, (k_anonymity(4),), 1)


# --- a slow way -------------------------------------------------------------------------------------------------------


def classes(table: Table, shown: list[Any]) -> list[list[int]]:
    found: dict[Any, list[int]] = {}
    for row in range(table.rows):
        key = []
        for attribute, starts in zip(table.attributes, shown, strict=True):
            leaf = int(attribute.generalization.leaf_of(attribute.codes[row : row + 1])[0])
            key.append(max(start for start in starts if start <= leaf))
        found.setdefault(tuple(key), []).append(row)
    return list(found.values())


def smallest(table: Table, groups: list[list[int]]) -> int:
    """The size of the smallest class, in rows or in units."""
    whom = range(table.rows) if table.units is None else table.units.tolist()
    return min(len({whom[row] for row in rows}) for rows in groups)


def climbed(table: Table, wanted: tuple[Requirement, ...], limit: int) -> list[Any] | None:
    """The starts of each attribute's intervals; every candidate is tried on all rows."""
    shown = [set(range(a.hierarchy.size)) for a in table.attributes]
    everyone = np.arange(table.rows, dtype=np.uint32)
    leaves = [a.generalization.leaf_of(a.codes) for a in table.attributes]
    labels = [
        LabelCounts.of(leaf, a.hierarchy.size, table.targets, everyone)
        for leaf, a in zip(leaves, table.attributes, strict=True)
    ]
    while True:
        groups = classes(table, shown)
        lost = sum(len(rows) for rows in groups if not meets(table, rows, wanted))
        if lost <= limit and lost < table.rows:
            return [sorted(starts) for starts in shown]
        now, steps = smallest(table, groups), []
        for index, attribute in enumerate(table.attributes):
            tree = attribute.hierarchy
            for start, stop in sorted({(int(a), int(b)) for a, b in zip(tree.start, tree.stop, strict=True)}):
                inner = set(range(start + 1, stop)) & shown[index]
                if not inner:
                    continue
                edges = children(tree, start, stop)
                if inner == set(edges[1:-1].tolist()) and {start, stop} <= shown[index] | {tree.size}:
                    after = [*shown]
                    after[index] = shown[index] - inner
                    gained = smallest(table, classes(table, after)) - now
                    loss = labels[index].gain(edges)
                    steps.append((0, loss / gained, index, start, after) if gained else (1, loss, index, start, after))
        if not steps:
            return None
        shown = min(steps, key=lambda step: step[:4])[4]


SMALL = units_or_not(tables(max_rows=30, max_attributes=3, sensitive_columns=1))


@given(SMALL, st.sampled_from(MODELS), seeds)
def test_as_the_slow_way(table: Table, wanted: Any, rng: np.random.Generator) -> None:
    table = with_target(table, rng.integers(0, 3, table.rows), rng.integers(0, 2, table.rows))
    limit = int(rng.choice([0, table.rows // 4]))
    expected = climbed(table, wanted, limit)
    if expected is None:
        with pytest.raises(InfeasibleError):
            run(table, wanted, limit)
        return
    found = run(table, wanted, limit)
    assert [cut(found, attribute.name) for attribute in table.attributes] == expected
    parts = np.split(found.partition.order, found.partition.starts[1:-1])
    assert all(meets(table, part.tolist(), wanted) for part in parts)
    assert Counter(row for part in parts for row in part.tolist()) + Counter(found.suppressed.tolist()) == Counter(
        range(table.rows)
    )
    assert len(found.suppressed) <= limit
