"""The tree of cuts leads every row to the class that it grew into, whatever the batches and threads."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import mondrian
from anonymize.algorithms.base import Context
from anonymize.algorithms.cuts import RULES
from anonymize.algorithms.splitting import grow
from anonymize.recoding import CutTree
from anonymize.table import Table
from tests.algorithms.tables import k_anonymity, numeric, requirement, table_of, tables, with_workload
from tests.examples import some

options = st.builds(mondrian.Options, st.sampled_from(["auto", *RULES]))


def grown(table: Table, k: int, chosen: mondrian.Options, threads: int = 1) -> tuple[CutTree, np.ndarray]:
    found = mondrian.run(table, (k_anonymity(k),), chosen, Context(threads=threads, save=True))
    assert found.tree is not None
    return found.tree, found.partition.class_of(table.rows)


@settings(max_examples=some(100))
@given(with_workload(tables()), st.integers(1, 5), options, st.sampled_from([3, 1 << 18]))
def test_rows_go_down_to_their_class(table: Table, k: int, chosen: mondrian.Options, rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grow, "BATCH_ROWS", rows)
        tree, class_of = grown(table, min(k, table.rows), chosen)
        assert np.array_equal(tree.classes_of([a.codes for a in table.attributes]), class_of)
        again, _ = grown(table, min(k, table.rows), chosen, threads=3)
    for field in dataclasses.fields(CutTree):
        assert np.array_equal(getattr(tree, field.name), getattr(again, field.name))


@settings(max_examples=some(50))
@given(with_workload(tables(max_rows=40)), options)
def test_every_cut_but_the_root_hangs_under_one_before_it(table: Table, chosen: mondrian.Options) -> None:
    tree, class_of = grown(table, 1, chosen)
    children = np.concatenate((tree.first, tree.second))
    parents = np.tile(np.arange(len(tree.first)), 2)
    assert (children[children >= 0] > parents[children >= 0]).all()
    classes = range(-1 - class_of.max(), 0) if len(tree.first) else []
    assert sorted(children.tolist()) == [*classes, *range(1, len(tree.first))]


def test_a_class_that_a_model_forbids_to_cut_is_a_leaf() -> None:
    table = table_of(numeric([1, 1, 2, 2, 9, 9]))
    tree, _ = grown(table, 3, mondrian.Options())
    assert len(tree.attribute) == 0
    assert tree.classes_of([np.array([0, 2, 2])]).tolist() == [0, 0, 0]


def test_nothing_is_taken_down_unless_asked() -> None:
    table = table_of(numeric([1, 2, 3, 4]))
    assert mondrian.run(table, (requirement("k-anonymity", k=2),), mondrian.Options(), Context()).tree is None
