"""`example`: specs that run where they are written, from a checkout and from the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling import build

from anonymize.cli.example import EXAMPLES
from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.privacy import PARAMETERS
from anonymize.spec import load

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
