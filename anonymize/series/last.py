"""Whether a state is the last one of its series: an older one that was put back would fork it, and nobody would see."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from anonymize.errors import Problem, UsageError
from anonymize.journal import lock_of
from anonymize.link import FORMAT
from anonymize.records import dataclass
from anonymize.series.state import SeriesState

# Every state has a counter, and every release a chain (see `anonymize.series.state`). Both stand in a second and a
# third place: in the file of the lock beside the state, and in the private link of each release. What is on record
# there of a later state, or of a release that the state neither has nor took back, is a fork. A state that was copied
# to a machine which has neither cannot be told from the last one.

HEAD = 4096
"""Bytes of a link, in which its record is."""
_RECORD = re.compile(r'"series": (\{[^{}]*\})')


def kept_link(state: Path, number: int) -> Path:
    """Where the link of a release is kept that is written nowhere else."""
    return state.with_name(f".{state.name}.link-{number}.json")


@dataclass(frozen=True)
class StateRecord:
    """What is on record of a state: the `series` by the chain of its first release, the `counter`, and the `chain` of
    the last release."""

    series: str
    counter: int
    chain: str

    @classmethod
    def of(cls, state: SeriesState) -> StateRecord:
        """The record of a state."""
        return cls(state.chains[0], state.counter, state.last_chain)


def check_last(state: SeriesState, path: Path) -> None:
    """Raises UsageError where something on record beside the state, or beside a link of its releases, is of a later
    state or of a release that it does not know."""
    known = {*state.chains, *state.undone}
    for file, record in _records(state, path):
        if record.series != state.chains[0]:
            continue
        if record.counter > state.counter:
            message = f"{os.fspath(file)} is of a later state of the series: this one is older, and would fork it"
            raise UsageError(Problem(message, os.fspath(path), hint="take the last state"))
        if record.chain not in known:
            message = f"{os.fspath(file)} is of a release that this state does not know: the series was forked"
            raise UsageError(Problem(message, os.fspath(path), hint="take the state that made it"))


def _records(state: SeriesState, path: Path) -> Iterator[tuple[Path, StateRecord]]:
    folders = {path.parent.resolve(), *(Path(each.link).parent for each in state.releases if each.link is not None)}
    links = (file for folder in sorted(folders) for each in ("*.json", "*.csv") for file in sorted(folder.glob(each)))
    for file in (lock_of(path), *(file for file in links if file.is_file())):
        record = _record(file)
        if record is not None:
            yield file, record


def _record(file: Path) -> StateRecord | None:
    """The record in the head of a file; None where there is none."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        with file.open("rb") as opened:
            head = opened.read(HEAD).decode("utf-8", "replace")
        match = _RECORD.search(head) if FORMAT in head or file.name.endswith(".lock") else None
        content: dict[str, Any] = json.loads(match[1]) if match else {}
        return StateRecord(str(content["series"]), int(content["counter"]), str(content["chain"])) if content else None
    return None
