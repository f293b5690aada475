"""An input that is read twice: once to be encoded, once for what passes through.

Reading in batches keeps the text of a table that is larger than memory out of memory. In a CSV every column is text:
an empty field is null, a quoted empty field is the empty text, and white space is kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import polars as pl

from anonymize import files
from anonymize.errors import DataError, Problem, UsageError
from anonymize.places import is_uri
from anonymize.spec.patterns import expand
from anonymize.table import memory, scan, spool
from anonymize.table.files import reason, spooled
from anonymize.table.named import Header, check_names, column, grouped, header_of, named, numbered
from anonymize.table.scan import Layout, Scan, Scanner

if TYPE_CHECKING:
    from anonymize.spec.model import Spec


BATCH = 500_000
_TAIL = 1 << 16
_POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
MOST_ROWS = 2**32 - 2
"""Rows are numbered in 32 bits by what reads and checks a table, and the last number of these stands for none."""


class Source:
    """An opened input. Use it as a context manager: leaving it removes the temporary copy, where there is one.

    Attributes:
        name: how messages call it, `<stdin>` or its path.
        path: the file that is read, which may be a temporary copy.
        format: `csv`, `parquet` or `arrow`.
        columns: names, in order; row names without one are `rownames`.
        schema: polars type of each column; String for every column of a CSV.
        separator: of the CSV.
        rows, sha256: known after the first complete reading. The hash is that of the input as it was given, and is ""
            before.
        earlier: of the last rows, those which are not of the input, but of one before it: the hash of that input, and
            which row of it each is, from 0. Such a source is a copy of the input with these behind it.
    """

    earlier: Sequence[tuple[str, int]] = ()

    def __init__(
        self,
        opened: spool.Opened,
        separator: str = ",",
        *,
        header: bool = True,
        doubtful: bool = False,
        unnamed: bool = False,
    ) -> None:
        self._unnamed = unnamed
        self._opened, self._has_header = opened, header
        self.name, self.path, self.format = opened.name, opened.path, opened.format
        self.separator = separator
        self.rows: int | None = None
        self.sha256 = opened.sha256 or ""
        self._stamp = self._stat()
        self._layout: Layout | None = None
        self._blank_lines = 0
        if self.format == "csv":
            columns = self._csv_header(doubtful)
            self.schema = pl.Schema(dict.fromkeys(columns.names, pl.String()))
            self._layout, self._blank_lines = self._csv_layout(columns)
        elif not header:
            message = f"is of the format {self.format}, which always names its columns"
            raise UsageError(Problem(f"input.header: {message}", file=self.name, hint="leave it out"))
        else:
            self.schema = self._typed_schema()
        self.columns = tuple(self.schema)

    @classmethod
    def open(cls, spec: Spec, path: str | Path | None = None, *, doubtful: bool = False) -> Source:
        """Opens `path`, or standard input for `-`, or the spec's `input.path` for None, and reads the header.
        `doubtful`: nobody has said that it has one.

        Raises UsageError where there is no path at all, where a file that is no CSV is said to have no header, and for
        a doubtful header that looks like a row; DataError for a file that cannot be read, is empty, or whose column
        names are empty or not unique, or that has lists or the like in a column which the spec uses.
        """
        chosen = spec.input.path if path is None else path
        if chosen is None:
            raise UsageError("no input: give --input, or input.path in the spec")
        text = str(chosen)
        opened = spool.open_input(text if text == "-" or is_uri(text) else Path(chosen), spec.input.encoding)
        try:
            reading, unnamed = spec.input, spec.input.unnamed == "drop"
            source = cls(opened, reading.separator, header=reading.header, doubtful=doubtful, unnamed=unnamed)
            roles = expand(spec, source.columns, lenient=True).roles()
            used = {name for name in source.columns if roles.get(name, "identifier") != "identifier"}
            used.update(spec.series.person)
            source.check_types(name for name in source.columns if name in used)
        except BaseException:
            _remove(opened)
            raise
        return source

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes the temporary copy, where there is one."""
        _remove(self._opened)

    # --- reading ---

    def scan(self) -> pl.LazyFrame:
        """All rows and columns: text for a CSV, the file's own types else."""
        if self.format == "csv":
            return self._scan_csv()
        typed = self._scan_typed()
        return typed if "" not in typed.collect_schema() else typed.rename({"": self.columns[0]})

    def _scan_typed(self) -> pl.LazyFrame:
        scan = pl.scan_parquet if self.format == "parquet" else pl.scan_ipc
        return scan(self.path, glob=False, hive_partitioning=False)

    def _scan_csv(self) -> pl.LazyFrame:
        frame = pl.scan_csv(
            self.path,
            schema=self.schema,
            has_header=False,
            skip_rows=int(self._has_header),
            separator=self.separator,
            glob=False,
        )
        return frame if not self._blank_lines or self.rows is None else frame.head(self.rows)

    def footprint(self, columns: int) -> memory.Footprint:
        """What it takes to look at so many of the columns."""
        return memory.Footprint.of(self.path, self.format, columns, BATCH)

    def examine(
        self, expressions: Sequence[pl.Expr], size: int = BATCH, *, hashing: bool = True, fits: bool = False
    ) -> Iterator[pl.DataFrame]:
        """The first reading: `expressions` of every row, in order and in batches, the bytes being checked beside it.

        Sets `rows` and `sha256` at its end. Raises DataError for a CSV with a record that is not sound; batches of such
        a file may have been yielded before. With no expressions the batches have rows and no columns. `hashing` False:
        the hash of an input that was read in place is not worth having. `fits`: that there is memory for the table is
        known; else raises MemoryShortage where there is too little.
        """
        if not fits:
            memory.check(self.footprint(len(expressions)).whole, memory.available(), self.name)
        with Scanner(self.path, self._layout, hashing=hashing and self._opened.sha256 is None) as scanner:
            if self._blank_lines:
                self._accept(scanner.result())
            rows = 0
            for batch in self._batches(expressions, size):
                if scanner.failed:
                    break
                rows += batch.height
                yield batch
            self._accept(scanner.result(), rows)

    def check(self) -> None:
        """Reads everything once and keeps nothing: sets `rows` and `sha256`, or raises what `examine` raises."""
        for _ in self.examine([pl.first()]):
            pass

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[pl.DataFrame]:
        """The second reading: some columns of every row, in order, `size` rows at a time (the last batch has the rest).

        With no columns the batches have rows and no columns. Raises DataError where the input is not the one that was
        read first.
        """
        self.unchanged()
        rows = 0
        for batch in self._batches([column(name) for name in columns], size):
            rows += batch.height
            yield batch
        self.unchanged()
        if self.rows is not None and rows != self.rows:
            raise self._changed()

    def _batches(self, expressions: Sequence[pl.Expr], size: int) -> Iterator[pl.DataFrame]:
        try:
            for batch in self.scan().select(expressions or pl.first()).collect_batches(chunk_size=size):
                yield batch if expressions else pl.DataFrame(height=batch.height)
        except (*_POLARS_ERRORS, OSError) as error:
            self._explain(too_many="2^32" in str(error))

    def _accept(self, scan: Scan, rows: int | None = None) -> None:
        """Takes the result of the byte scan; `rows` is what the parser counted, None if it has not."""
        self.sha256 = self.sha256 or scan.sha256
        expected = rows if self.format != "csv" else scan.records - self._has_header
        if not scan.sound or rows not in (None, expected):
            self._explain(too_many=scan.sound and scan.records > MOST_ROWS)
        self.rows = expected

    def _explain(self, *, too_many: bool) -> NoReturn:
        """Raises the reason for which the input could not be read; `too_many`: it is the number of rows."""
        self.unchanged()
        if too_many:
            hint = "release it on an engine: --engine spark, docs/engine.md"
            raise DataError(Problem(f"has more than {MOST_ROWS:,} rows", file=self.name, hint=hint)) from None
        if self._layout is None:
            raise DataError(Problem(f"cannot be read as a file of the format {self.format}", file=self.name)) from None
        raise scan.explain(self.path, self.name, self._layout) from None

    # --- the same input as before ---

    def unchanged(self) -> None:
        """Raises DataError where the file on disk is not the one that was opened (size, time of change, inode)."""
        if self._stat() != self._stamp:
            raise self._changed()

    def _changed(self) -> DataError:
        return DataError(Problem("changed while it was being read", file=self.name, hint="run again"))

    def _stat(self) -> tuple[int, int, int]:
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise DataError(Problem(f"cannot be read: {reason(error)}", file=self.name)) from None
        return status.st_size, status.st_mtime_ns, status.st_ino

    def check_types(self, names: Iterable[str]) -> None:
        """Raises DataError for columns whose cells are not single values."""
        if problems := not_values(self.schema, names, self.name):
            raise DataError(problems)

    def line_of(self, row: int) -> int | None:
        """The line (from 1) of the file at which a row (from 0) starts; None for a file that has no lines."""
        return scan.line_of(self.path, self.separator, row + self._has_header) if self.format == "csv" else None

    # --- the header ---

    @property
    def numeric(self) -> list[str]:
        """The columns that hold numbers, and not texts of numbers."""
        return [name for name, kind in self.schema.items() if kind.is_numeric()]

    def _typed_schema(self) -> pl.Schema:
        try:
            schema = self._scan_typed().collect_schema()
        except (*_POLARS_ERRORS, OSError):
            message = f"cannot be read as a file of the format {self.format}"
            raise DataError(Problem(message, file=self.name)) from None
        names = named(list(schema))
        check_names(names, self.name)
        return pl.Schema(zip(names, schema.dtypes(), strict=True))

    def _csv_header(self, doubtful: bool) -> Header:
        if self._stamp[0] == 0:
            raise DataError(Problem("the file is empty", file=self.name))
        if not self._has_header:
            return numbered(self.path, self.name, self.separator)
        return header_of(self.path, self.name, self.separator, doubtful=doubtful, unnamed=self._unnamed)

    def _csv_layout(self, header: Header) -> tuple[Layout, int]:
        """The layout, and the number of blank lines at the end. In a single column a blank line is an empty value."""
        size = self._stamp[0]
        tail = b"" if len(header.names) == 1 else self._line_ends(size)
        first = tail.find(b"\n") + 1
        blank = tail[first:] if first else b""
        lines = blank.count(b"\n") + (not blank.endswith(b"\n") and bool(blank))
        return Layout(self.separator, len(header.names), size - len(blank), header.short, self._has_header), lines

    def _line_ends(self, size: int) -> bytes:
        """The line ends with which the file ends."""
        with open(self.path, "rb") as file:
            block = _TAIL
            while True:
                file.seek(max(size - block, 0))
                end = file.read()
                tail = end[len(end.rstrip(b"\r\n")) :]
                if len(tail) < len(end) or len(end) == size:
                    return tail
                block *= 16


