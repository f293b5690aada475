"""A table drawn block by block, each from a random stream of its own, some of them at the same time."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import polars as pl

BLOCK = 100_000
"""Rows that are drawn at once. Changing this number changes the table."""

Draw = Callable[[np.random.Generator, int], pl.DataFrame]
"""(the block's random stream, rows) -> that many rows."""


def stream(seed: int, *key: int) -> np.random.Generator:
    """One of the independent random streams of a seed >= 0; which one, `key` says."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def blocks(draw: Draw, rows: int, seed: int, threads: int | None = None) -> Iterator[pl.DataFrame]:
    """`rows` rows in order, BLOCK at a time; one empty frame where there are none.

    The last block is drawn whole and cut, so that it begins as that of a longer table does. A few blocks at most are in
    memory.
    """
    numbers = range(max(-(-rows // BLOCK), 1))
    threads = threads or os.cpu_count() or 1

    def block(number: int) -> pl.DataFrame:
        return draw(stream(seed, number), BLOCK).head(rows - number * BLOCK)

    waiting: deque[Future[pl.DataFrame]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for number in numbers:
                waiting.append(pool.submit(block, number))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
