"""Nodes of a taxonomy in each class of a batch, against one class at a time."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms.cuts.nodes import Nodes
from anonymize.classes import Runs
from anonymize.domain.taxonomy import Taxonomy
from tests.algorithms.tables import random_taxonomy, seeds

batches = st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=8), min_size=1, max_size=5)


@given(seeds.map(random_taxonomy), batches, st.data())
def test_values_are_put_together_by_their_node(domain: Taxonomy, classes: list[list[int]], data: st.DataObject) -> None:
    codes = [sorted(code % domain.size for code in rows) for rows in classes]
    level = domain.levels[data.draw(st.integers(0, domain.height))]
    expected = [
        (number, group[0], group[-1], len(group))
        for number, rows in enumerate(codes)
        for group in (list(part) for _, part in itertools.groupby(rows, key=lambda code: level[code]))
    ]
    labels = np.repeat(np.arange(len(codes)), [len(rows) for rows in codes])
    runs = Runs.count_values(labels, np.concatenate(codes).astype(np.uint8), len(codes), domain.size)
    nodes = Nodes.of_runs(runs, level[runs.codes])
    columns = (nodes.owner, nodes.first, nodes.last, nodes.rows)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    owners = [owner for owner, *_ in expected]
    assert nodes.starts.tolist() == [owners.index(number) for number in range(len(codes))]
    assert nodes.first_marked(np.ones(len(owners), np.bool_)).tolist() == nodes.starts.tolist()


def test_the_first_marked_node_of_each_class() -> None:
    runs = Runs(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 2]), np.ones(5, np.int64))
    nodes = Nodes.of_runs(runs, runs.codes)
    assert nodes.first_marked(np.array([False, True, True, False, True])).tolist() == [1, 4]
