"""Hierarchies of numbers: intervals, files, a root alone; and what their nodes cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anonymize.domain.build import numeric_hierarchy
from anonymize.domain.generalization import Generalization
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.tree import Tree
from anonymize.errors import DataError
from anonymize.spec.columns import Definition
from anonymize.spec.hierarchy import Intervals


def ages(*values: float, missing: str | None = None) -> Numeric:
    return Numeric("age", np.array(values), missing)


def made(definition: Definition, numeric: Numeric) -> Generalization:
    return numeric_hierarchy(definition, numeric, "[{low}-{high}]", "*")


def from_file(tmp_path: Path, text: str, numeric: Numeric) -> Generalization:
    path = tmp_path / "ages.csv"
    path.write_text(text, encoding="utf-8")
    return made(Definition(type="numeric", hierarchy=path), numeric)


def texts(over: Generalization, level: int) -> list[str]:
    """What each code of the domain reads as on a level."""
    codes = np.arange(over.domain.size)
    return over.text_of(codes, over.hierarchy.levels[level, over.leaf_of(codes)])


def costs(over: Generalization, level: int) -> list[float]:
    return list(over.ncp[over.hierarchy.levels[level, over.leaf_of(np.arange(over.domain.size))]].tolist())


def spans(over: Generalization, level: int) -> list[float]:
    """How many numbers the nodes of a level span, of each code, all leaves occurring."""
    nodes = over.hierarchy.levels[level, over.leaf_of(np.arange(over.domain.size))]
    return list(over.spanned(np.ones(over.hierarchy.size, np.bool_))[nodes].tolist())


FILE = "30;30s;*\n7;young;*\n5.0;young;*\n31;30s;*\n100;old;*\n?;unknown;*\n"


def test_a_file_maps_each_number_to_its_leaf(tmp_path: Path) -> None:
    over = from_file(tmp_path, FILE, ages(5, 7, 31))
    assert over.leaves is not None
    assert [over.hierarchy.labels[leaf] for leaf in over.leaves.tolist()] == ["5.0", "7", "31"]
    assert texts(over, 0) == ["5", "7", "31"]
    assert texts(over, 1) == ["young", "young", "30s"]
    assert texts(over, 2) == ["*", "*", "*"]


def test_costs_of_a_file_are_spans_of_its_numbers_over_that_of_the_column(tmp_path: Path) -> None:
    over = from_file(tmp_path, FILE, ages(5, 7, 31))
    assert costs(over, 0) == [0, 0, 0]
    assert costs(over, 1) == pytest.approx([2 / 26, 2 / 26, 1 / 26])
    assert costs(over, 2) == [1, 1, 1]
    assert over.loss is over.ncp


def test_missing_is_the_leaf_of_its_text_or_one_under_the_root(tmp_path: Path) -> None:
    assert texts(from_file(tmp_path, FILE, ages(5, missing="?")), 1) == ["young", "unknown"]
    over = from_file(tmp_path, FILE, ages(5, missing="NA"))
    assert texts(over, 1) == ["young", "NA"] and texts(over, 2) == ["*", "*"]
    assert costs(over, 1) == [1.0, 0.0]  # of a column of one number, whatever spans more than it costs 1


def test_numbers_without_a_leaf_are_counted_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2 of 3 distinct numbers are not leaves") as caught:
        from_file(tmp_path, FILE, ages(5, 6, 77.5))
    assert "77" not in caught.value.problems[0].message


def test_leaves_that_are_no_numbers_stand_for_nothing(tmp_path: Path) -> None:
    over = from_file(tmp_path, "1_0;a;*\nnan;a;*\ninf;a;*\nx;a;*\n10;b;*\n", ages(10))
    assert texts(over, 1) == ["b"]
    assert over.numbers is not None and np.isnan(over.numbers).sum() == 4


def test_intervals_have_the_codes_of_the_column() -> None:
    over = made(Definition(type="numeric", hierarchy=Intervals(intervals=(5, 10))), ages(1, 4, 6, 21, missing="?"))
    assert over.leaves is None
    assert texts(over, 1) == ["[0-4]", "[0-4]", "[5-9]", "[20-24]", "?"]
    assert costs(over, 1) == pytest.approx([4 / 20, 4 / 20, 4 / 20, 4 / 20, 0])  # of what is shown, not of what occurs
    assert costs(over, 2) == pytest.approx([9 / 20, 9 / 20, 9 / 20, 9 / 20, 0])
    assert costs(over, 3) == [1] * 5


def test_half_open_intervals_cost_what_they_show() -> None:
    over = made(Definition(type="numeric", hierarchy=Intervals(intervals=(5,))), ages(1.5, 4, 21.5))
    assert texts(over, 1) == ["[0-5)", "[0-5)", "[20-25)"]
    assert costs(over, 1) == pytest.approx([5 / 20] * 3)


def test_a_node_spans_the_numbers_of_its_label_without_the_ends_that_it_leaves_out(tmp_path: Path) -> None:
    """Eight halves in [0-4), from 0 to 3.5; nine whole numbers in [0-8], eight in [0-8)."""
    halves = made(Definition(type="numeric", hierarchy=Intervals(intervals=(4,))), ages(0.5, 1, 3.5, 4.5))
    assert spans(halves, 1) == [8, 8, 8, 8] and spans(halves, 0) == [1] * 4
    closed, half = (from_file(tmp_path, f"1;[0-8{end};*\n5;[0-8{end};*\n21;late;*\n", ages(1, 5, 21)) for end in "])")
    assert spans(closed, 1) == [9, 9, 1] and spans(half, 1) == [8, 8, 1]


def test_no_node_spans_fewer_numbers_than_one_below_it(tmp_path: Path) -> None:
    over = from_file(tmp_path, "1;[0-8];[0-8);*\n5;[0-8];[0-8);*\n21;late;late;*\n", ages(1, 5, 21))
    assert spans(over, 1) == [9, 9, 1] and spans(over, 2) == [9, 9, 1]


def test_an_interval_wider_than_the_column_costs_no_more_than_a_suppressed_cell() -> None:
    over = made(Definition(type="numeric", hierarchy=Intervals(intervals=(50,))), ages(3, 13))
    assert costs(over, 1) == [1, 1]


def test_labels_of_a_file_that_are_intervals_cost_what_they_show(tmp_path: Path) -> None:
    over = from_file(tmp_path, "1;[0-9];*\n5;[0-9];*\n15;[10-19];*\n21;late;*\n", ages(1, 5, 15, 21))
    assert costs(over, 1) == pytest.approx([9 / 20, 9 / 20, 9 / 20, 0])


def test_no_node_costs_less_than_one_below_it(tmp_path: Path) -> None:
    over = from_file(tmp_path, "1;[0-9];all of it;*\n5;[0-9];all of it;*\n21;late;late;*\n", ages(1, 5, 21))
    assert costs(over, 2) == pytest.approx([9 / 20, 9 / 20, 0])


def test_numbers_without_a_hierarchy_have_a_root_alone() -> None:
    over = made(Definition(type="numeric"), ages(1, 2, missing="?"))
    assert over.hierarchy.height == 1
    assert texts(over, 0) == ["1", "2", "?"] and texts(over, 1) == ["*"] * 3


@pytest.mark.parametrize("hierarchy", [None, Intervals(intervals=(5,))])
def test_a_column_of_missing_values_alone(hierarchy: Intervals | None) -> None:
    over = made(Definition(type="numeric", hierarchy=hierarchy), ages(missing="?"))
    assert texts(over, 0) == ["?"] and texts(over, over.hierarchy.height) == ["*"]


def test_categories_are_their_own_hierarchy() -> None:
    domain = Taxonomy.of("job", Tree.from_paths([("a", "A", "*"), ("b", "A", "*"), ("c", "C", "*")]))
    over = Generalization.plain(domain)
    assert over.hierarchy is domain and over.leaves is None and over.numbers is None
    assert costs(over, 1) == pytest.approx([2 / 3, 2 / 3, 0])
    assert over.loss[domain.levels[1]].tolist() == [1 / 2, 1 / 2, 0]
    assert over.loss[domain.root] == over.ncp[domain.root] == 1
