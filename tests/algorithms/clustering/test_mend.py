"""Groups that break a model are merged until every group is fine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering import Penalty, codes_of
from anonymize.algorithms.clustering import run as module
from anonymize.algorithms.clustering.run import mend, met_by
from anonymize.classes import Partition
from anonymize.table import Table
from tests.algorithms.clustering.slow import classes
from tests.algorithms.tables import numeric, requirement, seeds, sensitive, table_of, tables
from tests.examples import some


def mended(table: Table, labels: list[int], least: int) -> list[list[int]]:
    wanted = (requirement("distinct-l-diversity", table.sensitive[0].name, l=least),)
    met = met_by(table, wanted, np.arange(table.rows, dtype=np.uint32))
    start = Partition.of_labels(np.array(labels))
    found = mend(Penalty.of(table.attributes), codes_of(table.attributes), start, met)
    return classes(found.order, found.starts)


def test_the_neighbour_that_mends_is_taken_over_one_that_is_nearer() -> None:
    table = table_of(numeric([0, 1, 2, 3, -9, -8, 11, 12]), sensitive=[sensitive(list("aaaaabab"))])
    assert mended(table, [0, 0, 1, 1, 2, 2, 3, 3], 1) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert mended(table, [0, 0, 1, 1, 2, 2, 3, 3], 2) == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_only_what_breaks_a_model_is_merged() -> None:
    table = table_of(numeric([0, 1, 2, 3, 40, 41]), sensitive=[sensitive(list("aaabab"))])
    assert mended(table, [0, 0, 1, 1, 2, 2], 2) == [[0, 1, 2, 3], [4, 5]]


@settings(max_examples=some(50))
@given(tables(sensitive_columns=1), st.integers(1, 4), st.integers(1, 20), st.sampled_from([(1,), (2, 5)]), seeds)
def test_every_group_is_fine_or_one_is_left(
    table: Table, least: int, groups: int, tried: tuple[int, ...], rng: np.random.Generator
) -> None:
    labels = rng.integers(0, groups, table.rows).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TRIED_NEIGHBOURS", tried)
        patch.setattr(module, "GROUP_CELLS", 7)
        found = mended(table, labels, least)
    assert sorted(row for group in found for row in group) == list(range(table.rows))
    column = table.sensitive[0]

    def diverse(group: list[int]) -> bool:
        return len(set(column.codes[group].tolist()) - {column.missing}) >= least

    assert len(found) == 1 or all(map(diverse, found))
    if all(diverse(np.flatnonzero(np.array(labels) == label).tolist()) for label in set(labels)):
        assert len(found) == len(set(labels))


@settings(max_examples=some(50))
@given(st.integers(1, 6), st.integers(1, 30), st.data(), seeds)
def test_the_lowest_cells_are_those_of_a_stable_order(
    rows: int, columns: int, data: st.DataObject, rng: np.random.Generator
) -> None:
    count = data.draw(st.integers(1, columns))
    cells = rng.integers(0, 5, (rows, columns)).astype(np.float64)
    expected = np.argsort(cells, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(module._lowest(cells, count), expected)
