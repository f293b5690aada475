"""Whether there is memory for a table, before it is read: what it takes, and what there is.

What there is is the least of the address space that is left (`ulimit -v`), what is left of the memory of the process's
control groups (version 2 or 1), and what the system has. Where none of them can be known, nothing is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl

from anonymize.errors import MemoryShortage, Problem
from anonymize.records import dataclass

SAMPLE = 1 << 20
MEGABYTE = 10**6


def check(wanted: int, free: int | None, name: str) -> None:
    """Raises MemoryShortage, with the figures, where a table takes more bytes than are `free` (None: nobody knows)."""
    if free is not None and wanted > free:
        message = f"takes about {_megabytes(wanted)} MB of memory, and there are {_megabytes(free)} MB"
        raise MemoryShortage(Problem(message, file=name, hint="raise the limit, or use a machine with more memory"))


def _megabytes(count: int) -> str:
    return f"{-(-count // MEGABYTE):,}"


def give_back() -> None:
    """Gives memory that has been freed back to the system, where its allocator (glibc's) would keep it."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


# --- what it takes ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Footprint:
    """Bytes that reading, searching, writing and checking a table of so many `rows` take, about, beyond what the
    process has at its start (`PROGRAM`): everything in memory (`whole`), or codes and classes in files, and classes
    made part by part (`in_files`)."""

    rows: int
    whole: int
    in_files: int

    @classmethod
    def of(cls, path: Path, form: str, columns: int, batch: int) -> Footprint:
        """That of a table of which so many columns are looked at. Codes of every column, the search's orders and labels
        of rows, and the check's numbers grow with the rows; the text of one `batch` of rows, several times over, is
        held beside them."""
        rows = rows_of(path, form)
        text = int(path.stat().st_size * min(1.0, 2 * batch / max(rows, 1)))
        whole, in_files = PER_ROW + PER_CELL * columns, PER_ROW_IN_FILES + PER_CELL_IN_FILES * columns
        return cls(rows, BASE + text + rows * whole, BASE_IN_FILES + text + rows * in_files)

    def fits(self, limit: int | None, free: int | None) -> bool:
        """Whether there is room for everything in memory: under a limit on the process, and within a share of what is
        free, in bytes; None: there is none, or nobody knows."""
        given = [] if limit is None else [limit - PROGRAM]
        given += [] if free is None else [int(SHARE * free)]
        return self.whole <= min(given, default=self.whole)


PROGRAM, BASE = 110 * MEGABYTE, 100 * MEGABYTE
PER_ROW, PER_CELL = 40, 4
"""Bytes of a row, and of each of its cells, in memory. Measured with Mondrian: 1,000,000 rows of eleven columns took
387 MB in all (388 by these), 421 in the input's order and 434 with a model of a sensitive attribute, those of five
columns 312 (305); 10,000,000 of eleven columns 1,010 and 1,054 MB (1,144), with a model 1,292."""
BASE_IN_FILES = 60 * MEGABYTE
PER_ROW_IN_FILES, PER_CELL_IN_FILES = 24, 3
"""Bytes of a row and of a cell beside files. Measured: 10,000,000 rows of eleven columns took 716 and 799 MB in all
(834 by these)."""
SHARE = 0.8
"""How much of what is free a table is given, as what it takes is an estimate."""
RESERVED = 300 * MEGABYTE
RESERVED_PER_THREAD = 150 * MEGABYTE
"""Address space that threads and their allocators reserve without using it: with two threads a small table
needs 600 to 700 MB of it, measured."""


def rows_of(path: Path, form: str) -> int:
    """Rows of a table, of a CSV about: as its first lines are."""
    if form == "csv":
        with open(path, "rb") as file:
            head = file.read(SAMPLE)
        return int(path.stat().st_size * head.count(b"\n") / max(len(head), 1))
    scan = pl.scan_parquet if form == "parquet" else pl.scan_ipc
    with suppress(pl.exceptions.PolarsError, OSError):  # which the reading will explain
        return int(scan(path, glob=False, hive_partitioning=False).select(pl.len()).collect().item())
    return 0


# --- what there is ---------------------------------------------------------------------------------------------------


def available() -> int | None:
    """Bytes that the process may still take, as far as the system says it."""
    return min((*_address_space(), *_groups(), *_system()), default=None)


def mappable() -> int | None:
    """Bytes of addresses that are left to the process, which files that are mapped take as memory does."""
    return next(_address_space(), None)


def _address_space() -> Iterator[int]:
    if sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        with suppress(OSError, ValueError):
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            reserved = RESERVED + RESERVED_PER_THREAD * pl.thread_pool_size()
            yield max(limit - pages * resource.getpagesize() - reserved, 0)


def _groups() -> Iterator[int]:
    """What is left in each control group of the process, from its own to the outermost."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, place = line.split(":", 2)
            if not controllers:
                yield from _upwards(Path("/sys/fs/cgroup"), place, "memory.max", "memory.current")
            elif "memory" in controllers.split(","):
                files = ("memory.limit_in_bytes", "memory.usage_in_bytes")
                yield from _upwards(Path("/sys/fs/cgroup/memory"), place, *files)


def _upwards(root: Path, place: str, limit: str, usage: str) -> Iterator[int]:
    innermost = root / place.lstrip("/")
    for folder in (innermost, *innermost.parents):
        if not folder.is_relative_to(root):
            return
        with suppress(OSError, ValueError):  # absent, or "max"
            most = int((folder / limit).read_text())
            yield max(most - int((folder / usage).read_text()) + _cached(folder), 0)


def _cached(folder: Path) -> int:
    """Bytes of files that the system keeps in memory and gives back on demand."""
    with suppress(OSError, ValueError, IndexError):
        lines = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
        figures = {line[0]: int(line[1]) for line in lines}
        return figures.get("total_inactive_file", figures.get("inactive_file", 0))
    return 0


def _system() -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024
