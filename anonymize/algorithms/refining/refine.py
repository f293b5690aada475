"""Refinement of a partition: rows change their classes for as long as less information is lost.

What it does. In every pass, first rows go to classes that they cost less in: single rows, rows that lie farthest from
the others of their class on some attribute, whole classes that are dissolved (`transfers`). Then neighbouring classes
are put into pools, several times over, and a pool's rows are grouped anew where that loses less: swaps, splits and
merges in one (`regroup`). Last, parts of classes and of pools are carved out of them (`carving`): a crowd within a
class needs none of the rows around it, though no cut parts it from them; and where models look at sensitive values,
single rows can seldom leave a class and classes can seldom be cut at all. A large table is cut into blocks first, along
other borders in every pass (`blocks`). After the passes rows change places between near classes, by chance and at
falling temperature (`exchanges`); what that comes to is taken where it loses less.

What it guarantees. The total weighted normalized certainty penalty (NCP) is never higher than before, and every class
meets every requirement that all classes met. It stops after the given number of passes, when passes gain next to
nothing, or when the time is up. Each pass is determined by the seed and its number; only a time limit makes the result
depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms import base, clustering, feasibility
from anonymize.algorithms.clustering.run import met_by
from anonymize.algorithms.deadline import TIME, Deadline, Map, Refinable, Resources, ended_by
from anonymize.algorithms.refining import BoxMeasure
from anonymize.algorithms.refining import block as blocks_of
from anonymize.algorithms.refining.block import CARE, HASTE, Block, Met, blocks, sections
from anonymize.algorithms.refining.carving import recarved
from anonymize.algorithms.refining.exchanges import exchange
from anonymize.algorithms.refining.regrouping import PoolNeighbours, neighbours, regroup
from anonymize.algorithms.refining.rows import RowTypes, axes_of
from anonymize.algorithms.refining.transfers import transfer
from anonymize.classes import Bools, Ints, Partition, concatenated_ranges
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.table import Attribute, Table

LEAST_PASSES, MOST_PASSES = 1, 30
"""Passes by default, of large tables and of small ones."""
PASS_ROWS = 1 << 20
"""Between these two, passes are chosen so that they process about this many rows in total."""
WIDE_COLUMNS = 16
"""A row of more columns counts for as many rows as they are times so many."""
POOL_SWEEPS, POOL_SWEEPS_CARVED = 8, 4
"""How many times pools are made in a pass; and where carving is to follow with k alone required, which finds what more
of them would."""
POOL_CLASSES = 3
"""Classes in a pool."""
CARVED_ROWS = blocks_of.BLOCK_ROWS
"""With k alone required, tables of more rows are not carved: the few passes that they have lose no less by it, and take
twice the time (a million rows, most columns numbers)."""
ANNEALING = 1 << 16
"""The number of the first round of sweeps of exchanges, above those of all passes."""
ROUNDS = 3
"""Rounds of sweeps where a table has several blocks."""
SMALL_EXCHANGES, LARGE_EXCHANGES, MOST_EXCHANGES = 16, 40, 200
"""Sweeps of exchanges by default: of the smallest tables, of large ones, and the most there are."""
A_SWEEP = 50
"""One more for so many rows, of small tables."""
EXCHANGED_ROWS = 200_000_000
"""Sweeps of large tables: so many that about this many rows are gone through in total."""
CYCLES = 4
"""How many times passes and exchanges take turns, where there are passes for that."""
A_CYCLE = 7
"""Passes of a cycle at least."""
FIRST_HEAT, LAST_HEAT = 0.2, 0.004
"""The temperature of the first and of the last sweep, in shares of the median penalty of a row: what an exchange
changes is a matter of one row, however large classes are."""
A_PASS = 12
"""Sweeps of exchanges for a pass of a budget that is counted in passes: a third of the work of one."""
LITTLE_GAIN = 1e-4
"""Passes end when several in a row lower the NCP by less than this share of it each, and refinement when a cycle
does."""
PATIENT_PASSES = 3
"""So many passes in a row."""
PAYS = 0.004
"""The share of the loss that a unit of work has to save, where refinement goes on for as long as it pays."""
UNIT, OVERHEAD = 25_000, 8_000
"""Cells of quasi-identifiers that a unit of work goes over at least, in several passes over a small table; and what
every pass takes besides, in cells."""
WORK_BEYOND_SIZE = 2
"""Times as much work as a pass takes where requirements look at more than sizes."""
FREE_CLASS_ROWS, TWICE_CLASS_ROWS = 10, 50
"""Rows of a class up to which a pass takes what it takes, and by how many more of them it takes as much again."""
A_ROUND = 24
"""Sweeps of a round of exchanges there."""


Step = Callable[[Ints, Ints, Resources], Ints]
"""(rows of a block, labels, what it may draw on) -> labels of these rows."""


def widened(rows: int, columns: int) -> float:
    """How many rows of an ordinary table take as much work."""
    return rows * max(columns / WIDE_COLUMNS, 1.0)


def passes_of(rows: int, columns: int) -> int:
    """Passes by default: as many as go over the rows that are due, between two limits."""
    return min(max(int(PASS_ROWS / widened(max(rows, 1), columns)), LEAST_PASSES), MOST_PASSES)


def sweeps_of(rows: int, columns: int) -> int:
    """Sweeps of exchanges by default: more for a larger table, up to where the work counts."""
    large = max(int(EXCHANGED_ROWS / widened(rows, columns)), LARGE_EXCHANGES)
    return min(SMALL_EXCHANGES + rows // A_SWEEP, large, MOST_EXCHANGES)


def refined(
    table: Table,
    requirements: tuple[Requirement, ...],
    regions: Regions,
    options: Refinable,
    context: base.Context,
    made: int = 0,
    units: float = 0.0,
) -> Regions:
    """Regroups the rows into classes that lose no more; the recoding says what was gained. `made`: passes before these,
    after which chance goes on. `units`: of work at most, where it is to go on for as long as it pays; a pass over all
    rows is one, of few rows less."""
    rows = np.sort(regions.partition.order)
    met = met_by(table, requirements, rows) if feasibility.beyond_size(table, requirements) else None
    carved = len(rows) and (met is not None or len(rows) <= CARVED_ROWS)
    types = RowTypes.made(table, requirements, rows) if carved else None
    if regions.partition.count < (1 if types else 2):
        return regions
    labels = regions.partition.class_of(table.rows)[rows]
    search = Refinement(table.attributes, rows, feasibility.minimum_size(requirements), met, context, types)
    with ThreadPoolExecutor(context.threads) as executor:
        begun = Partition.of_labels(labels)
        if units:
            partition, story = search.run_while_it_pays(begun, units, Deadline(options.time_limit), executor)
        else:
            partition, story = search.run(begun, options, executor, made)
    return replace(regions, partition=partition.renumbered(rows), refinement=story)


class Refinement:
    """Refines a partition of some rows of a table; the rows are 0 ... n - 1 here."""

    def __init__(
        self,
        attributes: Sequence[Attribute],
        rows: NDArray[np.uint32],
        k: int,
        met: Met | None,
        context: base.Context,
        types: RowTypes | None = None,
    ) -> None:
        self.attributes, self.k, self.met, self.context, self.types = attributes, k, met, context, types
        self.codes = clustering.codes_of(attributes, rows)
        self._whole: Block | None = None

    def run(
        self, partition: Partition, options: Refinable, executor: Executor, made: int = 0
    ) -> tuple[Partition, dict[str, Any]]:
        """The refined partition, and the report's account of it; `made`: passes before these."""
        deadline = Deadline(options.time_limit)
        before = self._ncp(partition)
        rows = len(partition.order)
        columns = len(self.attributes)
        passes, sweeps = options.passes or passes_of(rows, columns), options.sweeps or sweeps_of(rows, columns)
        cycles = min(max(passes // A_CYCLE, 1), CYCLES)
        number, best = 0, before
        for cycle in range(cycles):
            last, begin, vain = -(-passes * (cycle + 1) // cycles), best, 0
            while number < last and vain < PATIENT_PASSES and not deadline.passed:
                tried = self._in_blocks(self._passed(made + number, rows), partition, made + number, deadline, executor)
                number += 1
                self.context.refining(number, passes)
                partition, ncp = self._better(partition, tried, best)
                vain = vain + 1 if best - ncp < LITTLE_GAIN * best else 0
                best = ncp
            tried = self._annealed(partition, -(-sweeps // cycles), (made, cycle), deadline, executor)
            partition, best = self._better(partition, tried, best)
            if begin - best < LITTLE_GAIN * best or deadline.passed:
                break
        account = {"passes": number, "ncp_weighted_before": before, "ncp_weighted_after": best}
        return partition, account | _late(deadline)

    def run_while_it_pays(
        self, partition: Partition, units: float, deadline: Deadline, executor: Executor
    ) -> tuple[Partition, dict[str, Any]]:
        """The partition after passes and rounds of exchanges, and the report's account of it. Whichever of the two
        saved more by its last unit of work is next, until neither saves what it has to, or the next would take more
        than the units that there are. Where k alone is required and classes are carved, exchanges find next to
        nothing."""
        before = best = self._ncp(partition)
        works, done = self._works(len(partition.order)), 0.0
        saved: dict[str, list[float]] = {kind: [] for kind in works}
        while best and not deadline.passed:
            kind = max(works, key=lambda each: _lately(saved[each], works[each]))
            if _lately(saved[kind], works[kind]) < PAYS or done + works[kind] > units:
                break
            if kind == "passes":
                step = self._passed(len(saved[kind]), len(partition.order))
                tried = self._in_blocks(step, partition, len(saved[kind]), deadline, executor)
            else:
                tried = self._annealed(partition, A_ROUND, (0, len(saved[kind])), deadline, executor)
            last, done = best, done + works[kind]
            partition, best = self._better(partition, tried, best)
            saved[kind].append((last - best) / last)
            self.context.refining(int(done), int(units))
        account = {kind: len(each) for kind, each in saved.items()} | {"work": round(done, 2)}
        account |= {"ncp_weighted_before": before, "ncp_weighted_after": best}
        return partition, account | _late(deadline)

    def _works(self, rows: int) -> dict[str, float]:
        """Units of work of a step of each kind that there is, for so many rows."""
        cells = rows * len(self.attributes) + OVERHEAD
        a_pass = (
            cells
            / max(cells, UNIT)
            * (1 if self.met is None else WORK_BEYOND_SIZE)
            * (1 + max(self.k - FREE_CLASS_ROWS, 0) / TWICE_CLASS_ROWS)
        )
        works = {"passes": a_pass, "exchanges": a_pass * A_ROUND / (3 * A_PASS)}
        return {"passes": a_pass} if self.types is not None and self.types.alike else works

    def _better(self, partition: Partition, tried: Partition, best: float) -> tuple[Partition, float]:
        """What was tried, and its NCP, where that is at most the best so far, that of the partition."""
        ncp = self._ncp(tried)
        return (tried, ncp) if ncp <= best else (partition, best)

    def _annealed(
        self, partition: Partition, sweeps: int, turn: tuple[int, int], deadline: Deadline, executor: Executor
    ) -> Partition:
        """The partition after sweeps of exchanges, along other borders of blocks several times; it may lose more.

        `turn`: the passes that were made before, and the number of the cycle; chance follows from it.
        """
        rounds = 1 if len(partition.order) <= blocks_of.BLOCK_ROWS else ROUNDS
        heats = [FIRST_HEAT * (LAST_HEAT / FIRST_HEAT) ** (number / rounds) for number in range(rounds + 1)]
        first = ANNEALING + (turn[0] * CYCLES + turn[1]) * ROUNDS
        for number in range(rounds):
            heat = heats[number], heats[number + 1]
            step = self._swept(-(-sweeps // rounds), heat)
            partition = self._in_blocks(step, partition, first + number, deadline, executor)
        return partition

    def _ncp(self, partition: Partition) -> float:
        """Weighted NCP of the partition, to the last digit."""
        return float(clustering.shown_ncp(self.attributes, self.codes, partition).sum())

    def _in_blocks(
        self, step: Step, partition: Partition, number: int, deadline: Deadline, executor: Executor
    ) -> Partition:
        """A step of all blocks: those of a large table side by side, else what the step of the one does by itself.

        `number`: of the step; the borders of blocks, and chance, follow from it.
        """
        seed = self.context.seed or 0
        parts = blocks(self.codes, partition, np.random.default_rng([seed, number]))
        alone = len(parts) == 1
        run: Map = executor.map if alone else map
        labels = partition.class_of(len(partition.order)).astype(np.int64)

        def refine(index: int) -> tuple[Ints, Ints]:
            classes = parts[index]
            starts, sizes = partition.starts[classes], partition.sizes[classes]
            rows = np.sort(partition.order[concatenated_ranges(starts, sizes)]).astype(np.int64)
            rng = np.random.default_rng([seed, number, index])
            regrouped = step(rows, labels[rows], Resources(rng, deadline, run))
            return rows, np.unique(regrouped, return_inverse=True)[1]

        after, count = np.empty_like(labels), 0
        for rows, groups in (map if alone else executor.map)(refine, range(len(parts))):
            after[rows] = groups + count
            count += int(groups.max()) + 1
        return Partition.of_labels(after)

    def _passed(self, number: int, table_rows: int) -> Step:
        def step(rows: Ints, labels: Ints, resources: Resources) -> Ints:
            block = self._block(rows)
            carved = self.types is not None and self.types.alike
            sweeps = POOL_SWEEPS_CARVED if carved else POOL_SWEEPS
            regrouped = _refined(block, labels, table_rows, sweeps, resources)
            if self.types is None:
                return regrouped
            return recarved(block, self.types.among(rows), regrouped, number == 0, resources)

        return step

    def _swept(self, sweeps: int, heat: tuple[float, float]) -> Step:
        effort = CARE if self.codes.shape[1] <= blocks_of.BLOCK_ROWS else HASTE

        def step(rows: Ints, labels: Ints, resources: Resources) -> Ints:
            return exchange(self._block(rows), labels, sweeps, heat, resources, effort)

        return step

    def _block(self, rows: Ints) -> Block:
        """The block of some rows; that of all rows is made once."""
        if self._whole is not None:
            return self._whole
        axes = axes_of(self.attributes, self.codes[:, rows])
        met = None if self.met is None else partial(_met_by_rows, self.met, rows)
        block = Block(BoxMeasure(axes), self.k, met)
        if len(rows) == self.codes.shape[1]:
            self._whole = block
        return block


def _late(deadline: Deadline) -> dict[str, bool]:
    return {"stopped_by_time": deadline.passed and ended_by() == TIME}


def _lately(saved: Sequence[float], work: float) -> float:
    """The share of the loss that steps of so much work, each of which saved a share, saved by the last unit of it; inf
    before the first of them."""
    last = saved[-int(np.ceil(1 / work)) :]
    return sum(last) / (len(last) * work) if last else np.inf


def _met_by_rows(met: Met, rows: Ints, of: Ints, groups: Ints, count: int) -> Bools:
    """`met` of rows numbered within `rows`."""
    return met(rows[of], groups, count)


def _refined(block: Block, labels: Ints, rows: int, sweeps: int, resources: Resources) -> Ints:
    """(block rows,) labels after one pass over a block of a table of `rows`, in which pools are made `sweeps` times, or
    as much of it as there is time for."""
    rng, classes = resources.rng, block.classes(labels)
    labels = transfer(block, classes, labels, sections(block, classes, rows, rng), rng)
    classes = block.classes(labels)
    pools = max(classes.count // POOL_CLASSES, 1)
    around = neighbours(block, classes, sections(block, classes, rows, rng), pools * sweeps, rng)
    for sweep in range(sweeps):
        if resources.deadline.passed:
            break
        some = slice(sweep * pools, (sweep + 1) * pools)
        keep = block.met is not None and sweep % 2 == 1
        labels = regroup(
            block, labels, PoolNeighbours(around.rows[some], around.near[some]), POOL_CLASSES, keep, resources
        )
    return labels


def refined_partly(
    table: Table,
    requirements: tuple[Requirement, ...],
    regions: Regions,
    options: Refinable,
    context: base.Context,
    share: float,
) -> Regions:
    """Regroups the rows in the classes of highest weighted NCP a row, at most `share` of all rows, into
    classes that lose no more. Between equal classes the first is taken. Distributions stay compared with all rows."""
    rows = np.sort(regions.partition.order)
    labels = regions.partition.class_of(table.rows)[rows].astype(np.int64)
    some = np.flatnonzero(_worst(table, regions.partition, share)[labels])
    if len(np.unique(labels[some])) < 2:
        return regions
    met = met_by(table, requirements, rows) if feasibility.beyond_size(table, requirements) else None
    met = None if met is None else partial(_met_by_rows, met, some)
    search = Refinement(table.attributes, rows[some], feasibility.minimum_size(requirements), met, context)
    with ThreadPoolExecutor(context.threads) as executor:
        partition, story = search.run(Partition.of_labels(labels[some]), options, executor)
    labels[some] = regions.partition.count + partition.class_of(len(some))
    together = Partition.of_labels(np.unique(labels, return_inverse=True)[1])
    return replace(regions, partition=together.renumbered(rows), refinement={**story, "rows": len(some)}, tree=None)


def _worst(table: Table, partition: Partition, share: float) -> Bools:
    """(classes,) which lose most a row, as many as have at most a share of the rows."""
    codes = clustering.codes_of(table.attributes, np.arange(table.rows, dtype=np.uint32))
    loss = clustering.GroupBoxes.of(codes, partition).ncp(clustering.Penalty.of(table.attributes)) / partition.sizes
    order = np.argsort(-loss, kind="stable")
    chosen = np.zeros(partition.count, np.bool_)
    chosen[order[np.cumsum(partition.sizes[order]) <= share * len(partition.order)]] = True
    return chosen
