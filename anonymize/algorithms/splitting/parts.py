"""Growing part by part: upper cuts from counts over chunks of the rows, then each part by itself.

Upper cuts go down to parts that are small enough to be grown by themselves. A part is a class as the whole search makes
it. So whoever grows each part as if it had never been parted has the classes of the whole search, row for row: a class
is cut by its own rows alone.

What it costs over the whole search is a pass over the codes for each level of the upper cuts. What it saves is memory:
only the parts that are being grown have copies of their codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.splitting import Batch, Statistic, counted_statistic
from anonymize.algorithms.splitting.grow import AGAIN, FINISHED, Cuts, Finished, SplitRule, assembled, grown
from anonymize.classes import Bools, Codes, Ints, Partition, Runs, run_starts
from anonymize.parallel import occurrences, pool_of, scattered
from anonymize.records import dataclass

# --- histograms -------------------------------------------------------------------------------------------------------
# Classes of which only counts are known: for each attribute by itself, how many rows have each code.
#
# Rules that look at one attribute at a time (`CutRule.BY_COUNTS`) cut such classes as they cut rows. So the upper cuts
# of a table can be found where its rows are not: in files, chunk by chunk, or on an engine that aggregates.


@dataclass(frozen=True)
class Histograms:
    """C classes by their counts; what rules ask of a `Batch`, as far as counts say it.

    `runs`: of each attribute, the codes that occur in each class. `sizes`, `closed`, `attempts`: as in `Batch`.
    """

    runs: tuple[Runs, ...]
    sizes: Ints
    closed: Bools
    attempts: NDArray[np.uint8]

    @property
    def count(self) -> int:
        """Number of classes, C."""
        return len(self.sizes)

    @cached_property
    def low(self) -> NDArray[np.uint32]:
        """(C, attributes) lowest code of each class."""
        return np.stack([runs.codes[run_starts(runs.classes)] for runs in self.runs], axis=1).astype(np.uint32)

    @cached_property
    def high(self) -> NDArray[np.uint32]:
        """(C, attributes) highest code of each class."""
        last = [np.append(run_starts(runs.classes)[1:], len(runs.classes)) - 1 for runs in self.runs]
        columns = [runs.codes[places] for runs, places in zip(self.runs, last, strict=True)]
        return np.stack(columns, axis=1).astype(np.uint32)

    def runs_of(self, attribute: int, classes: Ints, size: int) -> Runs:
        """The codes of an attribute that occur in some classes (m,), ascending, with their rows."""
        runs = self.runs[attribute]
        if len(classes) == self.count:
            return runs
        place = np.full(self.count, -1)
        place[classes] = np.arange(len(classes))
        kept = place[runs.classes] >= 0
        return Runs(place[runs.classes[kept]], runs.codes[kept], runs.counts[kept])

    def ranked(self, attribute: int, classes: Ints, size: int, rank: Ints) -> Statistic:
        """The code at a rank (m,) of each of some classes; see `order_statistic`."""
        return counted_statistic(self.runs_of(attribute, classes, size), self.sizes[classes], rank)


@dataclass(frozen=True)
class UpperStep:
    """One cut of some classes (m,), by their numbers in the order in which they were made; the whole table is 0.

    Rows of `whole` with `start` <= code < `stop` on `attribute` become the class `first`, its others `second`.
    """

    whole: Ints
    attribute: Ints
    start: Ints
    stop: Ints
    first: Ints
    second: Ints


class CountSource(Protocol):
    """Rows that can be counted, wherever they are. Every row is in class 0 at first."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    def apply(self, step: UpperStep) -> None:
        """Parts classes; called for the steps in their order."""

    def counts(self, classes: Ints) -> tuple[Runs, ...]:
        """For each attribute, how many rows of some classes (m,), ascending, have each code."""


# --- parts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UpperClasses:
    """Classes (C,) by their numbers, with what is known of each: see `Batch`."""

    numbers: Ints
    sizes: Ints
    closed: Bools
    attempts: NDArray[np.uint8]

    def taken(self, classes: Bools | Ints) -> UpperClasses:
        """Some of them."""
        sizes, closed = self.sizes[classes], self.closed[classes]
        return UpperClasses(self.numbers[classes], sizes, closed, self.attempts[classes])

    def joined(self, other: UpperClasses) -> UpperClasses:
        """These, then the others."""
        return UpperClasses(
            np.concatenate((self.numbers, other.numbers)),
            np.concatenate((self.sizes, other.sizes)),
            np.concatenate((self.closed, other.closed)),
            np.concatenate((self.attempts, other.attempts)),
        )


Refused: TypeAlias = Callable[[UpperStep], Bools]
"""Cuts that are tried -> (m,) whether a privacy model does not hold on a side of each."""


