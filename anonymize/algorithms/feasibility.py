"""Whether a table can meet its requirements at all, and which rows have to go so that it can.

The coarsest release shows all rows as one class. Where the models are monotone and that class does not meet them, no
release does. What may mend it is to give up rows: those of the most frequent sensitive values, until the rest is
diverse enough.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.base import Context
from anonymize.classes import Bools, Ints
from anonymize.errors import InfeasibleError, Problem
from anonymize.privacy import Assessment, Groups, Histogram, Requirement, assess
from anonymize.table import SensitiveColumn, Table

BY_SIZE = ("k", "l", "p")
"""Parameters that a class of fewer rows cannot meet."""


def minimum_size(requirements: Iterable[Requirement]) -> int:
    """The fewest rows that a class may have: a class of l different values has l rows."""
    found = [1]
    for requirement in requirements:
        required = requirement.required()
        found += [int(np.ceil(required[name])) for name in BY_SIZE if name in required]
    return max(found)


def rows_to_suppress(table: Table, requirements: tuple[Requirement, ...], context: Context) -> NDArray[np.uint32]:
    """Row numbers, ascending, without which the table meets every requirement as one class; none if it already does.

    Raises InfeasibleError naming the requirements that bind and the nearest feasible setting when no suppression within
    the limit mends it.
    """
    kept = np.ones(table.rows, np.bool_)
    for requirement in requirements:
        if not _assessed(table, kept, requirement).satisfied:
            kept &= _trimmed(table, kept, requirement)
    given_up = np.flatnonzero(~kept)
    failing = [found for found in (_assessed(table, kept, r) for r in requirements) if not found.satisfied]
    if failing or len(given_up) > context.suppression_limit:
        raise InfeasibleError(_explain(table, requirements, failing, len(given_up), context.suppression_limit))
    return given_up.astype(np.uint32)


def _assessed(table: Table, kept: Bools, requirement: Requirement) -> Assessment:
    """The requirement measured with all kept rows as one class."""
    return assess(_one_class(table, kept, requirement), requirement)


def _one_class(table: Table, kept: Bools, requirement: Requirement) -> Groups:
    histograms = {}
    if requirement.attribute is not None:
        column = _column(table, requirement.attribute)
        codes = column.codes[kept]
        everyone = np.zeros(len(codes), np.int64)
        histograms[column.name] = Histogram.from_rows(everyone, codes, 1, column.size, column.missing, column.values)
    return Groups(np.array([np.count_nonzero(kept)]), histograms)


def _column(table: Table, name: str) -> SensitiveColumn:
    return next(column for column in table.sensitive if column.name == name)


def _trimmed(table: Table, kept: Bools, requirement: Requirement) -> Bools:
    """(rows,) the rows that stay when no sensitive value may occur more often than the highest cap that is enough.

    The cap is found by bisection; everything stays where no cap is enough. Of a value's rows those that go are spread
    evenly over the table.
    """
    if requirement.attribute is None:
        return kept
    column = _column(table, requirement.attribute)
    rank = _rank_within_value(column, kept)
    counts = np.bincount(column.codes[kept], minlength=column.size)
    enough, too_many = 0, int(counts.max(initial=0))
    while too_many - enough > 1:
        cap = (enough + too_many) // 2
        if _assessed(table, kept & _spread(rank, column, counts, cap), requirement).satisfied:
            enough = cap
        else:
            too_many = cap
    return _spread(rank, column, counts, enough) if enough else kept


def _rank_within_value(column: SensitiveColumn, kept: Bools) -> Ints:
    """(rows,) how many kept rows of the same value come before each."""
    order = np.argsort(column.codes, kind="stable")
    before: Ints = np.cumsum(kept[order]) - kept[order]
    codes = column.codes[order]
    first = np.searchsorted(codes, codes, side="left")
    rank = np.empty(len(order), np.int64)
    rank[order] = before - before[first]
    return rank


def _spread(rank: Ints, column: SensitiveColumn, counts: Ints, cap: int) -> Bools:
    """(rows,) whether each row stays when `cap` rows of each value do, evenly spread; missing values all stay."""
    count = np.maximum(counts[column.codes], 1)
    stays = (rank + 1) * cap // count > rank * cap // count
    return stays if column.missing is None else stays | (column.codes == column.missing)


def _explain(
    table: Table, requirements: tuple[Requirement, ...], failing: list[Assessment], given_up: int, limit: int
) -> list[Problem]:
    if failing:
        return [_hopeless(table, found) for found in failing]
    everyone = np.ones(table.rows, np.bool_)
    binding = [found for found in (_assessed(table, everyone, r) for r in requirements) if not found.satisfied]
    share = np.ceil(given_up / table.rows * 1e6) / 1e6
    return [
        Problem(
            f"{found.requirement} is not met by the whole table as one class, which reaches {_reached(found)}; "
            f"suppressing {given_up} rows would mend it, {limit} may be suppressed",
            hint=f"nearest feasible: privacy.suppression of {share:g}, or {_reached(found)}",
        )
        for found in binding
    ]


def _hopeless(table: Table, found: Assessment) -> Problem:
    return Problem(
        f"{found.requirement} cannot be met: all {table.rows} rows as one class reach {_reached(found)}",
        hint=f"nearest feasible: {_reached(found)}",
    )


def _reached(found: Assessment) -> str:
    return ", ".join(
        f"{name}={'none' if value is None else format(value, '.6g')}" for name, value in found.achieved.items()
    )
