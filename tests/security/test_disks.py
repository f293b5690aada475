"""Full disks: exit code 74, a message that says so, and nothing of the table left in any folder.

The limit is the system's own for the size of a file (`RLIMIT_FSIZE`), which every library meets as it meets a full
disk: a write that is refused. Where a file system of a few hundred kilobytes may be mounted, it is a full one as well.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from anonymize import files
from tests.security.commands import run

CELL = "CELLCANARY"
FORMS = ("csv", "csv.gz", "parquet", "arrow", "xlsx", "sav", "dta", "duckdb")
SPEC = (
    "version: 1\nquasi_identifiers: {age: {type: numeric}}\nsensitive: {ill: {}}\ninsensitive: [note]\n"
    "privacy: {k: 5}\n"
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose release takes more than half a megabyte in every format."""
    drawn, folder = random.Random(1), tmp_path_factory.mktemp("table")
    rows = [f"{drawn.randrange(90)},ill{drawn.randrange(9)},{CELL}{drawn.getrandbits(160):040x}" for _ in range(30_000)]
    (folder / "table.csv").write_text("\n".join(["age,ill,note", *rows]) + "\n", encoding="utf-8")
    (folder / "spec.yaml").write_text(SPEC, encoding="utf-8")
    return folder / "table.csv"


def released(
    table: Path, folder: Path, form: str, tmp: Path, most: int | None = None
) -> subprocess.CompletedProcess[str]:
    """A release into a folder. `most`: bytes that a file may have."""
    target = f"duckdb://{folder}/x.duckdb?table=people" if form == "duckdb" else str(folder / f"x.{form}")
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp))
        patch.setattr(sys, "dont_write_bytecode", True)  # a module's bytecode would be cut off at the limit as well
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited[0] if most is None else most, unlimited[1]))
        try:
            return run("mondrian", table.with_name("spec.yaml"), "-q", "-i", table, "-o", target)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)


@pytest.mark.parametrize("most", [900, 100_000, 500_000])
@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_may_not_grow_is_said_and_nothing_is_left(
    table: Path, tmp_path: Path, form: str, most: int
) -> None:
    folder, tmp = tmp_path / "out", tmp_path / "tmp"
    folder.mkdir()
    tmp.mkdir()
    ended = released(table, folder, form, tmp, most)
    assert ended.returncode == 74, ended.stderr
    assert ended.stderr.count("\n") == 1 and "file too large" in ended.stderr, ended.stderr
    assert CELL not in ended.stderr
    assert [*folder.iterdir(), *tmp.iterdir()] == []


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 kB, where one may be mounted."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no file system may be mounted")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("form", FORMS)
def test_a_full_disk_is_said_and_nothing_is_left(table: Path, small: Path, tmp_path: Path, form: str) -> None:
    tmp = tmp_path / "tmp"
    tmp.mkdir()
    ended = released(table, small, form, tmp)
    assert ended.returncode == 74, ended.stderr
    assert ended.stderr.count("\n") == 1 and "no space left on device" in ended.stderr, ended.stderr
    assert [*small.iterdir(), *tmp.iterdir()] == []


@pytest.mark.parametrize("form", ["xlsx", "duckdb"])
def test_a_full_folder_for_temporary_files_is_said_and_nothing_is_left(
    table: Path, small: Path, tmp_path: Path, form: str
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    ended = released(table, folder, form, small)
    assert ended.returncode == 74 and "no space left on device" in ended.stderr, ended.stderr
    assert [*small.iterdir(), *folder.iterdir()] == []


# --- what a process leaves that is killed ----------------------------------------------------------------------------

LEAVING = """
import os, pathlib, signal, sys
from anonymize import files as temporary
with temporary.folder(pathlib.Path(sys.argv[1])) as folder:
    (folder / "release").mkdir()
    (folder / "release" / "part.parquet").write_text("CELLCANARY")
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL) if sys.argv[2] == "die" else sys.stdin.read()
"""


def leaving(place: Path, how: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", LEAVING, str(place), how]
    return subprocess.Popen(command, stdout=pipe, stdin=pipe, text=True)


def test_the_next_run_clears_the_folder_of_one_that_was_killed_and_of_no_other(tmp_path: Path) -> None:
    with leaving(tmp_path, "live") as alive:
        assert alive.stdout is not None
        used = Path(alive.stdout.readline().strip())
        with leaving(tmp_path, "die") as dead:
            left = Path(dead.communicate()[0].strip())
        assert left.stat().st_mode & 0o777 == used.stat().st_mode & 0o777 == 0o700
        strange = tmp_path / "anonymize-of-somebody.d"
        strange.mkdir()
        with files.folder(tmp_path) as own:
            assert {*tmp_path.iterdir()} == {own, used, strange}
        alive.communicate("")
    assert {*tmp_path.iterdir()} == {strange}
