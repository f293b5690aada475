"""Work in threads: all of it is done once, and what goes wrong in one comes out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.parallel import ahead, in_parts, mapped, meanwhile, occurrences, scattered, workers


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_each_item_is_in_one_part(count: int, threads: int) -> None:
    parts: list[list[int]] = []
    in_parts(lambda part: parts.append(list(part)), range(count), threads)
    assert sorted(item for part in parts for item in part) == list(range(count))
    assert len(parts) == (threads if count > 1 else 1)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_what_is_made_of_items_is_in_their_order(threads: int) -> None:
    def work(item: int) -> int:
        if item > 5:
            raise ValueError(f"{item}")
        return item * item

    assert mapped(work, range(5), threads) == [0, 1, 4, 9, 16]
    assert mapped(work, [], threads) == []
    with pytest.raises(ValueError, match="6"):
        mapped(work, range(9), threads)


def test_an_error_comes_out() -> None:
    def work(part: Sequence[int]) -> None:
        if 3 in part:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        in_parts(work, range(5), 2)


@pytest.mark.parametrize("threads", [1, 2])
def test_items_come_in_order_whoever_makes_them(threads: int) -> None:
    assert list(ahead(iter(range(5)), threads)) == list(range(5))
    assert list(ahead(iter(()), threads)) == []


def test_the_next_item_is_made_while_the_last_one_is_used() -> None:
    made = [threading.Event() for _ in range(3)]

    def items() -> Iterator[int]:
        for number, event in enumerate(made):
            event.set()
            yield number

    for number in ahead(items(), 2):
        assert number == 2 or made[number + 1].wait(60)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_takes_the_place_of_its_item(threads: int) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("no second one")

    pieces = ahead(items(), threads)
    assert next(pieces) == 1
    with pytest.raises(ValueError, match="no second one"):
        next(pieces)


def test_pieces_that_nobody_asks_for_are_not_made() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(9):
            made.append(number)
            yield number

    with closing(ahead(items(), 2)) as pieces:
        assert next(pieces) == 0
    assert len(made) <= 2


def test_work_is_done_meanwhile_where_there_are_several_threads() -> None:
    """With one, it is done by whoever asks for the result."""
    for threads, begun in ((1, False), (2, True)):
        started = threading.Event()
        result = meanwhile(lambda started=started: started.set() or 3, threads)  # type: ignore[misc]
        assert started.wait(60 if begun else 0) == begun
        assert result() == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_what_goes_wrong_meanwhile_is_raised_where_the_result_is_asked_for(threads: int) -> None:
    def work() -> None:
        raise ValueError("three")

    result = meanwhile(work, threads)
    with pytest.raises(ValueError, match="three"):
        result()


# --- processes --------------------------------------------------------------------------------------------------------

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
        "print('begun', flush=True)\nimport operator\nfrom anonymize.parallel import workers\n"
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
from anonymize.parallel import workers
from test_parallel import Adder

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
    deadline = time.monotonic() + 60
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


# --- scattering -------------------------------------------------------------------------------------------------------

PARTS = 5


@given(st.lists(st.lists(st.integers(0, PARTS - 1), max_size=12), max_size=5))
def test_chunks_make_no_difference(chunks: list[list[int]]) -> None:
    pieces = [np.array(chunk, np.int64) for chunk in chunks]
    rows = np.array([part for chunk in chunks for part in chunk], np.int64)
    sizes = occurrences(pieces, PARTS)
    assert sizes.tolist() == np.bincount(rows, minlength=PARTS).tolist()
    order, starts = scattered(pieces, sizes)
    assert order.tolist() == np.argsort(rows, kind="stable").tolist()
    assert np.diff(starts).tolist() == sizes.tolist() and starts[0] == 0
