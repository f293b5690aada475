"""What a search may draw on: time and an interruption, which end it early, counted work; and of refinement also
chance, processors, and the options of a command about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, fields
from threading import Event
from typing import Any

import numpy as np

from anonymize.algorithms.base import option
from anonymize.records import dataclass

# --- when a search ends -----------------------------------------------------------------------------------------------
# When a search has to end. Searches are budgeted in counted work; seconds only stop them earlier, where asked for, and
# so does somebody at a terminal who does not want to wait any longer.

TIME, INTERRUPTED = "time", "interrupted"
"""How a report says, under `stopped`, that a search ended because its time was up, or because it was interrupted."""

_interrupted = Event()


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """A function that, while this lasts, tells all searches of the process that obey a deadline to end with the best
    that they have. It may be called by a handler of signals."""
    try:
        yield _interrupted.set
    finally:
        _interrupted.clear()


def ends_early(options: Any) -> bool:
    """Whether a search with these options ends with the best that it has, when its time is up or it is interrupted."""
    limits = [each for each in fields(options) if each.name == "time_limit"]
    return any(
        all(getattr(options, name) in values for name, values in each.metadata["only_with"].items()) for each in limits
    )


def ended_by() -> str:
    """What ends searches whose deadline has passed."""
    return INTERRUPTED if _interrupted.is_set() else TIME


def stopped(late: bool) -> dict[str, str]:
    """What the report's `recoding` block says where a search ended early, and else nothing."""
    return {"stopped": ended_by()} if late else {}


class Deadline:
    """When a search has to end: after some seconds, never for 0, and when it is interrupted; without `seconds`, never
    at all. `given`: whether there is a limit of time."""

    def __init__(self, seconds: float | None = None) -> None:
        self.given, self._obeys = bool(seconds), seconds is not None
        self._end = time.monotonic() + seconds if seconds else np.inf

    @property
    def passed(self) -> bool:
        """Whether it is time."""
        return (self._obeys and _interrupted.is_set()) or time.monotonic() >= self._end

    @property
    def left(self) -> float:
        """Seconds until then as a limit for what follows: a thousandth at least, and 0, which is none, where there is
        none."""
        return max(self._end - time.monotonic(), 1e-3) if self.given else 0.0


# --- resources of refinement ------------------------------------------------------------------------------------------
# What refinement may draw on: the options of a command; and chance, time and processors, for one of its steps. Apart
# from what they are for, which a command that does not refine does not import.


BY_SECONDS = "workers are not equally fast, and none knows how long the others have taken"
"""Why what ends by the clock takes all rows on one machine."""


@dataclass(frozen=True, kw_only=True)
class Refinable:
    """Options of an algorithm whose partition can be refined; its own options have `refine`."""

    passes: int = option(
        0,
        "Passes of refinement at most; 0: 30, fewer above 35,000 rows, 1 above 500,000.",
        minimum=0,
        only_with={"refine": (True,)},
    )
    sweeps: int = option(
        0,
        "Sweeps of exchanges, after the passes; 0: by the rows, at most 200, and 40 above 5,000,000 rows.",
        minimum=0,
        only_with={"refine": (True,)},
    )
    time_limit: float = option(
        0.0,
        "Seconds of refinement at most; reruns may then differ; 0: no limit.",
        minimum=0,
        only_with={"refine": (True,)},
        alone=BY_SECONDS,
    )


Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Resources:
    """`rng`: its random numbers. `deadline`: when it has to end. `run`: a map, such as an executor's, over parts of the
    work that do not wait for each other."""

    rng: np.random.Generator
    deadline: Deadline = field(default_factory=Deadline)
    run: Map = map
