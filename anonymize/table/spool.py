"""Tables that go through a temporary file: inputs that cannot be read in place, and outputs on their way to a form
that is not written piece by piece."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import itertools
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, cast

import polars as pl

from anonymize import files
from anonymize.errors import DataError, Problem, WriteError
from anonymize.files import OutputFormat, opened
from anonymize.places import is_uri
from anonymize.records import dataclass
from anonymize.table import foreign, forms
from anonymize.table.files import chunks, reason, sha256_of, spooled, write_all
from anonymize.table.foreign import KINDS, TableUri, from_arrow
from anonymize.table.write import OutputFile
from anonymize.table.write import format_of as write_format_of

# --- on their way in --------------------------------------------------------------------------------------------------
# Pipes, gzip, encodings other than UTF-8 and folders of Parquet files are copied to a temporary file first. It has no
# name where the system allows it, so that nothing of it is left even by a process that is killed.

Format: TypeAlias = Literal["csv", "parquet", "arrow", "xlsx", "sav", "dta"]
Place: TypeAlias = Path | str
"""A file, or a folder of Parquet files; or, as a text, `-` for standard input, or the URI of a table in a database."""
GZIP = b"\x1f\x8b"
MAGIC: dict[bytes, Format] = {b"PAR1": "parquet", b"ARROW1\0\0": "arrow"}
FOREIGN: dict[bytes, Format] = {b"PK\3\4": "xlsx", b"$FL2": "sav", b"$FL3": "sav", b"<stata_d": "dta"}
SUFFIXES: dict[str, Format] = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}
OLD_STATA = tuple(bytes([number]) for number in range(0x69, 0x74))
"""First bytes of Stata files before version 13, which may as well begin a CSV: only their suffix tells."""
CONVERTED: dict[str, Format] = {".xlsx": "xlsx", ".sav": "sav", ".zsav": "sav", ".dta": "dta"}


@dataclass(frozen=True)
class Opened:
    """A file on disk that can be read as often as needed.

    `temporary` files are to be removed by whoever asked for them. `sha256` is that of the input as it came, before it
    was decompressed or decoded; None where the file is the input itself.
    """

    path: Path
    name: str
    format: Format
    temporary: bool = False
    sha256: str | None = None


def open_input(place: Place, encoding: str) -> Opened:
    """Finds out what an input is, and copies it to a temporary file (mode 0600) where it cannot be read in place.

    Format and compression follow from the first bytes, not from the name. Raises DataError for what cannot be read or
    is not what its suffix claims, WriteError where there is no room for the copy, and UsageError where an extra that
    it needs is absent.
    """
    if is_uri(place):
        return Opened(*foreign.table_spooled(str(place)), temporary=True)
    name = "<stdin>" if place == "-" else str(place)
    if place != "-" and os.path.isdir(place):
        return _of_folder(Path(place))
    try:
        with _stream(place) as stream:
            tap = Tap(stream)
            form = format_of(tap.head)
            table = Opened(Path(place), name, form)
            if CONVERTED.get(Path(place).suffix.lower()) == "dta" and tap.head[:1] in OLD_STATA:
                table = replace(table, format="dta")
            elif place == "-" or not _in_place(stream, tap.head, form, encoding):
                table = _spooled(tap, name, encoding)
    except OSError as error:
        raise DataError(Problem(f"cannot be read: {reason(error)}", file=name)) from None
    claimed = (SUFFIXES | CONVERTED).get(Path(place).suffix.lower())
    if claimed not in (None, table.format):
        if table.temporary:
            files.remove(table.path)
        raise DataError(Problem(f"is not a file of the format {claimed}", file=name))
    return _converted(table) if table.format in foreign.KINDS else table


def _of_folder(folder: Path) -> Opened:
    """The Parquet files of a folder, as an engine writes them, as one table: in the order of their names, in an Arrow
    file without a name. The hash is that of the hashes of the files. Files whose names begin with `_` or `.` are marks
    of the engine."""
    files = sorted(each for each in folder.glob("*.parquet") if each.name[0] not in "_." and each.is_file())
    if not files:
        raise DataError(Problem("is a folder without Parquet files", file=str(folder)))
    try:
        hashes = "".join(map(sha256_of, files))
        path = spooled(pl.scan_parquet(files, glob=False, hive_partitioning=False).sink_ipc)
    except OSError as error:
        raise DataError(Problem(f"cannot be read: {reason(error)}", file=str(folder))) from None
    except pl.exceptions.PolarsError:
        message = "its Parquet files cannot be read as one table: damaged, or of different columns"
        raise DataError(Problem(message, file=str(folder))) from None
    return Opened(path, str(folder), "arrow", True, hashlib.sha256(hashes.encode()).hexdigest())


def _converted(opened: Opened) -> Opened:
    """A workbook, or a file of SPSS or Stata, as an Arrow file without a name."""
    try:
        path = foreign.to_arrow(opened.format, opened.path, opened.name)
        return Opened(path, opened.name, "arrow", True, opened.sha256 or sha256_of(opened.path))
    finally:
        if opened.temporary:
            files.remove(opened.path)


@contextmanager
def _stream(place: Place) -> Iterator[BinaryIO]:
    if place != "-":
        with opened(place) as stream:
            yield stream
    elif sys.stdin is None:
        raise DataError(Problem("cannot be read: it is closed", file="<stdin>"))
    else:
        yield cast(BinaryIO, sys.stdin.buffer)


def format_of(head: bytes) -> Format:
    """The format of a file that begins with these bytes."""
    return next((form for magic, form in (MAGIC | FOREIGN).items() if head.startswith(magic)), "csv")


def _in_place(stream: BinaryIO, head: bytes, form: Format, encoding: str) -> bool:
    regular = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    return regular and not head.startswith(GZIP) and (form != "csv" or _is_utf8(encoding))


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


class Tap(io.RawIOBase):
    """A stream, hashed while it is read. `head`: its first bytes, enough to tell the format."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()
        self.head = b""
        wanted = max(map(len, MAGIC))
        while len(self.head) < wanted and (more := stream.read(wanted - len(self.head))):
            self.head += more
        self._pending = self.head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._pending[: len(buffer)] or self._stream.read(len(buffer))
        self._pending = self._pending[len(data) :]
        self.digest.update(data)
        buffer[: len(data)] = data
        return len(data)


