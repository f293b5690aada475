"""A table as a search sees it, of some of its rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anonymize.table.model import Table


def subset(table: Table, rows: NDArray[np.uint32]) -> Table:
    """The table of some rows, which are numbered from 0; domains are those of the whole. For searches alone: what
    passes through is that of all rows."""
    return replace(
        table,
        rows=len(rows),
        attributes=tuple(replace(each, codes=each.codes[rows], declared=None) for each in table.attributes),
        sensitive=tuple(replace(each, codes=each.codes[rows]) for each in table.sensitive),
        targets=tuple(replace(each, codes=each.codes[rows]) for each in table.targets),
        units=None if table.units is None else table.units[rows],
    )
