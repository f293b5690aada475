"""What `anatomy` returns: groups of rows whose sensitive values are published beside them, not with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Ints


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
