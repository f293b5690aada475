"""The smallest sets of columns that pass through that single rows out.

Which columns of a table together name a person is seldom seen by looking at them one by one. The sets are walked as
`subsets` walks those of the quasi-identifiers: a row that is unique on a set is unique on all that contain it, and
counts for the smallest one. What a walk costs is rows times sets, so it has a budget, and what it leaves out is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from anonymize.risk.frequency import TextFrequencySet
from anonymize.risk.subsets import analyse
from anonymize.table.named import column as named

LARGEST = 3
"""Columns of a set at most;"""
COLUMNS = 50
"""of so many columns at most, those first that are unique in most rows."""
BUDGET = 2_000_000
"""Rows times sets that are looked at."""
LISTED = 10
"""Sets that a report lists at most."""


def singling_out(frame: pl.LazyFrame, columns: Sequence[str], *, units: pl.Series | None = None) -> dict[str, Any]:
    """The sets that single out most rows, as a report lists them: of each, the rows that are unique on it and on
    nothing smaller inside it. Smaller sets come first, then those with more such rows, then in the order of columns.

    `frame`: texts, or numbers that are equal where texts are compared as equal. `max_size`: columns of a set;
    `left_out`: the columns that were not looked at together with others. `units`: see `TextFrequencySet.of`; without a
    unit for each row, every row is about somebody else.
    """
    alone = _alone(frame, columns) if units is None else dict.fromkeys(columns, 0)
    order = sorted(columns, key=lambda name: -alone[name])
    rows = int(frame.select(pl.len()).collect().item())
    number, size = _within(rows, len(columns))
    if number:
        frequency = TextFrequencySet.of(frame, [[name] for name in order[:number]], units=units)
        walked = analyse(frequency, order[:number], size).subsets
        sets = [(list(each.attributes), each.minimal_uniques) for each in walked if each.minimal_uniques]
    else:
        sets = [([name], count) for name, count in alone.items() if count]
    sets.sort(key=lambda pair: (len(pair[0]), -pair[1]))
    smallest = [{"columns": names, "uniques": count} for names, count in sets[:LISTED]]
    return {"smallest": smallest, "max_size": size, "left_out": sorted(order[number:])}


def _alone(frame: pl.LazyFrame, columns: Sequence[str]) -> dict[str, int]:
    """How many rows are alone in each column."""
    query = [named(name).is_unique().sum().alias(str(place)) for place, name in enumerate(columns)]
    return dict(zip(columns, frame.select(query).collect().row(0), strict=True))


def _within(rows: int, columns: int) -> tuple[int, int]:
    """How many columns the budget allows to look at together, and in sets of which size: the largest sets that leave
    room for more columns than one set has, else smaller ones; (0, 1) where each column is looked at by itself alone."""
    for size in range(min(LARGEST, columns), 1, -1):
        number = min(columns, COLUMNS)
        while number > size and rows * _sets(number, size) > BUDGET:
            number -= 1
        if rows * _sets(number, size) <= BUDGET and number > min(size, columns - 1):
            return number, size
    return 0, 1


def _sets(columns: int, size: int) -> int:
    return sum(math.comb(columns, each) for each in range(1, size + 1))
