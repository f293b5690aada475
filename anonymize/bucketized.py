"""What `anatomy` returns: groups of rows whose sensitive values are published beside them, not with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Ints, Runs
from anonymize.order import cell_ranks
from anonymize.table import SensitiveColumn


@dataclass(frozen=True)
class Bucketized:
    """Groups of rows.

    `group` (rows,) int32: number of each row's group from 0, -1 for a row that is left out. `count`: number of groups.
    `mixed` (rows,) int64: the row whose sensitive value each row shows where both stand in one file, a random one of
    its group; -1 for a row that is left out. `l`: the fewest different values of a group. `joined`: one file, not two.
    `name`: of the column of groups.
    """

    KIND: ClassVar[str] = "buckets"

    group: NDArray[np.int32]
    count: int
    mixed: Ints
    l: int  # noqa: E741
    joined: bool
    name: str

    @property
    def sizes(self) -> Ints:
        """(groups,) rows of each group."""
        return np.bincount(self.group[self.group >= 0], minlength=self.count)

    @property
    def left_out(self) -> int:
        """Rows that are in no group."""
        return int(np.count_nonzero(self.group < 0))

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        files = "one" if self.joined else "two"
        return {"kind": self.KIND, "files": files, "groups": self.count, "l": self.l, "suppressed_rows": self.left_out}

    def sensitive_table(self, column: SensitiveColumn, empty: str | None) -> pl.DataFrame:
        """The ST: of each group every sensitive value and its rows, by group, then value, in the order of a sorted
        release. Groups count from 1.

        `empty`: what an empty text is written as.
        """
        grouped = self.group >= 0
        runs = Runs.count_values(self.group[grouped], column.codes[grouped], self.count, column.size)
        texts = pl.Series([text or empty for text in column.texts], dtype=pl.String)
        values = texts.gather(runs.codes).alias(column.name)
        order = np.lexsort((cell_ranks(texts)[runs.codes], runs.classes))
        table = pl.DataFrame([pl.Series(self.name, runs.classes + 1), values, pl.Series("count", runs.counts)])
        return table[order]
