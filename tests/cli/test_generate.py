"""`anonymize generate`, as a user runs it."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest
from hatchling import build

from anonymize.cli.exits import outcome
from anonymize.cli.generate import EXAMPLES
from anonymize.cli.main import run
from anonymize.privacy import PARAMETERS
from anonymize.spec import load
from tests.cli.conftest import Call, Desk
from tests.cli.test_progress import terminal


def test_the_same_seed_gives_the_same_bytes(call: Call) -> None:
    first = call("generate", "agrawal", "--rows", 300, "--seed", 1, "-q")
    assert (first.code, first.err) == (0, "")
    assert first.out.splitlines()[0] == b"salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan,group"
    assert first.out.count(b"\n") == 301
    assert call("generate", "agrawal", "--rows", 300, "--seed", 1, "--threads", 1).out == first.out
    assert call("generate", "agrawal", "--rows", 300, "--seed", 2).out != first.out
    assert first.out.startswith(call("generate", "agrawal", "--rows", 20, "--seed", 1).out)


def test_the_seed_is_told(call: Call) -> None:
    told = call("generate", "census", "--rows", 50)
    seed = told.err.strip().removeprefix("50 rows, seed ")
    assert call("generate", "census", "--rows", 50, "--seed", seed).out == told.out


@pytest.mark.parametrize(("suffix", "rows"), [("csv", 0), ("csv.gz", 30), ("parquet", 30), ("arrow", 0)])
def test_formats(call: Call, desk: Desk, suffix: str, rows: int) -> None:
    assert call("generate", "census", "--rows", rows, "--seed", 1, "-o", f"people.{suffix}").code == 0
    path = desk.folder / f"people.{suffix}"
    if suffix == "csv.gz":
        path.write_bytes(gzip.decompress(path.read_bytes()))
    read = {"parquet": pl.read_parquet, "arrow": pl.read_ipc}.get(suffix, pl.read_csv)
    assert read(path).shape == (rows, 13)


@pytest.mark.parametrize(("table", "targets"), [("agrawal", ["--function", "2", "--function", "7"]), ("census", [])])
def test_the_spec_goes_with_the_table(call: Call, desk: Desk, table: str, targets: list[str]) -> None:
    (desk.folder / "specs").mkdir()
    made = call("generate", table, *targets, "--rows", 500, "--seed", 1, "-o", "people.csv", "--spec", "specs/p.yaml")
    assert made.code == 0
    assert call("validate", "specs/p.yaml", "-i", "people.csv").code == 0
    assert call("mondrian", "specs/p.yaml", "-o", "released.csv").code == 0
    assert call("audit", "specs/p.yaml", "-i", "released.csv").code == 0


def test_a_table_on_standard_output_has_a_spec_without_an_input(call: Call, desk: Desk) -> None:
    made = call("generate", "agrawal", "--rows", 60, "--spec", "p.yaml")
    assert made.code == 0
    assert "path" not in (desk.folder / "p.yaml").read_text()


def test_some_functions_are_varied_and_others_are_not(call: Call) -> None:
    def groups(*arguments: object) -> dict[str, list[str]]:
        shown = ("--function", 2, "--function", 4, "--function", 7)
        made = call("generate", "agrawal", "--rows", 300, "--seed", 1, "-q", *arguments, *shown)
        assert (made.code, made.err) == (0, "")
        return pl.read_csv(made.out).select("group_2", "group_4", "group_7").to_dict(as_series=False)

    plain, every, one = groups(), groups("--vary"), groups("--vary", 4)
    assert [name for name in plain if plain[name] != every[name]] == ["group_2", "group_4"]
    assert one == {**plain, "group_4": every["group_4"]}
    assert groups("--vary", "4, 2") == every


def test_all_or_nothing(call: Call, desk: Desk) -> None:
    (desk.folder / "p-elevel.csv").write_text("mine")
    before = desk.files()
    refused = call("generate", "agrawal", "-o", "people.csv", "--spec", "p.yaml")
    assert refused.code == 2
    assert "p-elevel.csv: exists already" in refused.err
    assert desk.files() == before
    assert call("generate", "agrawal", "-o", "people.csv", "--spec", "p.yaml", "--force").code == 0
    assert Path(desk.folder / "p-elevel.csv").read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("agrawal", "--vary", 7, "--function", 7, "--function", 2), "function 7 compares no attribute"),
        (("agrawal", "--vary", "--function", 7, "--function", 10), "no function that is given compares an attribute"),
        (("agrawal", "--vary", "2,3", "--function", 2), "'3' is not a function that is given"),
        (("agrawal", "--vary", "", "--function", 2), "'' is not a function that is given"),
        (("agrawal", "--function", 2, "--function", 2), "given twice"),
        (("agrawal", "--function", 11), "11"),
        (("agrawal", "--perturb", 1.5), "1.5"),
        (("census", "--rows", -1), "-1"),
        (("census", "--spec", "-"), "--spec: must be a file"),
        (("census", "--spec", "p.yaml", "-o", "duckdb://o.duckdb?table=people"), "--output is a database's"),
    ],
    ids=str,
)
def test_refused(call: Call, arguments: tuple[object, ...], said: str) -> None:
    refused = call("generate", *arguments)
    assert (refused.code, refused.out) == (2, b"")
    assert said in refused.err


def test_on_a_terminal_the_rows_are_counted(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        stream = terminal(patched)
        assert call("generate", "census", "--rows", 50, "-o", "people.csv").code == 0
    assert stream.stages()[-1:] == [("generate", "50/50 rows")]


def test_without_a_function_it_is_the_first(call: Call) -> None:
    made = call("generate", "agrawal", "--rows", 200, "--seed", 1)
    assert made.out == call("generate", "agrawal", "--rows", 200, "--seed", 1, "--function", 1).out


# --- example ----------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_spec_is_valid_where_it_is_written(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / name
    assert outcome(lambda: run(["example", name, "-o", str(folder), "-q"])) == 0
    assert outcome(lambda: run(["validate", str(folder / f"{name}.yaml"), "-q"])) == 0
    spec = load(str(folder / f"{name}.yaml"), PARAMETERS)
    assert (folder / "spec.schema.json").exists()
    assert spec.input.path is None or Path(spec.input.path).resolve().is_relative_to(folder.resolve())
    assert "../" not in (folder / f"{name}.yaml").read_text()


def test_nothing_is_overwritten_without_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "survey.yaml").write_text("mine")
    assert outcome(lambda: run(["example", "survey", "-o", str(tmp_path)])) == 2
    assert "survey.yaml: exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["survey.yaml"]
    assert (tmp_path / "survey.yaml").read_text() == "mine"
    assert outcome(lambda: run(["example", "survey", "-o", str(tmp_path), "--force"])) == 0
    written = len(list(tmp_path.iterdir()))
    assert f"wrote {written} files to {tmp_path}\n" in capsys.readouterr().err
    assert "version: 1" in (tmp_path / "survey.yaml").read_text()


def test_the_wheel_has_the_examples(tmp_path: Path) -> None:
    """Built as an index would have it, unpacked, and run from there."""
    folder = os.getcwd()
    os.chdir(ROOT)
    try:
        wheel = build.build_wheel(str(tmp_path))
    finally:
        os.chdir(folder)
    with zipfile.ZipFile(tmp_path / wheel) as archive:
        archive.extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-m", "anonymize", "example", "patients", "-o", "here"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert (tmp_path / "here" / "patients.csv").read_bytes() == (ROOT / "sample_data" / "patients.csv").read_bytes()
    assert (tmp_path / "site" / "anonymize" / "examples" / "configs" / "adult.yaml").exists()
