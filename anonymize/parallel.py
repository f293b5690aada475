"""Work in pieces that know nothing of each other: in processes, in threads, and rows put part by part, chunk by
chunk. The result is the same however many there are."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonymize import files

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor


# --- threads ----------------------------------------------------------------------------------------------------------
# Work in threads: what is parted into pieces that write to places of their own.
#
# numpy gives up Python's lock while it works, so that two threads of array operations take two cores. Nobody sees how
# many threads there were: each piece is worked on as if it were alone.

Item = TypeVar("Item")
Made = TypeVar("Made")

SMALL = 1 << 17
"""Rows of a table up to which threads would take longer to begin than they save."""


def worth(threads: int, rows: int) -> int:
    """How many of the threads a table of so many rows is worth: all, or one."""
    return threads if rows > SMALL else 1


@contextmanager
def pool_of(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads whose further work is given up where an error, or an interruption, comes out of the block."""
    with ThreadPoolExecutor(threads) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def ahead(items: Iterator[Item], threads: int) -> Generator[Item]:
    """The items; with several threads, the next one is made in a thread of its own while the last one is used. Raises
    what making one raises, in the place of that item."""
    if threads < 2:
        yield from items
        return
    with pool_of(1) as pool:
        coming = pool.submit(_next, items)
        while piece := coming.result():
            coming = pool.submit(_next, items)
            yield from piece


def mapped(work: Callable[[Item], Made], items: Sequence[Item], threads: int) -> list[Made]:
    """What `work` makes of each item, in their order. Raises what it raises of the first item of which it does."""
    if threads < 2 or len(items) < 2:
        return [work(item) for item in items]
    with pool_of(threads) as pool:
        return list(pool.map(work, items))


