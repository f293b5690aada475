"""Whom classes are about: merged, parted and paired, as counting the rows anew."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize import classes
from anonymize.privacy import Groups, Histogram, Members, Pairs
from anonymize.table import SensitiveColumn

CLASSES = 5
ROWS = st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(0, 3), st.integers(0, 6)), max_size=40)
"""Class, value and unit of each row; the value 3 is missing."""
Rows = list[tuple[int, int, int]]
Count = tuple[int, dict[int, int]]


def column_of(rows: Rows) -> SensitiveColumn:
    return SensitiveColumn("s", np.array([code for _, code, _ in rows], np.uint8), 4, 3, np.arange(4.0))


def members_of(rows: Rows) -> Members:
    owners, units = (np.array([row[at] for row in rows], np.int64) for at in (0, 2))
    return Members.of_rows([column_of(rows)], owners, CLASSES, units)


def by_hand(rows: Rows, classes: Sequence[Sequence[int]]) -> list[Count]:
    """Of each class, given the numbers of those that it is made of: its units, and how many have each value."""
    found = []
    for parts in classes:
        held = {(code, unit) for owner, code, unit in rows if owner in parts and code < 3}
        values: dict[int, int] = defaultdict(int)
        for code, _ in held:
            values[code] += 1
        found.append((len({unit for owner, _, unit in rows if owner in parts}), dict(values)))
    return found


def counted(groups: Groups) -> list[Count]:
    histogram = groups.of("s")
    values: list[dict[int, int]] = [{} for _ in groups.sizes]
    for owner, code, count in zip(histogram.classes, histogram.codes, histogram.counts, strict=True):
        values[owner][int(code)] = int(count)
    return list(zip(groups.sizes.tolist(), values, strict=True))


@given(ROWS, st.lists(st.integers(-1, 2), min_size=CLASSES, max_size=CLASSES))
def test_merged_classes(rows: Rows, into: list[int]) -> None:
    """A class that goes to -1 is left out."""
    found = members_of(rows).merge(np.array(into), 3)
    parts = [[at for at, to in enumerate(into) if to == number] for number in range(3)]
    assert counted(Groups.of_members(found)) == by_hand(rows, parts)
    kept = [at for at, to in enumerate(into) if to >= 0]
    assert found.merge(np.zeros(3, np.int64), 1).sizes[0] == by_hand(rows, [kept])[0][0]


@given(ROWS, st.lists(st.booleans(), min_size=CLASSES, max_size=CLASSES))
def test_some_classes_by_themselves(rows: Rows, kept: list[bool]) -> None:
    groups = Groups.of_members(members_of(rows)).subset(np.array(kept))
    stays = [at for at, keep in enumerate(kept) if keep]
    assert counted(groups) == by_hand(rows, [[at] for at in stays])
    everybody, alone = by_hand(rows, [range(CLASSES), stays])
    assert {code: n for code, n in enumerate(groups.of("s").whole.counts.tolist()) if n} == everybody[1]
    assert {code: n for code, n in enumerate(groups.by_itself().of("s").whole.counts.tolist()) if n} == alone[1]
    assert counted(groups.by_itself()) == counted(groups)
    merged = groups.merge(np.zeros(len(stays), np.int64), 1)
    assert counted(merged) == by_hand(rows, [stays])


@given(ROWS, st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(0, CLASSES - 1)), max_size=6))
def test_pairs_of_classes(rows: Rows, pairs: list[tuple[int, int]]) -> None:
    one, other = np.array(pairs, np.int64).reshape(-1, 2).T
    assert counted(Groups.of_members(members_of(rows).joined(one, other))) == by_hand(rows, pairs)


@given(ROWS, st.lists(st.booleans(), min_size=CLASSES, max_size=CLASSES))
def test_the_ends_of_heads_sum_up_to_halves(rows: Rows, begins: list[bool]) -> None:
    head = np.cumsum(begins)
    leading, trailing = (counted(Groups.of_members(each)) for each in members_of(rows).ends(head))
    for at in range(CLASSES):
        before = [run for run in range(at + 1) if head[run] == head[at]]
        after = [run for run in range(at, CLASSES) if head[run] == head[at]]
        for found, runs in ((leading, before), (trailing, after)):
            (size, values) = by_hand(rows, [runs])[0]
            assert sum(found[run][0] for run in runs) == size
            assert {code: n for code in range(3) if (n := sum(found[run][1].get(code, 0) for run in runs))} == values


def test_pairs_of_large_numbers() -> None:
    owners, things = np.array([2**30, 0, 2**30, 0]), np.array([2**31, 2**31, 2**31, 0])
    found = Pairs.of(owners, things, 2**31 + 1)
    assert found.owners.tolist() == [0, 0, 2**30] and found.things.tolist() == [0, 2**31, 2**31]


# --- groups -----------------------------------------------------------------------------------------------------------

pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=60)


def arrays(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return table[:, 0].astype(np.uint32), table[:, 1].astype(np.uint8)


def as_dict(histogram: Histogram) -> dict[tuple[int, int], int]:
    keys = zip(histogram.classes.tolist(), histogram.codes.tolist(), strict=True)
    return dict(zip(keys, histogram.counts.tolist(), strict=True))


@pytest.mark.parametrize("how", ["dense", "sorted", "weighted"])
@given(rows=pairs, missing=st.one_of(st.none(), st.integers(0, 9)))
def test_counts_are_those_of_a_counter(how: str, rows: list[tuple[int, int]], missing: int | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if how == "sorted":
            patch.setattr(classes, "DENSE", 0)
            patch.setattr(classes, "DENSE_PER_ROW", 0)
        counts = np.ones(len(rows), dtype=np.int64) if how == "weighted" else None
        found = Histogram.from_rows(*arrays(rows), 7, 10, missing=missing, counts=counts)
    expected = Counter(pair for pair in rows if pair[1] != missing)
    assert as_dict(found) == expected
    assert list(as_dict(found)) == sorted(expected)
    assert found.starts.tolist() == [sum(c < label for c, _ in expected) for label in range(8)]
    assert found.present().tolist() == [sum(c == label and s != missing for c, s in rows) for label in range(7)]
    assert found.distinct().tolist() == [len({s for c, s in rows if c == label and s != missing}) for label in range(7)]


def test_weights_stand_for_rows() -> None:
    found = Histogram.from_rows(np.array([1, 0, 1]), np.array([2, 2, 2]), 2, 3, counts=np.array([5, 1, 7]))
    assert as_dict(found) == {(0, 2): 1, (1, 2): 12}


def test_empty_classes_take_nothing_from_their_neighbours() -> None:
    found = Histogram.from_rows(np.array([1, 1, 3]), np.array([0, 1, 0]), 6, 2)
    assert found.sum(found.counts).tolist() == [0, 2, 0, 1, 0, 0]
    assert found.max(found.counts).tolist() == [0, 1, 0, 1, 0, 0]
    assert found.sum(found.counts * np.float64(0.5)).tolist() == [0.0, 1.0, 0.0, 0.5, 0.0, 0.0]


def test_values_follow_the_codes() -> None:
    found = Histogram.from_rows(
        np.array([0, 0, 0]), np.array([2, 0, 1]), 1, 3, missing=1, values=np.array([1.5, np.nan, 9])
    )
    assert found.values is not None and found.values.tolist() == [1.5, 9.0]
