"""A private state and the files that go with it appear together, also where the process is killed between two renames.

A journal next to the state says which temporary files take which places. It is there from the first temporary file on,
as *begun*, and is *sealed*, with the hashes of complete files, before the first rename; it goes after the last.
Whoever comes next, finds one and holds the lock, finishes what was sealed and removes what was only begun. Where
something that was sealed can be finished no more, because its temporary file is gone, what was placed is taken back.

The lock is `flock` on a file next to the state, so that it does not outlive the process. The state of a series and the
ledger of a budget are kept so.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from anonymize.errors import UsageError, WriteError
from anonymize.files import sync
from anonymize.records import dataclass
from anonymize.table import OutputFile, files

PATIENCE = 10.0
"""Seconds for which a state that another process has is waited for."""


@dataclass(frozen=True)
class _Step:
    """A rename, and the hash of the file; "" while it is being written."""

    part: str
    target: str
    replaces: bool
    mode: int
    sha256: str = ""

    @property
    def in_place(self) -> bool:
        return self._is_at(self.target)

    @property
    def possible(self) -> bool:
        return self._is_at(self.part)

    def _is_at(self, path: str) -> bool:
        try:
            return bool(self.sha256) and files.sha256_of(path) == self.sha256
        except OSError:
            return False

    def do(self) -> None:
        os.chmod(self.part, self.mode)
        if self.replaces:
            os.replace(self.part, self.target)
        else:
            files.place(Path(self.part), Path(self.target))

    def undo(self) -> None:
        """Removes what it made; a file that it replaced cannot come back, and is left replaced."""
        with suppress(FileNotFoundError):
            os.unlink(self.part)
        if self.in_place and not self.replaces:
            os.unlink(self.target)


def lock_of(state: Path) -> Path:
    """The file of the lock of a state."""
    return state.parent / f".{state.name}.lock"


@dataclass(frozen=True)
class Journal:
    """The journal of the state at `state`."""

    state: Path

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.state.parent / f".{self.state.name}.journal"

    def begin(self, outputs: Sequence[OutputFile]) -> None:
        """Notes temporary files that are about to be written."""
        pending = (output.pending for output in outputs)
        self._write([_Step(**asdict(each)) for each in pending if each is not None])

    def commit(self, outputs: Sequence[OutputFile]) -> None:
        """Gives the outputs their places, in their order; put the state last.

        Where one cannot be placed, those before it are taken back as far as they replaced nothing. Once the last one
        is in place there is nothing to take back, whatever comes then.
        """
        for output in outputs:
            output.sync()
        pairs = [(output.pending, output.sha256) for output in outputs]
        steps = [_Step(**asdict(pending), sha256=sha256) for pending, sha256 in pairs if pending is not None]
        self._write(steps)
        try:
            for output in outputs:
                output.commit()
        except BaseException:
            if not steps[-1].in_place:
                for output in outputs:
                    output.retract()
            raise

    def record(self, kind: str, content: Mapping[str, Any]) -> None:
        """Notes in the file of the lock which state this is, of a kind; where that fails, the one before stands
        there."""
        with suppress(OSError), open(lock_of(self.state), "w", encoding="utf-8") as file:
            file.write(json.dumps({kind: content}) + "\n")

    def end(self) -> None:
        """There is nothing to finish any more."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def recover(self) -> bool:
        """Finishes, or takes back, what a process that is gone has left; whether there was anything sealed. For who
        holds the lock. Raises WriteError where that cannot be done."""
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            steps = [_Step(**step) for step in content["steps"]]
        except FileNotFoundError:
            return False
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = files.reason(error) if isinstance(error, OSError) else "it is damaged"
            raise WriteError(f"{self.path}: the journal of an interrupted run cannot be read: {why}") from None
        sealed = bool(steps) and all(step.sha256 for step in steps)
        with _writing(self.path):
            if sealed and all(step.in_place or step.possible for step in steps):
                for step in steps:
                    if not step.in_place:
                        step.do()
            else:
                for step in steps:
                    step.undo()
        self.end()
        return sealed

    def _write(self, steps: Sequence[_Step]) -> None:
        part = self.path.with_name(f"{self.path.name}.part")
        with _writing(self.path):
            handle = os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with open(handle, "w", encoding="utf-8") as file:
                json.dump({"steps": [asdict(step) for step in steps]}, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self.path)
            with suppress(OSError):  # some file systems cannot sync a folder
                sync(self.path.parent)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {files.reason(error)}") from None


@contextmanager
def locked(state: Path, what: str = "series") -> Iterator[Journal]:
    """The journal of a state, for one process at a time; an interrupted run is finished or taken back first. `what`:
    the state is of.

    Raises UsageError where another process works on it, or the folder is not there; WriteError for what the operating
    system refuses.
    """
    if not state.parent.is_dir():
        raise UsageError(f"{state}: there is no folder {state.parent}")
    path = lock_of(state)
    handle = _lock(state, path, what)
    try:
        journal = Journal(state)
        journal.recover()
        yield journal
    finally:
        _clear(state, path)
        os.close(handle)


def _clear(state: Path, path: Path) -> None:
    """Removes the lock of a run that ended without a state, unless a state is on record in it."""
    with suppress(OSError):
        if not os.path.lexists(state) and not path.stat().st_size:
            path.unlink()


def _lock(state: Path, path: Path, what: str) -> int:
    """The file behind the lock, which this process holds. A run that ended without a state removes the file, and it may
    have been this one that was opened: then the next is taken."""
    while True:
        with _writing(path):
            handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise UsageError(f"{state}: another run works on this {what}") from None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)


@contextmanager
def waiting(path: Path, name: str) -> Iterator[Journal]:
    """The journal of a state, under its lock; another process that has it at this moment is waited for."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            lock = locked(path, name)
            journal = lock.__enter__()
            break
        except UsageError:
            if time.monotonic() > end or not path.parent.is_dir():
                raise
            time.sleep(0.02)
    try:
        yield journal
    finally:
        lock.__exit__(None, None, None)
