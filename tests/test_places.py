"""URIs of databases, and what is shown of them."""

from __future__ import annotations

import pytest

from anonymize.errors import Problem, UsageError
from anonymize.places import is_uri, masked, relative_to

SECRET = "hunter2"


@pytest.mark.parametrize(
    "uri",
    [
        f"postgresql://ann:{SECRET}@host/db?table=t",
        f"postgres://ann:{SECRET}@host:1/db?table=t",
        f"POSTGRESQL://:{SECRET}@host/db?table=t",
        f"postgresql://ann:a@b:{SECRET}@host/db?table=t",
        f"postgresql://ann:a/{SECRET}@host/db?table=t",
        f"postgresql://host/db?password={SECRET}&table=t",
        f"postgresql://host/db?table=t&sslpassword={SECRET}",
        f"postgresql:/ann:{SECRET}@host/db",
        f"see postgresql://ann:{SECRET}@host/db: no",
    ],
)
def test_no_password_is_shown(uri: str) -> None:
    assert SECRET not in masked(uri)
    assert "***" in masked(uri)
    assert SECRET not in str(Problem(uri, file=uri))
    assert SECRET not in str(UsageError(uri))


@pytest.mark.parametrize(
    "text", ["a.csv", "postgresql://host/db?table=t", "duckdb://a.duckdb?table=t", "12:30", "C:/a@b"]
)
def test_what_has_no_password_is_shown_as_it_is(text: str) -> None:
    assert masked(text) == text


def test_what_is_a_uri() -> None:
    assert is_uri("duckdb://a?table=t") and is_uri("Postgres://h/d?table=t")
    assert not is_uri("a.duckdb") and not is_uri("https://a") and not is_uri(None)


def test_only_files_are_relative_to_a_folder() -> None:
    assert relative_to("/data", "postgresql://h/d?table=t") == "postgresql://h/d?table=t"
    assert relative_to("/data", "duckdb:///a/b?table=t") == "duckdb:///a/b?table=t"