def upper_parts(
    source: CountSource, rule: SplitRule, attributes: int, limit: int, refused: Refused | None = None
) -> UpperClasses:
    """Cuts the source's rows until every class has at most `limit` rows, or is cut no further; one pass over the counts
    for each level. The source has applied all cuts. `rule` is one that cuts by counts; `refused` None: nothing is
    required but its minimum size."""
    open_shape = (1, attributes)
    open_classes = UpperClasses(
        np.zeros(1, np.int64), np.array([source.rows]), np.zeros(open_shape, np.bool_), np.zeros(open_shape, np.uint8)
    )
    parts, class_count = open_classes.taken(np.zeros(0, np.int64)), 1
    while True:
        small = open_classes.sizes <= limit
        parts, open_classes = parts.joined(open_classes.taken(small)), open_classes.taken(~small)
        if not len(open_classes.numbers):
            return parts
        histograms = Histograms(
            source.counts(open_classes.numbers), open_classes.sizes, open_classes.closed, open_classes.attempts
        )
        cuts = rule.choose(cast(Batch, histograms))  # which asks no more than counts: see `CutRule.BY_COUNTS`
        if refused is not None:
            _withdraw(open_classes, histograms, cuts, class_count, refused)
        step, open_classes, finished = _step(open_classes, histograms, cuts, class_count)
        parts, class_count = parts.joined(finished), class_count + 2 * len(step.whole)
        if len(step.whole):
            source.apply(step)


def _withdraw(classes: UpperClasses, histograms: Histograms, cuts: Cuts, class_count: int, refused: Refused) -> None:
    """Takes back the cuts that are refused, in place, and counts them as attempts, as `grow` does."""
    tried, places, _ = _tried(classes, histograms, cuts, class_count)
    if not len(places):
        return
    back = places[refused(tried)]
    histograms.attempts[back, cuts.attribute[back]] += 1
    cuts.attribute[back] = AGAIN


def _tried(classes: UpperClasses, histograms: Histograms, cuts: Cuts, class_count: int) -> tuple[UpperStep, Ints, Ints]:
    """The cuts that part a class, which classes (m,) these are, and (C,) rows of the first side of each class."""
    first_sizes = _first_sizes(histograms, cuts)
    places = np.flatnonzero((cuts.attribute >= 0) & (first_sizes > 0) & (first_sizes < classes.sizes))
    first = class_count + 2 * np.arange(len(places))
    step = UpperStep(
        classes.numbers[places], cuts.attribute[places], cuts.start[places], cuts.stop[places], first, first + 1
    )
    return step, places, first_sizes


def _step(
    classes: UpperClasses, histograms: Histograms, cuts: Cuts, class_count: int
) -> tuple[UpperStep, UpperClasses, UpperClasses]:
    """What a choice does to the classes: the cuts, the classes that go on, those that are finished.
    `class_count`: how many classes there have been."""
    step, places, first_sizes = _tried(classes, histograms, cuts, class_count)
    parted = np.isin(np.arange(len(classes.numbers)), places)
    fresh = np.zeros((len(places), classes.closed.shape[1]), np.uint8)
    sides = [
        UpperClasses(numbers, sizes, classes.closed[places], fresh)
        for numbers, sizes in (
            (step.first, first_sizes[places]),
            (step.second, classes.sizes[places] - first_sizes[places]),
        )
    ]
    again = classes.taken(~parted & (cuts.attribute != FINISHED))
    return step, again.joined(sides[0]).joined(sides[1]), classes.taken(cuts.attribute == FINISHED)


def _first_sizes(histograms: Histograms, cuts: Cuts) -> Ints:
    """(C,) rows on the first side of each class; 0 where it is not cut."""
    sizes = np.zeros(histograms.count, np.int64)
    for attribute, runs in enumerate(histograms.runs):
        code, owner = runs.codes, runs.classes
        inside = (cuts.attribute[owner] == attribute) & (code >= cuts.start[owner]) & (code < cuts.stop[owner])
        np.add.at(sizes, owner[inside], runs.counts[inside])
    return sizes


# --- part by part -----------------------------------------------------------------------------------------------------

PART_ROWS = 1 << 20
"""Rows of a part at most, unless they are one class. Fixed: parts do not depend on memory."""
CHUNK = 1 << 20
COUNTS_AT_ONCE = 1 << 24
"""Counts of four bytes that are in memory at once."""


