"""URIs of databases, and what is shown of them."""

from __future__ import annotations

import os

import pytest

from anonymize.errors import Problem, UsageError
from anonymize.places import is_uri, masked, relative_to, seen_from, without_secrets
from anonymize.table.foreign import TableUri

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
        f"postgresql://ann:my {SECRET}@host/db?table=t",
        f"postgresql://ann:p@x {SECRET}@host/db?table=t",
        f"postgresql://host/db?table=t&passw%6frd={SECRET}",
        f"postgresql://host/db?password=my {SECRET}&table=t",
        f"duckdb://a.duckdb?table=t&motherduck_token={SECRET}",
        f"postgresql+psycopg2://ann:{SECRET}@host/db?table=t",
        f"mysql://ann:{SECRET}@host/db?table=t",
        f"https://ann:{SECRET}@host/a.csv",
        f"https://{SECRET}@host/a.csv",
        f"https://host/a.csv?X-Amz-Signature=1&sig={SECRET}",
        f"s3://key:{SECRET}@bucket/a.parquet",
        f"host=h dbname=d password={SECRET}",
        f"host = h password = 'my {SECRET}' dbname = d",
        f"password=my {SECRET}",
    ],
)
def test_no_password_is_shown(uri: str) -> None:
    assert SECRET not in masked(uri)
    assert "***" in masked(uri)
    assert SECRET not in str(Problem(uri, file=uri))
    assert SECRET not in str(UsageError(uri))


@pytest.mark.parametrize(
    "text",
    [
        *("a.csv", "postgresql://host/db?table=t", "duckdb://a.duckdb?table=t", "12:30", "C:/a@b", "k=5 passing=3"),
        "postgresql://host:5432/db?table=t: the column e@mail has no role",
        "host=h dbname=d",
    ],
)
def test_what_has_no_password_is_shown_as_it_is(text: str) -> None:
    assert masked(text) == text


def test_what_is_a_uri() -> None:
    assert is_uri("duckdb://a?table=t") and is_uri("Postgres://h/d?table=t")
    assert is_uri("https://a") and is_uri("host=h dbname=d") and is_uri("password=a")
    assert not is_uri("a.duckdb") and not is_uri("port=1/a.csv") and not is_uri(None)


def test_only_files_are_relative_to_a_folder() -> None:
    assert relative_to("/data", "postgresql://h/d?table=t") == "postgresql://h/d?table=t"
    assert relative_to("/data", "duckdb:///a/b?table=t") == "duckdb:///a/b?table=t"


@pytest.mark.parametrize("folder", ["/data", "a 100%? folder"])
def test_a_file_of_duckdb_is_seen_from_a_folder_and_found_again(folder: str) -> None:
    for uri in ("duckdb:///a/b%3F.duckdb?table=t", "duckdb://../b c.duckdb?table=t"):
        again = TableUri.parse(relative_to(folder, seen_from(folder, uri)))
        assert os.path.abspath(again.address) == os.path.abspath(TableUri.parse(uri).address)


@pytest.mark.parametrize("uri", ["postgresql://ann@h/d?sslmode=require&table=t", "duckdb://a.duckdb?table=t"])
def test_what_holds_no_secret_is_kept_as_it_is(uri: str) -> None:
    assert without_secrets(uri) == uri
