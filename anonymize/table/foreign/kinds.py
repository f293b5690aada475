"""The kinds of foreign tables: what each needs, how it is read, how it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import polars as pl

from anonymize import temporary
from anonymize.errors import DataError, Problem, UsageError, WriteError
from anonymize.table.files import reason, reason_in


@dataclass(frozen=True)
class ForeignKind:
    """A kind of file. `module`: has `read(path, name) -> DataFrame` and `write(frame, path)`; `extra`: of this package;
    `packages`: modules that it brings."""

    what: str
    module: str
    extra: str
    packages: tuple[str, ...]

    @property
    def code(self) -> ModuleType:
        return import_module(f"anonymize.table.foreign.{self.module}")

    def require(self) -> None:
        """Raises UsageError, naming the command that installs it, where the extra is absent."""
        absent = [name for name in self.packages if find_spec(name) is None]
        if absent:
            hint = f"pip install 'anonymize-toolkit[{self.extra}]'"
            raise UsageError(Problem(f"{self.what} needs {' and '.join(absent)}", hint=hint))


KINDS: dict[str, ForeignKind] = {
    "xlsx": ForeignKind("an .xlsx file", "xlsx", "office", ("fastexcel", "xlsxwriter")),
    "sav": ForeignKind("an SPSS file (.sav)", "sav", "stats", ("pyreadstat",)),
    "dta": ForeignKind("a Stata file (.dta)", "dta", "stats", ("pyreadstat",)),
}
"""By format."""


def to_arrow(form: str, path: Path, name: str) -> Path:
    """The table of a file as an Arrow file without a name. Raises UsageError, DataError, and WriteError where there is
    no room for it."""
    kind = KINDS[form]
    kind.require()
    frame: pl.DataFrame = kind.code.read(path, name)
    return spooled(frame.write_ipc)


def spooled(write: Callable[[Path], object]) -> Path:
    """A file without a name that `write` fills. Raises WriteError where there is no room for it."""
    try:
        path = temporary.unnamed("anonymize-")
    except OSError as error:
        raise _no_room(reason(error)) from None
    try:
        write(path)
    except BaseException as error:
        temporary.remove(path)
        why = reason_in(error) if isinstance(error, OSError | pl.exceptions.PolarsError) else None
        if why is not None:
            raise _no_room(why) from None
        raise
    return path


def _no_room(why: str) -> WriteError:
    return WriteError(f"the input cannot be copied to a temporary file: {why}")


def from_arrow(form: str, arrow: Path, target: Path, name: str) -> None:
    """Writes the table of an Arrow file as a file of another format, and reads it again.

    Raises WriteError for a table that the format cannot hold, or that reads differently from what was written.
    """
    code = KINDS[form].code
    frame = pl.read_ipc(arrow)
    code.write(frame, target, name)
    try:
        again: pl.DataFrame = code.read(target, name)
    except DataError:
        raise WriteError(f"{name}: cannot be written: what was written cannot be read") from None
    compare(frame, again, f".{form} file", name)


def compare(frame: pl.DataFrame, again: pl.DataFrame, form: str, name: str, *, blank: bool = True) -> None:
    """Raises WriteError where a table that was written reads differently. With `blank`, a null and an empty text are
    one, unless a column has both."""
    if frame.columns != again.columns or frame.height != again.height:
        raise WriteError(f"{name}: cannot be written: it would have other rows or columns when it is read again")
    counts = [_different(old, new, blank) for old, new in zip(frame.iter_columns(), again.iter_columns(), strict=True)]
    wrong = [
        Problem(
            f"{name}: cannot be written: column {column} has {count:,} values that a {form} cannot hold as they are",
            hint="texts that are empty, too long or end with a space are among what it cannot; "
            "write .parquet, .arrow or .csv",
        )
        for column, count in zip(frame.columns, counts, strict=True)
        if count
    ]
    if wrong:
        raise WriteError(wrong)


def _different(old: pl.Series, new: pl.Series, blank: bool) -> int:
    """How many cells of a column differ."""
    if old.dtype.is_numeric() and new.dtype.is_numeric() and not old.dtype.is_decimal():
        return int(old.cast(pl.Float64).ne_missing(new.cast(pl.Float64)).sum())
    empty = int((old == "").sum()) if blank and old.dtype == pl.String and old.null_count() else 0
    return empty or int(_text(old, blank).ne_missing(_text(new, blank)).sum())


def _text(column: pl.Series, blank: bool) -> pl.Series:
    kind = pl.Datetime("us") if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is None else None
    text = (column if kind is None else column.cast(kind)).cast(pl.String)
    return text.fill_null("") if blank else text
