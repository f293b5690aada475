"""What is finished, and what is taken back, after a process was killed between two renames."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from anonymize.errors import UsageError, WriteError
from anonymize.journal import Journal, locked
from anonymize.table import OutputFile
from tests.series.nights import Nights


def outputs(folder: Path) -> list[OutputFile]:
    """A release that is new, and a state that replaces another."""
    (folder / "state").write_text("old state")
    release = OutputFile(folder / "release.csv")
    state = OutputFile(folder / "state", force=True, private=True)
    release.write_text("release")
    state.write_text("new state")
    return [release, state]


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.name != ".state.lock"}


BEFORE, AFTER = {"state": "old state"}, {"state": "new state", "release.csv": "release"}


def test_outputs_take_their_places(tmp_path: Path) -> None:
    with locked(tmp_path / "state") as journal:
        journal.commit(outputs(tmp_path))
        journal.end()
    assert texts(tmp_path) == AFTER
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600


def sealed(folder: Path) -> list[OutputFile]:
    """A run that was killed before its first rename."""
    files = outputs(folder)
    pairs = [(file.pending, file.sha256) for file in files]
    steps = [{**vars(pending), "sha256": sha256} for pending, sha256 in pairs]
    (folder / ".state.journal").write_text(json.dumps({"steps": steps}))
    return files


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_what_was_sealed_is_finished(tmp_path: Path, renames: int) -> None:
    for file in sealed(tmp_path)[:renames]:
        file.commit()
    with locked(tmp_path / "state"):
        assert texts(tmp_path) == AFTER
    assert Journal(tmp_path / "state").recover() is False


def test_what_was_begun_is_removed(tmp_path: Path) -> None:
    files = outputs(tmp_path)
    Journal(tmp_path / "state").begin(files)
    with locked(tmp_path / "state"):
        assert texts(tmp_path) == BEFORE


def test_what_cannot_be_finished_is_taken_back(tmp_path: Path) -> None:
    release, state = sealed(tmp_path)
    release.commit()
    state.discard()
    with locked(tmp_path / "state"):
        assert texts(tmp_path) == BEFORE


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    sealed(tmp_path)
    (tmp_path / "release.csv").write_text("somebody else's")
    with pytest.raises(WriteError), locked(tmp_path / "state"):
        pass
    assert (tmp_path / "release.csv").read_text() == "somebody else's"
    assert (tmp_path / "state").read_text() == "old state"


def test_an_error_while_files_are_placed_takes_them_back(tmp_path: Path) -> None:
    release, state = outputs(tmp_path)
    other = OutputFile(tmp_path / "report.json")
    other.write_text("report")
    (tmp_path / "release.csv").write_text("came meanwhile")
    with pytest.raises(UsageError, match="exists already"), locked(tmp_path / "state") as journal:
        journal.commit([other, release, state])
    assert not (tmp_path / "report.json").exists() and (tmp_path / "state").read_text() == "old state"


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path / "state"), pytest.raises(UsageError, match="another run"), locked(tmp_path / "state"):
        pass
    with locked(tmp_path / "state"):
        pass


def test_a_run_without_a_state_leaves_no_lock(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="refused"), locked(tmp_path / "state"):
        assert (tmp_path / ".state.lock").exists()
        raise ValueError("refused")
    assert list(tmp_path.iterdir()) == []


def test_what_is_on_record_of_a_state_outlives_it(tmp_path: Path) -> None:
    (tmp_path / ".state.lock").write_text("a record")
    with pytest.raises(ValueError, match="refused"), locked(tmp_path / "state"):
        raise ValueError("refused")
    assert (tmp_path / ".state.lock").read_text() == "a record"


def test_a_lock_that_was_removed_meanwhile_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open
    opened: list[int] = []

    def removed_once(path: Path, flags: int, mode: int) -> int:
        handle = real(path, flags, mode)
        if not opened:
            path.unlink()
        opened.append(handle)
        return handle

    monkeypatch.setattr(os, "open", removed_once)
    with locked(tmp_path / "state"):
        assert len(opened) == 2
        monkeypatch.undo()
        with pytest.raises(UsageError, match="another run"), locked(tmp_path / "state"):
            pass


def test_a_damaged_journal_is_left(tmp_path: Path) -> None:
    (tmp_path / ".state.journal").write_text("{")
    with pytest.raises(WriteError, match="damaged"), locked(tmp_path / "state"):
        pass
    assert (tmp_path / ".state.journal").exists()


KILLED = """
import os, signal, sys
from anonymize.cli.main import run
count = 0
moment = int(sys.argv[1])
def strike(event, arguments):
    global count
    if event in ("os.rename", "os.chmod", "os.remove"):
        count += 1
        if count == moment:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(strike)
run(sys.argv[2:])
"""
"""A run that is killed at its n-th rename, change of mode or removal: what Python is asked for, and nothing patched."""


@pytest.mark.parametrize("moment", [1, 3, 6])
def test_a_night_that_is_killed_is_all_there_or_not_at_all(tmp_path: Path, moment: int) -> None:
    nights = Nights(tmp_path)
    nights.come(60)
    nights.release()
    nights.leave(2)
    nights.come(9)
    nights.write("night1")
    arguments = [sys.executable, "-c", KILLED, str(moment), *nights.arguments("night1", "--after")]
    ended = subprocess.run(arguments, env={**os.environ, "PYTHONPATH": os.getcwd()}, capture_output=True, check=False)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    old = (tmp_path / "state").read_bytes()
    with locked(tmp_path / "state"):
        there = (tmp_path / "night1.csv").exists()
        assert there == ((tmp_path / "night1.link.json").exists())
    assert (old != (tmp_path / "state").read_bytes()) <= there
    report = nights.release(*["--force"] * there, name="night1")
    assert report["series"]["number"] == 2 and report["series"]["again"] is there
    nights.check()
    left = [path for path in tmp_path.iterdir() if path.name.startswith(".") and path.name != ".state.lock"]
    assert moment == 1 or not left  # before the journal is there, files may be left, and have nothing in them yet
    assert all(path.stat().st_size == 0 for path in left)
