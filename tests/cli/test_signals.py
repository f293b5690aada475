"""Interruptions: exit code 130 or 141, and no partial file left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.conftest import HEADER, Call, Desk, row, table

ROWS = 400_000
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that takes a while."""
    path = tmp_path_factory.mktemp("large") / "table.csv"
    rows = [row(number) for number in range(3 * 4 * 5 * 37)]
    path.write_text("\n".join([HEADER, *(rows[number % len(rows)] for number in range(ROWS))]) + "\n")
    return path


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Until there is a file in a folder, or the process has one open there that has no name."""
    for _ in range(12_000):
        if any(path.iterdir()) or any(target.startswith(f"{path}/") for target in open_files(process.pid)):
            return
        assert process.poll() is None
        time.sleep(0.005)
    raise AssertionError("it never began to write")


def open_files(process: int) -> list[str]:
    """Where the descriptors of a process point, as far as the system says it."""
    targets = []
    for each in Path(f"/proc/{process}/fd").glob("*"):
        with suppress(OSError):
            targets.append(os.readlink(each))
    return targets


def tells_of_interruption(told: bytes) -> bool:
    """Whether that is all that was told, but for Rust's own words where the signal came as a panic of polars."""
    message = b"interrupted; nothing was written\n"
    return told == message or (b"panicked at" in told and told.endswith(b"\n" + message))


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_standard_input_is_read(desk: Desk, number: int) -> None:
    before = desk.files()
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with desk.start("mondrian", "spec.yaml", "-i", "-", "-o", "out.csv", **streams) as process:
        assert process.stdin is not None
        process.stdin.write(table(50_000).encode())  # more than is held in memory before it is copied
        process.stdin.flush()
        wait_for(desk.temporary, process)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert tells_of_interruption(told)
    assert desk.files() == before


MOMENTS = [("csv", 0), ("csv.gz", 0.1), ("parquet", 0.2), ("arrow", 0.3), ("csv", 0.4)]


@pytest.mark.parametrize(
    ("form", "delay", "number"),
    [*((*each, signal.SIGINT) for each in MOMENTS), (*MOMENTS[1], signal.SIGTERM), (*MOMENTS[3], signal.SIGHUP)],
)
def test_a_signal_while_it_works(desk: Desk, large: Path, form: str, delay: float, number: int) -> None:
    before = desk.files()
    target = desk.folder / "target"
    target.mkdir()
    arguments = ("-i", large, "-o", target / f"out.{form}", "-r", target / "r.json", "--threads", 1, "--force", "-q")
    for _ in range(5):  # where it has ended before the signal came, as nobody had time for this process, once more
        with desk.start("mondrian", "spec.yaml", *arguments, stderr=subprocess.PIPE) as process:
            wait_for(target, process)
            time.sleep(delay)
            process.send_signal(number)
            time.sleep(0.01)
            process.send_signal(number)  # an impatient second time does not keep it from tidying up
            _, told = process.communicate(timeout=60)
        if process.returncode:
            break
        for path in target.iterdir():
            path.unlink()
    assert process.returncode == 130
    assert tells_of_interruption(told)
    assert desk.files() == before


def test_what_is_best_so_far_is_told(desk: Desk) -> None:
    """A search that takes long: it has come to it once the process has worked for some seconds, and has read before."""
    rng, names = Random(1), [f"q{number}" for number in range(24)]
    lines = [",".join(str(rng.randrange(8)) for _ in names) for _ in range(1000)]
    spec = "version: 1\ninput: {path: table.csv}\nquasi_identifiers:\n"
    spec += "".join(f"  {name}: {{type: numeric, hierarchy: {{intervals: [2, 4]}}}}\n" for name in names)
    desk.fill("\n".join([",".join(names), *lines]) + "\n", spec + "privacy: {k: 5}\n")
    before = desk.files()
    search = ("--search", "distributed", "--work", 10_000_000, "--threads", 1)
    with desk.start("research-value", "spec.yaml", *search, "-o", "out.csv", stderr=subprocess.PIPE) as process:
        while worked(process.pid) < 2.5:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    message, best = told.decode().splitlines()
    assert (process.returncode, message) == (130, "interrupted; nothing was written")
    assert re.fullmatch(r"best so far: levels q0 \d, .*, q23 \d; research value 0\.\d+; gap 0\.\d+", best)
    assert desk.files() == before


