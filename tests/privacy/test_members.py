"""Whom classes are about: merged, parted and paired, as counting the rows anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonymize.privacy import Groups, Members, Pairs
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
