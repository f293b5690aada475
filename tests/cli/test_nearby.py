"""Commands without a spec: the nearest one is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.cli.options import NAME
from tests.cli.conftest import Call, Desk


def test_commands_find_it_and_say_so_where_it_lies_above(
    call: Call, desk: Desk, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    desk.spec.rename(desk.folder / NAME)
    assert call("validate").out == b"anonymize.yaml is valid\n"
    made = call("mondrian", "-o", "out.csv", "-q")
    assert (made.code, made.err) == (0, "")
    assert call("audit", "-i", "out.csv", "-q").code == 0
    assert call("evaluate", "out.csv", "-q").code == 0
    (desk.folder / "below").mkdir()
    monkeypatch.chdir(desk.folder / "below")
    assert outcome(lambda: run(["mondrian", "-o", "out.csv", "-q"])) == 0
    assert capfdbinary.readouterr().err == f"the spec is {Path('..', NAME)}\n".encode()
    assert (desk.folder / "below" / "out.csv").read_bytes() == (desk.folder / "out.csv").read_bytes()


@pytest.mark.parametrize("command", ["mondrian", "evaluate", "evaluate table.csv", "validate", "hierarchy show"])
def test_without_one_it_is_missing(call: Call, desk: Desk, command: str) -> None:
    ended = call(*command.split())
    assert ended.code == 2 and "anonymize.yaml" in ended.err


def test_the_spec_that_is_named_is_meant_where_another_is_near(call: Call, desk: Desk) -> None:
    assert call("mondrian", "spec.yaml", "-o", "out.csv", "-q").code == 0
    (desk.folder / NAME).write_text("nonsense: 1\n")
    assert call("evaluate", "spec.yaml", "out.csv", "-q").code == 0
    assert "nothing to evaluate" in call("evaluate", "spec.yaml").err
    for arguments in ((), ("out.csv",)):
        assert NAME in call("evaluate", *arguments).err
