"""What refinement may draw on: the options of a command; and chance, time and processors, for one of its steps. Apart
from what they are for, which a command that does not refine does not import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anonymize.algorithms.base import option
from anonymize.algorithms.deadline import Deadline


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
    )


Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Resources:
    """`rng`: its random numbers. `deadline`: when it has to end. `run`: a map, such as an executor's, over parts of the
    work that do not wait for each other."""

    rng: np.random.Generator
    deadline: Deadline = field(default_factory=Deadline)
    run: Map = map
