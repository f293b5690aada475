"""`departures: deferred`: people who left are shown as they were last until k people of their history have left.

What is promised is that of everybody who was ever released at least k people have the same history, those counted who
are not shown any more: a chain of rows that ends is one of k that end there. So the people of a history who are not in
a release are none of them, or all of them, or enough: k people, among whom every model that is required per class holds
of the values of each release in which they were.

1. Those who left are let go once they are enough by themselves; until then they are rows of the table like any other.
2. Who is withheld from a release is not there either. Where some of a history are not there, and are not enough, nobody
   of this history is there. That is always safe, since all of them together were enough when they were last shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonymize.classes import Bools, Integers, Ints
from anonymize.privacy import Requirement
from anonymize.series.guarantee import Earlier, releases_of_people
from anonymize.series.histories import NEVER
from anonymize.series.people import Tonight
from anonymize.series.state import SeriesState
from anonymize.table import Table

DEFERRED = "deferred"


@dataclass(frozen=True)
class Departures:
    """What groups of people who are not shown any more have to meet. `earlier`: the releases so far, for the people of
    the state."""

    state: SeriesState
    k: int
    earlier: Sequence[Earlier]

    @classmethod
    def of(cls, state: SeriesState, table: Table, requirements: Sequence[Requirement], k: int) -> Departures:
        """Those after the releases of a state. `requirements`: of groups."""
        return cls(state, k, releases_of_people(state, table, requirements))

    def enough(self, labels: Integers, count: int, people: Ints) -> Bools:
        """(count,) whether each group may be gone, given that (n,) of each of some people, by position."""
        passed: Bools = np.bincount(labels, minlength=count) >= self.k
        for each in self.earlier:
            passed &= each.meets(labels, count, people)
        return passed

    def leaving(self, tonight: Tonight) -> Bools:
        """(rows,) who of those that left is let go."""
        rows = np.flatnonzero(tonight.gone)
        histories, labels = np.unique(tonight.history[rows], return_inverse=True)
        leaving = np.zeros(len(tonight.gone), np.bool_)
        leaving[rows] = self.enough(labels, len(histories), tonight.position[rows])[labels]
        return leaving

    def exposed(self, tonight: Tonight, released: Bools) -> Bools:
        """(rows,) who of those that are `released` (rows,) has a history of which some are not, and too few."""
        history, positions = self.state.history_of, tonight.position[released & ~tonight.newcomers]
        stays = np.zeros(len(history), np.bool_)
        stays[positions] = True
        in_part = np.zeros(len(self.state.histories), np.bool_)
        in_part[history[positions]] = True
        in_part[NEVER] = False
        rest = np.flatnonzero(~stays & in_part[history])
        histories, labels = np.unique(history[rest], return_inverse=True)
        too_few = np.zeros(len(in_part), np.bool_)
        too_few[histories] = ~self.enough(labels, len(histories), rest)
        exposed: Bools = released & too_few[tonight.history]
        return exposed
