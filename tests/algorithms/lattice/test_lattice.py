from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms.lattice.lattice import Lattice

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
