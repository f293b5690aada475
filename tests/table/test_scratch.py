"""Arrays in files: nothing is left of them, and a full disk is an error."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import UsageError, WriteError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make
from anonymize.table import Source, read
from anonymize.table.memory import PROGRAM
from anonymize.table.scratch import Room, Scratch


def test_an_array_holds_what_is_written_after_it_has_been_let_go(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    array = scratch.array(100_000, np.uint16)
    array[:] = np.arange(100_000) % 1000
    scratch.let_go()
    assert np.array_equal(array, np.arange(100_000) % 1000)


def test_it_has_no_name(tmp_path: Path) -> None:
    array = Scratch(tmp_path).array(10, np.uint8)
    assert array.tolist() == [0] * 10
    assert not list(tmp_path.iterdir())


def test_nothing_takes_no_file(tmp_path: Path) -> None:
    assert Scratch(tmp_path / "absent").array(0, np.uint8).shape == (0,)


def test_nothing_is_left_by_a_process_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, sys, numpy as np; from pathlib import Path; from anonymize.table.scratch import Scratch; "
        "array = Scratch(Path(sys.argv[1])).array(1 << 20, np.uint8); array[:] = 1; os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder that can be written to"):
        Scratch(tmp_path / "absent").check()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.name != "posix" or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_an_error_before_anything_is_written(small_disk: Path) -> None:
    scratch = Scratch(small_disk)
    first = scratch.array(3 << 20, np.uint8)
    first[:] = 1
    with pytest.raises(WriteError, match="no room for 3 MB of temporary files") as error:
        scratch.array(2_500_000, np.uint8)
    assert error.value.exit_code == 74
    assert first.all()
    del first, scratch, error
    assert Scratch(small_disk).array(3 << 20, np.uint8).size


# --- room -------------------------------------------------------------------------------------------------------------

ROWS = 3000


@pytest.fixture
def request_of(tmp_path: Path) -> Request:
    rng = np.random.default_rng(5)
    cells = zip(rng.integers(18, 90, ROWS), rng.choice(["a", "b", "c"], ROWS), rng.integers(0, 5000, ROWS), strict=True)
    table = tmp_path / "table.csv"
    table.write_text("age,job,pay\n" + "".join(f"{age},{job},{pay}\n" for age, job, pay in cells))
    quasi = {"age": {"type": "numeric"}, "job": {}}
    content = {"version": 1, "input": {"path": str(table)}, "privacy": {"k": 5}, "quasi_identifiers": quasi}
    spec = make(content | {"insensitive": ["pay"]}, PARAMETERS)
    return Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), output=str(tmp_path / "out.csv"), threads=2)


def least(request: Request) -> int:
    with Source.open(request.spec) as source:
        return PROGRAM + source.footprint(3).in_files


@pytest.mark.parametrize(
    ("order", "algorithm"),
    [("sorted", "mondrian"), ("keep", "mondrian"), ("shuffle", "mondrian"), ("sorted", "datafly")],
)
def test_the_release_does_not_depend_on_the_limit(
    request_of: Request, tmp_path: Path, order: str, algorithm: str
) -> None:
    spec = request_of.spec
    spec = spec.model_copy(update={"output": spec.output.model_copy(update={"row_order": order})})
    options = ALGORITHMS[algorithm].Options()
    request = replace(request_of, spec=spec, algorithm=algorithm, options=options, seed=7, reports=[])
    release(request)
    limited = replace(request, output=str(tmp_path / "limited.csv"), memory_limit=least(request), tmp=str(tmp_path))
    release(limited)
    assert (tmp_path / "limited.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["limited.csv", "out.csv", "table.csv"]


def test_codes_are_held_in_files_where_memory_leaves_no_room(request_of: Request) -> None:
    with Source.open(request_of.spec) as source:
        assert Room.of(source, least(request_of), Scratch()).in_files
        assert not Room.of(source, 2 * least(request_of), Scratch()).in_files
        assert not Room.of(source, None, Scratch()).in_files


def test_a_limit_that_is_too_low_is_refused_with_what_it_takes(request_of: Request, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--memory-limit: 170 MB are too few .*take about 171 MB at the least"):
        release(replace(request_of, memory_limit=least(request_of) - 1))
    assert not (tmp_path / "out.csv").exists()


def test_a_table_for_which_memory_is_short_says_so(request_of: Request) -> None:
    """What is made in several threads at once takes more of it."""
    with Source.open(request_of.spec) as source:
        in_files = read(request_of.spec, source, room=Room(Scratch(), in_files=True))
        assert in_files.in_files and not read(request_of.spec, source).in_files


def test_room_a_folder_that_is_none_is_refused(request_of: Request) -> None:
    with pytest.raises(UsageError, match="--tmp /absent"):
        release(replace(request_of, tmp="/absent"))
