"""Datafly: the climb by numbers of distinct values, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import datafly
from anonymize.algorithms.base import Context
from anonymize.errors import InfeasibleError
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.table import Table
from tests.algorithms.full_domain import Vector, check_node, heights, is_safe, leveled, rows_of, shown, sweeney
from tests.algorithms.tables import k_anonymity, requirement, table_of, tables, units_or_not
from tests.algorithms.test_mondrian import requirements
from tests.examples import some

SMALL = tables(max_rows=30, max_attributes=3, sensitive_columns=2)


def run(table: Table, wanted: Sequence[Requirement], limit: int = 0, outliers: str = "limit") -> Levels:
    return datafly.run(table, tuple(wanted), datafly.Options(outliers), Context(limit))


def climbed(table: Table, wanted: Sequence[Requirement], limit: int) -> Vector | None:
    """The node where the climb ends, from what the rows show; None where the top is not safe."""
    vector, top = [0] * len(table.attributes), heights(table)
    while not is_safe(table, tuple(vector), wanted, limit):
        distinct = [len(set(column)) for column in zip(*shown(table, tuple(vector)), strict=True)]
        below = [index for index in range(len(top)) if vector[index] < top[index]]
        if not below:
            return None
        vector[sorted(below, key=lambda index: (-distinct[index], index))[0]] += 1
    return tuple(vector)


@pytest.mark.parametrize(("limit", "outliers"), [(0, "k"), (2, "limit"), (3, "limit")])
def test_of_sweeneys_twelve_rows_ten_remain_with_the_year_of_birth(limit: int, outliers: str) -> None:
    table = sweeney()
    found = run(table, [k_anonymity(2)], limit, outliers)
    assert found.vector == (0, 1, 0, 0)
    assert found.suppressed.tolist() == [6, 7]
    assert rows_of(found) == [[0, 1], [2, 3], [4, 5], [8, 9], [10, 11]]


def test_without_suppression_it_climbs_on() -> None:
    # Three ZIP codes and three years: the birth date comes first in the spec, then the ZIP code.
    table = sweeney()
    found = run(table, [k_anonymity(2)])
    assert found.vector is not None and found.vector == climbed(table, [k_anonymity(2)], 0)
    assert not len(found.suppressed) and found.partition.sizes.min() >= 2
    assert found.summary()["levels"] == dict(zip(["race", "birth", "gender", "zip"], found.vector, strict=True))


def test_of_attributes_with_equally_many_values_the_first_goes_up() -> None:
    table = table_of(leveled("a", ["1", "2", "3", "4"]), leveled("b", ["1", "2", "3", "4"]))
    assert run(table, [k_anonymity(1)]).vector == (0, 0)
    assert climbed(table, [k_anonymity(2)], 0) == run(table, [k_anonymity(2)]).vector == (1, 1)
    table = table_of(leveled("a", ["1", "1", "3", "3"]), leveled("b", ["1", "1", "2", "2"]), leveled("c", ["1"] * 4))
    assert run(table, [k_anonymity(3)]).vector == (1, 1, 0)


def test_outliers_of_k_are_allowed_whatever_the_limit() -> None:
    table = table_of(leveled("a", ["1", "1", "1", "2", "2"]))
    assert run(table, [k_anonymity(3)], 0, "limit").vector == (1,)
    found = run(table, [k_anonymity(3)], 0, "k")
    assert found.suppressed.tolist() == [3, 4] and found.summary()["allowed_rows"] == 3
    assert run(table, [k_anonymity(3)], 2, "limit").suppressed.tolist() == [3, 4]


def test_without_a_k_as_many_outliers_as_a_class_has_rows() -> None:
    table = sweeney()
    found = run(table, [requirement("distinct-l-diversity", "problem", l=2)], 0, "k")
    assert found.vector == (0, 1, 0, 0) and found.suppressed.tolist() == [6, 7]


def test_infeasible_names_the_requirement() -> None:
    with pytest.raises(InfeasibleError, match="k-anonymity"):
        run(sweeney(), [k_anonymity(13)])
    with pytest.raises(InfeasibleError, match="distinct-l-diversity"):
        run(sweeney(), [requirement("distinct-l-diversity", "problem", l=11)], 12)


@settings(max_examples=some(100))
@given(units_or_not(SMALL), requirements, st.sampled_from([0.0, 0.1, 0.5]))
def test_it_ends_where_the_climb_by_hand_does(table: Table, wanted: list[Requirement], suppression: float) -> None:
    limit = int(suppression * table.rows)
    expected = climbed(table, wanted, limit)
    if expected is None:
        with pytest.raises(InfeasibleError):
            run(table, wanted, limit)
        return
    check_node(table, run(table, wanted, limit), expected, wanted)
