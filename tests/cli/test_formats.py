"""Commands on workbooks, files of SPSS and Stata, and tables of DuckDB: in and out, the same rows as in a CSV."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import duckdb
import polars as pl
import pytest

from anonymize.table.spool import output_table
from tests.cli.conftest import SPEC, Call, Desk

PLACES = ("o.xlsx", "o.sav", "o.dta", "duckdb://o.duckdb?table=people", "duckdb://o.duckdb?table=main.people")


def rows_of(desk: Desk) -> pl.DataFrame:
    return pl.read_csv(desk.folder / "table.csv", infer_schema=False)


def put(desk: Desk, place: str) -> str:
    """The desk's table elsewhere, as texts but for the number that age is."""
    place = place.replace("o.", "in.", 1)
    os.chdir(desk.folder)
    with output_table(place) as output:
        output.write([rows_of(desk).with_columns(pl.col("age").cast(pl.Int64))])
        output.commit()
    return place


def released(desk: Desk, place: str) -> pl.DataFrame:
    """A release, read by what is not ours, as texts."""
    if place.startswith("duckdb"):
        with duckdb.connect(desk.folder / "o.duckdb", read_only=True) as connection:
            cursor = connection.execute("FROM people")
            frame = pl.DataFrame(cursor.fetchall(), [name for name, *_ in cursor.description or ()], orient="row")
    elif place.endswith("xlsx"):
        frame = pl.read_excel(desk.folder / place)
    else:
        import pyreadstat

        read = pyreadstat.read_sav if place.endswith("sav") else pyreadstat.read_dta
        frame = read(str(desk.folder / place), output_format="polars")[0]
    return frame.cast(pl.String)


@pytest.mark.parametrize("place", PLACES)
def test_a_release_is_the_same_as_that_of_a_csv(place: str, desk: Desk, call: Call, once: Call) -> None:
    assert once("mondrian", "spec.yaml", "-o", "o.csv", "-q").code == 0
    assert call("mondrian", "spec.yaml", "-i", put(desk, place), "-o", place, "-r", "o.json", "-q").code == 0
    assert released(desk, place).equals(pl.read_csv(desk.folder / "o.csv", infer_schema=False))
    assert call("audit", "spec.yaml", "-i", place, "-q").code == 0
    assert json.loads((desk.folder / "o.json").read_text())["output"]["path"] == place
    assert not list(desk.temporary.iterdir())


@pytest.mark.parametrize("place", PLACES[:4])
def test_an_output_that_exists_is_replaced_only_by_force(place: str, desk: Desk, call: Call) -> None:
    assert call("mondrian", "spec.yaml", "-o", place, "-q").code == 0
    before = desk.files()
    ended = call("mondrian", "spec.yaml", "-o", place, "-q")
    assert ended.code == 2 and "exists already" in ended.err and desk.files() == before
    assert call("mondrian", "spec.yaml", "-k", "4", "-o", place, "-q", "--force").code == 0
    assert call("audit", "spec.yaml", "-k", "4", "-i", place, "-q").code == 0


@pytest.mark.parametrize("place", PLACES[:4])
def test_what_is_not_safe_leaves_nothing(place: str, desk: Desk, call: Call) -> None:
    before = desk.files()
    assert call("mondrian", "spec.yaml", "-k", "61", "-o", place, "-q").code == 4
    assert call("mondrian", "spec.yaml", "-o", place, "--dry-run", "-q").code == 0
    assert desk.files() == before


def test_a_workbook_from_standard_input(desk: Desk, launch: Call) -> None:
    table = (desk.folder / put(desk, "o.xlsx")).read_bytes()
    ended = launch("mondrian", "spec.yaml", "-i", "-", "-q", "--output-format", "xlsx", stdin=table)
    assert ended.code == 0
    (desk.folder / "o.xlsx").write_bytes(ended.out)
    assert released(desk, "o.xlsx").height == 60


def test_a_table_named_in_the_spec_is_relative_to_it(desk: Desk, call: Call) -> None:
    put(desk, "duckdb://o.duckdb?table=people")
    (desk.folder / "below").mkdir()
    (desk.folder / "below" / "jobs.csv").write_bytes((desk.folder / "jobs.csv").read_bytes())
    spec = desk.folder / "below" / "spec.yaml"
    spec.write_text(SPEC.replace("table.csv", "'duckdb://../in.duckdb?table=people'"))
    assert call("mondrian", "below/spec.yaml", "-o", "o.csv", "-q").code == 0


WITHOUT = """
import sys
for name in ("fastexcel", "xlsxwriter", "pyreadstat", "duckdb"):
    sys.modules[name] = None
from anonymize.cli.exits import outcome
from anonymize.cli.main import run
for words in ("-o o.xlsx", "-o o.sav", "-o duckdb://o.duckdb?table=t", "-i in.xlsx"):
    print(outcome(lambda: run(["mondrian", "spec.yaml", *words.split()])), file=sys.stderr)
"""
"""A process in which no extra is installed."""


