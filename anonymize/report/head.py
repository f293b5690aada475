"""How every report begins: what made it, when, and of which files."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

from anonymize import __version__
from anonymize.spec import Spec

SCHEMA_VERSION = 1
STAGES = ("read", "search", "recode", "verify", "write")


class TableSource(Protocol):
    """Where a table comes from."""

    @property
    def name(self) -> str:
        """As reports call it."""

    @property
    def sha256(self) -> str | None:
        """The hash of its bytes; None where it has none."""

    @property
    def columns(self) -> Sequence[str]:
        """Their names."""


class Clock:
    """Wall seconds of each stage, and since the start."""

    def __init__(self) -> None:
        self.started_at = datetime.now(UTC)
        self._start = time.perf_counter()
        self._stages = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Adds the time of the block to a stage: one of `STAGES`, or one that only some releases have."""
        start = time.perf_counter()
        yield
        self._stages[stage] = self._stages.get(stage, 0.0) + time.perf_counter() - start

    def timing(self) -> dict[str, float]:
        """The report's `timing` block."""
        total = time.perf_counter() - self._start
        return {f"{stage}_s": round(seconds, 4) for stage, seconds in (self._stages | {"total": total}).items()}


def head(clock: Clock | None = None, *, private: bool = True) -> dict[str, Any]:
    """The first blocks of a report; with a clock, when it was started. `private`: it tells more than what is published
    does, so that only its owner may read it."""
    block = {"schema_version": SCHEMA_VERSION, "tool": {"name": "anonymize", "version": __version__}}
    started = {} if clock is None else {"started_at": clock.started_at.isoformat(timespec="seconds")}
    return {**block, **started, "private": private}


def spec_path(spec: Spec) -> dict[str, str | None]:
    """The block `spec` where the report is not about how a release was made."""
    return {"path": None if spec.path is None else str(spec.path)}


def table_block(source: TableSource, rows: int | None) -> dict[str, Any]:
    """A table of so many rows as it was read."""
    return {"path": source.name, "sha256": source.sha256, "rows": rows, "columns": len(source.columns)}
