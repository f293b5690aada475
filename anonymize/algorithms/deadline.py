"""When a search has to end. Searches are budgeted in counted work; seconds only stop them earlier, where asked for."""

from __future__ import annotations

import time

import numpy as np

TIME = "time"
"""How a report says, under `stopped`, that a search ended because its time was up."""


def stopped(late: bool) -> dict[str, str]:
    """What the report's `recoding` block says where the time ended a search, and else nothing."""
    return {"stopped": TIME} if late else {}


class Deadline:
    """When a search has to end; never where no seconds are `given`."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.given = bool(seconds)
        self._end = time.monotonic() + seconds if seconds else np.inf

    @property
    def passed(self) -> bool:
        """Whether it is time."""
        return time.monotonic() >= self._end

    @property
    def left(self) -> float:
        """Seconds until then as a limit for what follows: a thousandth at least, and 0, which is none, where there is
        none."""
        return max(self._end - time.monotonic(), 1e-3) if self.given else 0.0
