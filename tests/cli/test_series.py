"""`series show`, `series undo` and `series forget`: what they print, and where."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import SPEC, Call, Desk, table

OUTPUT = "nächste.csv"


@pytest.fixture
def begun(desk: Desk, once: Call) -> None:
    """A series of two releases."""
    assert once("key", "make", "own.key", "-q").code == 0
    for people, output, series in ((60, "first.csv", "--start-series"), (80, OUTPUT, "--after")):
        desk.fill(table(people), SPEC + "series: {person: [name]}\n")
        files = ("-o", output, series, "state", "--key", "own.key", "--save-link", f"{output}.json")
        assert once("mondrian", "spec.yaml", *files, "-q").code == 0


@pytest.mark.usefixtures("begun")
def test_a_series_is_shown_for_people_and_for_programs(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    shown = call("series", "show", "state")
    told = call("series", "show", "state", "--json").out.decode()
    content = json.loads(told)
    assert shown.code == 0 and f"the smallest has {content['smallest_history']} people" in shown.out.decode()
    assert f"{content['histories']} histories" in shown.out.decode() and OUTPUT in shown.out.decode()
    assert OUTPUT in told and told.splitlines()[1].startswith('  "')


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize("quiet", [True, False])
def test_what_was_done_is_said_on_standard_error_unless_quiet(call: Call, quiet: bool) -> None:
    hush = ["-q"] if quiet else []
    undone = call("series", "undo", "state", "--key", "own.key", *hush)
    forgot = call("series", "forget", "state", "CANARY, 1", "--key", "own.key", *hush)
    for ended, told in ((forgot, "forgot 1;"), (undone, OUTPUT)):
        assert (ended.code, ended.out) == (0, b"")
        assert (told in ended.err) != quiet and bool(ended.err) != quiet


def test_somebody_is_to_be_forgotten(call: Call) -> None:
    ended = call("series", "forget", "state", "--key", "own.key")
    assert ended.code == 2 and "Missing argument 'PERSON" in ended.err


# --- key --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quiet", [True, False])
def test_key_what_was_done_is_said_on_standard_error_unless_quiet(desk: Desk, call: Call, quiet: bool) -> None:
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
