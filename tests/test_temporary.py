"""Temporary files: private, and gone at the end whatever happened in between."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from anonymize import temporary


def test_a_file_is_new_empty_and_private(tmp_path: Path) -> None:
    paths = [temporary.create(".t.", ".csv", tmp_path) for _ in range(3)]
    assert len(set(paths)) == 3 and all(path.name.startswith(".t.") and path.suffix == ".csv" for path in paths)
    assert [(path.stat().st_size, path.stat().st_mode & 0o777) for path in paths] == [(0, 0o600)] * 3
    temporary.remove(paths[0])
    temporary.remove(paths[0])
    assert sorted(tmp_path.iterdir()) == sorted(paths[1:])
    temporary.remove_all()
    assert not list(tmp_path.iterdir())


def test_an_interruption_right_after_it_was_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(handle: int, operation: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fcntl, "flock", interrupted)
    with pytest.raises(KeyboardInterrupt):
        temporary.create(".t.", "", tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    temporary.remove_all()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        temporary.create(".t.", "", tmp_path / "none")


# --- what a process leaves that is killed outright --------------------------------------------------------------------

LEFT = ".out.csv."
MAKING = """
import sys, time
from pathlib import Path
from anonymize import temporary
print(temporary.create(".out.csv.", ".csv", Path(sys.argv[1])), flush=True)
time.sleep(60)
"""


def started(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that has made a temporary file, and the file."""
    process = subprocess.Popen([sys.executable, "-c", MAKING, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_is_cleared_and_what_a_live_one_writes_is_not(tmp_path: Path) -> None:
    process, left = started(tmp_path)
    try:
        temporary.clear_left(LEFT, ".csv", tmp_path)
        assert left.exists(), "its process is writing it"
        process.send_signal(signal.SIGKILL)
        process.wait()
        temporary.clear_left(".other.", ".csv", tmp_path)
        temporary.clear_left(LEFT, ".parquet", tmp_path)
        assert left.exists(), "of another target"
        temporary.clear_left(LEFT, ".csv", tmp_path)
        assert not left.exists()
    finally:
        process.kill()
        process.communicate()


def test_the_files_of_this_process_are_not_cleared(tmp_path: Path) -> None:
    path = temporary.create(LEFT, ".csv", tmp_path)
    temporary.clear_left(LEFT, ".csv", tmp_path)
    assert path.exists()
    temporary.remove(path)


def test_nothing_is_cleared_that_is_not_such_a_file(tmp_path: Path) -> None:
    """A name in a folder may be planted: what it leads to, or is another name of, stays, and so does a folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    planted = [tmp_path / f"{LEFT}{digit * 12}.csv" for digit in "0123"]
    planted[0].symlink_to(elsewhere / "kept")
    os.link(elsewhere / "kept", planted[1])
    planted[2].mkdir()
    os.mkfifo(planted[3])
    others = [tmp_path / name for name in (f"{LEFT}csv", f"{LEFT}{'g' * 12}.csv", f"{LEFT}{'0' * 11}.csv")]
    for path in others:
        path.write_text("")
    temporary.clear_left(LEFT, ".csv", tmp_path)
    assert all(os.path.lexists(path) for path in [*planted, *others, elsewhere / "kept"])


def test_where_there_are_no_locks_nothing_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / f"{LEFT}{'0' * 12}.csv"
    left.write_text("")

    def unable(handle: int, operation: int) -> None:
        raise OSError(37, "no locks available")

    monkeypatch.setattr(fcntl, "flock", unable)
    temporary.clear_left(LEFT, ".csv", tmp_path)
    path = temporary.create(LEFT, ".csv", tmp_path)
    assert left.exists() and path.exists()
    temporary.remove(path)


def test_a_file_that_another_process_is_about_to_clear_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    taken: list[int] = []

    def late(handle: int, operation: int) -> None:
        if not taken:
            taken.append(handle)
            raise BlockingIOError
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    path = temporary.create(LEFT, ".csv", tmp_path)
    assert taken and list(tmp_path.iterdir()) == [path]
    temporary.remove(path)
