"""Arrays in files: nothing is left of them, and a full disk is an error."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from anonymize.errors import UsageError, WriteError
from anonymize.table.scratch import Scratch


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
