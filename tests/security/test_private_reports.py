"""A report that tells more than what is published is private: only its owner may read it, and it says what it is."""

from __future__ import annotations

import csv
import json
import os
import random
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from anonymize import python as api
from anonymize.report import RENDERERS
from anonymize.report.page import PRIVATE
from tests.security.running import Run, running

SPEC = """\
version: 1
input: {path: table.csv}
quasi_identifiers: {age: {type: numeric}, sex: {}}
sensitive: {ill: {}}
privacy: {k: 3}
"""
RELEASE = "mondrian spec.yaml -o again.csv"
COMMANDS = {
    "release": RELEASE,
    "release, left unsafe": f"{RELEASE} --allow-unsafe",
    "evaluate": "evaluate spec.yaml released.csv",
    "compare": "compare spec.yaml --algorithms mondrian --no-cache -j 1",
    "attack": "attack spec.yaml released.csv --targets 20",
    "recode": "recode recoding.json -i table.csv -o recoded.csv",
    "audit of the input": "audit spec.yaml -k 1",
    "audit with a population": "audit spec.yaml -i released.csv --population table.csv",
    "audit with a baseline": "audit spec.yaml -i released.csv --baseline before.json",
}
"""Commands whose reports tell more than what is published."""
PUBLISHED = {
    "release": f"{RELEASE} --public-report",
    "audit of a release": "audit spec.yaml -i released.csv",
    "audit without a spec": "audit -i released.csv --qi age,sex -k 3",
}
"""Commands whose reports follow from what is published."""
MARKS = {".json": '"private": true', ".md": "**Private.** ", ".html": "<strong>Private.</strong> "}


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[tuple[Path, Run]]:
    """A folder with a table, a release of it with its private report and recoding; new files may be read by all."""
    draw, before = random.Random(1), os.umask(0o022)
    with (tmp_path / "table.csv").open("w", newline="") as file:
        rows = [(draw.randrange(20, 60), draw.choice("mf"), draw.choice("abc")) for _ in range(60)]
        csv.writer(file).writerows([("age", "sex", "ill"), *rows])
    (tmp_path / "spec.yaml").write_text(SPEC)
    run = running(tmp_path, capsys)
    made = run("mondrian", "spec.yaml", "-o", "released.csv", "-r", "before.json", "--save-recoding", "recoding.json")
    assert made.code == 0
    yield tmp_path, run
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def reports(folder: Path) -> dict[str, Path]:
    return {kind: folder / f"report{kind}" for kind in RENDERERS}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_private_report_is_its_owners_and_says_so(name: str, desk: tuple[Path, Run]) -> None:
    """Also where one that everybody may read is replaced, and, of a release, where it is written once more."""
    folder, run = desk
    for path in reports(folder).values():
        path.write_text("an older report")
        path.chmod(0o664)
    options = [option for path in reports(folder).values() for option in ("-r", path.name)]
    for _ in range(2 if name == "release" else 1):
        assert run(*COMMANDS[name].split(), *options, "--force").code == 0
        for kind, path in reports(folder).items():
            assert mode(path) == 0o600 and MARKS[kind] in path.read_text()
            assert kind == ".json" or PRIVATE[:60] in path.read_text()


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_report_that_follows_from_what_is_published_is_not(name: str, desk: tuple[Path, Run]) -> None:
    folder, run = desk
    options = [option for path in reports(folder).values() for option in ("-r", path.name)]
    assert run(*PUBLISHED[name].split(), *options).code == 0
    for kind, path in reports(folder).items():
        assert mode(path) == 0o644 and MARKS[kind] not in path.read_text()
    assert json.loads((folder / "report.json").read_text())["private"] is False


def test_what_python_gets_back_says_so(desk: tuple[Path, Run]) -> None:
    folder, _ = desk
    table, spec, released = (str(folder / name) for name in ("table.csv", "spec.yaml", "released.csv"))
    recoding = json.loads((folder / "recoding.json").read_text())
    private = [
        api.release(table, spec, "mondrian"),
        api.evaluate(released, spec),
        api.attack(released, spec, targets=20),
        api.recode(table, recoding),
        api.audit(None, spec, k=1),
    ]
    assert all(each.private for each in private)
    assert not api.release(table, spec, "mondrian", public=True).private
    assert not api.audit(released, spec).private
