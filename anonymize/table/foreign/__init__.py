"""Tables that are neither CSV nor Parquet nor Arrow: workbooks, SPSS and Stata files, tables of databases by their
URIs; what each kind needs, how it is read and written."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, Protocol, TypeAlias
from urllib.parse import parse_qsl, unquote, urlencode

import polars as pl

from anonymize.errors import DataError, Problem, UsageError, WriteError
from anonymize.places import masked, scheme_of
from anonymize.records import dataclass
from anonymize.table.files import spooled

# --- URIs -------------------------------------------------------------------------------------------------------------

SCHEMES = ("postgresql", "postgres", "duckdb")


@dataclass(frozen=True, repr=False)
class TableUri:
    """`scheme://address?table=schema.table`, other parameters being the database's own.

    `database`: the URI without the table, which may hold a password; `name`: the whole, as it is shown. `schema`: None
    for the one that the database takes.
    """

    scheme: str
    address: str
    database: str
    name: str
    schema: str | None
    table: str

    @classmethod
    def parse(cls, uri: str) -> TableUri:
        """Raises UsageError for a URI of no known scheme, and for one that names no table."""
        if scheme_of(uri) not in SCHEMES:
            known = ", ".join(f"{each}://" for each in SCHEMES)
            hint = f"a table is a file, or the URI of a table in a database: {known} with ?table=name"
            raise UsageError(Problem(f"{masked(uri)}: is not a supported location", hint=hint))
        scheme, _, rest = uri.partition("://")
        address, _, query = rest.partition("?")
        given = parse_qsl(query, keep_blank_values=True)
        tables = [value for key, value in given if key == "table"]
        if len(tables) != 1 or not all(tables[0].split(".")):
            hint = f"{scheme.lower()}://...?table=name, or ?table=schema.name"
            raise UsageError(Problem(f"{masked(uri)}: does not name a table", hint=hint))
        schema, _, table = tables[0].rpartition(".")
        others = urlencode([(key, value) for key, value in given if key != "table"])
        database = f"{scheme}://{address}" + (f"?{others}" if others else "")
        return cls(scheme.lower(), unquote(address), database, masked(uri), schema or None, table)

    @property
    def quoted(self) -> str:
        """The table as SQL names it: with its case, whatever it is called."""
        return ".".join(quoted(part) for part in (self.schema, self.table) if part is not None)


def quoted(name: str) -> str:
    """A name as SQL has it between double quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL has it between single quotes."""
    return "'" + text.replace("'", "''") + "'"


# --- kinds ------------------------------------------------------------------------------------------------------------


def taken(uri: TableUri) -> UsageError:
    """That a table is there already."""
    return UsageError(f"{uri.name}: exists already (--force overwrites it)")


@dataclass(frozen=True)
class ForeignKind:
    """A kind of file. `module`: of this folder, or `module:object` in it; has `read(path, name) -> DataFrame` and
    `write(frame, path, name)`. `extra`: of this package; `packages`: modules that it brings."""

    what: str
    module: str
    extra: str
    packages: tuple[str, ...]

    @property
    def code(self) -> Any:
        return resolve_name(f"anonymize.table.foreign.{self.module}")

    def require(self) -> None:
        """Raises UsageError, naming the command that installs it, where the extra is absent."""
        absent = [name for name in self.packages if find_spec(name) is None]
        if absent:
            hint = f"pip install 'anonymize-toolkit[{self.extra}]'"
            raise UsageError(Problem(f"{self.what} needs {' and '.join(absent)}", hint=hint))


KINDS: dict[str, ForeignKind] = {
    "xlsx": ForeignKind("an .xlsx file", "packages:EXCEL", "office", ("fastexcel", "xlsxwriter")),
    "sav": ForeignKind("an SPSS file (.sav)", "packages:SPSS", "stats", ("pyreadstat",)),
    "dta": ForeignKind("a Stata file (.dta)", "packages:STATA", "stats", ("pyreadstat",)),
}
"""By format."""


def to_arrow(form: str, path: Path, name: str) -> Path:
    """The table of a file as an Arrow file without a name. Raises UsageError, DataError, and WriteError where there is
    no room for it."""
    kind = KINDS[form]
    kind.require()
    frame: pl.DataFrame = kind.code.read(path, name)
    return spooled(frame.write_ipc)


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
    hint = "texts that are empty, too long or end with a space are among what it cannot; write .parquet, .arrow or .csv"
    wrong = []
    for old, new in zip(frame.iter_columns(), again.iter_columns(), strict=True):
        if count := _different(old, new, blank):
            message = f"column {old.name} has {count:,} values that a {form} cannot hold as they are"
            wrong.append(Problem(f"{name}: cannot be written: {message}", hint=hint))
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


# --- tables of databases ----------------------------------------------------------------------------------------------
# `postgresql://user@host:5432/database?table=schema.table`, and `duckdb://file.duckdb?table=table`.
#
# The rows are read in one statement, and a release is written in one transaction: it is there whole or not at all. What
# the database's own messages say goes nowhere, as it may hold a password or a value.

PartFormat: TypeAlias = Literal["arrow", "parquet"]

DUCKDB = ForeignKind("a DuckDB database", "duck", "databases", ("duckdb",))
POSTGRESQL = ForeignKind(
    "a PostgreSQL database", "postgres", "databases", ("adbc_driver_manager", "adbc_driver_postgresql")
)
DATABASES = dict(zip(SCHEMES, (POSTGRESQL, POSTGRESQL, DUCKDB), strict=True))
"""By the scheme of a URI."""


class Database(Protocol):
    """What a module of a database has. `PART`: the format that is read into, and that a release is written from."""

    PART: PartFormat

    def read(self, uri: TableUri, path: Path) -> None:
        """Writes all rows to a file. Raises DataError for a table that cannot be read."""

    def check_target(self, uri: TableUri, *, force: bool) -> None:
        """Raises UsageError for a database that cannot be reached, and for a table that exists, unless `force`."""

    def write(self, uri: TableUri, path: Path, *, force: bool) -> bool:
        """Makes the table from a file, in one transaction; whether another one was replaced. Raises WriteError, and
        UsageError for a table that has come about by now."""

    def drop(self, uri: TableUri) -> None:
        """Takes the table back."""


def database_of(uri: TableUri) -> Database:
    """The module of the database. Raises UsageError where its extra is absent."""
    kind = DATABASES[uri.scheme]
    kind.require()
    code: Database = kind.code
    return code


def check(uri: str) -> None:
    """Raises UsageError for a URI without a table, and for a database whose extra is absent."""
    database_of(TableUri.parse(uri))


def table_spooled(uri: str) -> tuple[Path, str, PartFormat]:
    """The rows of a table as a file without a name; how messages call the table; the format of the file."""
    table = TableUri.parse(uri)
    database = database_of(table)
    return spooled(lambda path: database.read(table, path)), table.name, database.PART
