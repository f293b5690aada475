"""What columns are counted over, and that no bin names or counts what it must not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.tree import Tree
from anonymize.fidelity.bins import BINS, UNLABELLED, UNNAMED, Bins, named_bins, round_edges, unnamed_bins
from anonymize.table import Attribute

CODES = np.zeros(0, np.uint8)


def numeric(values: list[float], missing: str | None = None) -> Attribute:
    return Attribute("x", CODES, Numeric("x", np.array(values), missing), 1.0)


def categorical(depth: int, missing: str | None = None) -> Attribute:
    leaves = [f"{number:02d}" for number in range(30)]
    steps = [lambda text: text[0] + "*", lambda text: "0-1" if text[0] < "2" else "2-"][:depth]
    return Attribute("x", CODES, Taxonomy.of("x", Tree.from_steps(leaves, steps, "*"), missing), 1.0)


def bins_of(attribute: Attribute, leaves: list[int], smallest: int = 5, *, from_file: bool = False) -> Bins | str:
    return named_bins(attribute, np.array(leaves), smallest, from_file=from_file, values=False)


def test_numbers_lie_between_round_edges_and_the_outer_bins_are_open() -> None:
    bins = bins_of(numeric([float(v) for v in range(100)]), [7] * 100)
    assert isinstance(bins, Bins) and bins.labels is not None
    assert bins.labels[0] == "below 10" and bins.labels[-1] == "90 and above" and bins.labels[1] == "10 to <20"
    assert bins.of_leaf[[0, 9, 10, 99]].tolist() == [0, 0, 1, 9]


@given(st.lists(st.integers(0, 12), min_size=3, max_size=60), st.integers(1, 20))
def test_no_bin_of_numbers_has_fewer_rows_than_it_must_have(rows: list[int], smallest: int) -> None:
    leaves = np.array(rows)
    bins = bins_of(numeric([float(v) for v in range(len(rows))]), rows, smallest)
    if isinstance(bins, Bins):
        assert bins.counted(leaves).min() >= smallest
        assert bins.counted(leaves).sum() == leaves.sum()
        assert (np.diff(bins.of_leaf) >= 0).all()


@given(st.lists(st.integers(0, 12), min_size=30, max_size=30), st.integers(1, 20))
def test_rare_labels_are_pooled_until_they_are_enough(rows: list[int], smallest: int) -> None:
    leaves = np.array(rows)
    bins = bins_of(categorical(2), rows, smallest)
    if isinstance(bins, Bins):
        assert bins.counted(leaves).min() >= min(smallest, leaves.sum())
        assert bins.counted(leaves).sum() == leaves.sum()


def test_values_of_a_builder_are_not_named_but_labels_above_them_are() -> None:
    bins = bins_of(categorical(2), [10] * 30)
    assert isinstance(bins, Bins) and bins.labels == ("0*", "1*", "2*")
    assert bins_of(categorical(0), [10] * 30) == UNLABELLED


def test_a_file_names_its_leaves_where_they_are_few() -> None:
    leaves = Tree.from_steps(["a", "b", "c"], [], "*")
    few = Attribute("x", CODES, Taxonomy.of("x", leaves, None), 1.0)
    assert bins_of(few, [9, 9, 9]) == UNNAMED
    bins = bins_of(few, [9, 9, 9], from_file=True)
    assert isinstance(bins, Bins) and bins.labels == ("a", "b", "c")


def test_missing_is_a_bin_of_its_own_or_the_column_is_left_out() -> None:
    values = [float(v) for v in range(20)]
    bins = bins_of(numeric(values, "?"), [10] * 21)
    assert isinstance(bins, Bins) and bins.labels is not None
    assert bins.labels[-1] == "missing" and bins.missing == bins.count - 1
    assert bins_of(numeric(values, "?"), [10] * 20 + [2]) == "no two bins of at least 5 rows"


def test_rare_values_are_counted_by_a_level_of_their_hierarchy_and_frequent_ones_by_themselves() -> None:
    tree = categorical(2).domain
    assert isinstance(tree, Taxonomy)
    bins = unnamed_bins(30, np.full(30, 2), ordered=False, tree=tree)
    assert bins.count == 3 and bins.of_leaf.tolist() == [number // 10 for number in range(30)] and bins.rest == 0
    assert unnamed_bins(30, np.full(30, 2), ordered=False).rest == 19 / 30
    frequent = unnamed_bins(30, np.array([90] * 11 + [1] * 19), ordered=False, tree=tree)
    assert frequent.count == BINS and frequent.rest == 19 / 1009


def test_constant_and_huge_columns_have_no_bins() -> None:
    assert bins_of(numeric([3.0]), [50]) == "no two bins of at least 5 rows"
    assert len(round_edges(1e300, 1.0000001e300, whole=False)) <= 101


@given(st.lists(st.integers(0, 50), min_size=2, max_size=200), st.booleans())
def test_unnamed_bins_cover_every_code(rows: list[int], ordered: bool) -> None:
    bins = unnamed_bins(len(rows), np.array(rows), ordered)
    assert bins.labels is None and bins.count <= BINS
    assert len(bins.of_leaf) == len(rows) and bins.of_leaf.min() >= 0 and bins.of_leaf.max() < bins.count
