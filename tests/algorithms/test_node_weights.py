"""Weights of the nodes of a hierarchy turn what the searches choose, and what a release is said to have lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.base import Context
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.tree import Tree
from anonymize.recoding import render
from anonymize.spec import Output
from anonymize.table import Table
from tests.algorithms.tables import categorical, k_anonymity, table_of

JOBS = [("a", "A", "*"), ("b", "A", "*"), ("c", "B", "*"), ("d", "B", "*"), *((leaf, "C", "*") for leaf in "efgh")]
PLACES = [("n", "N", "*"), ("m", "N", "*"), ("s", "S", "*"), ("t", "S", "*"), *((leaf, "U", "*") for leaf in "uvwx")]
SEARCHES = ["top-down", "bottom-up", "mondrian"]


def four_rows(weight: float) -> Table:
    """Jobs a and b, each at the places n and m. In pairs, rows share the job and meet at the place N, or share the
    place and meet at the job A, whose weight is given."""
    jobs = Taxonomy.of("job", Tree.from_paths(JOBS, {("A", "*"): weight}))
    places = Taxonomy.of("place", Tree.from_paths(PLACES))
    return table_of(categorical(list("aabb"), jobs), categorical(list("nmnm"), places))


def classes(name: str, table: Table) -> list[list[int]]:
    found: Any = ALGORITHMS[name]
    partition = found.run(table, (k_anonymity(2),), found.Options(), Context()).partition
    return [rows.tolist() for rows in np.split(partition.order, partition.starts[1:-1])]


@pytest.mark.parametrize("name", SEARCHES)
def test_a_heavy_node_is_avoided(name: str) -> None:
    """A and N cost 2 / 8 each; rows share a job, or a place."""
    assert classes(name, four_rows(3.0)) == [[0, 1], [2, 3]]  # A costs 6 / 8: jobs are kept, places become N
    assert classes(name, four_rows(0.3)) == [[0, 2], [1, 3]]  # A costs 0.6 / 8: places are kept, jobs become A


@pytest.mark.parametrize("name", SEARCHES)
def test_the_report_counts_the_weight(name: str) -> None:
    table = four_rows(0.3)
    found: Any = ALGORITHMS[name]
    released = render(
        found.run(table, (k_anonymity(2),), found.Options(), Context()), table, Output(edges="tight"), drop=False
    )
    assert [of_class.tolist() for of_class in released.ncp] == [[pytest.approx(0.6 / 8)] * 2, [0, 0]]
    assert [of_class.tolist() for of_class in released.loss] == [[1 / 7] * 2, [0, 0]]


def test_scores_of_the_lattice_count_it() -> None:
    checker = Checker(four_rows(3.0), (k_anonymity(2),), 0)
    ncp = Scorer(checker, "ncp")
    assert ncp.score((1, 0)) == pytest.approx(((3 * 2 / 8 + 0) / 2,))
    assert ncp.score((0, 1)) == pytest.approx(((0 + 2 / 8) / 2,))
    assert Scorer(checker, "loss").score((1, 0)) == Scorer(checker, "loss").score((0, 1))


def test_full_domain_takes_the_lighter_node() -> None:
    found: Any = ALGORITHMS["incognito"]
    for weight, vector in ((3.0, (0, 1)), (0.3, (1, 0))):
        options = found.Options(metric="ncp")
        assert found.run(four_rows(weight), (k_anonymity(2),), options, Context()).vector == vector
