"""What a step of refinement may draw on: chance, time and processors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anonymize.algorithms.deadline import Deadline

Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Resources:
    """`rng`: its random numbers. `deadline`: when it has to end. `run`: a map, such as an executor's, over parts of the
    work that do not wait for each other."""

    rng: np.random.Generator
    deadline: Deadline = field(default_factory=Deadline)
    run: Map = map
