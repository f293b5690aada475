"""Carving: both parts meet the models, nothing is lost, and classes that no cut could part come apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import mondrian
from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering.run import met_by
from anonymize.algorithms.deadline import Deadline, Resources
from anonymize.algorithms.refining import BoxMeasure, axis_of
from anonymize.algorithms.refining.block import Block
from anonymize.algorithms.refining.carving import (
    NEAR_CLASSES,
    POOL_CLASSES,
    WEIGHED_FOR_EACH,
    carve,
    partners,
    recarve,
    recarved,
)
from anonymize.algorithms.refining.regrouping import PoolNeighbours
from anonymize.algorithms.refining.rows import EXACT_TYPES, VALUES, RowTypes
from anonymize.classes import Partition
from anonymize.privacy import Requirement
from anonymize.table import Table
from tests.algorithms.tables import (
    categorical,
    k_anonymity,
    numeric,
    requirement,
    seeds,
    sensitive,
    table_of,
    tables,
    taxonomy,
)
from tests.examples import some

Rng = np.random.Generator

MODELS = {
    "t": requirement("t-closeness", "s", t=0.3, distance="equal"),
    "entropy": requirement("entropy-l-diversity", "s", l=1.8),
    "distinct": requirement("distinct-l-diversity", "s", l=2),
    "beta": requirement("basic-beta-likeness", "s", beta=1.0),
}


def block_of(table: Table, wanted: tuple[Requirement, ...]) -> tuple[Block, RowTypes]:
    rows = np.arange(table.rows)
    types = RowTypes.made(table, wanted, rows)
    assert types is not None
    axes = [axis_of(each.domain, each.codes, each.weight) for each in table.attributes]
    met = met_by(table, wanted, rows.astype(np.uint32))
    return Block(BoxMeasure(axes), types.k, met), types


def ncp(block: Block, labels: np.ndarray) -> float:
    return float(block.classes(labels).ncp.sum())


def all_meet(block: Block, labels: np.ndarray) -> bool:
    assert block.met is not None
    names, group = np.unique(labels, return_inverse=True)
    return bool(block.met(np.arange(len(labels)), group, len(names)).all())


def apart(rows: int = 400) -> Table:
    """Two crowds far apart, each with mostly one of two sensitive values: no cut between them keeps t = 0.2."""
    rng = np.random.default_rng(3)
    side = np.arange(rows) % 2
    place = (side * 900 + rng.integers(0, 100, rows)).tolist()
    value = np.where(rng.random(rows) < np.where(side, 0.9, 0.1), "a", "b").tolist()
    return replace(table_of(numeric(place, "x")), sensitive=(sensitive(value, "s"),))


@settings(max_examples=some(120))
@given(tables(max_rows=80), st.sampled_from(["none", *sorted(MODELS)]), st.integers(1, 5), seeds)
def test_what_is_carved_meets_the_models_and_loses_no_more(table: Table, model: str, k: int, rng: Rng) -> None:
    table = replace(table, sensitive=(sensitive(rng.choice(list("abc"), table.rows).tolist(), "s"),))
    wanted = (k_anonymity(k), MODELS[model]) if model in MODELS else (k_anonymity(k),)
    if RowTypes.made(table, wanted, np.arange(table.rows)) is None:
        return
    block, types = block_of(table, wanted)
    whole = np.zeros(table.rows, np.int64)
    if not all_meet(block, whole):
        return
    carved = carve(block, types, np.arange(table.rows), whole, rng)
    again = recarved(block, types, carved, False, Resources(rng))
    assert all_meet(block, carved)
    assert all_meet(block, again)
    assert ncp(block, again) <= ncp(block, carved) + 1e-3 <= ncp(block, whole) + 2e-3


@given(tables(max_rows=60), seeds)
def test_counts_of_types_are_judged_as_rows_are(table: Table, rng: Rng) -> None:
    table = replace(table, sensitive=(sensitive(rng.choice(list("abcd"), table.rows).tolist(), "s"),))
    labels = rng.integers(0, max(table.rows // 4, 1), table.rows)
    _, group = np.unique(labels, return_inverse=True)
    classes = int(group.max()) + 1
    for model in MODELS.values():
        wanted = (k_anonymity(3), model)
        types = RowTypes.made(table, wanted, np.arange(table.rows))
        if types is None:
            continue
        counts = np.zeros((classes, types.count), np.int64)
        np.add.at(counts, (group, types.of), 1)
        met = met_by(table, wanted, np.arange(table.rows, dtype=np.uint32))(np.arange(table.rows), group, classes)
        assert np.array_equal(types.meet(counts), met)


def cut_and_refined(table: Table, wanted: tuple[Requirement, ...]) -> tuple[Partition, list[float]]:
    """Mondrian's classes, and what they and the refined ones lose in the first attribute."""
    cut = mondrian.run(table, wanted, mondrian.Options(), Context()).partition
    refined = mondrian.run(table, wanted, mondrian.Options(refine=True, passes=2), Context()).partition
    domain, codes = table.attributes[0].domain, table.attributes[0].codes
    return cut, [float(domain.cost(*each.boxes(codes)) @ each.sizes) for each in (cut, refined)]


