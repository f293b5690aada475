"""Kills a release at random moments, outright, and looks for what is left: no raw copy, no release, no identifier.

    python benchmarks/kills.py [TIMES] [ROWS]

A packed table with a name in every row is released over and over; each run is ended by SIGKILL after a random time
within that of a whole run. Nothing may be left in the folder of temporary files, nothing under the name of the release,
and no name of anybody anywhere.
"""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = """\
version: 1
identifiers: [name]
quasi_identifiers: {age: {type: numeric}, zip: {hierarchy: {mask: right}}}
sensitive: {ill: {}}
privacy: {k: 5}
"""
NAME = b"Canary"


def started(folder: Path) -> subprocess.Popen[bytes]:
    """One release of the table in a folder."""
    command = [
        sys.executable,
        "-m",
        "anonymize",
        "mondrian",
        "spec.yaml",
        "-i",
        "table.csv.gz",
        "-o",
        "out/x.csv",
        "-q",
    ]
    return subprocess.Popen(command, cwd=folder, env=os.environ | {"TMPDIR": str(folder / "tmp")})


def findings(folder: Path, *, whole: bool) -> list[str]:
    """What is wrong with what is left; removes it. `whole`: the run came to its end before it was killed."""
    wrong = [f"{path.name} in TMPDIR" for path in (folder / "tmp").iterdir()]
    for path in (folder / "out").iterdir():
        if path.name == "x.csv" and not whole:
            wrong.append("a release of a run that was killed")
        if NAME in path.read_bytes():
            wrong.append(f"names in {path.name}")
        path.unlink()
    return wrong


def main(times: int = 100, rows: int = 200_000) -> int:
    """Prints how many runs were killed, and what was found."""
    source = random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for inner in ("tmp", "out"):
            (folder / inner).mkdir()
        (folder / "spec.yaml").write_text(SPEC)
        people = "".join(
            f"Canary {n},{source.randrange(90)},0{source.randrange(2000, 2999)},ill{n % 7}\n" for n in range(rows)
        )
        (folder / "table.csv.gz").write_bytes(gzip.compress(f"name,age,zip,ill\n{people}".encode(), 1))
        start = time.monotonic()
        assert started(folder).wait() == 0
        length = time.monotonic() - start
        (folder / "out" / "x.csv").unlink()
        wrong, killed = [], 0
        for _ in range(times):
            process = started(folder)
            time.sleep(source.uniform(0, length))
            process.kill()
            ended = process.wait() == 0
            killed += not ended
            published = (folder / "out" / "x.csv").exists()
            wrong += findings(folder, whole=ended or published)
        print(f"{times} runs of up to {length:.1f} s, {killed} killed: {len(wrong)} findings")
        for each in wrong:
            print(f"  {each}")
        return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
