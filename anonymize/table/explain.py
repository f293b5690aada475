"""What is wrong with a CSV that could not be read, and the line where it is. Slow and careful, and only for bad files.

No message holds a value of the file: line numbers and counts only.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, TypeAlias

from anonymize.errors import DataError, Problem
from anonymize.table.files import chunks
from anonymize.table.scan import Layout

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
    hint = "input.encoding, of an audit --encoding, names the encoding of the file, such as latin-1 or utf-16"
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


Records: TypeAlias = Iterator[Record]


@contextmanager
def records(path: Path, separator: str) -> Iterator[Records]:
    """The records of a CSV one by one, the header first.

    Iterating raises `Malformed` at a record that cannot be read. Slow: about a million records a second.
    """
    limit = csv.field_size_limit(LONGEST_FIELD)
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="\n") as file:
            yield _records(file, separator)
    finally:
        csv.field_size_limit(limit)


def _records(file: TextIO, separator: str) -> Records:
    lines: list[str] = []
    reader = csv.reader(_kept(file, lines), delimiter=separator, strict=True)
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


def _kept(file: TextIO, lines: list[str]) -> Iterator[str]:
    for line in file:
        lines.append(line)
        yield line


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
                    return record.line, f"{_fields(len(record.fields))} where {before} {layout.fields}", hint
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


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def line_of(path: Path, separator: str, number: int) -> int | None:
    """The line (from 1) at which a record (from 0, the header among them) starts; None where there is no such one."""
    try:
        with records(path, separator) as parsed:
            return next((record.line for index, record in enumerate(parsed) if index == number), None)
    except Malformed:
        return None
