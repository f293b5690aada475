"""Commands on an engine, as a user runs them: the rows of one machine, and nothing half done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anonymize
from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.errors import UsageError, WriteError
from anonymize.spark.files import Engine, ParquetFolder

ROWS = 300
SPEC: dict[str, Any] = {
    "version": 1,
    "identifiers": ["name"],
    "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}},
    "sensitive": {"ill": {}},
    "privacy": {"k": 5},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec, its table, and a recoding that one machine has made."""
    table = pl.DataFrame(
        {
            "name": [f"person {row}" for row in range(ROWS)],
            "age": [20 + row * 7 % 50 for row in range(ROWS)],
            "job": [("cook", "clerk", None)[row % 3] for row in range(ROWS)],
            "ill": [("flu", "gout", "angina", "flu")[row * 5 % 4] for row in range(ROWS)],
        }
    )
    table.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "spec.yaml").write_text(json.dumps(SPEC))
    (tmp_path / "there.parquet").mkdir()
    table.write_parquet(tmp_path / "there.parquet" / "a.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


SAIL = ["--engine", "spark", "--master", "sail", "-q"]
SEVERAL = """
import json, sys
__file__ = "several.py"  # without one, pyspark would take the process for doctests of its own
from anonymize.cli.exits import outcome
from anonymize.cli.main import run
print([outcome(lambda: run(each)) for each in json.loads(sys.argv[1])])
"""


def begun(*arguments: str) -> subprocess.Popen[str]:
    """Python in a process of its own."""
    pytest.importorskip("pysail.spark", reason="needs the extra `sail`", exc_type=ImportError)
    pytest.importorskip("pyspark.sql", reason="needs the extra `sail`", exc_type=ImportError)
    own, pipe = os.environ | {"PYTHONPATH": str(Path(anonymize.__file__).parent.parent)}, subprocess.PIPE
    return subprocess.Popen([sys.executable, *arguments], env=own, stdout=pipe, stderr=pipe, text=True)


def codes_of(*lines: str) -> list[int]:
    """The exit codes of commands one after the other, each with a Sail of its own, in a process that has no other."""
    out, error = begun("-c", SEVERAL, json.dumps([[*line.split(), *SAIL] for line in lines])).communicate()
    assert out, error
    return list(json.loads(out.splitlines()[-1]))


def rows_of(path: Path) -> pl.DataFrame:
    """A released table, in an order that two runs share."""
    table = pl.read_parquet(path)
    return table.sort(table.columns)


def test_release_audit_and_recode(folder: Path) -> None:
    own = anonymize.release(folder / "people.parquet", folder / "spec.yaml", "mondrian")
    assert own.recoding is not None
    (folder / "recoding.json").write_text(json.dumps(own.recoding))
    assert codes_of(
        "mondrian spec.yaml -i people.parquet -o out.parquet -r r.json",
        "audit spec.yaml -i out.parquet -r a.json -k 500",
        "recode recoding.json -i people.parquet -o again.parquet",
    ) == [0, 1, 0]
    expected = own.frame.sort(own.frame.columns)
    assert rows_of(folder / "out.parquet").equals(expected)
    report = json.loads((folder / "r.json").read_text())
    assert (report["input"]["path"], report["output"]["path"]) == ("people.parquet", "out.parquet")
    assert report["classes"] == own.report["classes"]
    assert json.loads((folder / "a.json").read_text())["privacy"]["satisfied"] is False
    assert rows_of(folder / "again.parquet").equals(expected)
    files = {
        "people.parquet",
        "there.parquet",
        "spec.yaml",
        "recoding.json",
        "out.parquet",
        "r.json",
        "a.json",
        "again.parquet",
    }
    assert {each.name for each in folder.iterdir()} == files


def test_other_algorithms(folder: Path) -> None:
    """A randomized release with the parameters beside it, and one by parts, with a seed."""
    spec = {**SPEC, "quasi_identifiers": {"age": {"type": "numeric", "level": 0}, "job": {}}}
    (folder / "by_chance.yaml").write_text(
        json.dumps({**spec, "privacy": {"models": [{"model": "disclosure", "attribute": "ill", "l": 1.5}]}})
    )
    assert codes_of(
        "randomize by_chance.yaml -i people.parquet -o drawn.parquet",
        "top-down spec.yaml -i people.parquet -o parts.parquet --seed 3 --passes 1 --sweeps 1",
    ) == [0, 0]
    parameters = json.loads((folder / "drawn.params.json").read_text())
    assert parameters["rows"] == ROWS == len(rows_of(folder / "drawn.parquet"))
    assert rows_of(folder / "drawn.parquet").columns == ["age", "job", "ill"]
    assert len(rows_of(folder / "parts.parquet")) == ROWS


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signal")
def test_an_interrupt_ends_it_at_once(folder: Path) -> None:
    """Whatever the engine does, which may not even answer any more."""
    scratch = folder / "scratch"
    scratch.mkdir()
    before = sorted(folder.iterdir())
    line = "-m anonymize mondrian spec.yaml -i people.parquet -o out.parquet --checkpoint scratch"
    process = begun(*line.split(), *SAIL)
    with process:
        while process.poll() is None and not list(scratch.glob("*/*")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            error = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert (process.returncode, error) == (130, "interrupted; nothing was written\n")
    assert sorted(folder.iterdir()) == before and not list(scratch.iterdir())


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["mondrian", "spec.yaml", "-i", "people.parquet", "-o", "out.csv"], "folder of Parquet"),
        (["mondrian", "spec.yaml", "-i", "people.parquet"], "standard output"),
        (["mondrian", "spec.yaml", "-i", "spec.yaml", "-o", "out.parquet"], "is not a Parquet file"),
        (["mondrian", "spec.yaml", "-i", "-", "-o", "out.parquet"], "standard input"),
        (["mondrian", "spec.yaml", "-i", "people.parquet", "-o", "there.parquet"], "exists already"),
        (["mondrian", "spec.yaml", "-i", "people.parquet", "-o", "people.parquet", "--force"], "that is read"),
        (["mondrian", "spec.yaml", "-i", "there.parquet", "-o", "there.parquet/out.parquet"], "that is read"),
        (["mondrian", "spec.yaml", "-i", "there.parquet/a.parquet", "-o", "there.parquet", "--force"], "that is read"),
        (
            ["mondrian", "spec.yaml", "-i", "people.parquet", "-o", "r.parquet", "-r", "spec.yaml", "--force"],
            "spec.yaml",
        ),
        (["mondrian", "spec.yaml", "-i", "people.parquet", "-o", "no/out.parquet"], "there is no folder"),
        (["mondrian", "spec.yaml", "-i", "people.parquet", "-o", "out.parquet", "--sampled"], "--sampled"),
        (["mondrian", "spec.yaml", "-i", "people.parquet", "-o", "out.parquet", "--seed", "1"], "--seed"),
        (["mondrian", "spec.yaml", "-i", "people.parquet", "-o", "out.parquet", "--threads", "1"], "--threads"),
        (
            ["incognito", "spec.yaml", "-i", "people.parquet", "-o", "out.parquet", "--output-lattice", "l.json"],
            "lattice",
        ),
        (["randomize", "spec.yaml", "-i", "people.parquet", "-o", "out.parquet", "--seed", "1"], "--seed"),
        (["anatomy", "spec.yaml", "-i", "people.parquet", "-o", "out.parquet"], "anatomy"),
        (["audit", "spec.yaml", "-i", "people.parquet", "--subsets", "2"], "--subsets"),
        (["audit", "--qi", "age", "-i", "people.parquet"], "needs a spec"),
        (["recode", "spec.yaml", "-i", "people.parquet", "-o", "out.parquet", "--seed", "1"], "--seed"),
    ],
)
def test_what_an_engine_does_not_do_is_refused(
    folder: Path, arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark.sql", reason="needs the extra `sail`", exc_type=ImportError)
    before = sorted(folder.iterdir())
    assert outcome(lambda: run([*arguments, "--engine", "spark"])) == 2
    assert named in capsys.readouterr().err and sorted(folder.iterdir()) == before


@pytest.mark.parametrize("option", [["--master", "sail"], ["--checkpoint", "scratch"]])
def test_options_of_an_engine_go_with_one(folder: Path, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["mondrian", "spec.yaml", "-i", "people.parquet", "-o", "out.parquet", *option]
    assert outcome(lambda: run(arguments)) == 2
    assert option[0] in capsys.readouterr().err and not (folder / "out.parquet").exists()


@pytest.mark.parametrize("address", ["sc://localhost:1", "sc://localhost:1/;token=secret"])
def test_an_engine_that_is_not_there(folder: Path, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspark.sql", reason="needs the extra `sail`", exc_type=ImportError)
    arguments = ["mondrian", "spec.yaml", "-i", "people.parquet", "-o", "out.parquet", "--engine", "spark"]
    assert outcome(lambda: run([*arguments, "--master", address])) == 2
    error = capsys.readouterr().err
    assert "no session" in error and "secret" not in error and not (folder / "out.parquet").exists()


# --- where the release goes ------------------------------------------------------------------------------------------


class Written:
    """What writes a folder, as the DataFrame of an engine does."""

    def __init__(self, text: str = "new") -> None:
        self._text = text

    @property
    def write(self) -> Written:
        return self

    def mode(self, name: str) -> Written:
        return self

    def parquet(self, path: str) -> None:
        Path(path).mkdir()
        (Path(path) / "part.parquet").write_text(self._text)
        (Path(path) / ".part.parquet.crc").write_text("a checksum")
        (Path(path) / "_SUCCESS").write_text("")


@contextmanager
def published(path: Path, *, force: bool = False, wanted: bool = True) -> Iterator[None]:
    """Writes a release and runs the block before it gets its name."""
    target = ParquetFolder.of(str(path), "people.parquet", force=force)
    with target.cleared(), target.written(Written(), wanted=wanted):
        yield


def test_a_release_has_its_name_only_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    with published(path):
        assert not path.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["out.parquet"]
    assert [each.name for each in path.iterdir()] == ["part.parquet"]  # what Spark marks it with is gone


@pytest.mark.parametrize("there", [True, False])
def test_nothing_is_left_of_a_release_that_fails(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "out.parquet"
    if there:
        Written("old").parquet(str(path))
    with pytest.raises(UsageError), published(path, force=True):
        raise UsageError("a report cannot be written")
    assert [each.name for each in tmp_path.iterdir()] == (["out.parquet"] if there else [])
    assert not there or (path / "part.parquet").read_text() == "old"


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_there_is_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "out.parquet"
    if kind == "file":
        path.write_text("old")
    else:
        Written("old").parquet(str(path))
    with published(path, force=True):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["out.parquet"]
    assert (path / "part.parquet").read_text() == "new"


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    with published(tmp_path / "out.parquet", wanted=False):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_checkpoint_is_private_and_goes(tmp_path: Path) -> None:
    with Engine(checkpoint=str(tmp_path)).folder(None) as folder:
        assert Path(folder).parent == tmp_path and Path(folder).stat().st_mode & 0o777 == 0o700
        (Path(folder) / "rows").write_text("raw")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(WriteError), Engine(checkpoint=str(tmp_path / "no")).folder(None):
        pass
    with Engine(checkpoint="s3://bucket/scratch/").folder(None) as folder:
        assert folder.startswith("s3://bucket/scratch/anonymize-")


@pytest.mark.parametrize(
    ("path", "table", "refused"),
    [
        ("s3://a/people.parquet", "s3://a/people.parquet", True),
        ("s3://a/people.parquet/out.parquet", "s3://a/people.parquet/", True),
        ("s3://a/people.parquet", "s3://a/people.parquet/part-0.parquet", True),
        ("s3://a/people2.parquet", "s3://a/people", False),
        ("s3://a/out.parquet", "people.parquet", False),
    ],
)
def test_a_release_never_takes_the_place_of_its_table(path: str, table: str, refused: bool) -> None:
    if refused:
        with pytest.raises(UsageError, match="that is read"):
            ParquetFolder.of(path, table, force=True)
    else:
        assert ParquetFolder.of(path, table, force=True).path == path
