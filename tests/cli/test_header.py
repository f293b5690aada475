"""A table without a line of names: on every road it is what it is with the names column_1, column_2, ..."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize import python as api
from anonymize.cli.exits import outcome
from anonymize.cli.main import run as command
from anonymize.errors import UsageError
from anonymize.privacy import PARAMETERS
from anonymize.spark import capabilities
from anonymize.spec import load
from tests.security.running import Run, running

SPEC = """\
version: 1
input: {{path: {path}, header: {header}, encoding: latin-1}}
quasi_identifiers: {{column_1: {{type: numeric}}, column_2: {{}}, column_4: {{hierarchy: {{mask: right}}}}}}
sensitive: {{column_3: {{}}}}
insensitive: [column_5]
privacy: {privacy}
"""
SERIES = "identifiers: [column_5]\nseries: {person: [column_5]}"
NAMES = "column_1,column_2,column_3,column_4,column_5\n"
UNLIKE = ("started_at", "timing", "memory", "path", "sha256", "seconds", "cpu_seconds")
"""What a rerun, or another file, changes in a report."""
RELEASED = "{algorithm} {name}.yaml -o {name}.out.csv -r {name}.json --force"
ROADS = {
    "release": [RELEASED.format(algorithm="mondrian", name="{name}")],
    "full-domain": [RELEASED.format(algorithm="incognito", name="{name}")],
    "in little memory": [RELEASED.format(algorithm="mondrian", name="{name}") + " --memory-limit 400MB"],
    "audit of the input": ["audit {name}.yaml -k 1 -r {name}.json"],
    "audit of the release": ["audit {name}.yaml -i released.csv -r {name}.json"],
    "evaluate": ["evaluate {name}.yaml released.csv -r {name}.json"],
    "attack": ["attack {name}.yaml released.csv --control others.{name}.csv --targets 30 -r {name}.json"],
    "attack, made again": ["attack {name}.yaml released.csv --remake released.json --targets 30 -r {name}.json"],
    "recode": [
        RELEASED.format(algorithm="mondrian", name="{name}") + " --save-recoding {name}.recoding.json --force",
        "recode {name}.recoding.json -i {name}.csv -o {name}.out.csv -r {name}.json --force",
    ],
    "series": [
        "mondrian {name}.yaml -o {name}.first.csv --start-series {name}.state --key key.json",
        "mondrian {name}.yaml -o {name}.out.csv --after {name}.state --key key.json -r {name}.json",
    ],
    "compare": ["compare {name}.yaml --algorithms mondrian -j 1 --no-cache -r {name}.json"],
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one table twice, without names (`without`) and with (`named`), and a release of it."""
    folder = tmp_path_factory.mktemp("both")
    draw = random.Random(1)
    lines = [
        f"{draw.randrange(20, 60)},{draw.choice('mf')},{draw.choice('abcé')},0{draw.randrange(2100, 2140)},{number}\n"
        for number in range(160)
    ]
    for name, header in (("without", "false"), ("named", "true")):
        for place, part in ((f"{name}.csv", lines[:80]), (f"others.{name}.csv", lines[80:])):
            text = (NAMES if header == "true" else "") + "".join(part)
            (folder / place).write_text(text, encoding="latin-1")
        (folder / f"{name}.yaml").write_text(SPEC.format(path=f"{name}.csv", header=header, privacy="{k: 3}"))
    with contextlib.chdir(folder):
        assert (
            outcome(lambda: command(["mondrian", "named.yaml", "-o", "released.csv", "-r", "released.json", "-q"])) == 0
        )
    return folder


@pytest.fixture
def run(both: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in a copy of that folder."""
    shutil.copytree(both, tmp_path, dirs_exist_ok=True)
    return running(tmp_path, capsys)


def without(report: Any, names: tuple[str, ...]) -> Any:
    """A report without some keys, at any depth."""
    if isinstance(report, dict):
        return {key: without(value, names) for key, value in report.items() if key not in names}
    return [without(each, names) for each in report] if isinstance(report, list) else report


@pytest.mark.parametrize("road", ROADS)
def test_every_road_reads_it_as_with_names(road: str, run: Run, tmp_path: Path) -> None:
    if road == "series":
        assert run("key", "make", "key.json").code == 0
        for name in ("without", "named"):
            path = tmp_path / f"{name}.yaml"
            path.write_text(path.read_text().replace("insensitive: [column_5]", SERIES))
    ended = {name: [run(*line.format(name=name).split()) for line in ROADS[road]] for name in ("without", "named")}
    codes = {name: [each.code for each in all_ended] for name, all_ended in ended.items()}
    assert codes["without"] == codes["named"] == [0] * len(ROADS[road]), ended["without"][-1].err
    reports = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ended]
    assert without(reports[0], UNLIKE) == without(reports[1], UNLIKE)
    outputs = [(tmp_path / f"{name}.out.csv") for name in ended]
    if outputs[0].exists() and road != "series":  # pseudonyms are drawn anew
        assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_the_release_has_names(run: Run, tmp_path: Path) -> None:
    assert run("mondrian", "without.yaml", "-o", "out.csv").code == 0
    assert (tmp_path / "out.csv").read_text().startswith(NAMES)


def test_without_a_spec_an_option_says_so(run: Run) -> None:
    columns = ("--qi", "column_1,column_2", "--encoding", "latin-1", "-k", 1, "--json")
    reports = [
        json.loads(run("audit", "-i", "without.csv", "--no-header", *columns).out),
        json.loads(run("audit", "-i", "named.csv", *columns).out),
    ]
    assert without(reports[0], UNLIKE) == without(reports[1], UNLIKE)
    assert run("audit", "-i", "without.csv", *columns).code == 3


def test_init_asks_before_it_takes_a_row_for_names(run: Run, tmp_path: Path) -> None:
    ended = run("init", "without.csv")
    assert (ended.code, ended.out) == (2, "") and "without.csv:1: " in ended.err
    assert "input.header: false" in ended.err and "input.header: true" in ended.err
    first = (tmp_path / "without.csv").read_text(encoding="latin-1").split("\n")[0]
    assert not any(cell in ended.err for cell in first.split(",") if len(cell) > 2)
    assert run("init", "without.csv", "--no-header", "-o", "spec.yaml").code == 0
    assert "  header: false" in (tmp_path / "spec.yaml").read_text()
    assert run("release", "spec.yaml", "-o", "out.csv", "--effort", 0.1).code == 0
    assert run("init", "named.csv").code == 0
    assert "  header: true" in run("init", "without.csv", "--header").out


def test_python_asks_as_well(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"input\.header"):
        api.init(tmp_path / "without.csv")
    text = api.init(tmp_path / "without.csv", header=False)
    assert "header: false" in text and "column_1" in text


def test_a_frame_has_names(run: Run, tmp_path: Path) -> None:
    frame = pl.read_csv(tmp_path / "named.csv", encoding="latin-1", infer_schema=False)
    with pytest.raises(UsageError, match=r"input\.header"):
        api.release(frame, tmp_path / "without.yaml", "mondrian")


def test_an_engine_refuses_it(run: Run, tmp_path: Path) -> None:
    specs = [load(tmp_path / f"{name}.yaml", PARAMETERS) for name in ("without", "named")]
    refused = [dict(capabilities.lacking(capabilities.EngineUse(capabilities.AUDIT, spec))) for spec in specs]
    assert ["input.header: false" in each for each in refused] == [True, False]
