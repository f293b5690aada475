"""Nodes of the lattice, checked: is what a level vector makes of the table safe within the suppression limit?

A node stands for one release: its classes, without those that `Suppression` says are suppressed. It is safe when these
have no more rows than the limit, and rows are left. Safe nodes have only safe nodes above them (`monotone`) in two
cases. No row may be suppressed, and every model is monotone: each class above is made of classes that meet the models.
Or every model is such that a class which meets it does so with any further rows (`grows`): no row joins the failing
ones on the way up. Entropy, frequency and recursive l-diversity are monotone and not growing: a class that fails can
spoil the one that it is merged with, so with suppression nothing follows from a safe node. From an unsafe one something
does follow: where more rows than the limit fail the growing requirements alone (`ruled_out`), more do at every node
below. Where something is asked of the table as a whole, safety is not monotone with suppression either: the class of
all suppressed rows counts in the table's figures, and on the way up it may lose rows. What such a requirement takes at
least (`rows_over`) does not become more on the way up.

Where several rows may be about one unit, only the growing models are monotone: a class has all the units, and all that
they hold, of the classes that it is made of, and may have more of one value's holders and no more of another's. What is
suppressed is rows all the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from anonymize.algorithms.feasibility import no_generalization
from anonymize.algorithms.lattice import FrequencySet, Lattice, Vector
from anonymize.classes import Bools, Partition
from anonymize.errors import InfeasibleError, Problem
from anonymize.judging import Suppression, withheld
from anonymize.privacy import MODELS, Requirement, check
from anonymize.recoding import Levels
from anonymize.records import dataclass
from anonymize.table import Table


@dataclass(frozen=True)
class NodeCheck:
    """What a check found. `suppressed`: rows of classes that fail. `classes`, `squares`: how many classes are kept, and
    their sizes squared, summed. `failing_classes`, `failing_squares`: the same of those that fail. `ruled_out`: no node
    below is safe either."""

    vector: Vector
    safe: bool
    suppressed: int
    classes: int
    squares: int
    failing_classes: int
    failing_squares: int
    ruled_out: bool

    @property
    def all_classes(self) -> int:
        """Classes, kept or not."""
        return self.classes + self.failing_classes


class Checker:
    """Checks nodes, each once, and remembers what it found."""

    def __init__(
        self,
        table: Table,
        requirements: tuple[Requirement, ...],
        suppression_limit: int = 0,
        progress: Callable[[int], None] = lambda rows: None,
        published: bool = True,
        bottom: FrequencySet | None = None,
    ) -> None:
        """`published`: suppressed rows are, unless a population is asked about, which has everybody under them.
        `bottom`: see `over`."""
        self.table, self.distinct_of = table, np.empty(0, np.int64)
        if bottom is None:
            bottom, self.distinct_of = FrequencySet.with_classes(table, requirements)
        self.requirements, self.suppression_limit, self.one_by_one = requirements, suppression_limit, False
        self.lattice = Lattice.between([hierarchy.attribute for hierarchy in bottom.hierarchies])
        self.rows = int(bottom.counts.sum())
        self.store = Store(bottom)
        self.checks: dict[Vector, NodeCheck] = {}
        published = published and not withheld(table, requirements)
        self.suppression = Suppression(requirements, suppression_limit, published)
        self._growing = tuple(r for r in requirements if MODELS[r.model].growing(r.parameters))
        self._progress, self._reported = progress, 0

    @classmethod
    def over(
        cls,
        table: Table,
        bottom: FrequencySet,
        requirements: tuple[Requirement, ...],
        suppression_limit: int,
        *,
        one_by_one: bool = False,
    ) -> Checker:
        """A checker of the rows of a frequency set; it knows no rows of the table, so it makes no recoding.

        `one_by_one`: each class is judged by itself, as a part of a release of which others are to come.
        """
        checker = cls(table, requirements, suppression_limit, bottom=bottom)
        checker.one_by_one = one_by_one
        return checker

    @property
    def bottom(self) -> FrequencySet:
        """The distinct rows as they are."""
        return self.store.bottom

    @property
    def growing(self) -> bool:
        """Whether the failing rows of a node fail at every node below it."""
        return len(self._growing) == len(self.requirements) and not self._of_table

    @property
    def monotone(self) -> bool:
        """Whether all nodes above a safe one are safe."""
        if self.growing:
            return True
        merging = all(MODELS[each.model].merges(each.parameters) for each in self.requirements)
        return merging and self.table.units is None and self.suppression_limit == 0

    @property
    def _of_table(self) -> bool:
        """Whether something is judged of the table as a whole."""
        return not self.one_by_one and bool(self.suppression.of_table)

    @property
    def checked(self) -> int:
        """Nodes checked so far."""
        return len(self.checks)

    @property
    def total(self) -> int:
        """Nodes of the lattice."""
        return self.lattice.size

    @property
    def counters(self) -> dict[str, int]:
        """The report's figures."""
        skipped = self.total - self.checked
        return {"nodes_checked": self.checked, "nodes_skipped": skipped, "nodes_total": self.total}

    def check(self, vector: Vector) -> NodeCheck:
        """The node, checked."""
        node = self.checks.get(vector)
        if node is None:
            frequency_set = self.store.get(vector)
            node = self.checks[vector] = self._judged(vector, frequency_set, self._failing(frequency_set))
        return node

    def frequency_set(self, vector: Vector) -> FrequencySet:
        """The frequency set of a node."""
        return self.store.get(vector)

    def failing(self, vector: Vector) -> Bools:
        """(m,) which distinct rows of a node, each a class, fail."""
        return self._failing(self.store.get(vector))

    def failed(self, vector: Vector) -> Bools:
        """(m,) which distinct rows of the bottom are in classes that fail at a node."""
        frequency_set, group = self.bottom.rolled(vector)
        return self._failing(frequency_set)[group]

    def recoding(self, vector: Vector, more: dict[str, Any] | None = None) -> Levels:
        """The release of a node; the rows of classes that fail are suppressed. `more`: for the report."""
        frequency_set, group = self.bottom.rolled(vector)
        class_of, failing = group[self.distinct_of], self._failing(frequency_set)
        partition, suppressed = Partition.of_kept(class_of, ~failing)
        levels = np.tile(np.array(vector, np.int16), (partition.count, 1))
        return Levels(partition, levels, suppressed, {"levels": self.named(vector), **self.counters, **(more or {})})

    def named(self, vector: Vector) -> dict[str, int]:
        """The level of each quasi-identifier by its name."""
        return dict(zip((attribute.name for attribute in self.table.attributes), vector, strict=True))

    def settled(self, nodes: int) -> None:
        """Reports to the progress that this many of the nodes are settled, checked or not."""
        rows = self.rows * min(nodes, self.total) // self.total
        if rows > self._reported:
            self.tell(rows - self._reported)

    def tell(self, rows: int) -> None:
        """Reports to the progress that this many further rows are done, or as good as done."""
        self._progress(rows)
        self._reported += rows

    def infeasible(self) -> InfeasibleError:
        """Why no node is safe: which requirement binds, and what would be feasible."""
        roots = tuple(hierarchy.height for hierarchy in self.bottom.hierarchies)
        if self.lattice.top != roots:
            message = (
                f"no node within the spec's `levels` is safe with at most {self.suppression_limit} rows suppressed"
            )
            return InfeasibleError(Problem(message, hint="raise levels.max, or allow more with privacy.suppression"))
        return no_generalization(self.table, self.requirements, self.suppression_limit)

    def _failing(self, frequency_set: FrequencySet) -> Bools:
        """(m,) which distinct rows, each a class, are suppressed."""
        groups = frequency_set.groups()
        if self.one_by_one:
            return ~check(groups, self.requirements)
        return self.suppression.failing(groups, frequency_set.counts)

    def _judged(self, vector: Vector, frequency_set: FrequencySet, failing: Bools) -> NodeCheck:
        counts, lost = frequency_set.counts, frequency_set.counts[failing]
        suppressed = int(lost.sum())
        squares, failing_squares = int(counts @ counts), int(lost @ lost)  # exact, as sums of float64 are not
        too_many = suppressed > self.suppression_limit or suppressed == self.rows
        return NodeCheck(
            vector=vector,
            safe=not too_many,
            suppressed=suppressed,
            classes=frequency_set.size - len(lost),
            squares=squares - failing_squares,
            failing_classes=len(lost),
            failing_squares=failing_squares,
            ruled_out=too_many and (self.monotone or self._growing_fail(frequency_set)),
        )

    def _growing_fail(self, frequency_set: FrequencySet) -> bool:
        """Whether the growing requirements, and what is asked of the table, take more rows than the limit."""
        if not self._growing and not self._of_table:
            return False
        groups = frequency_set.groups()
        failing = ~check(groups, self._growing, "passed" if self.one_by_one else "necessary")
        if self._of_table and self.table.units is None:
            return self.suppression.at_least(groups, frequency_set.counts, failing) > self.suppression_limit
        return int(frequency_set.counts[failing].sum()) > self.suppression_limit


