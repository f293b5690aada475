"""What is worked out beside the writing of a large release is what one thread works out after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make
from anonymize.writing.columns import PIECE

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


@pytest.mark.parametrize(("k", "rows", "shown"), [(2, 5, True), (2, 4, False), (6, 5, False), (6, 6, True)])
def test_a_count_of_the_input_stands_for_five_rows_or_k_where_that_is_more(
    tmp_path: Path, k: int, rows: int, shown: bool
) -> None:
    (tmp_path / "table.csv").write_text("age\n" + "20\n" * rows + "60\n" * rows)
    content = {"version": 1, "input": {"path": str(tmp_path / "table.csv")}, "privacy": {"k": k}}
    spec = make(content | {"quasi_identifiers": {"age": {"type": "numeric"}}}, PARAMETERS)
    output, path = str(tmp_path / "out.csv"), str(tmp_path / "report.json")
    report = release(Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), output=output, reports=[path]))
    assert [block["before"] for block in report["marginals"].values()] == ([[rows, rows]] if shown else [])


def made(folder: Path, threads: int) -> tuple[dict[str, Any], bytes]:
    """The report, but for what differs from run to run, and the release."""
    content = {"version": 1, "input": {"path": str(folder / "table.csv")}, "privacy": {"k": 1000}}
    spec = make(content | {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}}, PARAMETERS)
    output, report = folder / f"{threads}.csv", folder / f"{threads}.json"
    options = ALGORITHMS["mondrian"].Options()
    release(Request(spec, "mondrian", options, output=str(output), reports=[str(report)], threads=threads))
    block = json.loads(report.read_text())
    return {name: value for name, value in block.items() if name not in OF_A_RUN}, output.read_bytes()
