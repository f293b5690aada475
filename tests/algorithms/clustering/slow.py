"""The clustering methods' steps in plain Python, row by row, as references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from anonymize.algorithms.clustering import Corners, Penalty
from anonymize.table import Table
from tests.algorithms.tables import cost

Group = list[int]


def ncp_of(table: Table, rows: Sequence[int]) -> float:
    """Weighted NCP of a group, summed over its rows, from what the leaves are."""
    one = sum(a.weight * cost(a.domain, a.codes[list(rows)].tolist()) for a in table.attributes)
    return len(rows) * one


def shown_of(table: Table, rows: Sequence[int], most: float = 1.0) -> float:
    """The same as it reads, where numbers are beside missing ones; `most`: what an attribute then costs at most."""
    parts = ((a, a.codes[list(rows)].tolist()) for a in table.attributes)
    return len(rows) * sum(a.weight * cost(a.domain, codes, shown=True, most=most) for a, codes in parts)


def exact(penalty: Penalty, codes: Corners, rows: Sequence[int]) -> float:
    """The same to the last bit of what the searches compare."""
    mine = codes[:, list(rows)]
    return float(penalty(mine.min(axis=1), mine.max(axis=1)) * len(rows))


def best_partner(penalty: Penalty, codes: Corners, groups: list[Group], group: Group) -> Group:
    """The group whose union with one is best: least NCP, then fewest rows, then lowest first row."""
    others = [other for other in groups if other is not group]
    return min(others, key=lambda other: (exact(penalty, codes, group + other), len(other), min(other)))


def merge_round(penalty: Penalty, codes: Corners, groups: list[Group], k: int) -> list[Group]:
    """One round of the bottom-up method in which every group is compared with every other."""
    groups = [sorted(group) for group in groups]
    if len(groups) == 1:
        return groups
    small = [group for group in groups if len(group) < k]

    def at_start(group: Group) -> tuple[float, int]:
        return exact(penalty, codes, group + best_partner(penalty, codes, start, group)), min(group)

    start = list(groups)
    changed: list[Group] = []
    for group in sorted(small, key=at_start):
        if len(groups) == 1 or any(group is each for each in changed) or not any(group is each for each in groups):
            continue
        other = best_partner(penalty, codes, groups, group)
        union = sorted(group + other)
        groups = [each for each in groups if each is not group and each is not other] + [union]
        changed.append(union)
    return sorted(groups, key=min)


def partitions(rows: Sequence[int], k: int) -> Iterator[list[Group]]:
    """Every partition of some rows into groups of at least k."""

    def grow(left: Sequence[int], groups: list[Group]) -> Iterator[list[Group]]:
        if not left:
            if all(len(group) >= k for group in groups):
                yield [list(group) for group in groups]
            return
        if sum(max(k - len(group), 0) for group in groups) > len(left):
            return
        for group in groups:
            group.append(left[0])
            yield from grow(left[1:], groups)
            group.pop()
        yield from grow(left[1:], [*groups, [left[0]]])

    return grow(list(rows), [])


def optimum(table: Table, k: int) -> float:
    """The least weighted NCP of all partitions of a table into groups of at least k rows."""
    seen: dict[tuple[int, ...], float] = {}

    def of(group: Group) -> float:
        if tuple(group) not in seen:
            seen[tuple(group)] = ncp_of(table, group)
        return seen[tuple(group)]

    return min(sum(map(of, groups)) for groups in partitions(range(table.rows), k))


def assign(penalty: Penalty, codes: Corners, seeds: tuple[int, int], rows: Sequence[int], join: str) -> list[list[int]]:
    """Rows joining one of two groups in their order."""
    groups = [[seeds[0]], [seeds[1]]]

    def loss(group: Group, row: int) -> float:
        mine = codes[:, group]
        now = float(penalty(mine.min(axis=1), mine.max(axis=1)))
        total = exact(penalty, codes, [*group, row])
        if join == "row":
            joined = codes[:, [*group, row]]
            return float(penalty(joined.min(axis=1), joined.max(axis=1)))
        return total - len(group) * now if join == "rise" else total

    for row in rows:
        groups[loss(groups[1], row) < loss(groups[0], row)].append(row)
    return groups


def classes(order: np.ndarray, starts: np.ndarray) -> list[Group]:
    return [rows.tolist() for rows in np.split(order, starts[1:-1])]