# --- frequency sets that have been made -------------------------------------------------------------------------------

KEPT_CELLS = 1 << 24
"""How many cells of frequency sets are kept besides those of the bottom."""


class Store:
    """The bottom's frequency set, and those used last as far as they fit."""

    def __init__(self, bottom: FrequencySet, cells: int = KEPT_CELLS) -> None:
        self.bottom = bottom
        self._sets: OrderedDict[Vector, FrequencySet] = OrderedDict()
        self._room = cells
        self._vectors = np.empty((0, len(bottom.vector)), np.int16)
        self._sizes = np.empty(0, np.int64)

    def get(self, vector: Vector) -> FrequencySet:
        """The frequency set of a node; kept, or rolled up from the nearest that is kept."""
        if vector == self.bottom.vector:
            return self.bottom
        if vector in self._sets:
            self._sets.move_to_end(vector)
            return self._sets[vector]
        frequency = self.nearest(vector).roll_up(vector)
        self._sets[vector] = frequency
        self._vectors = np.vstack([self._vectors, np.array([vector], np.int16)])
        self._sizes = np.append(self._sizes, frequency.size)
        self._room -= _cells(frequency)
        while self._room < 0 and self._sets:  # the least recently used are dropped
            gone, dropped = self._sets.popitem(last=False)
            self._room += _cells(dropped)
            stays = (self._vectors != np.array(gone, np.int16)).any(axis=1)
            self._vectors, self._sizes = self._vectors[stays], self._sizes[stays]
        return frequency

    def nearest(self, vector: Vector) -> FrequencySet:
        """The set below a node that has the fewest distinct rows; ties go to the one made first."""
        under = np.flatnonzero((self._vectors <= np.array(vector, np.int16)).all(axis=1))
        if not len(under):
            return self.bottom
        best = under[np.argmin(self._sizes[under])]
        if self._sizes[best] >= self.bottom.size:
            return self.bottom
        return self._sets[tuple(self._vectors[best].tolist())]


def _cells(frequency: FrequencySet) -> int:
    return frequency.size * (len(frequency.columns) + 2) + frequency.tally.entries
