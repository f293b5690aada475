"""Commands on tables of a PostgreSQL server, which is started here for the time of these tests."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import Call, Desk

SECRET = "hunter2-CANARY"


def program(name: str) -> str | None:
    """A program of the server, which Debian keeps out of the path."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return shutil.which(name, path=os.pathsep.join([*map(str, places), os.environ.get("PATH", "")]))


INITDB, POSTGRES = program("initdb"), program("postgres")
pytestmark = pytest.mark.skipif(not (INITDB and POSTGRES), reason="there is no PostgreSQL server (initdb, postgres)")


@dataclass(frozen=True)
class Server:
    port: int

    def uri(self, table: str, password: str = SECRET, more: str = "") -> str:
        return f"postgresql://ann:{password}@127.0.0.1:{self.port}/postgres?{more}table={table}"

    def run(self, *statements: str) -> list[Any]:
        """What the last statement finds; all in one transaction."""
        from adbc_driver_postgresql import dbapi

        uri = f"postgresql://ann:{SECRET}@127.0.0.1:{self.port}/postgres"
        with dbapi.connect(uri) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            rows: list[Any] = cursor.fetchall() if statements[-1].startswith("SELECT") else []
            connection.commit()
        return rows


def unprivileged() -> str:
    """Who runs the server, which refuses to be run by root."""
    if os.getuid():
        return getpass.getuser()
    return next(entry.pw_name for name in ("postgres", "nobody") for entry in pwd.getpwall() if entry.pw_name == name)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, socket.socket() as free:
        user = unprivileged()
        shutil.chown(name, user)
        (password := Path(name, "password")).write_text(SECRET)
        shutil.chown(password, user)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        quiet: dict[str, Any] = {"cwd": name, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        quiet |= {"user": user} if not os.getuid() else {}
        settings = ["-U", "ann", "-A", "scram-sha-256", "-N", "--locale=C", "-E", "UTF8"]
        subprocess.run([str(INITDB), "-D", f"{name}/data", f"--pwfile={password}", *settings], check=True, **quiet)
        options = ["-k", name, "-p", str(port), "-h", "127.0.0.1", "-F"]
        with subprocess.Popen([str(POSTGRES), "-D", f"{name}/data", *options], **quiet) as process:
            try:
                wait(process, port)
                yield Server(port)
            finally:
                process.terminate()


def wait(process: subprocess.Popen[bytes], port: int) -> None:
    """Until the server takes connections."""
    for _ in range(600):
        with socket.socket() as client:
            if not client.connect_ex(("127.0.0.1", port)):
                time.sleep(0.3)
                return
        assert process.poll() is None, "the server has ended"
        time.sleep(0.1)
    raise AssertionError("the server does not answer")


@pytest.fixture
def people(server: Server, desk: Desk) -> Iterator[Server]:
    """The desk's table, as `raw.people`."""
    frame = pl.read_csv(desk.folder / "table.csv", infer_schema=False)
    values = ", ".join(str(tuple(row)) for row in frame.rows())
    server.run(
        "CREATE SCHEMA raw",
        "CREATE TABLE raw.people (name text, age integer, zip char(5), job text, diagnosis varchar(40), ward text)",
        f"INSERT INTO raw.people VALUES {values}",
    )
    yield server
    server.run("DROP SCHEMA raw CASCADE", "DROP TABLE IF EXISTS released")


def test_a_release_is_the_same_as_that_of_a_csv(people: Server, desk: Desk, call: Call) -> None:
    assert call("mondrian", "spec.yaml", "-o", "o.csv", "-q").code == 0
    ended = call(
        "mondrian",
        "spec.yaml",
        "-i",
        people.uri("raw.people"),
        "-o",
        people.uri("released"),
        "-r",
        "o.json",
        "-r",
        "o.md",
    )
    assert ended.code == 0
    rows = people.run("SELECT * FROM released")
    assert rows == pl.read_csv(desk.folder / "o.csv", infer_schema=False).rows()
    assert call("audit", "spec.yaml", "-i", people.uri("released"), "-q").code == 0
    assert not list(desk.temporary.iterdir())
    for text in (ended.err, (desk.folder / "o.json").read_text(), (desk.folder / "o.md").read_text()):
        assert SECRET not in text
    assert "ann:***@127.0.0.1" in (desk.folder / "o.json").read_text()


def test_a_first_spec_keeps_no_password_and_runs_with_that_of_the_environment(
    people: Server, desk: Desk, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("init", people.uri("raw.people", more="connect_timeout=5&"), "-o", "first.yaml").code == 0
    text = (desk.folder / "first.yaml").read_text(encoding="utf-8")
    assert SECRET not in text and "PGPASSWORD" in text
    assert f"postgresql://ann@127.0.0.1:{people.port}/postgres?connect_timeout=5&table=raw.people" in text
    assert call("validate", "first.yaml", "-i", people.uri("raw.people")).code == 0
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert call("mondrian", "first.yaml", "-o", "o.csv", "-k", "2", "-q").code == 0


def test_a_table_is_replaced_only_by_force(people: Server, call: Call) -> None:
    place = people.uri("released")
    people.run("CREATE TABLE released AS SELECT 'old' AS note")
    ended = call("mondrian", "spec.yaml", "-o", place)
    assert ended.code == 2 and "exists already" in ended.err and SECRET not in ended.err
    assert people.run("SELECT note FROM released") == [("old",)]
    assert call("mondrian", "spec.yaml", "-o", place, "--force", "-q").code == 0
    assert people.run("SELECT count(*) FROM released") == [(60,)]


def test_what_the_server_refuses_leaves_the_old_table_and_no_report(people: Server, desk: Desk, call: Call) -> None:
    people.run("CREATE TABLE released AS SELECT 'old' AS note", "CREATE VIEW raw.reader AS SELECT * FROM released")
    before = desk.files()
    ended = call("mondrian", "spec.yaml", "-o", people.uri("released"), "--force", "-r", "o.json")
    assert ended.code == 74 and "other objects depend on the table" in ended.err
    assert people.run("SELECT note FROM released") == [("old",)] and desk.files() == before


def test_a_schema_that_is_not_there_is_known_before_any_work(people: Server, desk: Desk, call: Call) -> None:
    before = desk.files()
    ended = call("mondrian", "spec.yaml", "-o", people.uri("nowhere.released"), "-r", "o.json")
    assert ended.code == 2 and "there is no such schema" in ended.err
    assert desk.files() == before


@pytest.mark.parametrize("table", ["released", "raw.released"])
def test_who_may_only_read_is_told_so_before_any_work(people: Server, desk: Desk, call: Call, table: str) -> None:
    before = desk.files()
    people.run(f"CREATE ROLE reader LOGIN PASSWORD '{SECRET}'", "GRANT USAGE ON SCHEMA raw TO reader")
    people.run("REVOKE CREATE ON SCHEMA public FROM public")
    ended = call("mondrian", "spec.yaml", "-o", people.uri(table).replace("ann:", "reader:"), "-r", "o.json")
    people.run("DROP OWNED BY reader", "DROP ROLE reader")
    assert ended.code == 74 and "the user may not do that" in ended.err and SECRET not in ended.err
    assert desk.files() == before


@pytest.mark.parametrize(
    ("table", "more", "code", "message"),
    [
        ("raw.gone", "", 3, "there is no such table"),
        ("raw.people", "connect_timeout=1&", 0, ""),
    ],
)
def test_what_is_there_and_what_is_not(
    people: Server, call: Call, table: str, more: str, code: int, message: str
) -> None:
    ended = call("mondrian", "spec.yaml", "-i", people.uri(table, more=more), "-o", "o.csv", "-q")
    assert ended.code == code and message in ended.err and SECRET not in ended.err


@pytest.mark.parametrize("option", ["-i", "-o"])
def test_a_wrong_password_is_not_shown(option: str, people: Server, call: Call) -> None:
    uri = people.uri("raw.people", "wrong-CANARY")
    ended = call("mondrian", "spec.yaml", option, uri)
    assert ended.code == (3 if option == "-i" else 2) and "does not accept" in ended.err and "wrong" not in ended.err


def test_the_password_may_come_from_the_environment(
    people: Server, desk: Desk, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = people.uri("raw.people").replace(f":{SECRET}@", "@")
    spec = desk.spec.read_text().replace("table.csv", f'"{uri}"')
    desk.spec.write_text(spec)
    assert call("mondrian", "spec.yaml", "-o", "o.csv").code == 3
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert call("mondrian", "spec.yaml", "-o", "o.csv", "-q").code == 0


def test_types_that_would_lose_digits_are_read_as_text(people: Server, desk: Desk, call: Call) -> None:
    people.run(
        "CREATE TABLE raw.\"A b\" AS SELECT 'x'::text AS q, 1.50::numeric AS d, "
        "'2020-01-02 03:04:05+02'::timestamptz AS t, '{1,2}'::int[] AS a, ''::text AS e, NULL::text AS n "
        "FROM generate_series(1, 4)"
    )
    (desk.folder / "s.yaml").write_text(
        "version: 1\nquasi_identifiers: {q: {}}\ninsensitive: [d, t, a, e, n]\nprivacy: {k: 2}\n"
    )
    assert call("mondrian", "s.yaml", "-i", people.uri("raw.A b"), "-o", people.uri("released"), "-q").code == 0
    assert people.run("SELECT * FROM released LIMIT 1") == [("x", "1.50", "2020-01-02 01:04:05+00", "{1,2}", "", None)]