@dataclass
class CodedRows:
    """Rows whose codes are arrays or files of this process. `columns`: (n,) of each attribute; `sizes`: what its codes
    are below. `chunk` rows are looked at at once, and `cells` counts kept, for as many classes as that allows. `labels`
    (n,): the number of the class of each row."""

    columns: tuple[Codes, ...]
    sizes: Sequence[int]
    chunk: int = CHUNK
    cells: int = COUNTS_AT_ONCE
    labels: NDArray[np.uint32] = field(init=False)

    def __post_init__(self) -> None:
        self.labels = np.zeros(self.rows, np.uint32)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0])

    def apply(self, step: UpperStep) -> None:
        """Moves each row of a class that is cut to its side."""
        place = np.full(max(int(step.second.max(initial=0)) + 1, 1), -1)
        place[step.whole] = np.arange(len(step.whole))
        for chunk in self._chunks():
            labels = self.labels[chunk]
            owner = place[np.minimum(labels, len(place) - 1)]
            for attribute in np.unique(step.attribute).tolist():
                rows = np.flatnonzero((owner >= 0) & (step.attribute[owner] == attribute))
                cut, codes = owner[rows], self.columns[attribute][chunk][rows]
                inside = (codes >= step.start[cut]) & (codes < step.stop[cut])
                labels[rows] = np.where(inside, step.first[cut], step.second[cut])

    def counts(self, classes: Ints, attributes: Sequence[int] | None = None) -> tuple[Runs, ...]:
        """How many rows of some classes have each code, of some attributes or of all. So many classes are counted in
        one pass that their counts fit into `cells`."""
        counted = range(len(self.sizes)) if attributes is None else attributes
        together = max(self.cells // sum(self.sizes[each] for each in counted), 1)
        pieces = [
            self._runs(classes[first : first + together], counted, first) for first in range(0, len(classes), together)
        ]
        return tuple(Runs.joined(own) for own in zip(*pieces, strict=True))

    def _runs(self, classes: Ints, attributes: Sequence[int], first: int) -> list[Runs]:
        """The counts of neighbouring classes, whose places begin at `first`, by attribute."""
        runs = []
        for table, attribute in zip(self._counted(classes, attributes), attributes, strict=True):
            occupied, size = np.flatnonzero(table), self.sizes[attribute]
            owner = occupied // size
            runs.append(Runs(owner + first, occupied - owner * size, table[occupied].astype(np.int64)))
        return runs

    def _counted(self, classes: Ints, attributes: Sequence[int]) -> Iterator[NDArray[np.uint32]]:
        """For each attribute, (classes * size,) rows of each class and code. Counts are added where they are: a table
        of its own for each chunk would be larger than the chunk."""
        sizes = [self.sizes[attribute] for attribute in attributes]
        tables = [np.zeros(len(classes) * size, np.uint32) for size in sizes]
        place = np.full(int(classes.max()) + 2, -1)
        place[classes] = np.arange(len(classes))
        for chunk in self._chunks():
            owner = place[np.minimum(self.labels[chunk], len(place) - 1)]
            inside = np.flatnonzero(owner >= 0)
            owner = owner[inside]
            for table, attribute, size in zip(tables, attributes, sizes, strict=True):
                np.add.at(table, owner * size + self.columns[attribute][chunk][inside], np.uint32(1))
        while tables:
            yield tables.pop(0)

    def scattered(self, parts: Ints) -> tuple[NDArray[np.uint32], Ints]:
        """The rows part by part, ascending within each, and (parts + 1,) where each begins; `parts`: their numbers."""
        place = np.zeros(int(parts.max(initial=0)) + 1, np.int64)
        place[parts] = np.arange(len(parts))
        sizes = occurrences((self.labels[chunk] for chunk in self._chunks()), len(place))
        return scattered((place[self.labels[chunk]] for chunk in self._chunks()), sizes[parts])

    def _chunks(self) -> Iterator[slice]:
        for start in range(0, self.rows, self.chunk):
            yield slice(start, min(start + self.chunk, self.rows))


def grow_by_parts(
    whole: Batch,
    sizes: Sequence[int],
    rule: SplitRule,
    threads: int,
    progress: Callable[[int], None],
    limit: int = PART_ROWS,
) -> Partition:
    """The partition that `grow` makes of the rows of `whole`, under a rule that cuts by counts and nothing that refuses
    a cut. `sizes`: what the codes of each attribute are below. Parts have at most `limit` rows, or are one class."""
    source = CodedRows(whole.columns, sizes)
    parts = upper_parts(source, rule, len(sizes), limit)
    order, starts = source.scattered(parts.numbers)
    del source
    grown_parts = _Parts(whole, parts, order, starts, rule)
    blocks: list[Finished] = []
    with pool_of(threads) as pool:
        for finished in pool.map(grown_parts.grow, range(len(parts.numbers))):
            blocks += finished
            progress(sum(len(rows) for rows, _ in finished))
    return assembled(blocks)


@dataclass(frozen=True)
class _Parts:
    """Parts that are grown: `order` (n,) the rows of all, `starts` (parts + 1,) where each begins."""

    whole: Batch
    parts: UpperClasses
    order: NDArray[np.uint32]
    starts: Ints
    rule: SplitRule

    def grow(self, part: int) -> list[Finished]:
        """The finished classes of a part."""
        rows = self.order[self.starts[part] : self.starts[part + 1]]
        one = slice(part, part + 1)
        batch = Batch(
            self.whole.rows[rows],
            tuple(codes[rows] for codes in self.whole.columns),
            (),
            self.parts.sizes[one],
            self.parts.closed[one],
            self.parts.attempts[one],
        )
        return grown(batch, self.rule)
