"""Random swapping: the cells of some rows are swapped at random.

What it does. In each part (`by`), a share `rate` of the rows is drawn, rounded up, and at least two rows. They form a
circle in random order, and each shows the cells of the next one in all of the step's columns. Relations among these
columns are kept; their relations to all other columns are not. Rows in which one of the columns is missing take no
part.

What it guarantees. Each part has the same combinations of the step's cells as before, equally often; this is measured
in the written file. Counts of these columns alone are exact.

What it does not. A row that was drawn may get a cell equal to its own. With a probability of about 1 - `rate` a row
shows its own cells: an attacker who finds a person by other columns is right that often, and only swapping most rows
changes that. Relations to other columns get weaker in proportion to `rate`.

What else it discloses. The manifest contains `rate`. Which rows were swapped is not stored.

Cost. Linear, and a sort of the rows.

Reference. Dalenius, Reiss: Data-swapping: a technique for disclosure control, Journal of Statistical Planning and
Inference 6, 1982.
"""

from __future__ import annotations

import numpy as np

from anonymize.errors import DataError, Problem, counted
from anonymize.spec.treatments import RandomSwap
from anonymize.treatments import Change, Step, cycled, equal_cells, names_of, unchanged

ID = "random-swap"


def run(entry: RandomSwap, step: Step) -> Change:
    """The columns with the cells of some rows swapped. Raises DataError where no part has two rows to swap."""
    columns = [step.columns[name] for name in entry.columns]
    lacking = np.logical_or.reduce([column.missing for column in columns])
    present = np.flatnonzero(~lacking)
    own = step.parts(entry.by)[present]
    sizes = np.bincount(own, minlength=1)
    wanted = np.where(sizes > 1, np.maximum(np.ceil(entry.rate * sizes - 1e-9), 2), 0).astype(np.int64)
    if not wanted.any():
        message = f"random-swap of {names_of(columns)}: none of {counted(len(lacking), 'row')} has a partner"
        raise DataError(Problem(message, columns[0].source.name, hint="fewer strata (`by`)"))
    order = np.argsort(own + step.random.random(len(own)))
    starts = np.cumsum(sizes) - sizes
    drawn = order[np.arange(len(own)) - starts[own[order]] < wanted[own[order]]]
    donors = np.arange(len(lacking))
    donors[present[drawn]] = present[drawn][cycled(own[drawn], step.random)]
    alone = int((sizes == 1).sum())
    reasons = {"there is no other row within the part": alone, "one of the columns is missing": int(lacking.sum())}
    warnings = [unchanged(ID, names_of(columns), count, why) for why, count in reasons.items() if count]
    warnings += [each for column in columns for each in equal_cells(ID, column, donors)]
    declared = {"rate": entry.rate, "by": list(entry.by), "together": list(entry.columns)}
    return Change({column.name: column.moved(donors) for column in columns}, declared, warnings=tuple(warnings))
