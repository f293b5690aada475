"""The files of a series: what holds its past, or its secret, is never where something else goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run

SPEC = """version: 1
input: {path: night.csv}
unit: person
quasi_identifiers: {age: {type: numeric}}
sensitive: [ill]
privacy: {k: 2}
"""
CONTENTS = {
    "spec.csv": SPEC,  # names that the suffixes of outputs do not rule out
    "night.csv": "person,age,ill\na,31,x\nb,34,y\nc,52,x\nd,58,y\n",
    "state.csv": "a state",
    "key.csv": "a key",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in CONTENTS.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "alias.csv").symlink_to("state.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["--after", "state.csv", "-o", "state.csv"],
        ["--after", "alias.csv", "-o", "state.csv"],
        ["--after", "state.csv", "-o", "out.csv", "--save-link", "state.csv"],
        ["--after", "state.csv", "-o", "key.csv"],
        ["--after", "state.csv", "-o", "out.csv", "--save-link", "key.csv"],
        ["--start-series", "night.csv", "-o", "out.csv"],
        ["--start-series", "spec.csv", "-o", "out.csv"],
        ["--start-series", "key.csv", "-o", "out.csv"],
        ["--start-series", "new.csv", "-o", "new.csv"],
    ],
)
def test_the_state_and_the_key_are_no_other_file_even_with_force(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code = outcome(lambda: run(["mondrian", "spec.csv", "--key", "key.csv", "--force", *arguments]))
    message = capsys.readouterr().err
    assert code == 2 and ("is given twice" in message or "is the spec, or a file that it names" in message)
    assert {path.name: path.read_text() for path in folder.iterdir() if not path.is_symlink()} == CONTENTS


def test_a_series_of_levels_names_what_can_be_in_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "key.csv").unlink()
    assert outcome(lambda: run(["key", "make", "key.csv"])) == 0
    spec = folder / "spec.csv"
    levels = "age: {type: numeric, hierarchy: {intervals: [10]}, levels: {max: 1}}"
    spec.write_text(spec.read_text().replace("age: {type: numeric}", levels))
    assert "levels" in spec.read_text()
    capsys.readouterr()
    arguments = ["spec.csv", "--start-series", "new.state", "--key", "key.csv", "-o", "out.csv"]
    assert outcome(lambda: run(["mondrian", *arguments])) == 2
    message = capsys.readouterr().err
    assert "does not keep to levels (these do:" in message and "incognito" in message and "mu-argus" not in message
    assert not (folder / ".new.state.lock").exists()


def test_a_recoding_that_follows_people_cannot_be_saved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "key.csv").unlink()
    arguments = ["spec.csv", "--start-series", "new.state", "--key", "key.csv", "--save-recoding", "recoding.json"]
    assert outcome(lambda: run(["key", "make", "key.csv"])) == 0
    capsys.readouterr()
    assert outcome(lambda: run(["mondrian", *arguments, "-o", "out.csv"])) == 2
    assert "--save-recoding: in a series mondrian shows regions of people" in capsys.readouterr().err
    assert outcome(lambda: run(["incognito", *arguments, "-o", "out.csv", "-q"])) == 0
    assert (folder / "recoding.json").exists()
