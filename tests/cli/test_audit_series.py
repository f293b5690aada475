"""`audit --series` on the command line: forms, exit codes and what does not go together."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from tests.auditing.nights import laid_out, night

PEOPLE = "abcdefghi"
GOOD = [night(PEOPLE, "AAAAAABBB", "xyxyxyxyx"), night(PEOPLE, "AAABBBBBB", "xyxyxyxyx")]
BAD = [GOOD[0], night(PEOPLE, "AAAABBBBB", "xyxyxyxyx")]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of the commands."""
    before = os.getcwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def call(*arguments: str) -> int:
    return outcome(lambda: run(list(arguments)))


def audit(*options: str) -> int:
    return call("audit", "spec.yaml", "--series", "state", "--key", "key.json", *options)


def test_a_good_series_is_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out(folder, GOOD)
    assert audit() == 0
    text = capsys.readouterr().out
    for part in ("every requirement is met", "People by history", "out.1.csv", "BCF-anonymity", "m-invariance"):
        assert part.lower() in text.lower(), part


def test_a_bad_one_is_1_in_every_form(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out(folder, BAD)
    for form in ("text", "json", "github", "sarif", "junit", "markdown", "html"):
        assert audit("--format", form) == 1, form
        printed = capsys.readouterr()
        assert "k-anonymity" in printed.out, form
        assert "2 people in 1 histories fail" in printed.err, form


def test_sarif_points_to_the_line_of_k(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out(folder, BAD)
    assert audit("--format", "sarif") == 1
    run_of_sarif = json.loads(capsys.readouterr().out)["runs"][0]
    result = run_of_sarif["results"][0]
    assert (result["ruleId"], result["level"]) == ("k-anonymity", "error")
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 5}


def test_what_is_believed_is_1_with_null(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out(folder, GOOD)
    for number in (0, 1):
        (folder / f"in.{number}.csv").unlink()
    assert audit("--json", "-r", "report.html") == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["privacy"]["satisfied"] is None
    assert "could not be shown" in printed.err
    assert "People by history" in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["audit", "spec.yaml", "--series", "state"], "needs --key"),
        (["audit", "spec.yaml", "--key", "key.json"], "--key: needs --series"),
        (["audit", "--series", "state", "--key", "key.json", "--qi", "area"], "give the spec"),
        (["audit", "spec.yaml", "--series", "state", "--key", "key.json", "-i", "out.0.csv"], "is about one table"),
        (["audit", "spec.yaml", "--series", "state", "--key", "key.json", "--subsets", "2"], "is about one table"),
        (["audit", "spec.yaml", "--series", "other", "--key", "key.json"], "there is no series"),
    ],
)
def test_what_does_not_go_together_is_2(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    laid_out(folder, GOOD)
    assert call(*options) == 2
    assert message in capsys.readouterr().err
