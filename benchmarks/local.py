"""Local recoding: what top-down, bottom-up and refinement lose, in what time; part of `make bench`.

A case whose options the command does not have is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runs import Run, Section, Tables, available, released, tell

SIZES = (5, 10, 25, 50)
ROWS = 1_000_000
IN_ALL = 12
"""Seconds from process start that a release of Adult may take in the last case."""
OVERHEAD = 3
"""Seconds of them that are not refinement: start, reading, the method itself, writing, check."""


@dataclass(frozen=True)
class Case:
    """A command with its options."""

    command: str
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"`{' '.join((self.command, *self.options))}`"

    def exists(self) -> bool:
        """Whether this version of the program has it."""
        return available(self.command, self.options)

    def run(self, spec: Path, *more: str) -> Run:
        """One release."""
        return released(spec, *self.options, *more, command=self.command)


LOSS = (
    Case("top-down", ("--no-refine",)),
    Case("bottom-up", ("--no-refine",)),
    Case("mondrian"),
    Case("top-down", ("--refine",)),
    Case("bottom-up", ("--refine",)),
    Case("mondrian", ("--refine",)),
)
QUICK = (
    Case("top-down", ("--refine", "--time-limit", str(IN_ALL - OVERHEAD))),
    Case("mondrian", ("--refine", "--time-limit", str(IN_ALL - OVERHEAD))),
)
LARGE = (Case("mondrian"), Case("top-down", ("--start", "mondrian")))


def local_recoding(tables: Tables) -> Iterator[Section]:
    """Loss and seconds by k; the best within some seconds; a large table in two stages."""
    yield _loss(tables)
    yield _quick(tables)
    yield _large(tables)


def _loss(tables: Tables) -> Section:
    rows = []
    for case in filter(Case.exists, LOSS):
        found = [case.run(tables.adult(), "-k", str(k)) for k in SIZES]
        rows.append((str(case), *(f"{_gcp(run):.4f} ({run.seconds:.1f} s)" for run in found)))
        tell(f"{case}: {', '.join(rows[-1][1:])}")
    title = f"Local recoding: {tables.adult_name}, 8 quasi-identifiers, gcp (wall)"
    return Section(title, ("method", *(f"k = {k}" for k in SIZES)), rows)


def _quick(tables: Tables) -> Section:
    rows = []
    for case in filter(Case.exists, QUICK):
        run = case.run(tables.adult(), "-k", "10")
        rows.append((str(case), f"{_gcp(run):.4f}", f"{run.seconds:.1f}"))
        tell(f"{case}: gcp {_gcp(run):.4f}, {run.seconds:.1f} s")
    return Section(f"Within {IN_ALL} s in all: {tables.adult_name}, k = 10", ("method", "gcp", "wall, s"), rows)


def _large(tables: Tables) -> Section:
    rows, least = [], None
    for case in filter(Case.exists, LARGE):
        run = case.run(tables.scale(ROWS))
        least = least or _gcp(run)
        change = f"{_gcp(run) / least - 1:+.1%}"
        rows.append((str(case), f"{_gcp(run):.5f}", change, f"{run.seconds:.1f}", f"{run.peak_mb:,.0f}"))
        tell(f"{case}, {ROWS:,} rows: gcp {_gcp(run):.5f}, {run.seconds:.1f} s, {run.peak_mb:,.0f} MB")
    header = ("method", "gcp", "against mondrian", "wall, s", "peak, MB")
    return Section(f"{ROWS:,} rows in two stages, 6 quasi-identifiers, k = 10", header, rows)


def _gcp(run: Run) -> float:
    return float(run.report["utility"]["gcp"])
