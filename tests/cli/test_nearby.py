"""Commands without a spec: the nearest one is meant."""

from __future__ import annotations

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.spec.nearby import NAME
from tests.cli.conftest import Call, Desk


def test_commands_find_it_and_say_so_where_it_lies_above(
    call: Call, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.spec.rename(desk.folder / NAME)
    assert call("validate").out == b"anonymize.yaml is valid\n"
    assert call("mondrian", "-o", "out.csv", "-q").code == 0
    assert call("audit", "-i", "out.csv", "-q").code == 0
    assert call("evaluate", "out.csv", "-q").code == 0
    (desk.folder / "below").mkdir()
    monkeypatch.chdir(desk.folder / "below")
    assert outcome(lambda: run(["mondrian", "-o", "out.csv", "-q"])) == 0
    assert (desk.folder / "below" / "out.csv").read_bytes() == (desk.folder / "out.csv").read_bytes()


@pytest.mark.parametrize("command", ["mondrian", "evaluate", "validate", "hierarchy show"])
def test_without_one_it_is_missing(call: Call, desk: Desk, command: str) -> None:
    ended = call(*command.split())
    assert ended.code == 2 and "anonymize.yaml" in ended.err
