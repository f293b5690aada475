"""A series that the commands made, measured again and attacked by the commands."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from tests.series.nights import LITTLE

SPEC = """\
version: 1
unit: id
quasi_identifiers: {age: {type: numeric}, zip: {type: numeric}}
sensitive: {ill: {}}
privacy: {k: 4, l: 2, models: [{model: entropy-l-diversity, attribute: ill, l: 1.2}]}
"""


def call(*arguments: str) -> int:
    return outcome(lambda: run(list(arguments)))


@pytest.fixture(scope="module", params=["csv", "parquet"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Three nights of 200 people, of whom five in a hundred leave a night, and as many come."""
    folder, draw = tmp_path_factory.mktemp("series"), random.Random(5)
    before = os.getcwd()
    os.chdir(folder)
    (folder / "spec.yaml").write_text(SPEC)
    assert call("key", "make", "key.json", "-q") == 0
    rows = [person(draw, number) for number in range(200)]
    for night in range(3):
        (folder / f"in{night}.csv").write_text("\n".join(["id,age,zip,ill", *rows]) + "\n")
        start = ["--start-series" if night == 0 else "--after", "state", "--key", "key.json"]
        files = ["-i", f"in{night}.csv", "-o", f"out{night}.{request.param}", "--save-link", f"link{night}.json"]
        assert call("mondrian", "spec.yaml", *start, *files, "-q", *LITTLE["mondrian"]) == 0
        rows = [row for row in rows if draw.random() < 0.95]
        rows += [person(draw, 1000 * (night + 1) + number) for number in range(10)]
    yield folder
    os.chdir(before)


def person(draw: random.Random, number: int) -> str:
    return f"p{number},{draw.randrange(20, 80)},{draw.randrange(1000, 9999)},{draw.choice(['flu', 'gout', 'cold'])}"


def test_it_is_met_from_its_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("audit", "spec.yaml", "--series", "state", "--key", "key.json", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    releases = report["series"]["verified"]["releases"]
    assert [(each["origin"], each["matches_state"]) for each in releases] == [("original", True)] * 3
    assert all(each["smallest"] >= 4 for each in releases)
    models = [model["model"] for model in releases[-1]["models"]]
    assert models == ["k-anonymity", "distinct-l-diversity", "entropy-l-diversity"]


def test_more_than_was_promised_is_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("audit", "spec.yaml", "--series", "state", "--key", "key.json", "-k", "40") == 1
    assert "is not met" in capsys.readouterr().err


def test_attackers_find_its_releases(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    released = next(path.name for path in folder.glob("out2.*"))
    series = ["--series", "state", "--key", "key.json"]
    assert (
        call("attack", "spec.yaml", released, "-i", "in2.csv", *series, "--attackers", "histories", "--json", "-q") == 0
    )
    chain, *_ = json.loads(capsys.readouterr().out)["attacks"]["results"]
    assert chain["figures"]["fewest"] >= 4 and chain["figures"]["max"] <= 1 / 4


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_combinations_and_empty_cells_are_of_every_night(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    spec = SPEC.replace("k: 4, l: 2", "l: 2, suppression: 0.1, combinations: [{columns: [age], k: 6}, {size: 2, k: 4}]")
    Path("spec.yaml").write_text(spec.replace("zip: {type: numeric}", "zip: {hierarchy: {prefix: [2]}}") + EMPTY)
    rows = [person(draw, number) for number in range(200)]
    assert call("key", "make", "key.json", "-q") == 0
    for night, start in enumerate(("--start-series", "--after")):
        Path(f"in{night}.csv").write_text("\n".join(["id,age,zip,ill", *rows[5 * night :]]) + "\n")
        state = [start, "state", "--key", "key.json", "-i", f"in{night}.csv", "-o", f"out{night}.csv"]
        assert call(algorithm, "spec.yaml", *state, "-r", f"r{night}.json", "-q") == 0
        models = json.loads(Path(f"r{night}.json").read_text())["privacy"]["models"]
        assert [each["satisfied"] for each in models if each["model"] == "k-anonymity of a combination"] == [True] * 2
        assert ",*," not in Path(f"out{night}.csv").read_text()


EMPTY = "output: {suppressed: null}\n"
