"""What a rule wants done with each class of a batch, and what has been done."""

from __future__ import annotations

from dataclasses import dataclass

from anonymize.classes import Ints

FINISHED = -1
AGAIN = -2


@dataclass(frozen=True)
class Cuts:
    """What a rule wants done with each class of a batch.

    `attribute` (C,): index of the quasi-identifier to cut, FINISHED where no cut is left to try, AGAIN where the chosen
    attribute has no allowable cut. Rows with `start` <= code < `stop` go to the first side, and the first `ties` of the
    rows at `stop`; the others to the second.
    """

    attribute: Ints
    start: Ints
    stop: Ints
    ties: Ints
