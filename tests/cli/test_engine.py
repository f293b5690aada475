"""Options that have no effect where the work runs."""

from __future__ import annotations

import sys

import polars as pl
import pytest

from anonymize.cli.engine import check_engine
from anonymize.errors import UsageError
from tests.cli.conftest import Call, Desk


@pytest.mark.parametrize(
    ("engine", "given", "message"),
    [
        ("local", {"threads": None, "master": "local[2]", "checkpoint": None}, "--master: goes with --engine spark"),
        ("local", {"threads": 2, "checkpoint": "folder"}, "--checkpoint: goes with --engine spark"),
        ("spark", {"threads": 2, "master": "local[2]"}, "--threads: has no effect with --engine spark"),
    ],
)
def test_an_option_of_elsewhere_is_refused(engine: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_engine(engine, **given)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("engine", "given"),
    [("local", {"threads": 2, "master": None}), ("spark", {"threads": None, "master": "local[2]", "checkpoint": "f"})],
)
def test_an_option_that_has_an_effect_is_not(engine: str, given: dict[str, object]) -> None:
    check_engine(engine, **given)


@pytest.mark.parametrize("command", ["mondrian spec.yaml", "audit spec.yaml", "recode spec.yaml -i table.csv"])
def test_every_command_that_has_engines_refuses_what_goes_with_another(call: Call, command: str) -> None:
    ended = call(*command.split(), "--master", "local[2]")
    assert (ended.code, ended.out) == (2, b"") and "--master: goes with --engine spark" in ended.err


def test_an_engine_whose_libraries_are_not_there_says_which(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    ended = call("audit", "--qi", "age", "-i", "table.parquet", "--engine", "spark")
    assert (ended.code, ended.out) == (2, b"") and "pip install 'anonymize-toolkit[spark]'" in ended.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "no session"),
        (("-k", 2, "-l", 2, "--threshold", 0.3, "-r", "r.json", "--force"), "no session"),
        (("-r", "r.json"), "r.json: exists already"),
    ],
)
def test_what_an_engine_takes_goes_to_it(call: Call, desk: Desk, options: tuple[object, ...], told: str) -> None:
    """There is none at this address, which is found out when all else has been found good."""
    pytest.importorskip("pyspark.sql", reason="needs the extra `sail`", exc_type=ImportError)
    pl.read_csv(desk.folder / "table.csv").write_parquet(desk.folder / "table.parquet")
    (desk.folder / "r.json").write_text("mine")
    there = ("--engine", "spark", "--master", "sc://localhost:1")
    ended = call("audit", "spec.yaml", "-i", "table.parquet", *options, *there)
    assert ended.code == 2 and told in ended.err


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ("audit spec.yaml -i table.parquet --by-position", "--by-position"),
        ("recode r.json -i t.csv --seed 1", "--seed"),
    ],
)
def test_an_option_that_no_engine_has_is_refused_before_there_is_a_session(call: Call, command: str, flag: str) -> None:
    pytest.importorskip("pyspark.sql", reason="needs the extra `sail`", exc_type=ImportError)
    ended = call(*command.split(), "--engine", "spark", "--master", "sc://127.0.0.1:1")
    assert (ended.code, ended.out) == (2, b"") and f"{flag}: " in ended.err and "on one machine" in ended.err
