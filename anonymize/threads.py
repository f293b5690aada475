"""Work in threads: what is parted into pieces that write to places of their own.

numpy gives up Python's lock while it works, so that two threads of array operations take two cores. Nobody sees how
many threads there were: each piece is worked on as if it were alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

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
