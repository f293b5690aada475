"""`--memory-limit` and `--tmp` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from anonymize.cli.release import command

SPEC = """\
version: 1
input: {path: table.csv}
quasi_identifiers: {age: {type: numeric}, job: {}}
privacy: {k: 2}
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a table and its spec."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("age,job\n" + "".join(f"{20 + n % 40},{'ab'[n % 2]}\n" for n in range(100)))
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path


@pytest.mark.parametrize("size", ["2GB", "2000MB", "1.9GiB", "2 g"])
def test_sizes_are_read_with_their_unit(desk: Path, size: str) -> None:
    arguments = ["spec.yaml", "-o", "out.csv", "-r", "report.json", "-q", "--memory-limit", size]
    done = CliRunner().invoke(command("mondrian"), arguments)
    assert done.exit_code == 0, done.output
    memory = json.loads((desk / "report.json").read_text())["memory"]
    assert memory["limit_mb"] == pytest.approx(2040.1 if size == "1.9GiB" else 2000)


@pytest.mark.parametrize("size", ["2", "GB", "2XB", "-1GB", "nan GB"])
def test_what_is_no_size_is_refused(desk: Path, size: str) -> None:
    done = CliRunner().invoke(command("mondrian"), ["spec.yaml", "-o", "out.csv", "--memory-limit", size])
    assert done.exit_code == 2 and "is not a size such as 500MB" in done.output


def test_a_peak_above_the_limit_is_said(desk: Path) -> None:
    """300.1 MB are enough by the estimate; the tests' own process has taken more or less than that before."""
    arguments = ["spec.yaml", "-o", "out.csv", "-r", "report.json", "-q", "--memory-limit", "300.1MB"]
    assert CliRunner().invoke(command("mondrian"), arguments).exit_code == 0
    report = json.loads((desk / "report.json").read_text())
    above = report["memory"]["peak_mb"] > report["memory"]["limit_mb"]
    assert any(warning.startswith("--memory-limit") for warning in report["warnings"]) == above


def test_research_value_keeps_the_limit_of_its_own() -> None:
    def options(name: str) -> list[str]:
        return [option for parameter in command(name).params for option in parameter.opts]

    assert options("mondrian").count("--memory-limit") == options("research-value").count("--memory-limit") == 1
    assert "--tmp" in options("mondrian") and "--tmp" not in options("research-value")
