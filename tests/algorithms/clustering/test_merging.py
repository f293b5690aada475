"""A round of merging gives what comparing every group with every other at every turn gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering import Penalty, codes_of, merging, methods
from anonymize.classes import Partition
from anonymize.table import Table
from tests.algorithms.clustering.slow import classes, merge_round
from tests.algorithms.tables import seeds, tables
from tests.examples import some


@settings(max_examples=some(80))
@given(tables(max_rows=40), st.integers(2, 6), st.integers(1, 40), st.sampled_from([1, 2, 24]), seeds)
def test_a_round_is_that_of_the_plain_method(
    table: Table, k: int, groups: int, neighbours: int, rng: np.random.Generator
) -> None:
    codes, penalty = codes_of(table.attributes), Penalty.of(table.attributes)
    partition = Partition.of_labels(rng.integers(0, groups, table.rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "NEIGHBOURS", neighbours)
        found = methods._merged(penalty, codes, partition, k, 1)
    plain = merge_round(penalty, codes, classes(partition.order, partition.starts), k)
    assert classes(found.order, found.starts) == plain
