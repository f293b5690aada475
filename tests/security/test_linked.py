"""Two releases of one table: what they give away together, their rows matched by the links that their owner has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.security.running import Run, running

SPEC = """version: 1
input: {path: table.csv}
quasi_identifiers: {age: {type: numeric, weight: AGE}, zip: {type: numeric, weight: ZIP}}
sensitive: [ill]
privacy: {k: 4}
"""


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return running(tmp_path, capsys)


@pytest.fixture
def releases(run: Run, tmp_path: Path) -> Path:
    """A grid of 4 x 4, cut by age in one release and by postcode in the other: together everybody is alone."""
    rows = [f"{age},{code},{'abcd'[(age + code) % 4]}" for age in range(4) for code in range(4)]
    (tmp_path / "table.csv").write_text("\n".join(["age,zip,ill", *rows, ""]))
    for name, age, code in (("old", 9, 0.01), ("new", 0.01, 9)):
        (tmp_path / f"{name}.yaml").write_text(SPEC.replace("AGE", str(age)).replace("ZIP", str(code)))
        made = run("mondrian", f"{name}.yaml", "-o", f"{name}.csv", "--save-link", f"{name}.json")
        assert made.code == 0, made.err
    return tmp_path


AUDIT = ("audit", "new.yaml", "-i", "new.csv", "--previous", "old.csv")
LINKS = ("--link", "new.json", "--previous-link", "old.json")


def test_links_match_the_rows(run: Run, releases: Path) -> None:
    assert run(*AUDIT[:4]).code == 0
    linked = run(*AUDIT, *LINKS, "--json")
    block = json.loads(linked.out)["previous"]
    assert linked.code == 1 and block["joined_by"] == "link"
    assert block["models"][0]["achieved"] == {"k": 1} and block["risk"]["uniques"] == 16
    same = run("audit", "new.yaml", "-i", "new.csv", "--previous", "new.csv", "--link", "new.json",
               "--previous-link", "new.json")  # fmt: skip
    assert same.code == 0, same.err


def test_without_links_nothing_is_shown(run: Run, releases: Path) -> None:
    alone = run(*AUDIT, "--json")
    assert alone.code == 1
    assert json.loads(alone.out)["previous"]["models"][0]["satisfied"] is None


def test_a_link_of_another_file_is_refused(run: Run, releases: Path) -> None:
    crossed = run(*AUDIT, "--link", "old.json", "--previous-link", "new.json")
    assert crossed.code == 3 and "another release" in crossed.err
    own = run(*AUDIT, "--link", "old.json", "--previous-link", "old.json")
    assert own.code == 3 and "old.json" in own.err and "another release" in own.err
    (releases / "table.csv").write_text((releases / "table.csv").read_text() + "3,3,a\n")
    assert run("mondrian", "old.yaml", "-o", "old.csv", "--save-link", "old.json", "--force").code == 0
    other = run(*AUDIT, *LINKS)
    assert other.code == 3 and "another input" in other.err


@pytest.mark.parametrize(
    "options", [("--previous-link", "old.json"), ("--link", "new.json"), (*LINKS, "--by-position")], ids=" ".join
)
def test_links_that_lead_nowhere_are_refused(run: Run, releases: Path, options: tuple[str, ...]) -> None:
    assert run(*AUDIT, *options).code == 2
