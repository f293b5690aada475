"""What a table takes, and whether there is room for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from anonymize.errors import MemoryShortage
from anonymize.table import memory
from anonymize.table.memory import MEGABYTE, PROGRAM, Footprint

TABLE = Footprint(1000, whole=800 * MEGABYTE, in_files=300 * MEGABYTE)
SCARCE, ROWS = 175 * MEGABYTE, 1_000_000
"""The limit of a group, and rows of two columns that do not fit into it in memory, and do beside files."""
FOLDERS = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"))
"""Control groups of version 1 and 2, and the file with the limit of one."""
MEMBER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'


@pytest.mark.parametrize(
    ("limit", "free", "fits"),
    [
        (None, None, True),
        (None, 1000, True),
        (None, 999, False),
        (910, 1000, True),
        (909, 1000, False),
        (910, 999, False),
        (910, None, True),
    ],
)
def test_a_table_fits_under_its_limit_and_into_most_of_what_is_free(
    limit: int | None, free: int | None, fits: bool
) -> None:
    assert PROGRAM == 110 * MEGABYTE
    in_bytes = [None if each is None else each * MEGABYTE for each in (limit, free)]
    assert TABLE.fits(*in_bytes) == fits


def test_what_a_table_takes_grows_with_rows_columns_and_text(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 9999)
    narrow, wide = (Footprint.of(path, "csv", columns, 10_000) for columns in (2, 102))
    assert narrow.rows == 10_000 and narrow.in_files < narrow.whole
    assert (wide.whole - narrow.whole, wide.in_files - narrow.in_files) == (100 * 4 * 10_000, 100 * 3 * 10_000)
    assert Footprint.of(path, "csv", 2, 2_500).whole == narrow.whole - path.stat().st_size // 2


def test_what_is_not_free_is_refused_with_both_figures() -> None:
    memory.check(TABLE.whole, TABLE.whole, "table.csv")
    memory.check(TABLE.whole, None, "table.csv")
    with pytest.raises(MemoryShortage, match=r"table\.csv: takes about 800 MB of memory, and there are 799 MB"):
        memory.check(TABLE.whole, TABLE.whole - MEGABYTE, "table.csv")


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with a limit on its memory; skips where none can be made."""
    made = [folder for root, name in FOLDERS if (folder := _limited(Path(root) / f"anonymize-{os.getpid()}", name))]
    if not made:
        pytest.skip("no control group with a limit on memory can be made here")
    yield made[0]
    made[0].rmdir()


def _limited(folder: Path, name: str) -> Path | None:
    """The group, once it has its limit; None where it cannot have one."""
    try:
        folder.mkdir()
    except OSError:
        return None
    try:
        (folder / name).write_text(str(SCARCE))
    except OSError:
        folder.rmdir()
        return None
    return folder


def test_codes_go_to_files_where_memory_is_short_with_the_same_bytes(tmp_path: Path, group: Path) -> None:
    """Without a limit of the user's. A command that holds everything in memory is refused the same table."""
    rows = "".join(f"{n * 7919 % 83},{'abc'[n % 3]}\n" for n in range(1000))
    (tmp_path / "table.csv").write_text("age,job\n" + rows * (ROWS // 1000))
    quasi = {"age": {"type": "numeric"}, "job": {}}
    spec = {"version": 1, "input": {"path": "table.csv"}, "quasi_identifiers": quasi, "privacy": {"k": 5}}
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    program = [sys.executable, "-m", "anonymize"]
    limited = ["bash", "-c", MEMBER, str(group), *program]
    subprocess.run([*program, "mondrian", "spec.yaml", "-q", "-o", "free.csv"], cwd=tmp_path, check=True)
    subprocess.run([*limited, "mondrian", "spec.yaml", "-q", "-o", "scarce.csv"], cwd=tmp_path, check=True)
    assert (tmp_path / "free.csv").read_bytes() == (tmp_path / "scarce.csv").read_bytes()
    refused = subprocess.run([*limited, "validate", "spec.yaml", "-i", "table.csv"], cwd=tmp_path, check=False)
    assert refused.returncode == 71
