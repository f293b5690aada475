"""The classes of tonight: those of the release before, refined where every history allows it, and new ones.

People of one history stay together: a class never has people of two, unless two classes happen to read the same. That
costs nothing: whoever joins people of two histories has to have enough of each, and two classes lose less than one.
What the guarantee allows is then

1. the people of a history, all that are there tonight, if they meet it; else they are *withheld*;
2. parts of them, where every part meets it with the reserve: Mondrian cuts the classes of the release before further;
3. newcomers among themselves, in classes that the algorithm finds for them alone; those that it gives up, and all of
   them where it finds none, are *held back*.

Where departures are deferred, those who left and are not let go yet are people like the others here.

A class is shown by what its people are tonight. Whose quasi-identifiers have changed stays with the others: the region
covers all of them, and the level is as high as it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonymize import recoding
from anonymize.algorithms.base import Found
from anonymize.classes import Bools, Ints, Partition, mixed_radix
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.privacy import Requirement
from anonymize.recoding import Levels, Recoding, Regions, Released
from anonymize.request import Request
from anonymize.series.departures import DEFERRED, Departures
from anonymize.series.guarantee import Guarantee, earlier_releases, per_class
from anonymize.series.people import Tonight
from anonymize.series.recodings import (
    NOBODY,
    Edges,
    SeriesRegions,
    edges_of,
    joined,
    levelled,
    without_rows,
)
from anonymize.series.refine import finer, further_cut, lasting
from anonymize.series.state import SeriesState
from anonymize.table import Table
from anonymize.table.subset import subset

Run = Callable[[Request, Table, tuple[Requirement, ...]], Found]
"""The algorithm of a request, run on a table."""


@dataclass(frozen=True)
class SeriesClasses:
    """What the search found. `recoding`: the classes. `levels`: those of the newcomers' classes, None for regions.
    `edges`: see `recodings`. `held_back`, `withheld`: how many people."""

    recoding: Recoding
    levels: tuple[int, ...] | None
    edges: Edges
    held_back: int
    withheld: int


@dataclass(frozen=True)
class NightSearch:
    """What the search of one night knows. `state` None: of the first one. `k`: what the spec asks for. `waiting`:
    newcomers are held back tonight, whoever they are."""

    request: Request
    table: Table
    requirements: tuple[Requirement, ...]
    state: SeriesState | None
    tonight: Tonight
    k: int
    reserve: int
    waiting: bool = False

    def classes(self, run: Run) -> SeriesClasses:
        """Raises InfeasibleError where nobody can be released, and what the algorithm raises at the first release."""
        old, new = self._known(), self._new(run)
        partition = joined([old, *([] if new is None else [new.partition])])
        levels = new.vector if isinstance(new, Levels) else None
        return self._settled(partition, new, levels)

    # --- the two kinds of people ---

    def _known(self) -> Partition:
        """The classes of people who were released before."""
        stays = ~self.tonight.newcomers
        if self.departures is not None:
            stays &= ~self.departures.leaving(self.tonight)
        rows = np.flatnonzero(stays).astype(np.uint32)
        if not len(rows):
            return Partition(NOBODY, np.zeros(1, np.int64))
        histories, labels = np.unique(self.tonight.history[rows], return_inverse=True)
        safe = self._safe(labels, len(histories), rows)
        partition, _ = Partition.of_kept(labels.astype(np.int64), safe)
        partition = partition.renumbered(rows)
        cut, minimum = further_cut(self.request), self.k + self.reserve
        return partition if cut is None else finer(self.table, self.guarantee, partition, cut, minimum)

    def _safe(self, labels: Ints, count: int, rows: NDArray[np.uint32]) -> Bools:
        """(count,) which groups are safe; who is not there any more is not in what others are compared with."""
        safe = np.ones(count, np.bool_)
        while True:
            inside = safe[labels]
            passed = self.guarantee.meets(labels[inside], count, rows[inside], rows[inside]) & safe
            if (passed == safe).all():
                return safe
            safe = passed

    def _new(self, run: Run) -> Recoding | None:
        """The classes of people who come tonight; None where nobody does, or too few."""
        rows = np.flatnonzero(self.tonight.newcomers).astype(np.uint32)
        if self.state is not None and (self.waiting or len(rows) < self.k + self.reserve):
            return None
        try:
            table = self.table if len(rows) == self.table.rows else subset(self.table, rows)
            result = run(lasting(self.request, len(rows)), table, self.with_reserve)
        except InfeasibleError:
            if self.state is None:
                raise
            return None
        if not isinstance(result, (Regions, Levels)) or (isinstance(result, Levels) and result.vector is None):
            raise UsageError("a series: these options show equal values at different levels, which cannot be continued")
        return replace(result, partition=result.partition.renumbered(rows))

    @cached_property
    def with_reserve(self) -> tuple[Requirement, ...]:
        """What the algorithm has to meet."""
        required = self.requirements if self.state is None else self.guarantee.requirements
        size, *others = per_class(required, self.k + self.reserve)
        of_table = [each for each in required if each not in self.guarantee.requirements and each.model != size.model]
        return (size, *others, *of_table)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What groups have to meet."""
        required = per_class(self.requirements, self.k)
        return Guarantee(self.table, required, earlier_releases(self.state, self.tonight, self.table, required))

    @cached_property
    def departures(self) -> Departures | None:
        """What those who are not shown any more have to meet; None where nothing is promised of them."""
        if self.state is None or self.state.departures != DEFERRED:
            return None
        return Departures.of(self.state, self.table, self.guarantee.requirements, self.k)

    # --- all together ---

    @property
    def _way_out(self) -> str:
        """What helps where nobody can be released; within a series k stays."""
        if self.state is None:
            return "add people, or lower k"
        return "newcomers wait by series.wait; of all others too few came" if self.waiting else "too few came"

    def _settled(self, partition: Partition, new: Recoding | None, levels: tuple[int, ...] | None) -> SeriesClasses:
        """The classes without groups that are not safe, or read as suppressed, once everything is seen together."""
        while True:
            if not partition.count:
                raise InfeasibleError(Problem("nobody can be released tonight", hint=self._way_out))
            edges = (
                edges_of(self.table, partition.order, self.request.spec.output)
                if self.state is None
                else self.state.edges
            )
            classes = self._recoding_of(partition, new, levels, edges)
            released = recoding.render(classes, self.table, self.request.spec.output, drop=False)
            unsafe = self._unsafe(released)
            if not unsafe.any():
                return self._counted(classes, levels, edges, released)
            partition = without_rows(partition, unsafe)

    def _recoding_of(
        self, partition: Partition, new: Recoding | None, levels: tuple[int, ...] | None, edges: Edges
    ) -> Recoding:
        of_row = self._levels(levels)
        if of_row is not None:
            return levelled(self.table, partition, of_row)
        if not isinstance(new, Regions):
            return SeriesRegions(partition, NOBODY, edges=edges)
        return SeriesRegions(partition, NOBODY, new.cut, refinement=new.refinement, edges=edges, stopped=new.stopped)

    def _levels(self, levels: tuple[int, ...] | None) -> NDArray[np.int16] | None:
        """(rows, attributes) the levels that people were first shown at, newcomers at `levels`; None for regions."""
        if self.state is None or self.state.releases[0].levels is None:
            return None if levels is None else np.tile(np.array(levels, np.int16), (self.table.rows, 1))
        tops = tuple(attribute.hierarchy.height for attribute in self.table.attributes)
        earlier_levels = [tops if release.levels is None else release.levels for release in self.state.releases]
        of_release = np.array([*earlier_levels, tops if levels is None else levels], np.int16)
        released = np.append(self.state.histories >= 0, np.ones((len(self.state.histories), 1), np.bool_), axis=1)
        first: Ints = released.argmax(axis=1)
        levels_of: NDArray[np.int16] = of_release[first[self.tonight.history]]
        return levels_of

    def _unsafe(self, released: Released) -> Bools:
        """(rows,) whose group is not safe, or whose class reads as suppressed rows do."""
        suppressed = len(released.sizes)
        hidden: Bools = released.class_of == suppressed
        rows = np.flatnonzero((released.class_of >= 0) & ~hidden)
        keys = [released.class_of[rows].astype(np.int64), self.tonight.history[rows]]
        joined_keys, _ = mixed_radix(keys, [int(key.max(initial=0)) + 1 for key in keys])
        groups, labels = np.unique(joined_keys, return_inverse=True)
        passed = self.guarantee.meets(labels, len(groups), rows, rows)
        hidden[rows[~passed[labels]]] = True
        if self.departures is not None:
            hidden |= self.departures.exposed(self.tonight, (released.class_of >= 0) & ~hidden)
        return hidden

    def _counted(
        self, classes: Recoding, levels: tuple[int, ...] | None, edges: Edges, released: Released
    ) -> SeriesClasses:
        absent = released.class_of < 0
        held_back = int((absent & self.tonight.newcomers).sum())
        return SeriesClasses(classes, levels, edges, held_back, int(absent.sum()) - held_back)
