"""Rank swapping: each number is swapped with one of similar rank.

What it does. The rows of each column (and of each part, with `by`) are sorted by their numbers, and the sorted rows are
cut into blocks in which ranks differ by at most `distance` of the rows; where the first block ends is random. In each
block the rows form a circle in random order, and each shows the cell of the next one. Columns are swapped one at a
time, each by its own ranks. Missing cells stay where they are.

What it guarantees. Each column has the same cells as before, equally often, in every part: its means, quantiles and
totals are exact. No row shows a cell whose rank is further away than `distance` of the rows of its part; equal cells
share their ranks. Both are measured in the written file. Every row that is not alone in its block shows the cell of
another row, which may be equal to its own.

What it does not. An attacker who knows a person's rank knows the person's value up to `distance`, and extreme values
stay at the extremes. Relations between columns become weaker with a larger `distance`. The share of a value in a column
is not hidden.

What else it discloses. The manifest contains `distance`. Which rows were swapped with each other is not stored.

Cost. Two sorts of each column.

Reference. Moore: Controlled data-swapping techniques for masking public use microdata sets, 1996. The blocks are those
of Nin, Herranz, Torra: Rethinking rank swapping to decrease disclosure risk, Data & Knowledge Engineering 64, 2008:
with fixed neighbours, an attacker would know which rows each value may have come from.
"""

from __future__ import annotations

import numpy as np

from anonymize.classes import Ints
from anonymize.errors import DataError, Problem, counted
from anonymize.spec.treatments import RankSwap
from anonymize.treatments import Change, InputColumn, Random, Step, cycled, equal_cells, unchanged

ID = "rank-swap"


def run(entry: RankSwap, step: Step) -> Change:
    """The columns, each with its numbers swapped. Raises DataError for one in which no two are near enough."""
    parts = step.parts(entry.by)
    columns, warnings = {}, []
    for name in entry.columns:
        column = step.columns[name]
        donors = _donors(column, parts, entry.distance, step.random)
        alone = int(((donors == np.arange(len(donors))) & ~column.missing).sum())
        if alone and alone == int((~column.missing).sum()):
            message = f"rank-swap of {name!r}: none of its {counted(alone, 'number')} has another within `distance`"
            raise DataError(Problem(message, column.source.name, hint="a larger `distance`, or fewer strata (`by`)"))
        if alone:
            warnings.append(unchanged(ID, name, alone, "there is no other row within `distance`"))
        warnings += equal_cells(ID, column, donors)
        columns[name] = column.moved(donors)
    return Change(columns, {"distance": entry.distance, "by": list(entry.by)}, warnings=tuple(warnings))


def _donors(column: InputColumn, parts: Ints, distance: float, random: Random) -> Ints:
    """(rows,) the row whose cell each row shows; itself where it has no partner."""
    donors = np.arange(len(parts))
    present = np.flatnonzero(~column.missing)
    if not len(present):
        return donors
    numbers, own = column.numbers[present], parts[present]
    order = np.lexsort((numbers, own)) if own.any() else np.argsort(numbers, kind="stable")
    sizes = np.bincount(own)
    starts = np.cumsum(sizes) - sizes
    widths = np.floor(distance * sizes).astype(np.int64) + 1  # ranks 0 to width - 1 are at most `distance` apart
    blocks = -(-sizes // widths) + 1
    offsets = np.floor(random.random(len(sizes)) * np.minimum(widths, sizes)).astype(np.int64)
    sorted_parts = own[order]
    ranks = np.arange(len(present)) - starts[sorted_parts]
    firsts = np.cumsum(blocks) - blocks
    of_block = firsts[sorted_parts] + (ranks + offsets[sorted_parts]) // widths[sorted_parts]
    donors[present[order]] = present[order][cycled(of_block, random)]
    return donors
