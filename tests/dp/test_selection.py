"""What the methods measure, and what that costs."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest

from anonymize.dp.estimation import FittedModel, Measurement, independent, nearest_counts, total_of
from anonymize.dp.mechanisms import Spending
from anonymize.dp.selection import (
    CountedTable,
    Drawing,
    by_error,
    by_independent,
    by_list,
    by_tree,
    most_joins,
    workload_weights,
)


def table(rows: int = 4000) -> CountedTable:
    """b follows from a, c from b, and d from nothing."""
    rng = np.random.default_rng(0)
    a, noise = rng.integers(0, 3, rows), rng.random(rows) < 0.1
    codes = {"a": a, "b": np.where(noise, 2 - a, a), "c": (a > 0).astype(np.int64), "d": rng.integers(0, 2, rows)}
    return CountedTable(codes, {"a": 3, "b": 3, "c": 2, "d": 2})


def drawing(rho: float, **more: object) -> Drawing:
    return Drawing(table(), Spending(rho), **more)  # type: ignore[arg-type]


def test_counts_run_over_all_cells_with_the_last_column_fastest() -> None:
    counted = CountedTable({"x": np.array([0, 1, 1]), "y": np.array([2, 0, 0])}, {"x": 2, "y": 3})
    assert counted.counts(("x", "y")).tolist() == [0, 0, 1, 2, 0, 0]
    assert counted.counts(("y", "x")).tolist() == [0, 2, 0, 0, 1, 0]
    assert counted.codes["y"].tolist() == [2, 0, 0]


def test_counts_nearest_to_noisy_ones_have_their_total_and_none_is_negative() -> None:
    assert nearest_counts(np.array([5.0, -3.0, 4.0]), 9.0).tolist() == [5, 0, 4]
    near = nearest_counts(np.array([10.0, 1.0, -20.0, 6.0]), 12.0)
    assert near.tolist() == pytest.approx([8, 0, 0, 4])


def test_the_total_is_the_mean_of_sums_by_their_precision() -> None:
    precise = Measurement(("a",), 1.0, 1.0, 0.5, np.array([10, 20]))
    rough = Measurement(("b",), 10.0, 1.0, 0.005, np.array([60, 70]))
    assert total_of([precise, rough]) == pytest.approx((30 * 100 + 130) / 101)
    assert total_of([Measurement(("a",), 1.0, 1.0, 0.5, np.array([-5, 1]))]) == 1


def test_independent_measures_every_column_alone_and_spends_all() -> None:
    own = drawing(0.5)
    model = by_independent(own)
    assert [each.columns for each in own.measurements] == [("a",), ("b",), ("c",), ("d",)]
    assert own.choices == [] and 0.5 * (1 - 1e-6) < own.spending.spent <= 0.5
    assert all(abs(each.counts.sum() - model.total) < 1e-3 for each in model.cliques)
    assert abs(model.total - 4000) < 50


def test_several_measurements_of_a_column_are_weighed() -> None:
    twice = [
        Measurement(("a",), 1.0, 1.0, 0.5, np.array([9, 1])),
        Measurement(("a",), 3.0, 1.0, 0.1, np.array([19, 1])),
    ]
    (clique,) = independent({"a": 2}, twice, 11.0).cliques
    assert clique.counts.tolist() == pytest.approx([10, 1])


def test_a_public_count_is_kept_and_its_noise_is_for_replacing() -> None:
    own = drawing(0.5, replaced=True)
    model = by_independent(own)
    assert model.total == 4000 and {each.sensitivity for each in own.measurements} == {sqrt(2)}


def test_more_rows_of_an_individual_take_more_noise() -> None:
    one, three = drawing(0.5), drawing(0.5, rows=3)
    by_independent(one)
    by_independent(three)
    assert three.measurements[0].sigma == pytest.approx(3 * one.measurements[0].sigma)


def test_a_tree_joins_what_depends_on_each_other_and_the_model_keeps_that() -> None:
    own = drawing(2.0)
    model = by_tree(own)
    chosen = [each.chosen for each in own.choices]
    assert len(chosen) == 3 and {("a", "c"), ("a", "b")} <= set(chosen)
    assert own.choices[0].candidates == 6
    assert [each.columns for each in own.measurements[4:]] == chosen
    assert 2.0 * (1 - 1e-6) < own.spending.spent <= 2.0
    true = table().counts(("a", "b"))
    assert np.abs(model.counts(("a", "b")) - true).sum() < 100
    assert np.abs(model.counts(("b", "a")).reshape(3, 3).T.ravel() - model.counts(("a", "b"))).max() < 1e-6


def test_aim_begins_with_a_tree_and_spends_all_on_what_it_chose() -> None:
    whole = table()
    pair = CountedTable({name: whole.codes[name] for name in "ab"}, {name: whole.sizes[name] for name in "ab"})
    own = Drawing(pair, Spending(1.0))
    model = by_error(own, 3, frozenset())
    several = [each.columns for each in own.measurements if len(each.columns) > 1]
    assert several == [each.chosen for each in own.choices] and len(several) > 1
    assert 1.0 * (1 - 1e-6) < own.spending.spent <= 1.0
    assert np.abs(model.counts(("a", "b")) - pair.counts(("a", "b"))).sum() < 100


def test_aim_measures_nothing_for_which_the_model_would_pass_its_limit() -> None:
    least, most = 9 + 6 + 4, 24  # cells of a tree of pairs; of it and little more
    own = drawing(2.0, limit=most * 8 / 2**20)
    model = by_error(own, 3, frozenset())
    assert least <= sum(len(each.weights) for each in model.cliques) <= most
    assert max(own.table.cells(each.columns) for each in own.measurements) <= most
    assert 2.0 * (1 - 1e-6) < own.spending.spent <= 2.0


def wide(*sizes: int) -> CountedTable:
    """Few rows of columns with many leaves."""
    rng = np.random.default_rng(0)
    named = {f"c{number}": size for number, size in enumerate(sizes)}
    return CountedTable({name: rng.integers(0, size, 50) for name, size in named.items()}, named)


def test_columns_that_no_pair_joins_are_measured_alone_at_the_whole_budget() -> None:
    own = Drawing(wide(2100, 2100), Spending(0.5), limit=1000.0)
    by_tree(own)
    assert [each.columns for each in own.measurements] == [("c0",), ("c1",)] and own.choices == []
    assert 0.5 * (1 - 1e-6) < own.spending.spent <= 0.5


def test_a_forest_shares_the_budget_among_the_joins_that_there_are() -> None:
    own = Drawing(wide(2100, 2100, 3), Spending(0.5), limit=1000.0)
    by_tree(own)
    assert {each.chosen for each in own.choices} == {("c0", "c2"), ("c1", "c2")}
    own = Drawing(wide(2100, 2100, 3), Spending(0.5), limit=(2100 * 3 + 2100) * 8 / 2**20)
    by_tree(own)
    assert len(own.choices) == 1 and own.choices[0].rho == pytest.approx(0.1, rel=1e-3)
    assert own.measurements[-1].rho == pytest.approx(0.25, rel=1e-3)
    assert 0.5 * (1 - 1e-6) < own.spending.spent <= 0.5


@pytest.mark.parametrize("cells", [10, 14, 16, 17, 19])
@pytest.mark.parametrize("method", [by_tree, lambda own: by_error(own, 2, frozenset())])
def test_the_tree_of_pairs_stays_within_the_limit(method: Callable[[Drawing], FittedModel], cells: int) -> None:
    own = drawing(2.0, limit=cells * 8 / 2**20)
    model = method(own)
    assert sum(len(each.weights) for each in model.cliques) <= cells
    assert {name for each in model.cliques for name in each.columns} == set("abcd")
    assert 2.0 * (1 - 1e-6) < own.spending.spent <= 2.0


@pytest.mark.parametrize(("room", "joins"), [(9, 0), (10, 1), (12, 1), (14, 2), (16, 3), (1000, 3)])
def test_how_many_pairs_are_joined_follows_from_sizes(room: int, joins: int) -> None:
    assert most_joins(table(), room) == joins


def test_a_list_is_measured_with_the_columns_that_it_leaves_out() -> None:
    own = drawing(1.0)
    by_list(own, [("b", "a"), ("c",)])
    assert [each.columns for each in own.measurements] == [("a", "b"), ("c",), ("d",)]
    costs = [each.rho for each in own.measurements]
    assert costs == pytest.approx([1 / 3] * 3)


def test_wanted_columns_weigh_more() -> None:
    plain = workload_weights("abcd", 2, frozenset())
    wanted = workload_weights("abcd", 2, frozenset("d"))
    assert plain["a", "b"] == 2 + 4 * 1  # both of ab, one each of ac, ad, bc and bd
    assert wanted["a", "d"] > wanted["a", "b"] == plain["a", "b"] + 2
    assert list(workload_weights("ab", 3, frozenset())) == [("a", "b")]
