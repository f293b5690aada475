"""One pass over the bytes of an input: its SHA-256, and whether every record of a CSV has as many fields as the
first; and, where one has not, what is wrong with it, and in which line."""

from __future__ import annotations

import codecs
import csv
import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeAlias

import numpy as np

from anonymize.errors import DataError, Problem
from anonymize.records import dataclass
from anonymize.table.files import CHUNK, chunks

# --- one pass ---------------------------------------------------------------------------------------------------------
# The parser takes a record that is too short as padded with empty fields, and one that is too long as cut, without a
# word; this pass is what finds them. It runs in a thread beside the parser. Where it finds a record that is not sound,
# or the parser gives up, the file is read again, slowly, to say which line is at fault.

QUOTE, NEWLINE = ord('"'), ord("\n")


@dataclass(frozen=True)
class Layout:
    """How a CSV is laid out: its separator, the fields of a record, and the byte at which blank last lines begin.
    `short`: the header has one field less, that of the row names; `header`: the first record is one."""

    separator: str
    fields: int
    end: int
    short: bool = False
    header: bool = True


@dataclass(frozen=True)
class Scan:
    """What one pass over the bytes found. `records` counts the header; `sound` is False for a CSV to be explained."""

    sha256: str
    records: int
    sound: bool


class Scanner:
    """A scan in a thread of its own. Leaving the context stops it."""

    def __init__(self, path: Path, layout: Layout | None, hashing: bool = True) -> None:
        self._path, self._layout, self._hashing = path, layout, hashing
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scan", daemon=True)
        self._scan: Scan | None = None
        self._error: BaseException | None = None

    def __enter__(self) -> Scanner:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._scan = scan(self._path, self._layout, self._hashing, self._stop)
        except BaseException as error:  # handed to the thread that waits
            self._error = error

    @property
    def failed(self) -> bool:
        """Whether it is known already that the file is not sound."""
        return self._scan is not None and not self._scan.sound

    def result(self) -> Scan:
        """Waits for the end of the pass. Raises what the pass raised (OSError)."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._scan is not None
        return self._scan


def scan(path: Path, layout: Layout | None, hashing: bool = True, stop: threading.Event | None = None) -> Scan:
    """Hashes a file and, given a layout, checks its records. Ends early at the first unsound one, or when `stop` is
    set."""
    digest = hashlib.sha256()
    records = None if layout is None else Records(layout)
    with open(path, "rb") as file:
        for chunk in chunks(file) if hashing or records is not None else ():
            if hashing:
                digest.update(chunk)
            if records is not None:
                records.feed(chunk)
            if (stop is not None and stop.is_set()) or (records is not None and not records.sound):
                break
    counted = (0, True) if records is None else (records.finish(), records.sound)
    return Scan(digest.hexdigest(), *counted)


class Records:
    """Counts the records of a CSV fed in chunks, and checks that each has as many fields as the header.

    Only separators, line ends and quotation marks of a chunk are kept; those inside quotes are dropped. In a sound
    file the rest is `fields - 1` separators and a line end, over and over: one comparison of memory per chunk.
    """

    def __init__(self, layout: Layout) -> None:
        separator = layout.separator.encode()
        self.sound = True
        self._left = layout.end
        self._drop = bytes(set(range(256)) - {*separator, NEWLINE, QUOTE})
        self._record = separator * (layout.fields - 1) + b"\n"
        self._cycle = self._record * (CHUNK // len(self._record) + 2)
        self._events = int(layout.short)  # as if the separator were there that a short header lacks
        self._quoted = False
        self._last = b"\n"

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes of the file. `sound` is False from the first record that is not."""
        chunk = chunk[: self._left]
        if not chunk or not self.sound:
            return
        self._left -= len(chunk)
        self._last = chunk[-1:]
        events = chunk.translate(None, self._drop)
        if self._quoted or b'"' in events:
            events = self._outside_quotes(events)
        self.sound = b"\0" not in chunk and self._fits(events)

    def _outside_quotes(self, events: bytes) -> bytes:
        marks = np.frombuffer(events, np.uint8)
        quotes = marks == QUOTE
        quoted = np.logical_xor.accumulate(quotes) ^ self._quoted
        if len(quoted):
            self._quoted = bool(quoted[-1])
        outside: bytes = marks[~(quoted | quotes)].tobytes()
        return outside

    def _fits(self, events: bytes) -> bool:
        start = self._events % len(self._record)
        self._events += len(events)
        return events == self._cycle[start : start + len(events)]

    def finish(self) -> int:
        """The number of records, the header included. A last line needs no line end."""
        if self.sound and self._last != b"\n":
            self.sound = self._fits(b"\n")
        self.sound = self.sound and not self._quoted
        return self._events // len(self._record)


# --- what is wrong with a CSV -----------------------------------------------------------------------------------------
# Slow and careful, and only for bad files. No message holds a value of the file: line numbers and counts only.