def test_without_its_extra_nothing_is_begun(desk: Desk) -> None:
    (desk.folder / "in.xlsx").write_bytes(b"PK\3\4")
    before = desk.files()
    line = [sys.executable, "-c", WITHOUT]
    ended = subprocess.run(line, cwd=desk.folder, env=desk.environment(), capture_output=True, text=True, check=True)
    assert re.findall(r"anonymize-toolkit\[(\w+)\]'|^(\d+)$", ended.stderr, re.MULTILINE) == [
        each for extra in ("office", "stats", "databases", "office") for each in ((extra, ""), ("", "2"))
    ]
    assert desk.files() == before and not ended.stdout


@pytest.mark.parametrize("command", [("anatomy", "--force"), ("randomize", "--force")])
def test_what_is_more_than_a_table_goes_to_no_database(command: tuple[str, ...], desk: Desk, call: Call) -> None:
    desk.fill(spec=SPEC.replace("  k: 3\n", "").replace("  suppression: 0.1\n", ""))
    ended = call(command[0], "spec.yaml", "-o", "duckdb://o.duckdb?table=t", *command[1:])
    assert ended.code == 2 and "duckdb://o.duckdb?table=t: the release is" in ended.err


@pytest.mark.parametrize("uri", ["duckdb://o.duckdb", "duckdb://o.duckdb?table=", "duckdb://o.duckdb?table=a."])
def test_a_uri_without_a_table(uri: str, call: Call) -> None:
    ended = call("mondrian", "spec.yaml", "-o", uri)
    assert ended.code == 2 and "does not name a table" in ended.err


def test_databases_that_cannot_be_read(desk: Desk, call: Call) -> None:
    put(desk, "duckdb://o.duckdb?table=people")
    (desk.folder / "no.duckdb").write_text("CANARY" * 1000)
    for uri, message in {
        "duckdb://gone.duckdb?table=t": "there is no such file",
        "duckdb://in.duckdb?table=t": "there is no such table",
        "duckdb://no.duckdb?table=t": "DuckDB refuses",
    }.items():
        ended = call("mondrian", "spec.yaml", "-i", uri, "-o", "o.csv")
        assert ended.code == 3 and message in ended.err
    assert not (desk.folder / "gone.duckdb").exists()


def test_types_of_duckdb_that_would_lose_digits_are_read_as_text(desk: Desk, call: Call) -> None:
    with duckdb.connect(desk.folder / "t.duckdb") as connection:
        connection.execute(
            'CREATE TABLE "a ""b" AS SELECT \'x\' AS q, 1.50::DECIMAL(8,2) AS d, 2::HUGEINT ** 100 AS big, '
            "'2020-01-01'::DATE AS day, NULL::VARCHAR AS n FROM range(4)"
        )
    (desk.folder / "s.yaml").write_text(
        "version: 1\nquasi_identifiers: {q: {}}\ninsensitive: [d, big, day, n]\nprivacy: {k: 2}\n"
    )
    assert call("mondrian", "s.yaml", "-i", 'duckdb://t.duckdb?table=a "b', "-o", "o.csv", "-q").code == 0
    assert (desk.folder / "o.csv").read_text().splitlines()[1] == "x,1.50,1.2676506002282294e+30,2020-01-01,"


def test_what_the_transaction_refuses_leaves_neither_file_nor_report(desk: Desk, call: Call) -> None:
    before = desk.files()
    ended = call("mondrian", "spec.yaml", "-o", "duckdb://o.duckdb?table=nowhere.people", "-r", "o.json", "-q")
    assert ended.code == 74 and "cannot be written" in ended.err
    assert desk.files() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("mondrian", "spec.yaml", "{}"),
        ("mondrian", "spec.yaml", "--suppression", "{}"),
        ("mondrian", "{}"),
        ("mondrian", "spec.yaml", "-r", "{}"),
        ("mondrian", "spec.yaml", "-i", "{}", "-o", "o.csv"),
        ("mondrian", "spec.yaml", "-o", "{}"),
        ("audit", "spec.yaml", "spec.yaml", "{}"),
        ("compare", "spec.yaml", "--algorithms", "mondrian", "-i", "{}"),
        ("hierarchy", "check", "{}"),
        ("recode", "{}", "-i", "table.csv"),
        ("reconstruct", "{}"),
        ("{}",),
        ("generate", "agrawal", "--function", "1", "--rows", "5", "-o", "{}"),
        ("generate", "agrawal", "--function", "1", "--rows", "5", "-o", "{}", "--spec", "s.yaml"),
    ],
)
def test_no_message_has_a_password(arguments: tuple[str, ...], desk: Desk, call: Call) -> None:
    uri = "postgresql://ann:hunter2@127.0.0.1:1/clinic?table=people"
    before = desk.files()
    ended = call(*(argument.format(uri) for argument in arguments))
    assert ended.code in (2, 3) and ended.err and "hunter2" not in ended.err
    assert desk.files() == before