def worked(process: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


UNRAISABLE = """
import os, signal
from anonymize import files as temporary
from anonymize.cli import exits

class Calling:
    def __del__(self):
        {}

def command():
    temporary.create("copy")
    Calling()
    exits.raise_interruption()

exits.run(command)
"""
"""A command to which something happens where no exception can be raised."""


def told_of_unraisable(desk: Desk, statement: str) -> tuple[int, bytes]:
    ended = subprocess.run(
        [sys.executable, "-c", UNRAISABLE.format(statement)],
        cwd=Path(__file__).parents[2],
        env=desk.environment(),
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_where_nothing_can_be_raised(desk: Desk, number: int) -> None:
    before = desk.files()
    code, told = told_of_unraisable(desk, f"os.kill(os.getpid(), {int(number)})")
    assert (code, told) == (130, b"interrupted; nothing was written\n")
    assert desk.files() == before


def test_other_errors_where_nothing_can_be_raised_are_told(desk: Desk) -> None:
    code, told = told_of_unraisable(desk, "raise KeyboardInterrupt")  # which no signal has asked for
    assert code == 0 and b"KeyboardInterrupt" in told


def test_temporary_files_are_private(desk: Desk, large: Path) -> None:
    target = desk.folder / "target"
    target.mkdir()
    with desk.start("mondrian", "spec.yaml", "-i", large, "-o", target / "out.csv", stderr=subprocess.PIPE) as process:
        wait_for(target, process)
        modes = {path.stat().st_mode & 0o777 for path in target.iterdir()}
        process.kill()
        process.communicate(timeout=60)
    assert modes == {0o600}


def test_an_ignored_interrupt_stays_ignored(desk: Desk) -> None:
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    ignoring = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731 (as under nohup)
    with desk.start("mondrian", "spec.yaml", "-i", "-", "-q", preexec_fn=ignoring, **streams) as process:
        assert process.stdin is not None
        process.stdin.write(table(50_000).encode())  # more than is held in memory before it is copied
        process.stdin.flush()
        wait_for(desk.temporary, process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and out.count(b"\n") == 50_001


# --- closed pipes ----------------------------------------------------------------------------------------------------


def into_closed_pipe(desk: Desk, *arguments: object, read: int = 0) -> tuple[int, bytes]:
    """Exit code and standard error of a command whose reader leaves after so many bytes."""
    reading, writing = os.pipe()
    with desk.start(*arguments, stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        if read:
            os.read(reading, read)
        os.close(reading)
        _, told = process.communicate(timeout=60)
    return process.returncode, told


def test_a_closed_pipe(desk: Desk, large: Path) -> None:
    before = desk.files()
    ended = into_closed_pipe(desk, "mondrian", "spec.yaml", "-i", large, "-r", "r.json", "-q", read=10)
    assert ended == (141, b"")
    assert desk.files() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "--qi", "zip", "-i", "table.csv"],
        ["audit", "--qi", "zip", "-i", "table.csv", "--json"],
        ["schema"],
        ["--help"],
        ["mondrian", "--help"],
    ],
)
def test_a_pipe_closed_before_anything_is_printed(desk: Desk, arguments: list[str]) -> None:
    assert into_closed_pipe(desk, *arguments) == (141, b"")


def test_an_unsafe_table_into_a_closed_pipe_is_no_verdict(desk: Desk, launch: Call) -> None:
    arguments = ("audit", "--qi", "zip", "-k", 100, "-i", "table.csv")
    assert launch(*arguments).code == 1
    assert into_closed_pipe(desk, *arguments)[0] == 141
