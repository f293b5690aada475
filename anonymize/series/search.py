"""The classes of the next release: those of the one before, refined where every history allows it, and new ones.

People of one history stay together: a class never has people of two, unless two classes happen to read the same. That
costs nothing: a class with people of two histories needs enough of each, and two classes lose less than one. The
guarantee then allows

1. the people of a history who are in the input, if it holds of any so many of them; else they are *withheld*;
2. parts of them, where it holds of any so many as each part has: Mondrian cuts the classes of the last release further;
3. newcomers among themselves, in classes that the algorithm finds for them by their number alone; classes that fail a
   model, those that it gives up, and all of them where it finds none, are *held back*.

Where departures are deferred, those who left and are still shown are people like the others here. So who is shown, who
is withheld and with whom follows from numbers and from what was published, not from who has which value.

A class is shown by what its people are now. People whose quasi-identifiers have changed stay with the others: the
region covers all of them, and the level is as high as necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize import recoding
from anonymize.algorithms import cuts, mondrian, splitting
from anonymize.algorithms.splitting.grow import grow
from anonymize.classes import Bools, Codes, Ints, Partition, concatenated_ranges, mixed_radix
from anonymize.domain.numeric import Numeric
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.judging import Judge
from anonymize.privacy import Requirement
from anonymize.recoding import Levels, Recoding, Regions, Released, SearchResult, appearance, base
from anonymize.recoding.spans import Tails, Window
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.series.guarantee import PublishedValues, about_table, check_values_stay, judged_columns, per_class
from anonymize.series.people import CurrentPeople
from anonymize.series.record import DEFERRED, shown_again, torn
from anonymize.series.state import SeriesState
from anonymize.spec import Output
from anonymize.table import Attribute, Table, model

# --- how classes are shown --------------------------------------------------------------------------------------------
# Classes of a series are shown as those of an algorithm are: as regions around people, or levels of hierarchies. Rows
# that are in no class are held back or withheld; nobody is shown as suppressed. Which ends of intervals may be shown is
# fixed by the first release, so that a departure does not move them.

Edges = Mapping[str, tuple[float, float] | None]
"""By numeric attribute, the lowest and the highest number that may be the end of an interval; None where none may."""
NOBODY = np.empty(0, np.uint32)


@dataclass(frozen=True)
class FixedTails(Tails):
    """Tails whose window is never wider than what `fixed` says."""

    fixed: Window = field(kw_only=True)

    def window(self, codes: Codes, rows: NDArray[np.uint32], count: int) -> Window:
        narrow = super().window(codes, rows, count)
        return Window(max(narrow.low, self.fixed.low), min(narrow.high, self.fixed.high))


@dataclass(frozen=True)
class SeriesRegions(Regions):
    """Regions of a release in a series. `edges`: those of the first one."""

    edges: Edges = field(default_factory=dict)

    def whole(self) -> None:
        """There is no other release of these people."""
        return None

    def appearances(self, table: Table, output: Output) -> list[appearance.Appearance]:
        tails = Tails.of(table)
        return [
            base.region_appearance(each, self.partition, output, _fixed(tails, each, self.edges))
            for each in table.attributes
        ]


def _fixed(tails: Tails, attribute: Attribute, edges: Edges) -> Tails:
    """The tails of an attribute within its edges, where it has any."""
    domain = attribute.domain
    if attribute.name not in edges or not isinstance(domain, Numeric):
        return tails
    ends, window = edges[attribute.name], Window(len(domain.values), -1)
    if ends is not None:
        first, stop = np.searchsorted(domain.values, ends[0]), np.searchsorted(domain.values, ends[1], side="right")
        window = Window(int(first), int(stop) - 1)
    return FixedTails(tails.units, tails.least, tails.counts, fixed=window)


def edges_of(table: Table, rows: NDArray[np.uint32], output: Output) -> dict[str, tuple[float, float] | None]:
    """What the first release fixes; nothing where ends are tight, as those of declared levels are."""
    if output.edges == "tight":
        return {}
    tails = Tails.of(table)
    edges: dict[str, tuple[float, float] | None] = {}
    for attribute in table.attributes:
        domain = attribute.domain
        if isinstance(domain, Numeric) and domain.bands is None:
            window = tails.window(attribute.codes, rows, len(domain.values))
            low, high = (None, None) if window.empty else (domain.values[window.low], domain.values[window.high])
            edges[attribute.name] = None if low is None or high is None else (float(low), float(high))
    return edges


def levels_around(table: Table, partition: Partition, wished: NDArray[np.int16]) -> NDArray[np.int16]:
    """(classes, attributes) the levels of classes: at least the `wished` ones, and high enough for all people of a
    class to share a node. People who share a node share those above it, so that the lowest such level is enough."""
    levels = wished.copy()
    for index, attribute in enumerate(table.attributes):
        leaves = attribute.generalization.leaf_of(attribute.codes[partition.order])
        unsettled = np.ones(partition.count, np.bool_)
        for level, nodes in enumerate(attribute.hierarchy.levels):
            node_of = nodes[leaves]
            low, high = (each.reduceat(node_of, partition.starts[:-1]) for each in (np.minimum, np.maximum))
            settled = unsettled & (low == high)
            levels[settled, index] = np.maximum(levels[settled, index], level)
            unsettled &= ~settled
            if not unsettled.any():
                break
    return levels


def without_rows(partition: Partition, dropped: NDArray[np.bool_]) -> Partition:
    """The classes without some rows (rows of the table,)."""
    staying = ~dropped[partition.order]
    labels = partition.labels[staying]
    sizes = np.bincount(labels, minlength=partition.count)
    return Partition.of_blocks([partition.order[staying]], [sizes[sizes > 0]])


# --- classes that are cut further -------------------------------------------------------------------------------------
# Mondrian cuts a class of the release before, which is of one history, where every part meets the guarantee and has the
# reserve in addition to k: a class that has become small is left as it is.

ROWS_REFINED = 125_000
"""Rows that are looked at when new classes are refined, over all passes."""
PASSES = 20
"""Passes, where the request leaves them to the search."""


Rule: TypeAlias = Callable[..., cuts.CutRule]
"""Makes a rule by which classes are cut, of what all rules are made with."""


def further_cut(request: Request) -> Rule | None:
    """What makes the rule by which classes of the release before are cut; None where they are taken as they were.
    In place of one that looks at more than the quasi-identifiers it is the first of those that do not."""
    if request.algorithm != mondrian.ID or request.options.mask_minimality:
        return None
    cut = request.options.cut if request.options.cut in mondrian.CANDIDATES else mondrian.CANDIDATES[0]
    return partial(cuts.RULES[cut], **mondrian.ties_of(cut, request.options.ties))


def lasting(request: Request, people: int) -> Request:
    """The request as it is run on people who come. Their classes last for as long as the series, so that Mondrian's are
    refined, in as many passes as `ROWS_REFINED` allows: classes of a series lie among each other in any case."""
    options = request.options
    if request.algorithm != mondrian.ID or options.mask_minimality or options.refine:
        return request
    passes = min(options.passes or PASSES, ROWS_REFINED // people)
    return request if not passes else replace(request, options=replace(options, refine=True, passes=passes))


def finer(
    table: Table, published: PublishedValues, history: Ints, partition: Partition, cut: Rule, minimum: int
) -> Partition:
    """The classes into which a rule, made by `cut`, cuts the larger ones, and the smaller ones. `history` (rows,): of
    each row. A part is allowed where the models hold of any so many people of its history, whoever has which value."""
    large = partition.sizes >= 2 * minimum
    if not large.any():
        return partition
    rule = cut(
        domains=[attribute.domain for attribute in table.attributes],
        weights=[attribute.weight for attribute in table.attributes],
        minimum=minimum,
        relaxed=False,
    )

    def allowed(batch: splitting.Batch, part: Ints, parts: int) -> Bools:
        of_part = np.zeros(parts, np.int64)
        of_part[part] = history[batch.rows]
        return published.hold(of_part, np.bincount(part, minlength=parts))

    parts = grow(_batch(table, partition, np.flatnonzero(large)), rule, allowed, 1, lambda rows: None)
    rest = np.repeat(~large, partition.sizes)
    return Partition.of_blocks([parts.order, partition.order[rest]], [parts.sizes, partition.sizes[~large]])


def _batch(table: Table, partition: Partition, classes: Ints) -> splitting.Batch:
    """Some classes of a partition, none of them cut yet."""
    sizes = partition.sizes[classes]
    rows = partition.order[concatenated_ranges(partition.starts[:-1][classes], sizes)]
    shape = (len(classes), len(table.attributes))
    columns = tuple(attribute.codes[rows] for attribute in table.attributes)
    return splitting.Batch(rows, columns, (), sizes, np.zeros(shape, np.bool_), np.zeros(shape, np.uint8))


Run = Callable[[Request, Table, tuple[Requirement, ...]], SearchResult]
"""The algorithm of a request, run on a table."""


@dataclass(frozen=True)
class SeriesClasses:
    """The classes, as a `recoding`; the `levels` of newcomers, None for regions; `edges`: what intervals may show."""

    recoding: Recoding
    levels: tuple[int, ...] | None
    edges: Edges


@dataclass(frozen=True)
class SeriesSearch:
    """What the search for one release knows. `state` None: of the first one. `k`: what the spec asks for. `waiting`:
    newcomers are held back this time, whoever they are."""

    request: Request
    table: Table
    requirements: tuple[Requirement, ...]
    state: SeriesState | None
    current: CurrentPeople
    k: int
    reserve: int
    waiting: bool = False

    def classes(self, run: Run) -> SeriesClasses:
        """The classes without groups that are not safe, or read as suppressed, once everything is seen together.

        Raises InfeasibleError where nobody can be released, and what the algorithm raises at the first release.
        """
        old, new = self._known(), self._new(run)
        both = [old] if new is None else [old, new.partition]
        partition = Partition.of_blocks([each.order for each in both], [each.sizes for each in both])
        levels = None if new is None else new.vector
        output, of_row = self.request.spec.output, self._levels(levels)
        while partition.count:
            edges = edges_of(self.table, partition.order, output) if self.state is None else self.state.edges
            classes = self._recoding_of(partition, new, of_row, edges)
            unsafe = self._unsafe(recoding.render(classes, self.table, output, drop=False))
            if not unsafe.any():
                return SeriesClasses(classes, levels, edges)
            partition = without_rows(partition, unsafe)
        raise InfeasibleError(Problem("nobody can be released this time", hint=self._way_out))

    # --- the two kinds of people ---

    def _known(self) -> Partition:
        """The classes of people who were released before: those of one history, cut further where that is allowed."""
        rows = np.flatnonzero(self.shown_again).astype(np.uint32)
        if self.published is None or not len(rows):
            return Partition(NOBODY, np.zeros(1, np.int64))
        labels = np.unique(self.current.history[rows], return_inverse=True)[1]
        partition, cut = Partition.of_labels(labels).renumbered(rows), further_cut(self.request)
        if cut is None:
            return partition
        return finer(self.table, self.published, self.current.history, partition, cut, self.k + self.reserve)

    def _new(self, run: Run) -> Recoding | None:
        """The classes of people who come; None where nobody does, or too few."""
        rows = np.flatnonzero(self.current.newcomers).astype(np.uint32)
        if self.state is not None and (self.waiting or len(rows) < self.k + self.reserve):
            return None
        try:
            table = self.table if len(rows) == self.table.rows else model.subset(self.table, rows)
            result = run(lasting(self.request, len(rows)), table, self.with_reserve)
        except InfeasibleError:
            if self.state is None:
                raise
            return None
        if not isinstance(result, Regions | Levels) or not result.followed:
            raise UsageError("a series: these options show equal values at different levels, which cannot be continued")
        return replace(result, partition=result.partition.renumbered(rows))

    @cached_property
    def with_reserve(self) -> tuple[Requirement, ...]:
        """What the algorithm has to meet. Classes of newcomers are made by their number alone, and those that fail a
        model wait: else their borders would tell values, unless the algorithm itself keeps them from that."""
        size, *others = per_class(self.requirements, self.k + self.reserve)
        if self.state is not None:
            return (size, *others) if getattr(self.request.options, "mask_minimality", False) else (size,)
        return (size, *others, *(each for each in about_table(self.requirements) if each.model != size.model))

    @cached_property
    def of_groups(self) -> tuple[Requirement, ...]:
        """What the people of one history in one class have to meet."""
        return per_class(self.requirements, self.k)

    @cached_property
    def published(self) -> PublishedValues | None:
        """What was published so far; None at the first release. Raises DataError where values have changed since."""
        if self.state is None:
            return None
        check_values_stay(self.state, self.current, judged_columns(self.table, self.of_groups))
        return PublishedValues.of(self.state, self.table, self.of_groups)

    @cached_property
    def shown_again(self) -> Bools:
        """(rows,) who of those that were released before is to be shown."""
        none = np.zeros(len(self.current.history), np.bool_)
        return none if self.published is None else shown_again(self.published, self.current)

    # --- all together ---

    @property
    def _way_out(self) -> str:
        """What helps where nobody can be released; within a series k stays."""
        if self.state is None:
            return "add people, or lower k"
        return "newcomers wait by series.wait, and too few others are present" if self.waiting else "too few came"

    def _recoding_of(
        self, partition: Partition, new: Recoding | None, of_row: NDArray[np.int16] | None, edges: Edges
    ) -> Recoding:
        """The classes at the levels (rows, attributes) that their people have had so far; None for regions."""
        if of_row is not None:
            levels = levels_around(self.table, partition, of_row[partition.order[partition.starts[:-1]]])
            return Levels(partition, levels, NOBODY, {"levels": "by class"}, withheld=True)
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
        levels_of: NDArray[np.int16] = of_release[first[self.current.history]]
        return levels_of

    def _unsafe(self, released: Released) -> Bools:
        """(rows,) whose group is not safe, or whose class reads as suppressed rows do."""
        suppressed = len(released.sizes)
        hidden: Bools = released.class_of == suppressed
        rows = np.flatnonzero((released.class_of >= 0) & ~hidden)
        keys = [released.class_of[rows].astype(np.int64), self.current.history[rows]]
        joined_keys, _ = mixed_radix(keys, [int(key.max(initial=0)) + 1 for key in keys])
        groups, labels = np.unique(joined_keys, return_inverse=True)
        judge = Judge(self.table, self.of_groups, rows.astype(np.uint32))
        passed = judge.meets(labels, len(groups))
        hidden[rows[~passed[labels]]] = True
        if self.state is not None and self.state.departures == DEFERRED:
            hidden |= torn(self.current, self.shown_again, (released.class_of >= 0) & ~hidden)
        return hidden
