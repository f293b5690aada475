"""Circles and pairs of rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonymize.treatments import Pairing, cycled

units = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.booleans(), st.booleans()), max_size=60)


@given(st.lists(st.integers(0, 5), max_size=50), st.integers(0, 99))
def test_a_circle_gives_every_row_another_one_of_its_group(groups: list[int], seed: int) -> None:
    numbers = np.array(groups, np.int64)
    donors = cycled(numbers, np.random.default_rng(seed))
    assert sorted(donors.tolist()) == list(range(len(groups)))
    assert (numbers[donors] == numbers).all()
    sizes = Counter(groups)
    assert all((donor == row) == (sizes[groups[row]] == 1) for row, donor in enumerate(donors.tolist()))


@given(units, st.integers(0, 99))
def test_pairs_are_of_one_group_and_two_regions_and_no_wanted_unit_is_left_with_a_partner(
    rows: list[tuple[int, int, bool, bool]], seed: int
) -> None:
    groups, regions, wanted, free = (np.array([row[place] for row in rows], int) for place in range(4))
    wanted, free = (wanted & free).astype(bool), free.astype(bool)
    one, other = Pairing(groups, regions, free).of(wanted, np.random.default_rng(seed))
    both = np.concatenate([one, other])
    assert len(set(both.tolist())) == len(both)
    assert free[both].all()
    assert (groups[one] == groups[other]).all()
    assert (regions[one] != regions[other]).all()
    assert (wanted[one] | wanted[other]).all()
    left = free.copy()
    left[both] = False
    for unit in np.flatnonzero(left & wanted):
        assert not (left & (groups == groups[unit]) & (regions != regions[unit])).any()


def test_partners_are_not_always_the_same() -> None:
    groups, regions = np.zeros(40, np.int64), np.arange(40) % 4
    wanted = np.arange(40) < 5
    drawn = {
        tuple(Pairing(groups, regions, np.ones(40, bool)).of(wanted, np.random.default_rng(seed))[1].tolist())
        for seed in range(5)
    }
    assert len(drawn) == 5
