"""Tables of DuckDB files. DuckDB itself reads and writes the Parquet files that go with them.

A file that somebody sent may hold views, and a view may read any file of the machine, or an address: so a connection
reads and writes its database and the files that it is told of, and nothing can change that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from anonymize import files
from anonymize.errors import DataError, Problem, UsageError, WriteError
from anonymize.table.files import reason_in
from anonymize.table.foreign import TableUri, compare, literal, quoted, taken

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PART = "parquet"

KEPT = frozenset(
    (
        *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
        *("FLOAT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP"),
    )
)
"""The types that are read as they are; all others, decimals among them, as their text."""

_ALONE = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
}
"""No extension comes by itself, no secret of the user is at hand, and no frame of this process is a table."""


def read(uri: TableUri, path: Path) -> None:
    """Writes all rows of a table to a file. Raises DataError for one that cannot be read."""
    import duckdb

    if not os.path.isfile(uri.address):
        raise DataError(Problem("cannot be read: there is no such file", file=uri.name))
    try:
        with _connected(uri, path, read_only=True) as connection:
            _copy(connection, uri, path)
    except duckdb.PermissionException:
        hint = "export the rows to a table of its own"
        raise DataError(Problem("is a view that reads other files, and may not", file=uri.name, hint=hint)) from None
    except duckdb.CatalogException:
        raise DataError(Problem("cannot be read: there is no such table", file=uri.name)) from None
    except duckdb.Error as error:
        if why := reason_in(error):
            raise WriteError(f"{uri.name}: cannot be copied to a temporary file: {why}") from None
        raise DataError(Problem(f"cannot be read: {_REFUSED}", file=uri.name)) from None


_REFUSED = "DuckDB refuses; the file may be in use by another process, or of another version, or no database"


@contextmanager
def _connected(uri: TableUri, *files: Path, read_only: bool) -> Iterator[DuckDBPyConnection]:
    """The database, and of the machine nothing else but some `files`."""
    import duckdb

    connection = duckdb.connect(os.path.abspath(uri.address), read_only=read_only, config=dict(_ALONE))
    try:
        connection.execute(f"SET allowed_paths = [{', '.join(literal(str(file)) for file in files)}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection
    finally:
        connection.close()


def _copy(connection: DuckDBPyConnection, uri: TableUri, path: Path) -> None:
    """Writes the table's rows, in their order, to a Parquet file."""
    types = {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {uri.quoted}").fetchall()}
    columns = ", ".join(
        quoted(name) if kind in KEPT else f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}"
        for name, kind in types.items()
    )
    options = "(FORMAT parquet, COMPRESSION lz4_raw, USE_TMP_FILE false)"
    connection.execute(f"COPY (SELECT {columns} FROM {uri.quoted}) TO {literal(str(path))} {options}")


def check_target(uri: TableUri, *, force: bool) -> None:
    """Raises UsageError for a database that cannot be reached, and for a table that exists, unless `force`."""
    import duckdb

    folder = os.path.dirname(os.path.abspath(uri.address))
    if not os.path.isdir(folder):
        raise UsageError(f"{uri.name}: there is no folder {folder}")
    if not os.path.lexists(uri.address):
        return
    try:
        with _connected(uri, read_only=True) as connection:
            there = _exists(connection, uri)
    except duckdb.Error:
        raise UsageError(f"{uri.name}: cannot be opened: {_REFUSED}") from None
    if there and not force:
        raise taken(uri)


def _exists(connection: DuckDBPyConnection, uri: TableUri) -> bool:
    # DuckDB's names are the same in any case. Asking for the table itself would end the transaction if there is none.
    query = (
        "SELECT count(*) FROM information_schema.tables WHERE table_catalog = current_catalog() "
        "AND lower(table_schema) = lower(coalesce(?, current_schema())) AND lower(table_name) = lower(?)"
    )
    row = connection.execute(query, [uri.schema, uri.table]).fetchone()
    return row is not None and row[0] > 0


def write(uri: TableUri, path: Path, *, force: bool) -> bool:
    """Makes the table from a file; whether another one was replaced. A database that did not exist is removed again
    where the transaction fails."""
    import duckdb

    fresh = not os.path.lexists(uri.address)
    again = files.unnamed("anonymize-")
    try:
        with _connected(uri, path, again, read_only=False) as connection:
            return _written(connection, uri, path, again, force=force)
    except BaseException as error:
        if fresh:
            for file in (uri.address, f"{uri.address}.wal"):
                with suppress(OSError):
                    os.unlink(file)
        if isinstance(error, duckdb.Error):
            raise WriteError(f"{uri.name}: cannot be written: {reason_in(error) or _REFUSED}") from None
        raise
    finally:
        files.remove(again)


def _written(connection: DuckDBPyConnection, uri: TableUri, path: Path, again: Path, *, force: bool) -> bool:
    """Makes the table and reads it `again`, into that file, in one transaction."""
    connection.execute("BEGIN TRANSACTION")
    replaced = _exists(connection, uri)
    if replaced and not force:
        raise taken(uri)
    if replaced:
        connection.execute(f"DROP TABLE {uri.quoted}")
    connection.execute(f"CREATE TABLE {uri.quoted} AS SELECT * FROM read_parquet({literal(str(path))})")
    _copy(connection, uri, again)
    compare(pl.read_parquet(path), pl.read_parquet(again), "DuckDB table", uri.name, blank=False)
    connection.execute("COMMIT")
    return replaced


def drop(uri: TableUri) -> None:
    """Takes the table back."""
    import duckdb

    with suppress(duckdb.Error), _connected(uri, read_only=False) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {uri.quoted}")
