"""Where a table is that is not in a file: a URI of a table in a database, and how it is shown without its password."""

from __future__ import annotations

import os
import re

_URI = re.compile(r"(postgres(?:ql)?|duckdb)://", re.IGNORECASE)
_PASSWORD = re.compile(r"((?:postgres(?:ql)?|duckdb)://?[^\s:/?@]*):[^\s]*@", re.IGNORECASE)
_PARAMETER = re.compile(r"([?&](?:ssl)?password=)[^\s&]*", re.IGNORECASE)
_HIDDEN = "***"


def is_uri(place: object) -> bool:
    """Whether a text is the URI of a database: `postgresql://`, `postgres://` or `duckdb://`."""
    return isinstance(place, str) and _URI.match(place) is not None


def masked(text: str) -> str:
    """A text in which no URI has a password: up to its last @, so that one which is not encoded is hidden, too.

    >>> masked("postgresql://ann:p@ss/w:d@host:5432/db?table=people")
    'postgresql://ann:***@host:5432/db?table=people'
    >>> masked("postgresql://host/db?user=ann&password=secret&table=people")
    'postgresql://host/db?user=ann&password=***&table=people'
    """
    return _PARAMETER.sub(rf"\1{_HIDDEN}", _PASSWORD.sub(rf"\1:{_HIDDEN}@", text)) if ":/" in text else text


def relative_to(folder: str | os.PathLike[str], uri: str) -> str:
    """The URI with a DuckDB file relative to a folder, as the paths of a spec are; any other as it is.

    >>> relative_to("/data", "duckdb://people.duckdb?table=people")
    'duckdb:///data/people.duckdb?table=people'
    """
    scheme, _, rest = uri.partition("://")
    if scheme.lower() != "duckdb":
        return uri
    file, mark, query = rest.partition("?")
    return f"{scheme}://{os.path.join(folder, file)}{mark}{query}"
