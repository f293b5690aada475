"""`key make` and `key rotate`: what they say, and where."""

from __future__ import annotations

import pytest

from tests.cli.conftest import SPEC, Call, Desk


@pytest.mark.parametrize("quiet", [True, False])
def test_what_was_done_is_said_on_standard_error_unless_quiet(desk: Desk, call: Call, quiet: bool) -> None:
    hush = ["-q"] if quiet else []
    made = call("key", "make", "own.key", *hush)
    desk.fill(spec=SPEC + "series: {person: [name]}\n")
    begun = ("-o", "out.csv", "--start-series", "state", "--key", "own.key", "--save-link", "link.json")
    assert call("mondrian", "spec.yaml", *begun).code == 0
    rotated = call("key", "rotate", "state", "new.key", "--key", "own.key", *hush)
    for ended, name in ((made, "own.key"), (rotated, "new.key")):
        assert (ended.code, ended.out) == (0, b"") and (desk.folder / name).exists()
        assert (name in ended.err) != quiet and bool(ended.err) != quiet


@pytest.mark.parametrize("command", ["make -", "rotate state - --key own.key"])
def test_a_key_goes_to_no_terminal(call: Call, command: str) -> None:
    ended = call("key", *command.split())
    assert (ended.code, ended.out) == (2, b"") and "only its owner may read" in ended.err
