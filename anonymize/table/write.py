"""Outputs that are complete or absent.

What is written goes to a temporary file (mode 0600) in the folder of the target. `commit` gives it its place by a
rename, which replaces another file only where that was asked for; anything else that happens, an interruption
included, removes it, and what a process leaves that is killed outright goes with the next run to the same target.
Standard output, and what is not a regular file (`/dev/null`, a named pipe), get a copy of the temporary file at
`commit`. What a table has in memory beside its values does not reach the file: see `rebuild`.
"""

from __future__ import annotations

import gzip
import itertools
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, cast

import polars as pl
from polars.io.plugins import register_io_source

from anonymize import files
from anonymize.errors import Problem, UsageError, WriteError
from anonymize.files import SUFFIXES, OutputFormat, sync
from anonymize.places import is_uri, masked
from anonymize.records import dataclass
from anonymize.table import foreign, forms
from anonymize.table.files import chunks, place, reason_in, sha256_of, write_all
from anonymize.table.foreign import KINDS

ROW_GROUP = 250_000  # rows; fixed, so that the bytes do not depend on the number of threads

EXISTS = "{}: exists already (--force overwrites it)"
STATE_EXISTS = "{}: exists already (--after continues it; --force starts a new series)"


def refuse_existing(paths: Iterable[str], state: str | None = None) -> None:
    """Raises UsageError with every output that is a file which exists, and the state of a series that is to begin."""
    files = [path for path in dict.fromkeys(paths) if path != "-" and not is_uri(path) and os.path.isfile(path)]
    problems = [EXISTS.format(path) for path in files if not _is_special(Path(path))]
    problems += [] if state is None or not os.path.lexists(state) else [STATE_EXISTS.format(state)]
    if problems:
        raise UsageError(problems)


def format_of(path: str | Path) -> OutputFormat:
    """The format that a target's suffix asks for; CSV for any other suffix and for standard output."""
    name = str(path).lower()
    return next((form for suffix, form in SUFFIXES.items() if name.endswith(suffix)), "csv")


def check_table(path: str, form: OutputFormat | None, more: Sequence[str] = ()) -> None:
    """Raises UsageError for a table to be written whose suffix is not a format's, unless a form is given, for a format
    or a database whose extra is absent, and for the URI of no table.

    `more`: other suffixes that the command knows.
    """
    kind = KINDS.get(form or format_of(path))
    if is_uri(path):
        foreign.check(path)
    elif kind is not None:
        kind.require()
    if form is None and not is_uri(path):
        check_suffix(path, "an output", (*SUFFIXES, *more))


def refuse_uri(path: str, what: str) -> None:
    """Raises UsageError for a table of a database, where `what` is written is more than a table."""
    if is_uri(path):
        foreign.check(path)
        raise UsageError(f"{masked(path)}: the release is {what}")


def check_suffix(path: str, what: str, suffixes: Sequence[str]) -> None:
    """Raises UsageError for a file whose suffix is none of the known ones: it would not be what its name says.

    A name without a suffix promises nothing, and neither does that of standard output, a device or a pipe.
    """
    if Path(path).suffix and not path.lower().endswith(tuple(suffixes)) and not _is_special(Path(path)):
        raise UsageError(f"{path}: {what} is one of {', '.join(suffixes)} by its suffix")


@dataclass(frozen=True)
class Pending:
    """A temporary file and the target whose place it takes, over another file or not, and the mode it gets."""

    part: str
    target: str
    replaces: bool
    mode: int


