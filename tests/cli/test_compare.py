"""`compare` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Call, Desk


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_table_a_choice_and_a_page(desk: Desk, call: Call, tmp_path: Path) -> None:
    arguments = ("compare", desk.spec, "--algorithms", "mondrian,datafly", "-k", "3,6")
    page, text = tmp_path / "compare.html", tmp_path / "compare.md"
    ended = call(*arguments, "-r", page, "-r", text, "--color", "never")
    assert "## Algorithms compared" in text.read_text() and "table.csv, sha256" in text.read_text()
    assert ended.code == 0 and "Algorithms compared" in ended.out.decode()
    assert "Risk against loss" in page.read_text() and "CANARY" not in page.read_text()
    report = json.loads(call(*arguments, "--json").out)
    assert [(each["label"], each["k"]) for each in report["comparison"]] == [
        ("mondrian", 3),
        ("mondrian", 6),
        ("datafly", 3),
        ("datafly", 6),
    ]
    lines = call(*arguments, "--pick", "lowest-loss").out.decode().splitlines()
    assert [line.rpartition(" -k ")[2] for line in lines] == ["3", "6"]


@pytest.mark.parametrize("rule", ["lowest", "fastest-within", "fastest-within x%"])
def test_rules_that_there_are_not_are_refused(desk: Desk, call: Call, rule: str) -> None:
    assert call("compare", desk.spec, "--algorithms", "mondrian", "--pick", rule).code == 2
    assert call("compare", desk.spec, "--algorithms", "mondrian", "-k", "five").code == 2
