"""One pass over the bytes of an input: its SHA-256, and whether every record of a CSV has as many fields as the header.

The parser takes a record that is too short as padded with empty fields, and one that is too long as cut, without a
word; this pass is what finds them. It runs in a thread beside the parser. Where it finds a record that is not sound, or
the parser gives up, `anonymize.table.explain` reads the file again, slowly, and says which line is at fault.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anonymize.table.files import CHUNK, chunks

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