class OutputFile:
    """A file on its way. Use it as a context manager: leaving it without `commit` removes what was written.

    Args:
        path: the target; `-` and `/dev/stdout` are standard output.
        force: replace a file that exists.
        form: how tables are written; by the target's suffix for None.
        separator: of a CSV.
        private: only the owner may read the file, whatever the umask says and whoever may read the one it replaces.

    Attributes:
        private: the same, until `commit`.
        part: the temporary file, which can be read back between writing and `commit`.

    Raises UsageError for a target that is a folder, lies in none, or exists; WriteError, naming target and reason, for
    what the operating system refuses. A broken pipe is raised as it is.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        force: bool = False,
        form: OutputFormat | None = None,
        separator: str = ",",
        private: bool = False,
    ) -> None:
        standard = str(path) in ("-", "/dev/stdout")
        self.name = "<stdout>" if standard else str(path)
        self.format: OutputFormat = form or format_of(path)
        self._force, self.separator = force, separator
        self.private = private
        self._copied = standard or _is_special(Path(path))
        self._target = None if standard else Path(path) if self._copied else Path(os.path.realpath(path))
        self._published: bool | None = None  # whether there was a file before; None before commit
        self._synced = False
        self._check_target()
        self.part = self._temporary()

    def _check_target(self) -> None:
        if self._target is None:
            return
        if self._target.is_dir():
            raise UsageError(f"{self.name}: is a folder, not a file to write to")
        if not self._target.parent.is_dir():
            if os.path.islink(self.name):
                hint = f"make the folder {self._target.parent}, or remove the link"
                raise UsageError(Problem(f"{self.name}: is a symbolic link that leads nowhere", hint=hint))
            raise UsageError(f"{self.name}: there is no folder {Path(self.name).parent}")
        self._check_absent()

    def _check_absent(self) -> None:
        if self._target is not None and not self._copied and not self._force and os.path.lexists(self._target):
            raise self._exists()

    def _exists(self) -> UsageError:
        return UsageError(EXISTS.format(self.name))

    def _temporary(self) -> Path:
        beside = None if self._copied or self._target is None else self._target
        stem = "anonymize" if beside is None else beside.name[:60]
        prefix, suffix = f".{stem}.", f".{self.format}"
        with self._writing():
            if beside is not None:
                files.clear_left(prefix, suffix, beside.parent)
            return files.create(prefix, suffix, None if beside is None else beside.parent)

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.discard()

    def discard(self) -> None:
        """Removes the temporary file, if it is still there."""
        files.remove(self.part)

    # --- writing ---

    def write(self, frames: Iterable[pl.DataFrame | forms.Lines]) -> None:
        """Writes a table that comes in pieces, of one schema, at least one (which may have no rows): of a CSV data
        frames or lines, of other formats data frames.

        A CSV quotes what has to be quoted; null is an empty field, and the empty text a quoted one. All formats are
        written piece by piece: no more than a few pieces are in memory.
        """
        if self.format in forms.CSV:
            self._write_csv(frames)
        else:
            self._sink(forms.rebuilt(cast(Iterable[pl.DataFrame], frames), ROW_GROUP))

    def _write_csv(self, frames: Iterable[pl.DataFrame | forms.Lines]) -> None:
        with self._csv_file() as file:
            for number, frame in enumerate(frames):
                with self._writing():
                    if isinstance(frame, pl.DataFrame):
                        self._put(file, frame, header=number == 0)
                        continue
                    if number == 0:
                        self._put(file, pl.DataFrame(schema=dict.fromkeys(frame.columns, pl.String)), header=True)
                    self._put(file, frame.parts, header=False, quotes="never")

    def _put(
        self, file: BinaryIO, frame: pl.DataFrame, *, header: bool, quotes: Literal["necessary", "never"] = "necessary"
    ) -> None:
        if self.format == "csv":
            frame.write_csv(file, include_header=header, separator=self.separator, quote_style=quotes)
        else:  # as bytes: polars would not pass on what a file of Python's raises
            text = frame.write_csv(include_header=header, separator=self.separator, quote_style=quotes)
            file.write(text.encode())

    @contextmanager
    def _csv_file(self) -> Iterator[BinaryIO]:
        with self._writing():
            raw = open(self.part, "wb")  # noqa: SIM115 (closed below, where an error is one of writing)
        # No name and no time in the header: the same table gives the same bytes.
        zipped = gzip.GzipFile("", "wb", 6, raw, mtime=0) if self.format == "csv.gz" else None
        try:
            yield cast(BinaryIO, zipped or raw)
        except BaseException:
            with suppress(OSError):
                raw.close()
            raise
        with self._writing():
            if zipped is not None:
                zipped.close()
            raw.close()

    def _sink(self, frames: Iterator[pl.DataFrame]) -> None:
        first = next(frames)
        pieces = itertools.chain([first], frames)
        table = register_io_source(lambda *_: pieces, schema=first.schema)
        # An open file, not its path: after an interruption polars' threads may still be about to open what they were
        # given, and by name would create it anew when it has been removed here.
        with self._writing(), open(self.part, "wb") as file:
            if self.format == "parquet":
                table.sink_parquet(file, row_group_size=ROW_GROUP)
            else:
                table.sink_ipc(file, compression="lz4", record_batch_size=ROW_GROUP)

    def write_text(self, text: str) -> None:
        """Writes a text as UTF-8."""
        with self._writing():
            self.part.write_text(text, encoding="utf-8", newline="\n")

    def write_bytes(self, content: bytes) -> None:
        """Writes the whole content of a file."""
        with self._writing():
            self.part.write_bytes(content)

    @property
    def final(self) -> Path:
        """The temporary file that takes the target's place."""
        return self.part

    @cached_property
    def sha256(self) -> str:
        """The hash of what has been written: of the first time that it is asked for, before `commit`."""
        with self._writing():
            return sha256_of(self.final)

    def seal(self) -> None:
        """Hashes what has been written and waits until it is on disk: for a thread, while it is read again."""
        self.sync()
        assert self.sha256

    # --- publishing ---

    @property
    def pending(self) -> Pending | None:
        """The rename that gives it its place; None where it is copied instead."""
        if self._copied or self._target is None:
            return None
        return Pending(str(self.final), str(self._target), self._force, self._mode)

    @property
    def _mode(self) -> int:
        if self.private:
            return 0o600
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask

    def sync(self) -> None:
        """Waits until what was written is on disk; once, as nothing is written after that."""
        if not self._synced:
            with self._writing():
                sync(self.final)
            self._synced = True

    def commit(self) -> None:
        """Gives the output its place, and the mode that a new file gets; a copy for what is not a regular file."""
        self.sync()
        with self._writing():
            if self._copied or self._target is None:
                self._copy()
                return
            os.chmod(self.final, self._mode)
            self._place(self._target)
            with suppress(OSError):  # some file systems cannot sync a folder
                sync(self._target.parent)

    def _place(self, target: Path) -> None:
        """Raises UsageError for a target that came after the first look, unless files are to be replaced."""
        if self._force:
            self._published = target.exists()
            os.replace(self.final, target)
        else:
            try:
                place(self.final, target)
            except FileExistsError:
                raise self._exists() from None
            self._published = False
        files.PUBLISHED.add(target)

    def retract(self) -> None:
        """Takes a committed file back, unless it replaced another one."""
        if self._published is False and self._target is not None:
            with suppress(OSError):
                self._target.unlink()
                files.PUBLISHED.discard(self._target)

    def _copy(self) -> None:
        with open(self.final, "rb") as source:
            if self._target is not None:
                with open(self._target, "wb", buffering=0) as target:
                    _pour(source, target)
            elif sys.stdout is None:
                raise OSError(0, "it is closed")
            else:
                sys.stdout.flush()
                buffer = sys.stdout.buffer
                # Not through the buffer, which would try to write once more when the process ends.
                _pour(source, cast(BinaryIO, getattr(buffer, "raw", buffer)))
        self.discard()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """What the operating system refuses, as a WriteError."""
        try:
            yield
        except BrokenPipeError:
            raise
        except (OSError, pl.exceptions.ComputeError) as error:
            why = reason_in(error)
            if why is None and not isinstance(error, OSError):
                raise
        else:
            return
        raise WriteError(f"{self.name}: cannot be written: {why or 'input/output error'}")


class Publishable(Protocol):
    """What can be given its place, and be taken back: see `OutputFile`."""

    def sync(self) -> None:
        """Waits until it is on disk."""

    def commit(self) -> None:
        """Gives it its place."""

    def retract(self) -> None:
        """Takes it back, unless it replaced something."""


def commit(outputs: Sequence[Publishable]) -> None:
    """Commits several outputs in order, or none: where one fails, those before it are taken back.

    A file that was replaced (`force`) and a copy to standard output cannot be taken back; put the latter last.
    """
    for output in outputs:
        output.sync()
    try:
        for output in outputs:
            output.commit()
    except BaseException:
        for output in outputs:
            output.retract()
        raise


def _is_special(target: Path) -> bool:
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _pour(source: BinaryIO, target: BinaryIO) -> None:
    for chunk in chunks(source):
        write_all(target, chunk)
    target.flush()
