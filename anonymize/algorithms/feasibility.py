"""Whether a table can meet its requirements at all, and which rows have to go so that it can.

The coarsest release shows all rows as one class. Where the models are monotone and that class does not meet them, no
release does. What may mend it is to give up rows: those of the most frequent sensitive values, until the rest is
diverse enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from anonymize.algorithms.base import Context
from anonymize.classes import Bools, Ints
from anonymize.errors import InfeasibleError, Problem
from anonymize.privacy import Assessment, Groups, Histogram, Requirement, assess
from anonymize.table import SensitiveColumn, Table

BY_SIZE = ("k", "l", "p")
"""Parameters that a class of fewer rows cannot meet."""

EXCLUSIVE = ("c",)
"""Parameters that have to exceed what is reached."""


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
    kept, failing = _mended(table, requirements)
    given_up = np.flatnonzero(~kept)
    if failing or len(given_up) > context.suppression_limit:
        raise InfeasibleError(_explain(table, requirements, failing, len(given_up), context.suppression_limit))
    return given_up.astype(np.uint32)


def no_generalization(table: Table, requirements: tuple[Requirement, ...], limit: int) -> InfeasibleError:
    """Why no generalization is safe where rows are suppressed by whole classes: which requirement binds, and what would
    be feasible."""
    try:
        rows_to_suppress(table, requirements, Context(limit))
    except InfeasibleError as error:
        return error
    everyone = np.ones(table.rows, np.bool_)
    binding = [found for found in (_assessed(table, everyone, r) for r in requirements) if not found.satisfied]
    hint = "mondrian, which suppresses single rows of a class, meets it within the limit"
    return InfeasibleError(
        [
            Problem(
                f"{found.requirement} is met by no generalization in which at most {limit} rows are suppressed: the "
                "whole table as one class does not meet it",
                hint=hint,
            )
            for found in binding
        ]
    )


def _mended(table: Table, requirements: tuple[Requirement, ...]) -> tuple[Bools, list[Assessment]]:
    """(rows,) the rows that stay, and the requirements that they still do not meet.

    What is given up for one requirement can break another, so all are gone through again until nothing more goes. Of
    several requirements that bind, each is mended by itself: together they might have done with fewer rows.
    """
    kept = np.ones(table.rows, np.bool_)
    while True:
        before, failing = kept, []
        for requirement in requirements:
            found = _assessed(table, kept, requirement)
            if not found.satisfied:
                failing.append(found)
                kept = kept & _trimmed(table, kept, requirement)
        if np.array_equal(kept, before):
            return kept, failing


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

    As many values as can, the last in the order of codes first, keep one row more than the cap. Both numbers are found
    by bisection; everything stays where no cap is enough. Of a value's rows those that go are spread evenly over the
    table.
    """
    if requirement.attribute is None:
        return kept
    column = _column(table, requirement.attribute)
    rank = _rank_within_value(column, kept)
    counts = np.bincount(column.codes[kept], minlength=column.size)

    def stays(caps: Ints) -> Bools:
        return _spread(rank, column, counts, caps)

    def fine(caps: Ints) -> bool:
        return _assessed(table, kept & stays(caps), requirement).satisfied

    cap = _highest(int(counts.max(initial=0)), lambda cap: fine(np.full(column.size, cap)))
    if not cap:
        return kept
    capped = np.flatnonzero(counts > cap)[::-1]

    def raised(number: int) -> Ints:
        caps = np.full(column.size, cap)
        caps[capped[:number]] += 1
        return caps

    return stays(raised(_highest(len(capped), lambda number: fine(raised(number)))))


def _highest(stop: int, fine: Callable[[int], bool]) -> int:
    """The highest number below `stop` that is fine, by bisection; 0 is taken to be."""
    low, high = 0, stop
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fine(middle) else (low, middle)
    return low


def _rank_within_value(column: SensitiveColumn, kept: Bools) -> Ints:
    """(rows,) how many kept rows of the same value come before each."""
    order = np.argsort(column.codes, kind="stable")
    before: Ints = np.cumsum(kept[order]) - kept[order]
    codes = column.codes[order]
    first = np.searchsorted(codes, codes, side="left")
    rank = np.empty(len(order), np.int64)
    rank[order] = before - before[first]
    return rank


def _spread(rank: Ints, column: SensitiveColumn, counts: Ints, caps: Ints) -> Bools:
    """(rows,) whether each row stays when `caps` (codes,) rows of each value do, evenly spread; all missing ones do."""
    count, cap = np.maximum(counts, 1)[column.codes], caps[column.codes]
    stays = (rank + 1) * cap // count > rank * cap // count
    return stays if column.missing is None else stays | (column.codes == column.missing)


def _explain(
    table: Table, requirements: tuple[Requirement, ...], failing: list[Assessment], given_up: int, limit: int
) -> list[Problem]:
    share = f"{np.ceil(given_up / table.rows * 1e6) / 1e6:.6f}".rstrip("0").rstrip(".")
    if failing:
        needed = f" with privacy.suppression of {share}" if given_up > limit else ""
        return [_hopeless(table.rows, given_up, found, needed) for found in failing]
    everyone = np.ones(table.rows, np.bool_)
    binding = [found for found in (_assessed(table, everyone, r) for r in requirements) if not found.satisfied]
    return [
        Problem(
            f"{found.requirement} is not met by the whole table as one class, which reaches {_reached(found)}; "
            f"suppressing {given_up} rows would mend it, {limit} may be suppressed",
            hint=f"nearest feasible: privacy.suppression of {share}{_alternative(found)}",
        )
        for found in binding
    ]


def _hopeless(rows: int, given_up: int, found: Assessment, needed: str) -> Problem:
    who = f"all {rows} rows"
    if given_up:
        who = f"the {rows - given_up} of {rows} rows that are left once other requirements are met,"
    nearest = _nearest(found)
    return Problem(
        f"{found.requirement} cannot be met: {who} as one class reach {_reached(found)}",
        hint=f"nearest feasible: {nearest}{needed}" if nearest else "no setting of it is feasible",
    )


def _alternative(found: Assessment) -> str:
    nearest = _nearest(found)
    return f", or {nearest}" if nearest else ""


def _reached(found: Assessment) -> str:
    return ", ".join(
        f"{name}={'none' if value is None else format(value, '.6g')}" for name, value in found.achieved.items()
    )


def _nearest(found: Assessment) -> str | None:
    """The parameters that what is reached does meet, in digits enough for it; None where the model allows no such."""
    nearest = {
        name: float(f"{value:.10g}") if isinstance(value, float) else value for name, value in found.achieved.items()
    }
    try:
        type(found.requirement.parameters)(**nearest)
    except ValidationError:
        return None
    return ", ".join(
        f"{name} above {value:.10g}" if name in EXCLUSIVE else f"{name}={value:.10g}" for name, value in nearest.items()
    )