def test_a_class_that_no_cut_parts_is_carved() -> None:
    table = apart()
    wanted = (k_anonymity(5), requirement("t-closeness", "s", t=0.2, distance="equal"))
    cut, lost = cut_and_refined(table, wanted)
    assert cut.count == 1
    assert lost[1] < 0.75 * lost[0]


def test_a_crowd_in_the_middle_is_carved_out_where_only_a_number_of_rows_is_required() -> None:
    """Two values of five rows each between three of two: the crowds lose nothing by themselves, the others all."""
    table = table_of(categorical(list("ccaaaaaddbbbbbee"), taxonomy(*(f"{leaf} *" for leaf in "abcde"))))
    block, types = block_of(table, (k_anonymity(5),))
    carved = carve(block, types, np.arange(16), np.zeros(16, np.int64), np.random.default_rng(0))
    assert types.count == 1
    assert np.bincount(np.unique(carved, return_inverse=True)[1]).tolist() == [6, 5, 5]
    assert ncp(block, carved) == pytest.approx(6)


def test_a_batch_after_the_deadline_changes_nothing() -> None:
    table = apart(60)
    block, types = block_of(table, (k_anonymity(3), MODELS["t"]))
    labels = np.zeros(60, np.int64)
    around = PoolNeighbours(np.array([0]), np.array([[0]]))
    rng = np.random.default_rng(1)
    assert np.array_equal(
        recarve(block, types, labels, around, POOL_CLASSES[0], Resources(rng, Deadline(1e-9))), labels
    )
    assert not np.array_equal(recarve(block, types, labels, around, POOL_CLASSES[0], Resources(rng)), labels)


def test_rows_of_one_value_are_not_told_apart() -> None:
    table = replace(table_of(numeric(list(range(70)), "x")), sensitive=(sensitive(["a"] * 70, "s"),))
    assert RowTypes.made(table, (k_anonymity(2), MODELS["distinct"]), np.arange(70)) is None


@pytest.mark.parametrize(("values", "exact"), [(EXACT_TYPES, True), (EXACT_TYPES + 1, False)])
def test_very_many_types_are_made_of_fewer_values(values: int, exact: bool) -> None:
    texts = [f"v{number}" for number in range(values)]
    table = replace(table_of(numeric(list(range(values)), "x")), sensitive=(sensitive(texts, "s"),))
    types = RowTypes.made(table, (k_anonymity(2), MODELS["distinct"]), np.arange(values))
    assert types is not None
    assert (types.exact, types.count) == (exact, EXACT_TYPES if exact else VALUES)


def test_the_same_for_any_number_of_threads() -> None:
    table = apart()
    wanted = (k_anonymity(5), MODELS["t"])
    options = mondrian.Options(refine=True, passes=2)
    one, two = (mondrian.run(table, wanted, options, Context(threads=threads)) for threads in (1, 2))
    assert np.array_equal(one.partition.order, two.partition.order)
    assert np.array_equal(one.partition.starts, two.partition.starts)


def test_of_many_classes_only_near_ones_are_partners() -> None:
    """Pairs of rows along a line, in random order: with a class more than twenty away a union loses more."""
    rng = np.random.default_rng(3)
    pairs = WEIGHED_FOR_EACH * NEAR_CLASSES + 100
    labels = rng.permutation(np.repeat(np.arange(pairs), 2))
    table = table_of(numeric((labels * 10 + rng.integers(0, 5, len(labels))).tolist(), "x"))
    values = rng.choice(list("ab"), len(labels)).tolist()
    block, _ = block_of(replace(table, sensitive=(sensitive(values, "s"),)), (k_anonymity(2), MODELS["entropy"]))
    around = partners(block, block.classes(labels), 2, rng)
    assert around.near.shape == (len(around.rows), NEAR_CLASSES)
    assert np.abs(labels[around.near] - labels[around.rows][:, None]).max() <= 20
