"""Patterns of suppressed cells, and the search for those by which every group is safe."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.treatments.grouping import suppression
from anonymize.treatments.grouping.suppression import PATTERNS, GroupTarget, limits, patterns, suppressed


def random_codes(draw: st.DrawFn) -> np.ndarray:
    rows, columns, most = draw(st.integers(1, 60)), draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 5]))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    return np.asarray(rng.integers(1, most + 1, (columns, rows)))


@settings(max_examples=12)
@given(data=st.data(), k=st.integers(1, 5), parts=st.integers(1, 3))
def test_every_group_of_every_part_has_k_rows(data: st.DataObject, k: int, parts: int) -> None:
    codes = data.draw(st.composite(random_codes)())
    rows = codes.shape[1]
    fixed = np.arange(rows) % parts
    k = min(k, int(np.bincount(fixed).min()))
    target = GroupTarget(tuple(range(len(codes))), fixed, lambda count, weight: count >= k, k)
    hidden = suppressed(codes, np.arange(1.0, len(codes) + 1), [target], np.ones(rows))
    cells = np.vstack([np.where(hidden, 0, codes), fixed])
    assert np.unique(cells, axis=1, return_counts=True)[1].min() >= k
    if np.unique(np.vstack([codes, fixed]), axis=1, return_counts=True)[1].min() >= k:
        assert not hidden.any()


def test_what_is_rare_joins_others_where_it_costs_least() -> None:
    codes = np.array([[1, 1, 1, 1, 1, 1, 2], [1, 1, 1, 2, 2, 2, 1]])
    target = GroupTarget((0, 1), np.zeros(7, np.int64), lambda count, weight: count >= 2, 2)
    dear_first = suppressed(codes, np.array([9.0, 1.0]), [target], np.ones(7))
    dear_last = suppressed(codes, np.array([1.0, 9.0]), [target], np.ones(7))
    assert not dear_last[1].any() and dear_last[0].sum() == 2
    assert dear_first[0].sum() == 2 or dear_first.sum() == 4


def test_columns_that_are_worth_very_much_go_only_where_nothing_else_helps() -> None:
    codes = np.array([[1, 1, 1, 1, 2, 3], [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
    target = GroupTarget((0, 1, 2), np.zeros(6, np.int64), lambda count, weight: count >= 2, None)
    hidden = suppressed(codes, np.array([1e6, 1.0, 1.0]), [target], np.ones(6))
    assert hidden.sum(axis=1).tolist() == [2, 0, 0]
    assert limits(np.array([1.0, 1e6]))[-2] >= 1e6


def test_patterns_are_all_of_few_columns_and_some_of_many() -> None:
    assert len(patterns(np.ones(7))) == 128
    many = patterns(np.ones(30))
    assert len(many) <= PATTERNS + 30 and () in many and tuple(range(30)) in many


def test_cells_of_other_columns_are_tried_where_one_loses_all_of_its_own() -> None:
    """Sets of three of four columns, in groups of four rows: without the turn two columns are lost, and four cells."""
    rng = np.random.default_rng(13)
    rows, count, k = int(rng.integers(12, 40)), int(rng.integers(3, 5)), int(rng.integers(2, 5))
    codes = 1 + np.stack([rng.integers(0, int(rng.integers(2, 9)), rows) for _ in range(count)])
    targets = [
        GroupTarget(columns, np.zeros(rows, np.int64), lambda size, weight: size >= k, k)
        for columns in combinations(range(count), int(rng.integers(2, count)))
    ]
    first = suppression._met(codes, np.ones(count), targets, np.ones(rows))
    hidden = suppressed(codes, np.ones(count), targets, np.ones(rows))
    assert first.all(axis=1).sum() == 2 and not hidden.all(axis=1).all()
    assert hidden.sum() < first.sum()
    for target in targets:
        shown = np.where(hidden, 0, codes)[list(target.columns)]
        assert np.unique(shown, axis=1, return_counts=True)[1].min() >= k
