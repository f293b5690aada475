from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms.lattice import FrequencySet, Lattice, Vector
from anonymize.algorithms.lattice.nodes import Store
from tests.algorithms.full_domain import shown
from tests.algorithms.lattice.cases import Case, below, small_cases

lattices = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(lambda heights: Lattice(tuple(heights)))


def every_node(lattice: Lattice) -> list[tuple[int, ...]]:
    return list(product(*(range(height + 1) for height in lattice.heights)))


@given(lattices)
def test_all_nodes_come_once_by_height_and_then_in_lexicographic_order(lattice: Lattice) -> None:
    assert list(lattice) == sorted(every_node(lattice), key=lambda vector: (sum(vector), vector))
    assert lattice.size == len(every_node(lattice))
    assert next(iter(lattice)) == lattice.bottom
    assert list(lattice)[-1] == lattice.top


@given(lattices, st.integers(0, 12))
def test_nodes_of_a_height(lattice: Lattice, height: int) -> None:
    assert list(lattice.at_height(height)) == [vector for vector in every_node(lattice) if sum(vector) == height]


@given(lattices)
def test_neighbours_differ_by_one_level(lattice: Lattice) -> None:
    def apart(low: tuple[int, ...], high: tuple[int, ...]) -> bool:
        return sorted(b - a for a, b in zip(low, high, strict=True)) == [0] * (len(low) - 1) + [1]

    for vector in every_node(lattice):
        assert set(lattice.above(vector)) == {other for other in every_node(lattice) if apart(vector, other)}
        assert set(lattice.below(vector)) == {other for other in every_node(lattice) if apart(other, vector)}


# --- frequency --------------------------------------------------------------------------------------------------------


def rows_of(found: FrequencySet) -> Counter[tuple[int, ...]]:
    """Rows by what they show, as numbers of the taxonomies' nodes."""
    nodes = [
        hierarchy.nodes(level)[column]
        for hierarchy, level, column in zip(found.hierarchies, found.vector, found.columns, strict=True)
    ]
    keys = list(zip(*(column.tolist() for column in nodes), strict=True))
    assert len(set(keys)) == len(keys)
    return Counter(dict(zip(keys, found.counts.tolist(), strict=True)))


def values_of(found: FrequencySet, name: str) -> Counter[tuple[int, int]]:
    """How often each sensitive value occurs in a class, over all classes of a size: no class has a name here."""
    groups = found.groups()
    histogram = groups.histograms[name]
    keys = zip(groups.sizes[histogram.classes].tolist(), histogram.codes.tolist(), strict=True)
    counter: Counter[tuple[int, int]] = Counter()
    for key, count in zip(keys, histogram.counts.tolist(), strict=True):
        counter[key] += count
    return counter


@given(small_cases(), st.data())
def test_what_is_rolled_up_is_what_the_rows_show(case: Case, data: st.DataObject) -> None:
    bottom = FrequencySet.with_classes(case.table, case.wanted)[0]
    high = data.draw(st.sampled_from(case.nodes))
    low = data.draw(st.sampled_from([node for node in case.nodes if below(node, high)]))
    found = bottom.roll_up(low).roll_up(high)
    assert rows_of(found) == Counter(shown(case.table, high))
    direct = bottom.roll_up(high)
    assert [column.tolist() for column in found.columns] == [column.tolist() for column in direct.columns]
    assert found.groups().sizes.tolist() == direct.groups().sizes.tolist()
    for name in bottom.groups().histograms:
        assert values_of(found, name) == values_of(direct, name)


@given(small_cases(), st.data())
def test_some_attributes_alone(case: Case, data: st.DataObject) -> None:
    vector = data.draw(st.sampled_from(case.nodes))
    some = data.draw(st.lists(st.sampled_from(range(len(vector))), min_size=1, unique=True))
    found = FrequencySet.with_classes(case.table, case.wanted)[0].roll_up(vector).restrict(some)
    assert rows_of(found) == Counter(tuple(row[index] for index in some) for row in shown(case.table, vector))
    assert found.vector == tuple(vector[index] for index in some)


@given(small_cases(), st.randoms())
def test_a_subset_is_the_set_of_its_rows(case: Case, random: object) -> None:
    bottom, distinct = FrequencySet.with_classes(case.table, case.wanted)
    kept = np.arange(bottom.size) % 2 == 0
    rows = np.flatnonzero(kept[distinct]).astype(np.uint32)
    found, expected = bottom.subset(kept), FrequencySet.with_classes(case.table, case.wanted, rows)[0]
    assert found.counts.tolist() == expected.counts.tolist()
    groups, wanted = found.groups().by_itself(), expected.groups()
    assert groups.sizes.tolist() == wanted.sizes.tolist()
    for name, histogram in wanted.histograms.items():
        assert groups.histograms[name].classes.tolist() == histogram.classes.tolist()
        assert groups.histograms[name].starts.tolist() == histogram.starts.tolist()
        assert groups.histograms[name].counts.tolist() == histogram.counts.tolist()
        assert groups.histograms[name].whole.counts.tolist() == histogram.whole.counts.tolist()


@pytest.mark.parametrize("cells", [0, 60, 1 << 20])
def test_a_store_gives_the_same_whatever_it_has_room_for(cells: int) -> None:
    @given(small_cases(), st.data())
    def check(case: Case, data: st.DataObject) -> None:
        store = Store(FrequencySet.with_classes(case.table, case.wanted)[0], cells)
        asked: list[Vector] = data.draw(st.lists(st.sampled_from(case.nodes), max_size=12))
        for vector in asked:
            assert rows_of(store.get(vector)) == Counter(shown(case.table, vector))

    check()
