"""Mondrian as a whole: every class meets every requirement, or nothing is released."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import ALGORITHMS, mondrian
from anonymize.algorithms.base import Context
from anonymize.algorithms.cuts import BY_TARGET, RULES, Selecting
from anonymize.errors import InfeasibleError
from anonymize.privacy import Groups, Histogram, Requirement, check
from anonymize.recoding import Regions
from anonymize.table import Table
from tests.algorithms.tables import k_anonymity, numeric, requirement, sensitive, table_of, tables, with_workload
from tests.examples import some

WITHOUT_WORKLOAD = [rule for rule in RULES if rule not in (*BY_TARGET, Selecting.ID)]
OPTIONS = st.builds(mondrian.Options, st.sampled_from(["auto", *RULES]), st.booleans())


def asked(k: int, l: int, error: float) -> list[Requirement]:  # noqa: E741
    return [
        k_anonymity(k),
        requirement("distinct-l-diversity", "s0", l=l),
        requirement("entropy-l-diversity", "s1", l=l * 0.7 + 0.3),
        requirement("frequency-l-diversity", "s0", l=1 + l / 4),
        requirement("recursive-cl-diversity", "s1", c=2.0, l=2),
        requirement("squared-error-diversity", "s0", error=error),
    ]


requirements = st.builds(asked, st.integers(1, 10), st.integers(1, 3), st.sampled_from([0.5, 100.0])).flatmap(
    lambda found: st.lists(st.sampled_from(found), min_size=1, max_size=4, unique_by=str)
)


def run(
    table: Table, wanted: list[Requirement], options: mondrian.Options | None = None, limit: int = 0, threads: int = 1
) -> Regions:
    return mondrian.run(table, tuple(wanted), options or mondrian.Options(), Context(limit, threads=threads))


def passes(table: Table, rows: Any, wanted: list[Requirement]) -> bool:
    """Whether some rows meet every requirement as one class; where they are about units, counted in these."""
    whom = rows if table.units is None else table.units[rows]
    size, histograms = len(set(whom.tolist())), {}
    for column in table.sensitive:
        pairs = sorted(set(zip(column.codes[rows].tolist(), whom.tolist(), strict=True)))
        one, codes = np.zeros(len(pairs), np.int64), np.array([code for code, _ in pairs], np.int64)
        histograms[column.name] = Histogram.from_rows(one, codes, 1, column.size, column.missing, column.values)
    return bool(check(Groups(np.array([size]), histograms), wanted).all())


@settings(max_examples=some(100))
@given(with_workload(tables(sensitive_columns=2)), requirements, OPTIONS, st.sampled_from([0.0, 0.3]))
def test_every_class_meets_every_requirement_and_no_row_is_lost(
    table: Table, wanted: list[Requirement], options: mondrian.Options, suppression: float
) -> None:
    limit = int(suppression * table.rows)
    try:
        found = run(table, wanted, options, limit)
    except InfeasibleError:
        assert not passes(table, np.arange(table.rows), wanted)
        return
    starts = found.partition.starts
    classes = [found.partition.order[a:b] for a, b in pairwise(starts)]
    assert all(passes(table, rows, wanted) for rows in classes)
    assert sorted([*found.partition.order.tolist(), *found.suppressed.tolist()]) == list(range(table.rows))
    assert len(found.suppressed) <= limit
    again = run(table, wanted, options, limit, threads=2)
    assert np.array_equal(again.partition.order, found.partition.order)
    assert np.array_equal(again.partition.starts, starts) and np.array_equal(again.suppressed, found.suppressed)


@settings(max_examples=some(30))
@given(tables())
def test_as_many_rows_as_the_table_has_are_one_class(table: Table) -> None:
    assert run(table, [k_anonymity(table.rows)]).partition.sizes.tolist() == [table.rows]
    with pytest.raises(InfeasibleError):
        run(table, [k_anonymity(table.rows + 1)])


@settings(max_examples=some(30))
@given(with_workload(tables()), st.sampled_from(list(RULES)))
def test_k_of_one_gives_every_record_its_own_class(table: Table, rule: str) -> None:
    records = set(zip(*(attribute.codes.tolist() for attribute in table.attributes), strict=True))
    assert run(table, [k_anonymity(1)], mondrian.Options(rule)).partition.count == len(records)


def test_a_cut_that_would_leave_one_sensitive_value_is_not_made() -> None:
    table = table_of(numeric([1, 2, 3, 4]), sensitive=[sensitive(["a", "a", "b", "b"])])
    assert run(table, [k_anonymity(2)]).partition.sizes.tolist() == [2, 2]
    both = [k_anonymity(2), requirement("distinct-l-diversity", "s", l=2)]
    assert run(table, both).partition.sizes.tolist() == [4]


def test_rows_of_the_most_frequent_value_are_suppressed_within_the_limit() -> None:
    table = table_of(numeric(list(range(10))), sensitive=[sensitive(["a"] * 7 + ["b"] * 3)])
    wanted = [requirement("frequency-l-diversity", "s", l=2.0)]
    found = run(table, wanted, limit=4)
    assert len(found.suppressed) == 4 and found.suppressed.max() < 7 and found.suppressed.dtype == np.uint32
    with pytest.raises(InfeasibleError, match="4 rows would fix it, 3 may be"):
        run(table, wanted, limit=3)


def test_relaxed_parts_equal_rows_and_strict_does_not() -> None:
    table = table_of(numeric([1, 2, 2, 2, 2, 3]))
    for relaxed, sizes in ((False, [6]), (True, [3, 3])):
        found = run(table, [k_anonymity(3)], mondrian.Options("widest", relaxed=relaxed))
        assert found.partition.sizes.tolist() == sizes


def test_relaxed_parts_equal_rows_by_their_other_values() -> None:
    """Rows of one value go where the others of their second value go, wherever they stand in the table."""
    table = table_of(numeric([5] * 8, "same"), numeric([1, 9] * 4, "other", 0.001), numeric([1, *[5] * 6, 9], "cut"))
    found = run(table, [k_anonymity(4)], mondrian.Options("widest", relaxed=True)).partition
    assert [sorted(rows.tolist()) for rows in np.split(found.order, found.starts[1:-1])] == [[0, 2, 4, 6], [1, 3, 5, 7]]


def uneven(weights: list[float]) -> Table:
    """600 rows of three numbers: even, lumped, and one that leans."""
    rng = np.random.default_rng(5)
    columns = rng.integers(0, 80, 600), rng.choice([1, 2, 3, 50, 51, 90], 600), (rng.random(600) ** 4 * 200).astype(int)
    return table_of(*(numeric(c.tolist(), f"q{i}", w) for i, (c, w) in enumerate(zip(columns, weights, strict=True))))


def ncp_of(table: Table, rule: str, index: int) -> float:
    partition = run(table, [k_anonymity(5)], mondrian.Options(rule)).partition
    attribute = table.attributes[index]
    return float(attribute.domain.cost(*partition.boxes(attribute.codes)) @ partition.sizes)


@pytest.mark.parametrize("rule", ["auto", *WITHOUT_WORKLOAD])
@pytest.mark.parametrize("index", range(3))
def test_doubling_a_weight_does_not_raise_the_loss_of_its_attribute(rule: str, index: int) -> None:
    weights = [1.0, 1.0, 1.0]
    before = ncp_of(uneven(weights), rule, index)
    weights[index] = 2.0
    assert ncp_of(uneven(weights), rule, index) <= before


def test_weights_turn_the_choice() -> None:
    changed = [
        ncp_of(uneven([1.0, 1.0, 8.0]), rule, 2) < ncp_of(uneven([1.0, 1.0, 1.0]), rule, 2) for rule in WITHOUT_WORKLOAD
    ]
    assert all(changed)


@settings(max_examples=some(25))
@given(tables(sensitive_columns=1), st.integers(1, 4), st.sampled_from([1.3, 2.0]))
def test_under_a_model_no_rule_loses_less_than_auto(table: Table, k: int, bits: float) -> None:
    wanted = [k_anonymity(k), requirement("entropy-l-diversity", "s0", l=bits)]
    if not passes(table, np.arange(table.rows), wanted):
        return
    search = mondrian.RuleSearch(table, tuple(wanted), False, Context(), np.arange(table.rows, dtype=np.uint32))
    lost = {
        rule: search.loss(run(table, wanted, mondrian.Options(rule)).partition) for rule in ("auto", *WITHOUT_WORKLOAD)
    }
    assert lost["auto"] == min(lost.values())


def test_it_is_registered_and_auto_is_rate() -> None:
    assert ALGORITHMS[mondrian.ID] is mondrian
    table = uneven([1.0, 2.0, 1.0])
    auto, rate = (run(table, [k_anonymity(4)], mondrian.Options(rule)).partition for rule in ("auto", "rate"))
    assert np.array_equal(auto.order, rate.order) and np.array_equal(auto.starts, rate.starts)
