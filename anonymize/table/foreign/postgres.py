"""Tables of PostgreSQL, through ADBC and libpq.

What the URI leaves out libpq takes from its environment (`PGHOST`, `PGUSER`, `PGPASSWORD`) or from `~/.pgpass`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from anonymize.errors import AnonymizeError, DataError, Problem, UsageError, WriteError
from anonymize.table.foreign import TableUri, compare, literal, quoted, taken

PART = "arrow"

KEPT = frozenset(
    (
        *("boolean", "smallint", "integer", "bigint", "real", "double precision"),
        *("text", "character varying", "date", "timestamp without time zone"),
    )
)
"""The types that are read as they are; all others, `numeric` among them, as their text."""

REASONS = {
    "28": "the user or the password is not accepted",
    "3D": "there is no such database",
    "3F": "there is no such schema",
    "42P01": "there is no such table",
    "42501": "the user may not do that",
    "2BP01": "other objects depend on the table",
    "53": "the server has no room for it",
}
"""By SQLSTATE, or the class that it begins with."""


@contextmanager
def _session(uri: TableUri, error: Callable[[str], AnonymizeError]) -> Iterator[tuple[Any, Any]]:
    """A cursor and its connection, in one transaction, which is rolled back unless the block commits.

    `error` makes an error of a reason; the server's own message may hold values, and is not shown.
    """
    from adbc_driver_manager import dbapi as manager
    from adbc_driver_postgresql import dbapi

    connected = False
    try:
        with dbapi.connect(uri.database) as connection, connection.cursor() as cursor:
            connected = True
            cursor.execute("SET TIME ZONE 'UTC'")
            cursor.execute("SET datestyle TO ISO")
            yield cursor, connection
    except manager.Error as failure:
        raise error(_reason(failure.sqlstate or "", connected)) from None


def _reason(state: str, connected: bool) -> str:
    if not connected:
        return "the server cannot be reached, or does not accept database, user or password"
    return REASONS.get(state) or REASONS.get(state[:2]) or f"the server refuses it (SQLSTATE {state or 'unknown'})"


def read(uri: TableUri, path: Path) -> None:
    """Writes all rows of a table to a file. Raises DataError for one that cannot be read."""

    def error(reason: str) -> DataError:
        return DataError(Problem(f"cannot be read: {reason}", file=uri.name))

    with _session(uri, error) as (cursor, _):
        if (types := _types(cursor, uri)) is None:
            raise error(REASONS["42P01"])
        frame = _rows(cursor, uri, types)
    frame.write_ipc(path)


def _types(cursor: Any, uri: TableUri) -> dict[str, str] | None:
    """The columns of the table and their types; None where there is no such table."""
    place = literal(uri.quoted)
    cursor.execute(f"SELECT to_regclass({place}) IS NOT NULL")
    if not cursor.fetchone()[0]:
        return None
    cursor.execute(
        "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute "
        f"WHERE attrelid = to_regclass({place}) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    )
    return dict(cursor.fetchall())


def _rows(cursor: Any, uri: TableUri, types: dict[str, str]) -> pl.DataFrame:
    columns = ", ".join(
        quoted(name) if kind in KEPT else f"{quoted(name)}::text AS {quoted(name)}" for name, kind in types.items()
    )
    cursor.execute(f"SELECT {columns} FROM {uri.quoted}")
    return pl.DataFrame(cursor.fetch_arrow())


def check_target(uri: TableUri, *, force: bool) -> None:
    """Raises UsageError for a database that cannot be reached, and for a table that exists, unless `force`."""
    with _session(uri, lambda reason: UsageError(f"{uri.name}: {reason}")) as (cursor, _):
        if _types(cursor, uri) is not None and not force:
            raise taken(uri)
        if uri.schema is not None:
            cursor.execute(f"SELECT to_regnamespace({literal(quoted(uri.schema))}) IS NULL")
            if cursor.fetchone()[0]:
                raise UsageError(f"{uri.name}: {REASONS['3F']}")
        schema = "current_schema()" if uri.schema is None else literal(uri.schema)
        cursor.execute(f"SELECT has_schema_privilege({schema}, 'CREATE')")
        if not cursor.fetchone()[0]:  # where it is refused while rows are sent, the driver knows no reason
            raise WriteError(f"{uri.name}: cannot be written: {REASONS['42501']}")


def write(uri: TableUri, path: Path, *, force: bool) -> bool:
    """Makes the table from a file; whether another one was replaced. One that is replaced is dropped in the same
    transaction."""
    frame = pl.read_ipc(path)
    storable = frame.select([_storable(column) for column in frame.iter_columns()])
    with _session(uri, lambda reason: WriteError(f"{uri.name}: cannot be written: {reason}")) as (cursor, connection):
        replaced = _types(cursor, uri) is not None
        if replaced and not force:
            raise taken(uri)
        if replaced:
            cursor.execute(f"DROP TABLE {uri.quoted}")
        cursor.adbc_ingest(uri.table, storable, mode="create", db_schema_name=uri.schema)
        compare(storable, _rows(cursor, uri, _types(cursor, uri) or {}), "PostgreSQL table", uri.name, blank=False)
        connection.commit()
    return replaced


def _storable(column: pl.Series) -> pl.Series:
    """The column in a type that PostgreSQL has; as text where it has none that is read as it is."""
    kind = column.dtype
    if kind.is_unsigned_integer():
        wide = column.cast(pl.Int64, strict=False)
        return wide if wide.null_count() == column.null_count() else column.cast(pl.String)
    if kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Float32, pl.Float64, pl.Boolean, pl.String, pl.Date):
        return column
    if isinstance(kind, pl.Datetime) and kind.time_zone is None:
        return column.cast(pl.Datetime("us"))
    return column.cast(pl.String)


def drop(uri: TableUri) -> None:
    """Takes the table back."""
    with suppress(WriteError), _session(uri, WriteError) as (cursor, connection):
        cursor.execute(f"DROP TABLE IF EXISTS {uri.quoted}")
        connection.commit()