def meanwhile(work: Callable[[], Item], threads: int) -> Callable[[], Item]:
    """What waits for the result of `work`, and raises what it raises. With several threads it is begun at once, in a
    thread of its own; else when its result is asked for."""
    if threads < 2:
        return work
    pool = ThreadPoolExecutor(1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    return future.result


def _next(items: Iterator[Item]) -> list[Item]:
    """The next item; none at the end."""
    return list(islice(items, 1))


def in_parts(work: Callable[[Sequence[Item]], None], items: Sequence[Item], threads: int) -> None:
    """Works on all items, each in one of so many parts, of which every thread has one. Raises what `work` raises."""
    if threads < 2 or len(items) < 2:
        return work(items)
    with pool_of(threads) as pool:
        for future in [pool.submit(work, items[number::threads]) for number in range(threads)]:
            future.result()
    return None


# --- processes --------------------------------------------------------------------------------------------------------
# Tasks in processes of their own: what can be parted into pieces that know nothing of each other.
#
# A task is a function of what all processes were given once, and of its own part. Results come in the order of the
# tasks, so that the number of processes changes nothing but the time. One process is the calling one.
#
# The processes belong to the one that starts them: they never see its interruptions, they are killed when it leaves
# them early, and they end by themselves when it is gone. One that is killed from outside is an error, not a wait
# without end.

Part = TypeVar("Part")
Result = TypeVar("Result")

_shared: dict[str, Any] = {}


class Workers:
    """Processes that are started with the first call that is worth it, and end with the `workers` that made them."""

    def __init__(self, processes: int, make: Callable[..., Any], *shared: Any) -> None:
        self._processes, self._make, self._given = processes, make, shared
        self._pool: ProcessPoolExecutor | None = None
        self._own: Any = None

    def map(self, work: Callable[[Any, Part], Result], parts: Iterable[Part], *, worth: bool = True) -> list[Result]:
        """The results of `work(made, part)`, in the order of the parts; `made` is what `make` makes of what is shared,
        once in each process. Where it is not `worth` the trip, the calling process does it. Raises what `work` raises,
        and concurrent.futures.BrokenExecutor where a process was killed."""
        if self._processes < 2 or not worth:
            if self._own is None:
                self._own = self._make(*self._given)
            return [work(self._own, part) for part in parts]
        futures = self._start(work, parts)
        for _ in _ended(futures):
            pass
        return [future.result() for future in futures]

    def completed(self, work: Callable[[Any, Part], Result], parts: Iterable[Part]) -> Iterator[tuple[Part, Result]]:
        """Every part with its result, in the order in which they are done, from processes, whatever their number.
        Raises as `map` does."""
        parts = list(parts)
        of_future = dict(zip(self._start(work, parts), parts, strict=True))
        for future in _ended(of_future):
            yield of_future[future], future.result()

    def _start(self, work: Callable[[Any, Part], Result], parts: Iterable[Part]) -> list[Future[Result]]:
        if self._pool is None:
            self._pool = _pool(self._processes, self._make, self._given)
        with _uninterrupted(), _without_main():
            return [self._pool.submit(_run, work, part) for part in parts]

    def end(self) -> None:
        """Ends the processes, whatever they are doing."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.kill()
            self._pool.shutdown(wait=True, cancel_futures=True)


def _ended(futures: Iterable[Future[Result]]) -> Iterator[Future[Result]]:
    """The futures, as they end. A wait without end would not see a signal where a library has put its own handler in
    front of Python's: the wait is looked up from, ten times a second."""
    from concurrent.futures import FIRST_COMPLETED, wait

    pending = set(futures)
    while pending:
        ended, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
        yield from ended


@contextmanager
def workers(processes: int, make: Callable[..., Any], *shared: Any) -> Iterator[Workers]:
    """Processes that are ended on the way out, also by an interruption."""
    pool = Workers(processes, make, *shared)
    try:
        yield pool
    finally:
        pool.end()


def _pool(processes: int, make: Callable[..., Any], shared: tuple[Any, ...]) -> ProcessPoolExecutor:
    """Processes that are started anew: a copy of one that has threads may wait forever for a lock of one of them."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    files.use()  # from here on there is something to tidy up
    return ProcessPoolExecutor(processes, get_context("spawn"), initializer=_begin, initargs=(make, shared))


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes started within never see Ctrl-C, from their first line on: what it means, their caller decides."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _without_main() -> Iterator[None]:
    """Processes started within do not run the caller's script once more, which has nothing that they need."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _begin(make: Callable[..., Any], shared: tuple[Any, ...]) -> None:
    from threading import Thread

    Thread(target=_end_with_parent, daemon=True).start()
    _shared["made"] = make(*shared)


def _end_with_parent() -> None:
    """A process whose caller was killed would wait for its next task, or work on one that nobody reads."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(work: Callable[[Any, Any], Any], part: Any) -> Any:
    return work(_shared["made"], part)


# --- rows part by part ------------------------------------------------------------------------------------------------
# Rows put part by part, chunk by chunk, so that nothing is worked out for all rows at once.

Ints: TypeAlias = NDArray[np.int64]


def occurrences(pieces: Iterable[NDArray[np.integer[Any]]], size: int) -> Ints:
    """(size,) how often each number below `size` occurs in the pieces."""
    counts = np.zeros(size, np.int64)
    for piece in pieces:
        counts += np.bincount(piece, minlength=size)
    return counts


def scattered(parts: Iterable[Ints], sizes: Ints) -> tuple[NDArray[np.uint32], Ints]:
    """(rows,) the rows part by part, ascending within each, and (parts + 1,) where each part begins. `parts`: the part
    of each row, chunk by chunk; `sizes` (parts,): rows of each.

    Within a chunk a stable sort puts the rows of a part side by side; each part goes on where it ended before.
    """
    starts = np.append(0, np.cumsum(sizes))
    order, ends, start = np.empty(starts[-1], np.uint32), starts[:-1].copy(), 0
    for part in parts:
        by_part = np.argsort(part, kind="stable")
        counts = np.bincount(part, minlength=len(sizes))
        within = np.arange(len(part)) - np.repeat(np.cumsum(counts) - counts, counts)
        order[np.repeat(ends, counts) + within] = by_part + start
        ends += counts
        start += len(part)
    return order, starts
