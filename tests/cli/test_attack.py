"""`attack` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Call, Desk


def test_a_release_is_attacked_and_the_gate_is_an_exit_code(desk: Desk, call: Call, tmp_path: Path) -> None:
    released, link, page = (tmp_path / name for name in ("released.csv", "link.json", "attacks.html"))
    assert call("mondrian", desk.spec, "-o", released, "--save-link", link).code == 0
    ended = call("attack", desk.spec, released, "--link", link, "-r", page, "--color", "never")
    printed = ended.out.decode()
    assert ended.code == 0 and "What attackers learn because of the release" in printed
    assert len(printed.splitlines()) < 60 and "Further figures" in printed and "further figures" in page.read_text()
    assert "How often attackers are right" in page.read_text() and "CANARY" not in page.read_text()
    gated = call("attack", desk.spec, released, "--link", link, "--max-excess", "0", "--json")
    assert gated.code == 1 and "CANARY" not in gated.out.decode() + gated.err
    report = json.loads(gated.out)
    assert report["privacy"]["satisfied"] is False and report["attacks"]["truth"] == "link"
    sarif = json.loads(call("attack", desk.spec, released, "--max-excess", "0", "--format", "sarif").out)
    assert {each["ruleId"] for each in sarif["runs"][0]["results"]} == {"max-excess"}


def test_attackers_that_there_are_not_are_refused(desk: Desk, call: Call) -> None:
    assert call("attack", desk.spec, "nowhere.csv", "--attackers", "nobody").code == 2
    assert call("attack", desk.spec, "nowhere.csv").code == 3


def test_of_a_release_without_rows_nothing_is_learned(desk: Desk, call: Call, tmp_path: Path) -> None:
    released, empty = tmp_path / "released.csv", tmp_path / "empty.csv"
    assert call("mondrian", desk.spec, "-o", released).code == 0
    empty.write_text(released.read_text().partition("\n")[0] + "\n")
    ended = call("attack", desk.spec, empty, "--json")
    attacks = json.loads(ended.out)["attacks"]
    assert ended.code == 0 and attacks["results"] == [] and "prosecutor" in attacks["left_out"]
