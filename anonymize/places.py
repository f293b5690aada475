"""Where a table is that is not in a file: a URI of a table in a database, and how it is shown without its password.

A place that is a URI is never a path: what names a scheme, or is a connection string of libpq, goes to whoever knows
databases, and is refused there with the schemes that are known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

_URI = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_LIBPQ = r"(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|sslpassword|options)"
_CONNECTION = re.compile(
    rf"\s*(?:(?:ssl)?password\s*=|{_LIBPQ}\s*=\s*(?:'(?:[^'\\]|\\.)*'|[^\s'/]*)\s+\w+\s*=)", re.IGNORECASE
)
"""Settings of libpq, one after the other: one of a password, or two of any kind."""

_USER = r"[a-z][a-z0-9+.-]*:/{1,2}[^\s:/?#@]*"
_PASSWORD = re.compile(rf"({_USER}):(?!\*\*\*@)(?:(?!\d{{1,5}}(?:[/?:\s]|$))[^\n]*|[^\s]*)@", re.IGNORECASE)
"""Up to the last @ of the line, as a password may have any character; a port is none, unless an @ follows at once."""
_TOKEN = re.compile(r"(https?://)(?!\*\*\*@)[^\s/?#@:]+@", re.IGNORECASE)
_PARAMETER = re.compile(
    r"((?:^|[?&;\s'\"])[\w%.+-]{2,60}\s*=\s*)(?!\*\*\*)"
    rf"(?:'(?:[^'\\\n]|\\.)*'|[^&\n]*?(?=&|\s+{_LIBPQ}\s*=|$))",
    re.IGNORECASE | re.MULTILINE,
)
_SECRET = re.compile(
    r"pass(?:w|phrase|$)|pwd|(?:^|[\W_])pw$|token|secret|credential|(?:^|[\W_])sig(?:nature)?$|(?:api|access|account|private)_?key$",
    re.IGNORECASE,
)
"""What the names of parameters have that hold secrets."""
_HIDDEN = "***"


def is_uri(place: object) -> bool:
    """Whether a text names something other than a file: `postgresql://...`, any other scheme, or settings of libpq."""
    return isinstance(place, str) and bool(_URI.match(place) or _CONNECTION.match(place))


def masked(text: str) -> str:
    """A text in which no URI has a password: up to its last @, so that one which is not encoded is hidden, too.

    >>> masked("postgresql://ann:p@ss/w:d@host:5432/db?table=people")
    'postgresql://ann:***@host:5432/db?table=people'
    >>> masked("postgresql://host/db?user=ann&passw%6frd=secret&table=people")
    'postgresql://host/db?user=ann&passw%6frd=***&table=people'
    >>> masked("host=db.example password='not this' dbname=clinic")
    'host=db.example password=*** dbname=clinic'
    """
    if ":/" in text:
        text = _TOKEN.sub(rf"\1{_HIDDEN}@", _PASSWORD.sub(rf"\1:{_HIDDEN}@", text))
    return _PARAMETER.sub(_without_value, text) if "=" in text else text


def _without_value(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}{_HIDDEN}" if _is_secret(parameter[1]) else parameter[0]


def _is_secret(name: str) -> bool:
    """Whether a parameter of this name, which may be written with % as any part of a URI, holds a secret."""
    from urllib.parse import unquote_plus  # every start of the command imports this module, and few of them need it

    return _SECRET.search(unquote_plus(name).rstrip("= \t")) is not None


def without_secrets(uri: str) -> str:
    """A URI as a file may keep it: without its password and without other parameters that hold secrets.

    >>> without_secrets("postgresql://ann:p@ss@host/db?sslmode=require&password=secret&table=people")
    'postgresql://ann@host/db?sslmode=require&table=people'
    """
    hidden = _PASSWORD.sub(r"\1@", uri)
    address, mark, query = hidden.partition("?")
    kept = "&".join(pair for pair in query.split("&") if not _is_secret(pair.partition("=")[0]))
    return f"{address}{mark}{kept}" if kept else address


def scheme_of(place: str) -> str:
    """What a URI begins with, in small letters; "" for settings of libpq."""
    return place.partition("://")[0].lower() if _URI.match(place) else ""


def relative_to(folder: str | os.PathLike[str], uri: str) -> str:
    """The URI with a DuckDB file relative to a folder, as the paths of a spec are; any other as it is.

    >>> relative_to("/data", "duckdb://people.duckdb?table=people")
    'duckdb:///data/people.duckdb?table=people'
    """
    return _with_file(uri, lambda file: os.path.join(folder, file))


def seen_from(folder: str | os.PathLike[str], uri: str) -> str:
    """The opposite: how a spec in that folder names a DuckDB file that is named from the working directory.

    >>> seen_from("specs", "duckdb://people.duckdb?table=people")
    'duckdb://../people.duckdb?table=people'
    """
    return _with_file(uri, lambda file: file if os.path.isabs(file) else os.path.relpath(file, folder))


def _with_file(uri: str, change: Callable[[str], str]) -> str:
    if scheme_of(uri) != "duckdb":
        return uri
    from urllib.parse import unquote

    scheme, _, rest = uri.partition("://")
    file, mark, query = rest.partition("?")
    changed = change(unquote(file)).replace("%", "%25").replace("?", "%3F")
    return f"{scheme}://{changed}{mark}{query}"