LONGEST_FIELD = 1 << 24  # characters; a quotation mark that is never closed ends here
Defect: TypeAlias = tuple[int | None, str, str | None]  # line, message, hint


def explain(path: Path, name: str, layout: Layout) -> DataError:
    """The first thing that is wrong with a CSV, and the line (from 1) where it is. Reads the file twice."""
    fallback = (None, "cannot be read as a CSV", None)
    return _error(name, _unreadable(path) or _unsound_record(path, layout) or fallback)


def check_bytes(path: Path, name: str) -> None:
    """Raises DataError, with the line, for bytes that are not text."""
    defect = _unreadable(path)
    if defect:
        raise _error(name, defect)


def _error(name: str, defect: Defect) -> DataError:
    line, message, hint = defect
    return DataError(Problem(message, file=name, line=line, hint=hint))


def _unreadable(path: Path) -> Defect | None:
    """The first byte that is not UTF-8, or that is NUL."""
    decoder, lines = codecs.getincrementaldecoder("utf-8")(), 1
    hint = "name the encoding of the file, such as latin-1 or utf-16: input.encoding, or --encoding of an audit"
    with open(path, "rb") as file:
        for chunk in chunks(file):
            held = len(decoder.getstate()[0])
            nul = chunk.find(b"\0")
            try:
                decoder.decode(chunk if nul < 0 else chunk[:nul])
            except UnicodeDecodeError as error:
                return lines + chunk[: max(error.start - held, 0)].count(b"\n"), "bytes that are not UTF-8", hint
            if nul >= 0:
                return lines + chunk[:nul].count(b"\n"), "a NUL byte", hint
            lines += chunk.count(b"\n")
    return (lines, "the last character is cut short", hint) if decoder.getstate()[0] else None


@dataclass(frozen=True)
class Record:
    """A record of a CSV, the line (from 1) at which it starts, and its fields and text."""

    line: int
    fields: list[str]
    text: str


ExplainedRecords: TypeAlias = Iterator[Record]


@contextmanager
def records(path: Path, separator: str) -> Iterator[ExplainedRecords]:
    """The records of a CSV one by one, the header first.

    Iterating raises `Malformed` at a record that cannot be read. Slow: about a million records a second.
    """
    limit = csv.field_size_limit(LONGEST_FIELD)
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="\n") as file:
            yield _records(file, separator)
    finally:
        csv.field_size_limit(limit)


def _records(file: TextIO, separator: str) -> ExplainedRecords:
    lines: list[str] = []

    def kept() -> Iterator[str]:
        for line in file:
            lines.append(line)
            yield line

    reader = csv.reader(kept(), delimiter=separator, strict=True)
    while True:
        line = reader.line_num + 1
        lines.clear()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise Malformed(line, _reason(str(error))) from None
        yield Record(line, fields, "".join(lines))


class Malformed(Exception):
    """A record that cannot be read as CSV, and the line (from 1) at which it starts."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line, self.message = line, message


def _reason(error: str) -> str:
    """A reason in place of the csv module's message."""
    if "unexpected end" in error or "field larger" in error:
        return "a quotation mark is never closed"
    if "new-line" in error:
        return "a carriage return inside an unquoted field"
    return "a quotation mark is followed by neither a separator nor a line end"


def _unsound_record(path: Path, layout: Layout) -> Defect | None:
    """The first record with a wrong number of fields, else the first with a quotation mark where none may be."""
    blank, stray, sound, before = 0, 0, _sound_record(layout.separator), "the header has"
    before = before if layout.header else "the first line has"
    try:
        with records(path, layout.separator) as parsed:
            if layout.short:
                next(parsed)
                before = "the rows before it have"
            for record in parsed:
                if blank:
                    return blank, "an empty line", None
                if not record.fields and layout.fields > 1:
                    blank = record.line
                elif len(record.fields) not in (layout.fields, 0):
                    longer = len(record.fields) == layout.fields + 1 and not record.fields[-1]
                    hint = "the last one is empty: take the separator at the end of the line out" if longer else None
                    fields = "1 field" if len(record.fields) == 1 else f"{len(record.fields)} fields"
                    return record.line, f"{fields} where {before} {layout.fields}", hint
                elif not stray and '"' in record.text and not sound.fullmatch(record.text):
                    stray = record.line
    except Malformed as malformed:
        return malformed.line, malformed.message, None
    hint = "quote the field, and double the mark"
    return (stray, "a quotation mark inside an unquoted field", hint) if stray else None


def _sound_record(separator: str) -> re.Pattern[str]:
    mark = re.escape(separator)
    field = f'(?:"(?:[^"]|"")*+"|[^"\n{mark}]*+)'
    return re.compile(f"{field}(?:{mark}{field})*+\r?\n?")


def line_of(path: Path, separator: str, number: int) -> int | None:
    """The line (from 1) at which a record (from 0, the header among them) starts; None where there is no such one."""
    try:
        with records(path, separator) as parsed:
            return next((record.line for index, record in enumerate(parsed) if index == number), None)
    except Malformed:
        return None
