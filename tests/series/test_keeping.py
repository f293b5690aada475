"""A series that is shown, whose last release is taken back, and in which people are forgotten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anonymize.cli.main import run
from anonymize.errors import DataError, UsageError
from anonymize.series.state import load
from tests.series.nights import Nights


def two(folder: Path) -> Nights:
    nights = Nights(folder)
    nights.come(80)
    nights.release()
    nights.leave(2)
    nights.come(12)
    nights.release()
    return nights


def test_it_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = two(tmp_path)
    run(["series", "show", str(tmp_path / "state"), "--json"])
    content = json.loads(capsys.readouterr().out)
    assert [each["people"]["departed"] for each in content["releases"]] == [0, 2]
    assert content["smallest_history"] >= 4 and content["people"] == 92
    run(["series", "show", str(tmp_path / "state"), "--color", "never"])
    text = capsys.readouterr().out
    assert "│ 2 │" in text and not any(person[0] in text.split() for person in nights.people)


def test_what_is_taken_back_is_as_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = Nights(tmp_path)
    nights.come(80)
    nights.release()
    before = load(tmp_path / "state")
    nights.come(12)
    nights.release()
    first = (tmp_path / "night1.csv").read_bytes()
    capsys.readouterr()
    run(["series", "undo", str(tmp_path / "state")])
    assert "took back the release" in (error := capsys.readouterr().err) and "night1.csv" in error
    after = load(tmp_path / "state")
    assert after.people.equals(before.people) and (after.histories == before.histories).all()
    assert after.releases == before.releases
    nights.release("--force", name="night1")
    assert (tmp_path / "night1.csv").read_bytes() == first
    nights.check()


def test_the_first_release_stays(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.come(80)
    nights.release()
    with pytest.raises(UsageError, match="first release"):
        run(["series", "undo", str(tmp_path / "state")])


def test_a_person_is_forgotten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = two(tmp_path)
    name = next(person[0] for person in nights.people if person[0] in nights.cells("night0"))
    arguments = ["series", "forget", str(tmp_path / "state"), "--key", str(tmp_path / "key")]
    run([*arguments, json.dumps([name])])
    assert load(tmp_path / "state").people.height == 91
    error = capsys.readouterr().err
    assert "forgot 1" in error and name not in error
    with pytest.raises(DataError, match="1 of 1 people are not in the series"):
        run([*arguments, name])
    counts = nights.release()["series"]["people"]
    assert counts["held_back"] == 1


def test_only_with_the_key(tmp_path: Path) -> None:
    two(tmp_path)
    run(["key", "make", str(tmp_path / "other"), "-q"])
    with pytest.raises(UsageError, match="not the key"):
        run(["series", "forget", str(tmp_path / "state"), "p1", "--key", str(tmp_path / "other")])
    with pytest.raises(UsageError, match="named by name"):
        run(["series", "forget", str(tmp_path / "state"), '["p1", "x"]', "--key", str(tmp_path / "key")])
    for name in ("[p1", "[1]", "{}"):
        with pytest.raises(DataError, match="1 of 1 people are not in the series"):
            run(["series", "forget", str(tmp_path / "state"), name, "--key", str(tmp_path / "key")])