def _spooled(tap: Tap, name: str, encoding: str) -> Opened:
    stream = cast(BinaryIO, io.BufferedReader(tap, 1 << 16))
    pieces = _unzipped(stream, name) if tap.head.startswith(GZIP) else chunks(stream)
    first = next(pieces, b"")
    pieces, form = itertools.chain([first], pieces), format_of(first)
    if form == "csv" and not _is_utf8(encoding):
        pieces = _decoded(pieces, name, encoding)
    path = _copied(pieces)
    return Opened(path, name, form, True, tap.digest.hexdigest())


def _unzipped(stream: BinaryIO, name: str) -> Iterator[bytes]:
    try:
        yield from chunks(cast(BinaryIO, gzip.GzipFile(fileobj=stream, mode="rb")))
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(Problem("its gzip data is damaged or cut short", file=name)) from None


def _decoded(pieces: Iterable[bytes], name: str, encoding: str) -> Iterator[bytes]:
    """The same text as UTF-8. Raises DataError with the line (from 1) of the first bytes that are not `encoding`."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    for piece, last in itertools.chain(((piece, False) for piece in pieces), [(b"", True)]):
        state = decoder.getstate()
        try:
            text = decoder.decode(piece, last)
            yield text.encode()
        except UnicodeError:
            line += _lines_before_error(piece, encoding, state)
            hint = "input.encoding names the encoding of the file"
            raise DataError(Problem(f"bytes that are not {encoding}", file=name, line=line, hint=hint)) from None
        line += text.count("\n")


def _lines_before_error(piece: bytes, encoding: str, state: tuple[bytes, int]) -> int:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    decoder.setstate(state)
    try:
        return decoder.decode(piece).partition("\ufffd")[0].count("\n")
    except UnicodeError:
        return 0


def _copied(pieces: Iterable[bytes]) -> Path:
    with _copying():
        path = files.unnamed("anonymize-")
    try:
        with open(path, "wb", buffering=0) as file:
            for piece in pieces:
                with _copying():
                    write_all(cast(BinaryIO, file), piece)
    except BaseException:
        files.remove(path)
        raise
    return path


@contextmanager
def _copying() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError(f"the input cannot be copied to a temporary file: {reason(error)}") from None


# --- on their way out -------------------------------------------------------------------------------------------------
# What is not written piece by piece is written as an Arrow file first, which is what is verified, and then converted.


def output_table(
    path: str, *, force: bool = False, form: OutputFormat | None = None, separator: str = ","
) -> OutputFile:
    """A table to be written: a file, of the format that `form` or its suffix asks for, or a table of a database."""
    if is_uri(path):
        return DatabaseTable(path, force=force)
    kind = form or write_format_of(path)
    if kind in KINDS:
        return ConvertedFile(path, kind, force=force)
    return OutputFile(path, force=force, form=form, separator=separator)


class ConvertedFile(OutputFile):
    """A workbook, or a file of SPSS or Stata. `part` is the Arrow file that it is made of."""

    def __init__(self, path: str, kind: OutputFormat, *, force: bool = False) -> None:
        super().__init__(path, force=force, form="arrow")
        self._kind = kind
        self._final = self._temporary()

    @property
    def final(self) -> Path:
        return self._final

    def write(self, frames: Iterable[pl.DataFrame | forms.Lines]) -> None:
        """Writes the table, and reads it again; raises WriteError where it reads differently, too."""
        super().write(frames)
        with self._writing():
            from_arrow(self._kind, self.part, self._final, self.name)

    def discard(self) -> None:
        super().discard()
        files.remove(self._final)

    def commit(self) -> None:
        super().commit()
        files.remove(self.part)


class DatabaseTable(OutputFile):
    """A table of a database, made in one transaction at `commit`. `part` lies in the system's folder until then."""

    def __init__(self, uri: str, *, force: bool = False) -> None:
        self._uri = TableUri.parse(uri)
        self._database = foreign.database_of(self._uri)
        super().__init__("-", force=force, form=self._database.PART)
        self.name = self._uri.name
        try:
            self._database.check_target(self._uri, force=force)
        except BaseException:
            self.discard()
            raise

    def commit(self) -> None:
        """Makes the table and its rows, or nothing."""
        self.sync()
        with self._writing():
            self._published = self._database.write(self._uri, self.part, force=self._force)
        self.discard()

    def retract(self) -> None:
        """Drops a table that was made, unless it replaced another one."""
        if self._published is False:
            self._database.drop(self._uri)
