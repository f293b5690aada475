"""An engine that runs elsewhere, as a user starts one: a server in a process of its own, named by its address."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

import anonymize

ROOT = str(Path(anonymize.__file__).parent.parent)
SPEC = {"version": 1, "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}, "privacy": {"k": 4}}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Of Sail, which begins elsewhere in the file system than the command."""
    sail = Path(sys.executable).with_name("sail")
    if not sail.exists():
        pytest.skip("needs the extra `sail`")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    own = os.environ | {"PYTHONPATH": ROOT, "RUST_LOG": "error"}
    server = subprocess.Popen([str(sail), "spark", "server", "--port", port], cwd=elsewhere, env=own)
    try:
        for _ in range(600):
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", int(port)), timeout=1).close()
                break
            time.sleep(0.1)
        yield f"sc://localhost:{port}"
    finally:
        server.kill()
        server.wait()


def test_release_and_audit(tmp_path: Path, address: str) -> None:
    """With paths as they are named here; the server is there for the next command, and nothing is left beside it."""
    table = pl.DataFrame({"age": [20 + row * 7 % 50 for row in range(200)], "job": ["cook", "vet", None, "vet"] * 50})
    (tmp_path / "people.parquet").mkdir()
    for piece in range(2):
        table[piece * 100 : piece * 100 + 100].write_parquet(tmp_path / "people.parquet" / f"{piece}.parquet")
    (tmp_path / "spec.yaml").write_text(json.dumps(SPEC))
    engine = ["--engine", "spark", "--master", address, "-q"]
    here = ["spec.yaml", "-i", "people.parquet", "-o", "out.parquet"]
    for arguments in (["mondrian", *here], ["audit", "spec.yaml", "-i", "out.parquet"]):
        process = [sys.executable, "-m", "anonymize", *arguments, *engine]
        done = subprocess.run(
            process, cwd=tmp_path, env=os.environ | {"PYTHONPATH": ROOT}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    own = anonymize.release(table, SPEC, "mondrian").frame
    assert pl.read_parquet(tmp_path / "out.parquet").sort(own.columns).equals(own.sort(own.columns))
    assert {each.name for each in tmp_path.iterdir()} == {"people.parquet", "spec.yaml", "out.parquet", "elsewhere"}
    assert not list((tmp_path / "elsewhere").iterdir())
