"""Groups divided anew: all divisions are there, and the best is made at no temperature."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.refining.exchanges import ClassRows, matched
from anonymize.classes import Floats, Partition
from anonymize.treatments.grouping.redivision import Redivision, divisions
from anonymize.treatments.grouping.search import _Squares


def lost(values: Floats, labels: list[int]) -> float:
    groups = (values[np.array(labels) == each] for each in set(labels))
    return float(sum(np.square(own - own.mean(axis=0)).sum() for own in groups))


@pytest.mark.parametrize(
    ("rows", "groups", "k", "count"), [(6, 2, 3, 10), (7, 2, 3, 35), (9, 3, 3, 280), (10, 2, 5, 126), (4, 2, 2, 3)]
)
def test_every_division_is_there_once(rows: int, groups: int, k: int, count: int) -> None:
    ways = divisions(rows, groups, k)
    assert ways is not None and len(ways.order) == count
    assert (ways.sizes.sum(axis=1) == rows).all() and ways.sizes.min() >= k
    made = set()
    for order, sizes in zip(ways.order.tolist(), ways.sizes.tolist(), strict=True):
        ends = np.cumsum([0, *sizes]).tolist()
        made.add(frozenset(frozenset(order[a:b]) for a, b in pairwise(ends)))
    assert len(made) == count


def test_what_is_too_much_is_not_divided() -> None:
    assert divisions(40, 2, 20) is None and divisions(15, 3, 5) is None and divisions(10, 2, 3) is None
    assert [Redivision.most(k) for k in (1, 2, 3, 4, 5, 6, 7, 50)] == [3, 3, 3, 2, 2, 2, 0, 0]


@settings(max_examples=12, deadline=None)
@given(st.sampled_from([(2, 3, 0), (2, 3, 1), (3, 3, 0), (2, 5, 0), (2, 4, 1)]), st.integers(0, 1 << 32))
def test_the_best_division_is_made_at_no_temperature(shape: tuple[int, int, int], seed: int) -> None:
    """Of `groups` groups of k rows, the first with some more, by the sums of squares of all divisions of the rows."""
    groups, k, more = shape
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), [k + more, *[k] * (groups - 1)])
    values = rng.normal(size=(len(labels), 2))
    members = ClassRows.of(_Squares(values.T, k), Partition.of_labels(labels), np.arange(groups), 2 * k)  # type: ignore[arg-type]
    done = Redivision(values, k, rng).divide(members, np.arange(groups)[None], np.zeros(1, np.float32))
    assert done.all() and sorted(members.rows[members.there].tolist()) == list(range(len(labels)))
    ways = divisions(len(labels), groups, k)
    assert ways is not None
    best = np.inf
    for order, sizes in zip(ways.order, ways.sizes, strict=True):
        best = min(best, lost(values[order], np.repeat(np.arange(groups), sizes).tolist()))
    own = lost(values[members.rows[members.there]], np.repeat(np.arange(groups), members.sizes).tolist())
    assert own == pytest.approx(best, rel=1e-6)


def test_groups_are_matched_in_threes_none_twice() -> None:
    rng = np.random.default_rng(1)
    near = np.array([[each for each in rng.permutation(30) if each != group][:8] for group in range(30)])
    triples = matched(near, rng, 2)
    assert len(triples) > 3 and triples.shape[1] == 3 and len(np.unique(triples)) == triples.size