UNREAD = pl.Array(pl.Null, 0)
"""The type of a column in place of one of a frame that cannot be converted: there are no values in it."""
HINT = "a cell is a text, a number, a date or a truth value: split the column, or list it under identifiers"


def not_values(schema: Mapping[str, pl.DataType], names: Iterable[str], file: str | None = None) -> list[Problem]:
    """What is wrong with columns whose cells are not single values, and of which a library might say so with a cell."""
    problems = {}
    for name in names:
        kind = schema.get(name)
        if kind is not None and (kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration)):
            message = f"column {name!r} is of the type {type_name(kind)}, which is not supported"
            problems[name] = Problem(message, file, hint=HINT)
    return grouped(problems.items())


def type_name(kind: pl.DataType) -> str:
    """What messages call a type."""
    return "object" if kind == UNREAD else type(kind).__name__.lower()


def _remove(opened: spool.Opened) -> None:
    if opened.temporary:
        files.remove(opened.path)


@contextmanager
def copied(frame: pl.LazyFrame, source: Source) -> Iterator[Path]:
    """The path of a table that is written as a release of another one is (`Spec.of_release` reads it), as long as the
    block: a CSV with names and the source's separator where the source is one, of which a null is an empty field; else
    an Arrow file, with the frame's types. It is in no folder, where the system allows it. Raises WriteError where there
    is no room for it."""
    if source.format == "csv":
        path = spooled(lambda path: frame.sink_csv(path, separator=source.separator), ".csv")
    else:
        path = spooled(lambda path: frame.sink_ipc(path, compression="uncompressed"), ".arrow")
    try:
        yield path
    finally:
        files.remove(path)
