"""How a command ends, whatever is raised."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from anonymize.cli.exits import outcome, reporting
from anonymize.cli.main import COMMANDS, TAKE_IT_WHEN, run
from anonymize.cli.release import COMMON_OPTIONS, command
from anonymize.errors import DataError, OwnNote
from anonymize.table import OutputFile, commit


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


class Interrupted:
    """An output at which a signal comes."""

    def sync(self) -> None:
        pass

    def commit(self) -> None:
        raise KeyboardInterrupt

    def retract(self) -> None:
        pass


def broken_by_rich() -> SystemExit:
    """What rich makes of a broken pipe: an exit with a code of its own."""
    error = SystemExit(1)
    error.__context__ = BrokenPipeError()
    return error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DataError("out of order")])
def test_what_a_library_notes_of_an_error_is_not_shown(error: BaseException, capfd: pytest.CaptureFixture[str]) -> None:
    error.add_note("while processing 'secret'")
    error.add_note(OwnNote("the best so far"))

    assert outcome(raising(error)) != 0
    lines = capfd.readouterr().err.splitlines()
    assert lines[1:] == ["the best so far"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()], ids=repr)
def test_what_is_there_when_a_command_ends_too_late_is_named(
    error: BaseException, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def late() -> None:
        with OutputFile(tmp_path / "late.csv") as output:
            output.write_text("a")
            commit([output])
        raise error

    assert outcome(late) != 0
    assert capfd.readouterr().err.endswith(f"; by then these were written: {tmp_path / 'late.csv'}\n")
    assert outcome(raising(error)) != 0
    assert capfd.readouterr().err.endswith("; nothing was written\n")


@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_replaced_another_stays_and_is_named(
    force: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def between() -> None:
        with OutputFile(tmp_path / "a.csv", force=force) as first:
            first.write_text("new")
            commit([first, Interrupted()])

    if force:
        (tmp_path / "a.csv").write_text("old")
    assert outcome(between) == 130
    left = f"by then these were written: {tmp_path / 'a.csv'}" if force else "nothing was written"
    assert capfd.readouterr().err == f"interrupted; {left}\n"


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (click.exceptions.Exit(4), 4, None),
        (click.UsageError("no such option"), 2, "Error: no such option"),
        (click.Abort(), 130, "interrupted; nothing was written"),
        (MemoryError(), 71, "error: there was not enough memory; nothing was written"),
        (RuntimeError("Cannot allocate memory for a"), 71, "error: there was not enough memory; nothing was written"),
        (OSError(28, "No space left", "out.csv"), 74, "error: out.csv: No space left"),
        (OSError(), 74, "error: input or output: OSError"),
        (BrokenPipeError(), 141, None),
        (broken_by_rich(), 141, None),
        (ValueError("CANARY"), 70, "error: ValueError: this is a bug of anonymize; nothing was written"),
    ],
    ids=repr,
)
def test_every_error_has_its_code_and_its_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    line: str | None,
) -> None:
    own = sys.stdout
    monkeypatch.setattr(sys, "stdout", own)  # what cannot be written to is replaced; here, until the test ends
    assert outcome(raising(error)) == code
    assert (sys.stdout is not own) is (code in (74, 141))
    if sys.stdout is not own:
        sys.stdout.close()
    lines = capsys.readouterr().err.splitlines()
    assert lines[:1] == ([] if line is None else [line]) and "CANARY" not in "".join(lines)


class Closed(io.StringIO):
    """A standard output whose reader has gone away."""

    def flush(self) -> None:
        raise BrokenPipeError


def test_what_is_written_last_may_meet_a_closed_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Closed())
    assert outcome(lambda: None) == 141
    sys.stdout.flush()  # as the interpreter does at its end
    sys.stdout.close()


def test_a_process_may_have_no_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert outcome(lambda: None) == 0


def test_a_bug_is_told_with_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(raising(KeyError("CANARY"))) == 70
    *_, last = capsys.readouterr().err.splitlines()
    assert last.endswith(" in fail") and __file__ in last


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(5, "Input/output error"), broken_by_rich()])
def test_a_message_that_cannot_be_written_changes_no_outcome(error: BaseException) -> None:
    with reporting():
        raise error


@pytest.mark.parametrize("error", [SystemExit(3), ValueError("x")])
def test_anything_else_that_happens_while_a_message_is_written_is_raised(error: BaseException) -> None:
    with pytest.raises(type(error)), reporting():
        raise error


# --- following --------------------------------------------------------------------------------------------------------

SPEC = "version: 1\ninput: {path: t.csv}\nquasi_identifiers: {age: {type: numeric}}\nprivacy: {k: 2}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "t.csv").write_text("age\n31\n34\n52\n58\n")
    (tmp_path / "made.csv").write_text("age\n34-\n34-\n52+\n52+\n")
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "plain.yaml").write_text(SPEC.replace("privacy: {k: 2}\n", ""))
    (tmp_path / "ill.csv").write_text("age,ill\n31,a\n34,b\n52,a\n58,b\n")
    grouped = SPEC.replace("t.csv", "ill.csv").replace("privacy: {k: 2}", "sensitive: {ill: {}}\nprivacy: {l: 2}")
    (tmp_path / "groups.yaml").write_text(grouped)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "following"),
    [
        (["release", "spec.yaml", "-o", "out.csv"], 0, "evaluate spec.yaml out.csv"),
        (["mondrian", "spec.yaml", "-i", "t.csv", "-o", "o t.csv"], 0, "evaluate spec.yaml 'o t.csv' -i t.csv"),
        (["anatomy", "groups.yaml", "-o", "out.csv"], 0, "evaluate groups.yaml out.qit.csv"),
        (
            ["anatomy", "groups.yaml", "-o", "out.csv", "--joined"],
            0,
            "evaluate groups.yaml out.csv --group group",
        ),
        (["audit", "spec.yaml"], 1, "explain 1"),
        (["audit", "plain.yaml"], 0, "release plain.yaml -o released.csv -r report.html"),
        (["audit", "spec.yaml", "-i", "made.csv"], 0, "evaluate spec.yaml made.csv"),
        (["audit", "-i", "made.csv", "--qi", "age", "-k", "2"], 0, "init made.csv -o anonymize.yaml"),
        (["evaluate", "spec.yaml", "made.csv"], 0, "attack spec.yaml made.csv"),
        (["evaluate", "spec.yaml", "made.csv", "-i", "t.csv"], 0, "attack spec.yaml made.csv -i t.csv"),
        (
            [
                "compare",
                "spec.yaml",
                "--algorithms",
                "datafly,mondrian relaxed=true",
                "-k",
                "4,2",
                "--cache",
                "kept",
                "-j",
                "1",
            ],
            0,
            "mondrian spec.yaml --relaxed -o released.csv",
        ),
        (
            ["compare", "spec.yaml", "--algorithms", "datafly", "-k", "4", "--cache", "kept", "-i", "t.csv"],
            0,
            "datafly spec.yaml -k 4 -i t.csv -o released.csv",
        ),
        (["mondrian", "spec.yaml", "-k", "5", "-o", "out.csv"], 4, "explain 4"),
        (["audit", "spec.yaml", "-i", "none.csv"], 3, "explain 3"),
        (["validate", "spec.yaml"], 0, "release spec.yaml -o released.csv -r report.html"),
        (["validate", "spec.yaml", "-i", "t.csv"], 0, "release spec.yaml -i t.csv -o released.csv -r report.html"),
        (["init", "t.csv", "-o", "first spec.yaml"], 0, "validate 'first spec.yaml' -i t.csv"),
        (["mondrian", "wrong.yaml"], 2, "validate wrong.yaml"),
        (["evaluate", "wrong.yaml", "released.yaml"], 2, "validate wrong.yaml"),
        (["example", "survey", "-o", "try"], 0, "validate try/survey.yaml"),
        (["example", "adult"], 0, "validate adult/adult.yaml -i adult.csv"),
    ],
)
def test_the_next_command(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, following: str
) -> None:
    (folder / "wrong.yaml").write_text(SPEC.replace("privacy", "privaci"))
    assert outcome(lambda: run(arguments)) == code
    assert capsys.readouterr().err.splitlines()[-1] == f"next: anonymize {following}"
    writes = code == 0 and arguments[0] not in ("validate", "audit", "evaluate", "compare")
    again = ["--force"] if writes else []
    assert outcome(lambda: run([*arguments, "-q", *again])) == code
    assert "next: " not in capsys.readouterr().err


def test_what_was_read_from_standard_input_cannot_be_evaluated(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = io.TextIOWrapper(io.BytesIO((folder / "t.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", table)
    assert outcome(lambda: run(["mondrian", "spec.yaml", "-i", "-", "-o", "out.csv"])) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "next: anonymize audit spec.yaml -i out.csv"


def test_a_release_on_standard_output_has_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(lambda: run(["mondrian", "spec.yaml"])) == 0
    assert "next: " not in capsys.readouterr().err


def test_a_spec_that_was_being_checked_is_not_to_be_checked_next(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wrong.yaml").write_text(SPEC.replace("privacy", "privaci"))
    assert outcome(lambda: run(["validate", "wrong.yaml"])) == 2
    assert "next: " not in capsys.readouterr().err


def test_every_release_command_is_in_one_group_of_the_help() -> None:
    grouped = [name for names in TAKE_IT_WHEN.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS["Release"])


def test_common_options_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(lambda: run(["mondrian", "--help-all"])) == 0
    text = capsys.readouterr().out
    common, own, further = (
        text.index(title) for title in ("Common options:", "Options of mondrian:", "Further options:")
    )
    assert common < text.index("-o, --output") < text.index("-q, --quiet") < own < text.index("--cut [") < further
    assert further < text.index("--seed INTEGER") < text.index("-h, --help  ")
    assert len(COMMON_OPTIONS) < len(command("mondrian").params) / 2


def test_a_result_for_programs_has_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["audit", "spec.yaml", "-i", "made.csv"], ["evaluate", "spec.yaml", "made.csv"]):
        assert outcome(lambda given=arguments: run([*given, "--json"])) == 0  # type: ignore[misc]
    assert outcome(lambda: run(["compare", "spec.yaml", "--algorithms", "datafly", "--no-cache", "--json"])) == 0
    assert capsys.readouterr().err == ""
