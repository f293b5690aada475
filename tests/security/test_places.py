"""Passwords in what names a table: shown nowhere, kept nowhere, whatever takes the place, and whatever the place is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import yaml

import anonymize
from anonymize.errors import AnonymizeError
from tests.security.commands import run

SECRET = "hunter2-CANARY"
UNKNOWN = [
    f"postgresql+psycopg2://ann:{SECRET}@host/db?table=people",
    f"mysql://ann:{SECRET}@host/db?table=people",
    f"https://ann:{SECRET}@host/people.csv",
    f"s3://key:{SECRET}@bucket/people.parquet",
    f"host=127.0.0.1 dbname=db password='my {SECRET}'",
    f"password={SECRET} host=127.0.0.1",
]
UNREACHABLE = [
    f"postgresql://ann:{SECRET}@127.0.0.1:1/db?table=people",
    f"postgresql://ann:my {SECRET}@127.0.0.1:1/db?table=people",
    f"postgresql://127.0.0.1:1/db?passw%6frd={SECRET}&table=people",
    f"postgresql://127.0.0.1:1/db?table=people&password={SECRET}",
    f"duckdb://nowhere/absent.duckdb?table=people&motherduck_token={SECRET}",
    f"duckdb://nowhere/absent.duckdb?motherduck_token={SECRET}",
]
SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {"age": {"type": "numeric"}, "zip": {}},
    "sensitive": {"ill": {}},
    "privacy": {"k": 2},
}
ROWS: dict[str, list[Any]] = {"age": [31, 34, 52, 58] * 3, "zip": [1, 2, 3, 4] * 3, "ill": ["a", "b", "c", "d"] * 3}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    pl.DataFrame(ROWS).write_csv(tmp_path / "people.csv")
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(SPEC), encoding="utf-8")
    return tmp_path / "people.csv"


def commands(table: Path, place: str) -> list[tuple[object, ...]]:
    """Every door at which a place comes in: as a table read, as one written, as a report, as a spec."""
    folder, spec = table.parent, table.parent / "spec.yaml"
    named = folder / "named.yaml"
    named.write_text(yaml.safe_dump({**SPEC, "input": {"path": place}}), encoding="utf-8")
    return [
        ("init", place),
        ("init", place, "-o", folder / "new.yaml"),
        ("init", place, "--watch"),
        ("mondrian", spec, "-i", place, "-o", folder / "x.csv"),
        ("mondrian", spec, "-i", place, "-o", place),
        ("mondrian", spec, "-i", table, "-o", place),
        ("mondrian", named, "-o", folder / "x.csv", "-r", folder / "x.json"),
        ("anatomy", spec, "-i", table, "-o", place),
        ("audit", spec, "-i", place, "--json"),
        ("audit", named),
        ("audit", "-i", place, "--qi", "age"),
        ("audit", spec, "-i", table, "--original", place),
        ("evaluate", spec, place, "-i", table),
        ("evaluate", spec, table, "-i", place),
        ("attack", spec, table, "-i", table, "--control", place),
        ("compare", spec, "-i", place),
        ("validate", spec, "-i", place),
        ("hierarchy", "show", named),
        ("generate", "census", "--rows", "5", "-o", place),
        ("mondrian", spec, "-i", table, "-o", folder / "x.csv", "-r", place),
        ("audit", place, "-i", table),
    ]


@pytest.mark.parametrize("place", [*UNKNOWN, *UNREACHABLE])
def test_no_command_shows_or_keeps_a_password(table: Path, place: str) -> None:
    before = set(table.parent.iterdir())
    for command in commands(table, place):
        ended = run(*command)
        assert ended.returncode in (2, 3, 74), (command, ended.stderr)
        assert SECRET not in ended.stdout + ended.stderr, command
        assert "bug" not in ended.stderr, command
    assert set(table.parent.iterdir()) - before == {table.parent / "named.yaml"}


@pytest.mark.parametrize("place", UNKNOWN)
def test_a_place_of_no_known_scheme_is_refused_with_those_that_are_known(table: Path, place: str) -> None:
    for command in commands(table, place)[:1] + commands(table, place)[5:11]:
        ended = run(*command)
        assert ended.returncode == 2, (command, ended.stderr)
        assert "postgresql://, postgres://, duckdb://" in ended.stderr, command


@pytest.mark.parametrize("place", [*UNKNOWN, *UNREACHABLE])
def test_no_error_of_the_python_api_holds_a_password(table: Path, place: str) -> None:
    spec = {**SPEC, "input": {"path": str(table)}}
    calls: list[Callable[[], object]] = [
        lambda: anonymize.release(place, spec),
        lambda: anonymize.audit(place, spec),
        lambda: anonymize.evaluate(str(table), spec, place),
        lambda: anonymize.init(place),
        lambda: anonymize.audit(None, {**SPEC, "input": {"path": place}}),
        lambda: anonymize.evaluate(str(table), {**SPEC, "input": {"path": place}}),
    ]
    for call in calls:
        with pytest.raises(AnonymizeError) as caught:
            call()
        error: BaseException | None = caught.value
        while error is not None:
            assert SECRET not in f"{error} {error!r} {error.args}"
            error = error.__cause__ or error.__context__
    release = anonymize.release(str(table), {**SPEC, "input": {"path": place}})  # the spec's input is not looked at
    assert SECRET not in json.dumps(release.report)


def database(folder: Path) -> str:
    frame = pl.DataFrame(ROWS)  # noqa: F841 (DuckDB finds it by its name)
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    return "duckdb://people.duckdb?table=people"


def test_a_first_spec_of_a_database_runs_from_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    uri, spec = database(tmp_path), tmp_path / "specs" / "spec.yaml"
    spec.parent.mkdir()
    assert run("init", f"{uri}&motherduck_token={SECRET}", "-o", spec).returncode == 0
    assert SECRET not in spec.read_text(encoding="utf-8")
    assert yaml.safe_load(spec.read_text(encoding="utf-8"))["input"]["path"] == "duckdb://../people.duckdb?table=people"
    os.chdir("/")
    assert run("validate", spec, "-i", tmp_path / "nowhere").returncode == 3
    released = run("mondrian", spec, "-o", tmp_path / "x.csv", "-r", tmp_path / "x.json")
    assert released.returncode == 0, released.stderr
    assert json.loads((tmp_path / "x.json").read_text())["input"]["rows"] == len(ROWS["age"])


def test_reports_name_a_database_without_what_opens_it(tmp_path: Path) -> None:
    uri = database(tmp_path).replace("duckdb://", f"duckdb://{tmp_path}/") + f"&motherduck_token={SECRET}"
    spec = tmp_path / "spec.yaml"
    spec.write_text(yaml.safe_dump({**SPEC, "input": {"path": uri}}), encoding="utf-8")
    reports = [tmp_path / f"x.{suffix}" for suffix in ("json", "md", "html")]
    options = [option for report in reports for option in ("-r", report)]
    recoding = tmp_path / "recoding.json"
    kept = ("--save-recoding", recoding, "--save-link", tmp_path / "link.csv")
    ended = run("mondrian", spec, "-o", tmp_path / "x.csv", *options, *kept, "-v")
    assert ended.returncode == 0, ended.stderr
    checked = run("audit", spec, "--json", "-k", "1", "-r", tmp_path / "audit.json")
    assert SECRET not in ended.stdout + ended.stderr + checked.stdout + checked.stderr
    for path in tmp_path.iterdir():
        if path not in (spec, tmp_path / "people.duckdb"):
            assert SECRET.encode() not in path.read_bytes(), path


# --- what a table that somebody sent can reach ------------------------------------------------------------------------

CANARY = "Canaryitis"


@pytest.mark.parametrize(
    "view",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT content AS age, 1 AS zip, 1 AS ill FROM read_text('{file}')",
        "SELECT file AS age, 1 AS zip, 1 AS ill FROM glob('{folder}/*')",
        "SELECT * FROM peek()",
    ],
)
def test_a_view_reads_no_other_file_of_the_machine(tmp_path: Path, view: str) -> None:
    other = tmp_path / "other.csv"
    pl.DataFrame(ROWS | {"ill": [CANARY] * 12}).write_csv(other)
    names = {"file": other, "folder": tmp_path}
    with duckdb.connect(str(tmp_path / "sent.duckdb")) as connection:
        connection.execute(f"CREATE MACRO peek() AS TABLE SELECT * FROM read_csv('{other}')")
        connection.execute(f"CREATE VIEW people AS {view.format(**names)}")
    spec = tmp_path / "spec.yaml"
    spec.write_text(yaml.safe_dump(SPEC), encoding="utf-8")
    uri = f"duckdb://{tmp_path}/sent.duckdb?table=people"
    for command in (("audit", spec, "-i", uri), ("mondrian", spec, "-i", uri), ("init", uri, "--show-values")):
        ended = run(*command)
        assert ended.returncode == 3, ended.stderr
        assert "reads other files" in ended.stderr
        assert CANARY not in ended.stdout + ended.stderr and "other.csv" not in ended.stdout + ended.stderr


def test_a_view_reads_no_frame_of_the_process(tmp_path: Path) -> None:
    """DuckDB takes the name of a table that it does not know for a variable of the Python code that called it."""
    columns = pl.DataFrame(ROWS)  # noqa: F841
    with duckdb.connect(str(tmp_path / "sent.duckdb")) as connection:
        connection.execute("CREATE TABLE columns AS SELECT 1 AS age; CREATE VIEW people AS SELECT * FROM columns")
        connection.execute("DROP TABLE columns")
    with pytest.raises(AnonymizeError, match="cannot be read"):
        anonymize.audit(f"duckdb://{tmp_path}/sent.duckdb?table=people", SPEC)


def test_a_view_of_tables_in_the_same_file_is_a_table(tmp_path: Path) -> None:
    uri = database(tmp_path).replace("duckdb://", f"duckdb://{tmp_path}/")
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("CREATE VIEW seen AS SELECT * FROM people")
    seen = uri.replace("table=people", "table=seen")
    released = anonymize.release(seen, SPEC, "mondrian", threads=1)
    assert released.report["input"]["rows"] == len(ROWS["age"])
