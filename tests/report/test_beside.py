"""What is worked out beside the writing of a large release is what one thread works out after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anonymize.algorithms import ALGORITHMS
from anonymize.privacy import PARAMETERS
from anonymize.release import release
from anonymize.request import Request
from anonymize.rows import PIECE
from anonymize.spec import make

OF_A_RUN = ("timing", "started_at", "memory", "output")


def test_bytes_and_report_are_the_same_with_any_number_of_threads(tmp_path: Path) -> None:
    """Of a table that is large enough for threads."""
    random = np.random.default_rng(1)
    rows = PIECE + 1000
    columns = {"age": random.integers(0, 90, rows), "job": random.choice(["cook", "clerk", "nurse"], rows)}
    pl.DataFrame(columns).write_csv(tmp_path / "table.csv")
    one, two = (made(tmp_path, threads) for threads in (1, 2))
    assert one == two
    assert one[0]["marginals"].keys() == {"age"}
    assert one[0]["risk"]["before"]["classes"] == 90 * 3


def made(folder: Path, threads: int) -> tuple[dict[str, Any], bytes]:
    """The report, but for what differs from run to run, and the release."""
    content = {"version": 1, "input": {"path": str(folder / "table.csv")}, "privacy": {"k": 1000}}
    spec = make(content | {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}}, PARAMETERS)
    output, report = folder / f"{threads}.csv", folder / f"{threads}.json"
    options = ALGORITHMS["mondrian"].Options()
    release(Request(spec, "mondrian", options, output=str(output), reports=[str(report)], threads=threads))
    block = json.loads(report.read_text())
    return {name: value for name, value in block.items() if name not in OF_A_RUN}, output.read_bytes()
