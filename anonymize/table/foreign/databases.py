"""Tables of databases, by URI: `postgresql://user@host:5432/database?table=schema.table` and
`duckdb://file.duckdb?table=table`.

The rows are read in one statement, and a release is written in one transaction: it is there whole or not at all. What
the database's own messages say goes nowhere, as it may hold a password or a value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from anonymize.table.foreign import kinds
from anonymize.table.foreign.kinds import ForeignKind
from anonymize.table.foreign.uris import SCHEMES, TableUri

PartFormat: TypeAlias = Literal["arrow", "parquet"]

DUCKDB = ForeignKind("a DuckDB database", "duck", "databases", ("duckdb",))
POSTGRESQL = ForeignKind(
    "a PostgreSQL database", "postgres", "databases", ("adbc_driver_manager", "adbc_driver_postgresql")
)
KINDS = dict(zip(SCHEMES, (POSTGRESQL, POSTGRESQL, DUCKDB), strict=True))
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
    kind = KINDS[uri.scheme]
    kind.require()
    code: Database = kind.code
    return code


def check(uri: str) -> None:
    """Raises UsageError for a URI without a table, and for a database whose extra is absent."""
    database_of(TableUri.parse(uri))


def spooled(uri: str) -> tuple[Path, str, PartFormat]:
    """The rows of a table as a file without a name; how messages call the table; the format of the file."""
    table = TableUri.parse(uri)
    database = database_of(table)
    return kinds.spooled(lambda path: database.read(table, path)), table.name, database.PART
