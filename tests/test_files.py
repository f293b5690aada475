"""Files as they are opened to be read."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from anonymize import files
from anonymize.files import content_of, opened
from tests.common.warm import USUAL, start

TABLE = "age,job\n31,cook\n34,cook\n52,clerk\n58,clerk\n"
SPEC = "version: 1\nquasi_identifiers: {age: {type: numeric}}\ninsensitive: [job]\nprivacy: {k: 2}\n"


def command(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return start(*arguments, cwd=Path.cwd(), env=os.environ | USUAL, **pipes, **options)


def test_a_text_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"12345")
    assert content_of(path, 5) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        content_of(path, 4)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full"])
def test_a_device_is_no_file(device: str) -> None:
    with pytest.raises(OSError, match="a device"), opened(device):
        pass


def test_a_device_is_refused_as_a_table_a_spec_and_a_hierarchy(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC.replace("insensitive: [job]\n", "").replace("}}", "}, job: {hierarchy: /dev/zero}}"))
    table = tmp_path / "table.csv"
    table.write_text(TABLE)
    for code, arguments in (
        (3, ("audit", "--qi", "age", "-i", "/dev/zero")),
        (2, ("audit", "/dev/zero", "-i", table)),
        (2, ("mondrian", spec, "-i", table)),
        (2, ("hierarchy", "check", "/dev/zero")),
    ):
        with command(*arguments) as process:
            _, err = process.communicate(timeout=120)
        assert process.returncode == code and b"it is a device" in err, (arguments, err)


@pytest.mark.parametrize("role", ["table", "spec"])
def test_a_pipe_that_keeps_silent_is_said_to_be_waited_for(tmp_path: Path, role: str) -> None:
    files = {"table": tmp_path / "table.csv", "spec": tmp_path / "spec.yaml"}
    texts = {"table": TABLE, "spec": SPEC}
    for name, path in files.items():
        os.mkfifo(path) if name == role else path.write_text(texts[name])
    report = tmp_path / "report.json"
    with command("mondrian", files["spec"], "-i", files["table"], "-r", report) as process:
        assert process.stderr is not None
        assert b"nobody has written to it yet: waiting" in process.stderr.readline()
        files[role].write_text(texts[role])
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and out.startswith(b"age,job\n"), err
    assert '"sha256": null' not in report.read_text()


def test_a_pipe_that_somebody_writes_to_is_read_in_silence(tmp_path: Path) -> None:
    """As `<(...)` of a shell is: it has no name in a folder."""
    (tmp_path / "spec.yaml").write_text(SPEC)
    read, write = os.pipe()
    os.write(write, TABLE.encode())
    os.close(write)
    arguments = ("mondrian", tmp_path / "spec.yaml", "-i", f"/dev/fd/{read}", "-q")
    with command(*arguments, pass_fds=(read,)) as process:
        out, err = process.communicate(timeout=120)
    os.close(read)
    assert process.returncode == 0 and out.startswith(b"age,job\n") and not err


def test_specs_and_hierarchies_have_a_limit(tmp_path: Path) -> None:
    """Named in the message; files of holes, which take no room."""
    for name, most, code, arguments in (
        ("spec.yaml", 1 << 22, 2, ("validate",)),
        ("tree.yaml", 1 << 26, 2, ("hierarchy", "check")),
        ("tree.csv", 1 << 28, 2, ("hierarchy", "check")),
    ):
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(most + 1)
        with command(*arguments, path) as process:
            _, err = process.communicate(timeout=120)
        assert process.returncode == code and f"more than {most:,} bytes".encode() in err, err


# --- temporary --------------------------------------------------------------------------------------------------------


def test_a_file_is_new_empty_and_private(tmp_path: Path) -> None:
    paths = [files.create(".t.", ".csv", tmp_path) for _ in range(3)]
    assert len(set(paths)) == 3 and all(path.name.startswith(".t.") and path.suffix == ".csv" for path in paths)
    assert [(path.stat().st_size, path.stat().st_mode & 0o777) for path in paths] == [(0, 0o600)] * 3
    files.remove(paths[0])
    files.remove(paths[0])
    assert sorted(tmp_path.iterdir()) == sorted(paths[1:])
    files.remove_all()
    assert not list(tmp_path.iterdir())


def test_an_interruption_right_after_it_was_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(handle: int, operation: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fcntl, "flock", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.create(".t.", "", tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    files.remove_all()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.create(".t.", "", tmp_path / "none")


# --- what a process leaves that is killed outright --------------------------------------------------------------------

LEFT = ".out.csv."
MAKING = """
import sys, time
from pathlib import Path
from typing import Any
from anonymize import files as temporary
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
        files.clear_left(LEFT, ".csv", tmp_path)
        assert left.exists(), "its process is writing it"
        process.send_signal(signal.SIGKILL)
        process.wait()
        files.clear_left(".other.", ".csv", tmp_path)
        files.clear_left(LEFT, ".parquet", tmp_path)
        assert left.exists(), "of another target"
        files.clear_left(LEFT, ".csv", tmp_path)
        assert not left.exists()
    finally:
        process.kill()
        process.communicate()


def test_the_files_of_this_process_are_not_cleared(tmp_path: Path) -> None:
    path = files.create(LEFT, ".csv", tmp_path)
    files.clear_left(LEFT, ".csv", tmp_path)
    assert path.exists()
    files.remove(path)


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
    files.clear_left(LEFT, ".csv", tmp_path)
    assert all(os.path.lexists(path) for path in [*planted, *others, elsewhere / "kept"])


def test_where_there_are_no_locks_nothing_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / f"{LEFT}{'0' * 12}.csv"
    left.write_text("")

    def unable(handle: int, operation: int) -> None:
        raise OSError(37, "no locks available")

    monkeypatch.setattr(fcntl, "flock", unable)
    files.clear_left(LEFT, ".csv", tmp_path)
    path = files.create(LEFT, ".csv", tmp_path)
    assert left.exists() and path.exists()
    files.remove(path)


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
    path = files.create(LEFT, ".csv", tmp_path)
    assert taken and list(tmp_path.iterdir()) == [path]
    files.remove(path)


def test_a_folder_that_another_process_takes_for_left_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its first moment and its lock nobody holds it."""
    opened, taken = os.open, list[Path]()

    def taking(path: Path, *given: Any, **more: Any) -> int:
        if not taken:
            taken.append(path)
            path.rmdir()
        return opened(path, *given, **more)

    monkeypatch.setattr(os, "open", taking)
    with files.folder(tmp_path) as made:
        assert made.is_dir() and made != taken[0]
    assert not list(tmp_path.iterdir())
