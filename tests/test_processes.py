"""Processes of their own: same results as in the calling one, and never any left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

from anonymize.processes import workers

ROOT = Path(__file__).resolve().parent.parent


class Adder:
    """What all processes are given once."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def add(self, part: int) -> int:
        """One task."""
        return self.offset + part

    def kill(self, part: int) -> None:
        """A task whose process is killed from outside, as by a system that is out of memory."""
        os.kill(os.getpid(), signal.SIGKILL)

    def name(self, part: int) -> int:
        """The process that works on the task."""
        time.sleep(0.05)
        return os.getpid()


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_parts(processes: int) -> None:
    with workers(processes, Adder, 10) as pool:
        assert pool.map(Adder.add, range(5)) == [10, 11, 12, 13, 14]
        assert pool.map(Adder.add, range(3), worth=False) == [10, 11, 12]
        assert sorted(pool.completed(Adder.add, range(3))) == [(0, 10), (1, 11), (2, 12)]


def test_a_script_is_not_run_again_by_its_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "print('begun', flush=True)\nimport operator\nfrom anonymize.processes import workers\n"
        "with workers(2, list) as pool: print(pool.map(operator.contains, [1, 2]))\n"
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert ended.stdout == "begun\n[False, False]\n"


def test_a_killed_process_is_an_error_not_a_wait() -> None:
    with workers(2, Adder, 10) as pool, pytest.raises(BrokenExecutor):
        pool.map(Adder.kill, range(4))


def test_no_process_is_left() -> None:
    with workers(2, Adder, 10) as pool:
        names = set(pool.map(Adder.name, range(4)))
    assert os.getpid() not in names and not any(_alive(name) for name in names)


CALLER = """
import os, sys, time
from anonymize.processes import workers
from test_processes import Adder

if __name__ == "__main__":
    with workers(2, Adder, 10) as pool:
        print(*set(pool.map(Adder.name, range(4))), flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_caller_and_never_see_its_interruption(end: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "caller.py"
    script.write_text(CALLER)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{Path(__file__).parent}"}
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as caller:
        assert caller.stdout is not None and caller.stderr is not None
        names = [int(name) for name in caller.stdout.readline().split()]
        assert names and all(_alive(name) for name in names)
        (os.killpg if end is signal.SIGINT else os.kill)(caller.pid, end)
        assert caller.stderr.read().count(b"Traceback") == (end is signal.SIGINT)  # the caller's own
    deadline = time.monotonic() + 20
    while any(_alive(name) for name in names) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(_alive(name) for name in names)


def _alive(process: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
