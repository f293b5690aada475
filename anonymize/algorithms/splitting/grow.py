"""Classes are cut until none can be cut: what a rule wants done with each, what has been done, and the tree of all
cuts. Breadth first inside a batch, depth first over batches, in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import field
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.splitting import Batch
from anonymize.classes import Bools, Codes, Ints, Partition, starts_of
from anonymize.parallel import SMALL, mapped, pool_of
from anonymize.recoding import CutTree
from anonymize.records import dataclass
from anonymize.table.memory import give_back

# --- decisions --------------------------------------------------------------------------------------------------------

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


# --- history ----------------------------------------------------------------------------------------------------------
# The cuts that were made while classes grew, as the tree that they are.


@dataclass(frozen=True)
class CutStep:
    """What became of m classes in one step, all (m,). A class is known by its first row: `whole` of itself, `first` and
    `second` of its two sides. `attribute`, `start` and `stop` as in `Cuts`."""

    whole: Ints
    first: Ints
    second: Ints
    attribute: Ints
    start: Ints
    stop: Ints


@dataclass
class History:
    """The steps, in an order in which a class is cut after the class that it is part of. Threads may add at once."""

    steps: list[CutStep] = field(default_factory=list)

    def add(self, batch: Batch, cuts: Cuts, parted: Bools, begins: Ints) -> None:
        """Notes one step: `parted` (C,) says which classes of the batch fell in two. `begins`: the first row of the
        first side of every class, which is all of it where it is not cut, then of the second sides of those that fell
        in two."""
        cut = np.flatnonzero(parted)
        whole = batch.rows[batch.starts[cut]].astype(np.int64)
        first, second = begins[cut], begins[batch.count :]
        self.steps.append(CutStep(whole, first, second, cuts.attribute[cut], cuts.start[cut], cuts.stop[cut]))

    def tree(self, partition: Partition) -> CutTree:
        """The tree whose classes are those of the partition that grew."""
        names = ("whole", "first", "second", "attribute", "start", "stop")
        none = np.empty(0, np.int64)
        cuts = CutStep(*(np.concatenate([none, *(getattr(step, name) for step in self.steps)]) for name in names))
        first, second = _children(cuts, partition)
        order = _by_level(cuts, first, second)
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))

        def renumbered(child: Ints) -> Ints:
            return np.where(child < 0, child, number[np.maximum(child, 0)])[order] if len(order) else none

        attribute, start, stop = (cut[order] for cut in (cuts.attribute, cuts.start, cuts.stop))
        return CutTree(attribute, start, stop, renumbered(first), renumbered(second))


def _children(cuts: CutStep, partition: Partition) -> tuple[Ints, Ints]:
    """(N,) what became of the first and of the second side of each cut: the number of a later cut, or -1 - its class.

    A side is cut by the next cut of a class with its first row, if there is one.
    """
    count = len(cuts.whole)
    key = cuts.whole * max(count, 1) + np.arange(count)
    order = np.argsort(key)
    ordered = np.append(cuts.whole[order], -1)
    class_at = partition.order[partition.starts[:-1]]

    def became(side: Ints) -> Ints:
        after = np.searchsorted(key[order], side * max(count, 1) + np.arange(count), side="right")
        cut = np.append(order, 0)[after]
        return np.where(ordered[after] == side, cut, -1 - np.searchsorted(class_at, side))

    return became(cuts.first), became(cuts.second)


def _by_level(cuts: CutStep, first: Ints, second: Ints) -> Ints:
    """(N,) the cuts from the root down, level by level, whatever the order in which threads made them."""
    levels, level = [], np.zeros(min(len(cuts.whole), 1), np.int64)
    while len(level):
        levels.append(level)
        below = np.stack((first[level], second[level]), axis=1).ravel()
        level = below[below >= 0]
    return np.concatenate([np.empty(0, np.int64), *levels])


# --- grow -------------------------------------------------------------------------------------------------------------
# Cut every class until none can be cut: breadth first inside a batch, depth first over batches, in threads.
#
# The rows of a batch whose classes are cut are laid side after side. Of a large batch they are laid piece by piece:
# what a piece holds of every column, and where it goes, then stays near the processor, and several threads have a piece
# each. Such a batch is one class, so that nothing else keeps them busy.
#
# A batch larger than the cache is cut into batches of neighbouring classes. What becomes of a class depends on its own
# rows alone, so neither the size of a batch nor the number of threads shows in the result.

PIECEWISE_ROWS = 1 << 18
"""Batches of more rows are laid piece by piece,"""
PIECE = 1 << 16
"""each of so many rows."""


@dataclass(frozen=True)
class CutSides:
    """Which side each row goes to, in the order of the batch: `first` (n,), whether it is the first side of its class.
    `threads`: in how many the rows of a large batch are laid."""

    first: Bools
    threads: int = 1

    @cached_property
    def order(self) -> Ints:
        """(n,) positions in the batch, side after side, ascending among the first sides and among the second ones."""
        return np.concatenate((self._firsts, np.flatnonzero(~self.first)))

    @cached_property
    def _firsts(self) -> Ints:
        return np.flatnonzero(self.first)

    def first_sizes(self, starts: Ints) -> Ints:
        """(C,) rows of the first side of each class; `starts` (C + 1,) as in `Batch`."""
        if len(starts) == 2:
            return np.array([np.count_nonzero(self.first)])
        return np.diff(np.searchsorted(self._firsts, starts))

    def arranged(self, columns: Sequence[Codes], kept: Bools | None = None) -> list[Codes]:
        """Columns (n,) with their rows side after side; `kept` (n,): those of the rows in this order that are wanted,
        None for all."""
        if kept is not None:
            rows = self.order[kept]
            return [codes.take(rows) for codes in columns]
        if len(self.first) > PIECEWISE_ROWS:
            return self._by_pieces(columns)
        return [codes.take(self.order) for codes in columns]

    def _by_pieces(self, columns: Sequence[Codes]) -> list[Codes]:
        pieces = [slice(start, start + PIECE) for start in range(0, len(self.first), PIECE)]
        firsts = np.cumsum([0, *(np.count_nonzero(self.first[piece]) for piece in pieces)]).tolist()
        laid = [np.empty_like(codes) for codes in columns]

        def lay(number: int) -> None:
            piece, before = pieces[number], firsts[number]
            first = self.first[piece]
            _put(columns, laid, piece, np.flatnonzero(first), before)
            _put(columns, laid, piece, np.flatnonzero(~first), firsts[-1] + piece.start - before)

        mapped(lay, range(len(pieces)), self.threads)
        return laid


def _put(columns: Sequence[Codes], laid: Sequence[Codes], piece: slice, places: Ints, begin: int) -> None:
    """Puts some places (m,) of a piece of each column where they are laid, from `begin` on."""
    for codes, target in zip(columns, laid, strict=True):
        # Any mode but "raise" writes where it is to without a copy; no place is out of bounds.
        codes[piece].take(places, out=target[begin : begin + len(places)], mode="clip")


# --- cut until none can be cut ----------------------------------------------------------------------------------------

BATCH_ROWS = PIECEWISE_ROWS


class SplitRule(Protocol):
    """How the next cut of each class is chosen. May set `batch.closed`; counts its tries in `batch.attempts`."""

    @property
    def fewest_rows(self) -> int:
        """Classes of fewer rows are never cut."""

    def choose(self, batch: Batch) -> Cuts:
        """The cut of every class of the batch."""


Allowed = Callable[[Batch, Ints, int], Bools]
"""(batch, part of each row (n,), number of parts) -> (parts,) whether every privacy model holds in the part."""

Finished = tuple[NDArray[np.uint32], Ints]


def grow(
    whole: Batch,
    rule: SplitRule,
    allowed: Allowed | None,
    threads: int,
    progress: Callable[[int], None],
    history: History | None = None,
) -> Partition:
    """The partition of `whole`'s rows into classes that the rule cuts no further.

    `allowed` None means that nothing but the rule's own minimum size is required. `progress` is called with the number
    of further rows that have reached their final class. `history` records the cuts.
    """
    blocks: list[Finished] = []

    def work(batch: Batch) -> tuple[list[Batch], list[Finished]]:
        return _grow_batch(batch, rule, allowed, history, threads)

    def finish(finished: list[Finished]) -> None:
        blocks.extend(finished)
        progress(sum(len(rows) for rows, _ in finished))

    batches, finished = work(whole)  # as long as it is one batch, a further thread would only wait
    finish(finished)
    with pool_of(threads) as pool:
        running: set[Future[tuple[list[Batch], list[Finished]]]] = {pool.submit(work, batch) for batch in batches}
        while running:
            ready, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                batches, finished = future.result()
                running |= {pool.submit(work, batch) for batch in batches}
                finish(finished)
    return assembled(blocks)


def assembled(blocks: list[Finished]) -> Partition:
    """The partition of finished classes, which are freed. What the threads have freed is given back before: it is
    several times as much as the partition takes, where that is much."""
    if sum(len(rows) for rows, _ in blocks) > SMALL:
        give_back()
    rows, sizes = [each for each, _ in blocks], [each for _, each in blocks]
    blocks.clear()
    return Partition.of_blocks(rows, sizes)


def grown(batch: Batch, rule: SplitRule) -> list[Finished]:
    """The finished classes of a batch, grown in this thread, where nothing refuses a cut."""
    waiting, finished = [batch], []
    while waiting:
        batches, done = _grow_batch(waiting.pop(), rule, None, None, 1)
        waiting += batches
        finished += done
    return finished


def _grow_batch(
    batch: Batch, rule: SplitRule, allowed: Allowed | None, history: History | None, threads: int
) -> tuple[list[Batch], list[Finished]]:
    """Level by level until the batch is used up, or until it falls into several that are each worth a thread; one that
    is worth several is laid in so many."""
    finished: list[Finished] = []
    while True:
        step, done = _step(batch, rule, allowed, history, threads)
        if done is not None:
            finished.append(done)
        if step is None:
            return [], finished
        batches = step.pieces(BATCH_ROWS)
        if len(batches) > 1:
            return batches, finished
        batch = step


def _step(
    batch: Batch, rule: SplitRule, allowed: Allowed | None, history: History | None, threads: int
) -> tuple[Batch | None, Finished | None]:
    """One cut of every class: the batch of what may be cut further, and the classes that are finished."""
    before = batch.attempts.copy()
    cuts = rule.choose(batch)
    open_classes = cuts.attribute != FINISHED
    first = _first_side(batch, cuts)
    attempts = batch.attempts
    if allowed is not None:
        first, attempts = _withdraw(batch, cuts, first, allowed)
    sides = CutSides(first, threads)
    first_sizes = sides.first_sizes(batch.starts)
    second_sizes = batch.sizes - first_sizes
    parted = open_classes & (first_sizes > 0) & (second_sizes > 0)
    if (open_classes & ~parted & (attempts == before).all(axis=1)).any():
        raise RuntimeError("a cut that parts nothing would be tried for ever: this is probably a bug")
    sizes = np.concatenate((first_sizes, second_sizes[parted]))
    if history is not None:
        history.add(batch, cuts, parted, batch.rows[sides.order[starts_of(sizes)[:-1]]].astype(np.int64))
    parents = np.concatenate((np.arange(batch.count), np.flatnonzero(parted)))
    fresh = np.where(parted[parents, None], np.uint8(0), attempts[parents])
    goes_on = open_classes[parents] & (sizes >= rule.fewest_rows)
    if goes_on.all():
        return batch.take(sides.arranged, sizes, parents, fresh), None
    kept = np.repeat(goes_on, sizes)
    done = (batch.rows.take(sides.order[~kept]), sizes[~goes_on])  # nothing but their rows is asked for any more
    if not goes_on.any():
        return None, done
    arrange = partial(sides.arranged, kept=kept)
    return batch.take(arrange, sizes[goes_on], parents[goes_on], fresh[goes_on]), done


def _first_side(batch: Batch, cuts: Cuts) -> Bools:
    """(n,) whether each row goes to the first side; every row of a class that is not cut does."""
    first = np.ones(len(batch.rows), np.bool_)
    for attribute in range(len(batch.columns)):
        classes = np.flatnonzero(cuts.attribute == attribute)
        if not len(classes):
            continue
        side = _side(batch, attribute, classes, cuts)
        if len(classes) == batch.count:
            return side
        first[batch.rows_of(classes)] = side
    return first


def _side(batch: Batch, attribute: int, classes: Ints, cuts: Cuts) -> Bools:
    """Whether each row of some classes (m,), all cut on one attribute, goes to the first side."""
    codes, sizes = batch.cut_codes(attribute, classes), batch.sizes[classes]
    start, stop, ties = cuts.start[classes], cuts.stop[classes], cuts.ties[classes]
    from_start = codes >= np.repeat(start.astype(codes.dtype), sizes) if start.any() else np.True_
    if not ties.any():
        return np.asarray((codes <= np.repeat((stop - 1).astype(codes.dtype), sizes)) & from_start)
    stops = np.repeat(stop, sizes)
    tied = codes == stops
    before: Ints = np.cumsum(tied) - tied
    before -= np.repeat(before[starts_of(sizes)[:-1]], sizes)
    chosen: Bools = (codes < stops) & from_start | tied & (before < np.repeat(ties, sizes))
    return chosen


def _withdraw(batch: Batch, cuts: Cuts, first: Bools, allowed: Allowed) -> tuple[Bools, NDArray[np.uint8]]:
    """Takes back the cuts that leave a part in which a privacy model does not hold, and counts them as attempts."""
    fine = allowed(batch, 2 * batch.labels + ~first, 2 * batch.count).reshape(-1, 2).all(axis=1)
    refused = np.flatnonzero(~fine & (cuts.attribute >= 0))
    attempts = batch.attempts.copy()
    attempts[refused, cuts.attribute[refused]] += 1
    return first | np.repeat(~fine, batch.sizes), attempts
