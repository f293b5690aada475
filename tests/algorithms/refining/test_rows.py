"""Sensitive attributes of many values as ones of few: what becomes of values, and what a search makes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering.run import met_by
from anonymize.algorithms.deadline import Resources
from anonymize.algorithms.refining import BoxMeasure, axis_of
from anonymize.algorithms.refining.block import Block
from anonymize.algorithms.refining.carving import carve, recarved
from anonymize.algorithms.refining.rows import EXACT_TYPES, VALUES, RowTypes, coarse_column, coarse_table, least_rows
from anonymize.judging import Judge
from anonymize.privacy import Requirement
from anonymize.table import Table
from tests.algorithms.refining.test_carving import cut_and_refined
from tests.algorithms.tables import k_anonymity, numeric, requirement, seeds, sensitive, table_of, tables
from tests.examples import some

MODELS = {
    "t": requirement("t-closeness", "s", t=0.3, distance="equal"),
    "ordered": requirement("t-closeness", "s", t=0.15, distance="ordered"),
    "entropy": requirement("entropy-l-diversity", "s", l=3),
    "distinct": requirement("distinct-l-diversity", "s", l=4),
    "error": requirement("squared-error-diversity", "s", error=400),
    "beta": requirement("basic-beta-likeness", "s", beta=2.0),
}


def salaries(rows: int = 600) -> Table:
    """Two crowds far apart, of which one earns more: salaries are all different, and no cut keeps t = 0.15."""
    rng = np.random.default_rng(5)
    side = np.arange(rows) % 2
    place = side * 900 + rng.integers(0, 100, rows)
    salary = (rng.permutation(rows) + side * rows * 0.7).round(1)
    return replace(table_of(numeric(place.tolist(), "x")), sensitive=(sensitive(salary.tolist(), "s"),))


def test_neighbouring_values_become_one_of_about_as_many_rows() -> None:
    column = sensitive([float(number) for number in range(40)])
    coarse = coarse_column(column, np.arange(40), 4)
    assert (coarse.size, np.bincount(coarse.codes).tolist()) == (4, [10, 10, 10, 10])
    assert (np.diff(coarse.codes.astype(int)) >= 0).all()
    assert coarse.values is not None and coarse.values.tolist() == [4.5, 14.5, 24.5, 34.5]


def test_only_the_rows_that_are_released_count() -> None:
    column = sensitive([float(number) for number in range(40)])
    coarse = coarse_column(column, np.arange(20), 4)
    assert np.bincount(coarse.codes[:20]).tolist() == [5, 5, 5, 5]
    assert coarse.values is not None and coarse.values.tolist() == [2, 7, 12, 17]


def test_a_frequent_value_is_not_parted_and_texts_are_as_they_are_ordered() -> None:
    column = sensitive(["b"] * 30 + list("acdefg") + list("aacg"))
    coarse = coarse_column(column, np.arange(40), 4)
    assert coarse.values is None
    assert np.bincount(coarse.codes).tolist() == [3, 30, 7]  # a; b; c to g
    assert len(set(coarse.codes[:30].tolist())) == 1


def test_missing_values_stay_by_themselves() -> None:
    column = sensitive([1.0, 2.0, 3.0, 4.0, None, None])
    coarse = coarse_column(column, np.arange(6), 2)
    assert coarse.missing is not None and np.flatnonzero(coarse.codes == coarse.missing).tolist() == [4, 5]
    assert coarse.values is not None and coarse.values[:2].tolist() == [1.5, 3.5]
    assert np.isnan(coarse.values[coarse.missing])


def test_what_a_part_of_a_table_is_compared_with_is_summed() -> None:
    column = replace(sensitive([1.0, 2.0, 3.0, 4.0]), everywhere=np.array([10, 20, 30, 40]))
    coarse = coarse_column(column, np.arange(4), 2)
    assert coarse.everywhere is not None and coarse.everywhere.tolist() == [30, 70]


def test_several_attributes_share_the_values() -> None:
    numbers = [float(number) for number in range(200)]
    table = table_of(numeric(numbers, "x"), sensitive=(sensitive(numbers, "s"), sensitive(numbers, "u")))
    wanted = [requirement("distinct-l-diversity", name, l=2) for name in ("s", "u")]
    coarse = coarse_table(table, wanted, np.arange(200))
    assert coarse is not None
    assert [column.size for column in coarse.sensitive] == [int(VALUES**0.5)] * 2


@pytest.mark.parametrize(
    "model",
    [
        requirement("alpha-k-anonymity", "s", alpha=0.5, k=2, values=("v1",)),
        requirement("t-closeness", "s", t=0.3, distance="hierarchical"),
    ],
)
def test_what_would_be_lost_is_not_made_coarse(model: Requirement) -> None:
    values = [f"v{number}" for number in range(EXACT_TYPES + 6)]
    table = replace(table_of(numeric(list(range(len(values))), "x")), sensitive=(sensitive(values, "s"),))
    assert coarse_table(table, [model], np.arange(table.rows)) is None
    assert RowTypes.made(table, (k_anonymity(2), model), np.arange(table.rows)) is None


def test_the_least_rows_are_those_of_which_random_draws_meet_the_models() -> None:
    table, rows = salaries(), np.arange(600)
    strict, impossible = (requirement("t-closeness", "s", t=t, distance="ordered") for t in (0.04, 0.0))
    models = [MODELS["distinct"], MODELS["ordered"], strict, impossible]
    least = [least_rows(Judge(table, [model], rows.astype(np.uint32)), 5, rows) for model in models]
    assert least == [5, 5, 40, 600]


@settings(max_examples=some(120))
@given(tables(max_rows=120), st.sampled_from(sorted(MODELS)), st.integers(1, 5), st.booleans(), seeds)
def test_what_is_carved_meets_the_models_by_its_rows(
    table: Table, model: str, k: int, absent: bool, rng: np.random.Generator
) -> None:
    numbers: list[float | None] = [float(number) for number in rng.permutation(table.rows)]
    numbers[: table.rows // 10 * absent] = [None] * (table.rows // 10 * absent)
    table = replace(table, sensitive=(sensitive(numbers, "s"),))
    rows, wanted = np.arange(table.rows), (k_anonymity(k), MODELS[model])
    types = RowTypes.made(table, wanted, rows)
    if types is None:
        return
    met = met_by(table, wanted, rows.astype(np.uint32))
    axes = [axis_of(each.domain, each.codes, each.weight) for each in table.attributes]
    block, whole = Block(BoxMeasure(axes), types.k, met), np.zeros(table.rows, np.int64)
    if not met(rows, whole, 1).all():
        return
    carved = carve(block, types, rows, whole, rng)
    again = recarved(block, types, carved, False, Resources(rng))
    for labels in (carved, again):
        names, of = np.unique(labels, return_inverse=True)
        assert met(rows, of, len(names)).all()
    assert float(block.classes(again).ncp.sum()) <= float(block.classes(whole).ncp.sum()) + 2e-3


def test_a_class_of_many_numbers_that_no_cut_parts_is_carved() -> None:
    """With as many values as rows, too: a class that is carved out of both crowds keeps the salaries of all."""
    table = salaries()
    wanted = (k_anonymity(5), MODELS["ordered"])
    types = RowTypes.made(table, wanted, np.arange(table.rows))
    assert types is not None and not types.exact and types.count <= VALUES
    cut, lost = cut_and_refined(table, wanted)
    assert cut.count == 1
    assert lost[1] < 0.75 * lost[0]
