"""The URI of a table in a database, taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlencode

from anonymize.errors import Problem, UsageError
from anonymize.places import masked, scheme_of

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
            raise UsageError(Problem(f"{masked(uri)}: is not a place that is known", hint=hint))
        scheme, _, rest = uri.partition("://")
        address, _, query = rest.partition("?")
        given = parse_qsl(query, keep_blank_values=True)
        tables = [value for key, value in given if key == "table"]
        if len(tables) != 1 or not all(tables[0].split(".")):
            hint = f"{scheme.lower()}://...?table=name, or ?table=schema.name"
            raise UsageError(Problem(f"{masked(uri)}: does not say which table", hint=hint))
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
