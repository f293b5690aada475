"""What classes of categories read as and cost, and that whoever reads the release takes them for the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anonymize
from anonymize.classes import Partition
from anonymize.domain.cells import escaped
from anonymize.recoding.appearance import CategoricalIntervals, CategoricalRegions
from anonymize.spec import Output
from tests.algorithms.tables import taxonomy

CODES = taxonomy("C50 C50 *", "C50.911 C50 *", "I10 I10 *", name="code")
"""A value that reads as the node over itself and another value."""


def regions(kind: type[CategoricalRegions], low: list[int], high: list[int], **output: Any) -> CategoricalRegions:
    """Classes of two rows each, with these values."""
    partition = Partition.of_blocks([np.array([2 * n, 2 * n + 1], np.uint32) for n in range(len(low))], [])
    codes = np.ravel(np.column_stack([low, high])).astype(np.uint8)
    return kind("code", codes, partition, np.array(low), np.array(high), Output(**output), CODES)


def costs(kind: type[CategoricalRegions], low: list[int], high: list[int], **output: Any) -> list[float]:
    return [round(float(each), 6) for each in regions(kind, low, high, **output).costs()[0]]


def test_a_value_that_reads_as_a_node_costs_what_the_node_does() -> None:
    assert costs(CategoricalRegions, [0, 0, 1, 2], [0, 1, 1, 2]) == [0.666667, 0.666667, 0, 0]
    assert costs(CategoricalRegions, [0, 0], [0, 1], categorical="bounds") == [0, 0.666667]
    assert costs(CategoricalRegions, [0, 0], [0, 1], categorical="set") == [0, 0.666667]


def test_an_interval_that_is_no_node_reads_as_a_set_and_costs_the_node_above() -> None:
    assert costs(CategoricalIntervals, [0, 1], [0, 2]) == [0.666667, 1]


def test_texts_of_sets_are_escaped() -> None:
    assert escaped(r"a|b{c}\d") == r"a\|b\{c\}\\d"


@pytest.mark.parametrize("algorithm", ["mondrian", "incognito", "top-down"])
def test_a_release_costs_what_whoever_evaluates_it_reads(tmp_path: Path, algorithm: str) -> None:
    rows = ["C50"] * 6 + ["C50.911"] * 3 + ["I10"] * 5 + ["I11"] * 4
    (tmp_path / "t.csv").write_text("\n".join(["code,age", *(f"{code},{n % 4}" for n, code in enumerate(rows))]) + "\n")
    (tmp_path / "h.csv").write_text("C50;C50;*\nC50.911;C50;*\nI10;I1;*\nI11;I1;*\n")
    spec = anonymize.Spec(
        quasi_identifiers={"code": {"hierarchy": str(tmp_path / "h.csv")}, "age": {"type": "numeric"}}, privacy={"k": 3}
    )
    released = anonymize.release(tmp_path / "t.csv", spec, algorithm)
    assert any("read as nodes over several" in warning for warning in released.report["warnings"])
    evaluated = anonymize.evaluate(released.frame, spec, tmp_path / "t.csv")
    for figure in ("gcp", "ncp", "loss"):
        assert evaluated.report["utility"][figure] == pytest.approx(released.report["utility"][figure])
