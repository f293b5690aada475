"""Synthetic tables: `agrawal`, for classification, and `census`, about people; each drawn block by block from a
random stream of its own, with the spec and hierarchies that go with it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml

from anonymize.records import dataclass

# --- blocks -----------------------------------------------------------------------------------------------------------
# A table drawn block by block, each from a random stream of its own, and the spec and hierarchies that go with it.

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


# --- spec and hierarchies ---------------------------------------------------------------------------------------------

Hierarchies = Mapping[str, Sequence[tuple[str, ...]]]
"""By column: the path of each leaf, from the leaf to the root."""


@dataclass(frozen=True)
class Roles:
    """What a spec says of a table: `definitions` of the quasi-identifiers, in the order of columns, `hierarchies` of
    some of these, `sensitive` as the spec has them, columns that are `insensitive`, columns that are `targets`."""

    definitions: Mapping[str, Mapping[str, Any]]
    hierarchies: Hierarchies
    targets: Sequence[str]
    sensitive: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    insensitive: Sequence[str] = ()
    k: int = 10


def files(roles: Roles, path: Path, table: str) -> dict[Path, str]:
    """The texts of the spec at `path` and of its hierarchy files beside it, by where they go; the spec is the last.

    `table`: where the table goes, `-` for standard output, which leaves the spec without an input.
    """
    beside = {name: path.with_name(f"{path.stem}-{name}.csv") for name in roles.hierarchies}
    hierarchies = {beside[name]: _lines(paths) for name, paths in roles.hierarchies.items()}
    return {**hierarchies, path: _spec(roles, path, table, {name: file.name for name, file in beside.items()})}


def _lines(paths: Sequence[tuple[str, ...]]) -> str:
    return "".join(";".join(path) + "\n" for path in paths)


def _spec(roles: Roles, path: Path, table: str, hierarchies: Mapping[str, str]) -> str:
    quasi = {
        name: {**definition, **({"hierarchy": hierarchies[name]} if name in hierarchies else {})}
        for name, definition in roles.definitions.items()
    }
    spec: dict[str, Any] = {"version": 1}
    if table != "-":
        spec["input"] = {"path": os.path.relpath(table, path.parent)}
    spec["quasi_identifiers"] = quasi
    if roles.sensitive:
        spec["sensitive"] = {name: dict(definition) for name, definition in roles.sensitive.items()}
    if roles.insensitive:
        spec["insensitive"] = list(roles.insensitive)
    spec |= {"privacy": {"k": roles.k}, "workload": {"targets": list(roles.targets)}}
    return yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=120)
