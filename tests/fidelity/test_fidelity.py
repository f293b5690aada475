"""Total variation of marginals against plain Python over the rows of both files."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter, defaultdict
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.fidelity import MARGINALS, _BinnedSides, _of_way

AGES = (20, 25, 31, 38, 44, 47, 52, 59)
ROWS = [
    (age, ("F", "M")[(age * 7 + row) % 2], ("flu", "gout", "hiv")[(age // 20 + row * row) % 3], "yn"[row % 7 == 0])
    for row in range(12)
    for age in AGES
]
SPEC = """\
version: 1
input: {path: table.csv}
quasi_identifiers:
  age: {type: numeric}
  sex: {hierarchy: sex.csv}
sensitive: {illness: {}}
workload: {targets: [readmitted]}
privacy: {k: 8, suppression: 0.1}
output: {edges: tight}
"""
NAMES = ("age", "sex", "illness", "readmitted")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with open(tmp_path / "table.csv", "w", newline="") as file:
        csv.writer(file).writerows([NAMES, *ROWS])
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n")
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path


def measured(folder: Path, rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """The block that `evaluate` gives of a release with these rows."""
    with open(folder / "released.csv", "w", newline="") as file:
        csv.writer(file).writerows([NAMES, *rows])
    report = folder / "report.json"
    words = ["evaluate", str(folder / "spec.yaml"), str(folder / "released.csv"), "-q", "--force", "-r", str(report)]
    assert outcome(lambda: run(words)) == 0
    block: dict[str, Any] = json.loads(report.read_text())["variation"]
    return block


def leaves(name: str, cell: Any, shares: dict[str, dict[Any, float]]) -> dict[Any, float]:
    """How likely each value is, given a cell."""
    if cell == "*":
        return shares[name]
    if name == "age":
        low, _, high = str(cell).strip("[]").partition("-")
        under = [age for age in AGES if int(low) <= age <= int(high or low)]
        return {age: 1 / len(under) for age in under}
    return {cell: 1.0}


def by_hand(rows: list[tuple[Any, ...]], way: int) -> dict[tuple[str, ...], float]:
    """The total variation of each marginal of so many columns."""
    shares: dict[str, dict[Any, float]] = {}
    for place, name in enumerate(NAMES):
        counted: Counter[Any] = Counter()
        for row in rows:
            counted.update({} if row[place] == "*" else leaves(name, row[place], shares))
        values = {row[place] for row in ROWS}
        shares[name] = {value: (counted[value] or 0) / counted.total() for value in counted} or dict.fromkeys(
            values, 1 / len(values)
        )
    distances = {}
    for some in combinations(range(len(NAMES)), way):
        before: Counter[Any] = Counter(tuple(row[place] for place in some) for row in ROWS)
        after: defaultdict[Any, float] = defaultdict(float)
        for row in rows:
            spread = [leaves(NAMES[place], row[place], shares).items() for place in some]
            for chances in product(*spread):
                after[tuple(value for value, _ in chances)] += math.prod(share for _, share in chances)
        cells = before.keys() | after.keys()
        gaps = [abs(before[cell] / len(ROWS) - after[cell] / len(rows)) for cell in cells]
        distances[tuple(NAMES[place] for place in some)] = sum(gaps) / 2
    return distances


RELEASES: dict[str, list[tuple[Any, ...]]] = {
    "as it was": ROWS,
    "intervals": [("[20-31]" if age < 40 else "[38-59]", sex, ill, target) for age, sex, ill, target in ROWS],
    "suppressed cells": [(age, "*" if age == 20 else sex, ill, target) for age, sex, ill, target in ROWS],
    "fewer rows": [("[20-59]", "*", ill, target) for _, _, ill, target in ROWS[:50]],
    "another order": [(age, sex, ROWS[-place][2], target) for place, (age, sex, _, target) in enumerate(ROWS)],
}


@pytest.mark.parametrize("name", RELEASES)
def test_distances_are_those_of_a_reader_who_counts_rows(name: str, folder: Path) -> None:
    rows = RELEASES[name]
    block = measured(folder, rows)
    assert block["columns"] == list(NAMES)
    for way, figures in enumerate(block["ways"], start=1):
        distances = by_hand(rows, way)
        assert (figures["columns"], figures["marginals"], figures["left_out"]) == (way, len(distances), 0)
        assert figures["mean"] == pytest.approx(sum(distances.values()) / len(distances), abs=1e-6)
        assert figures["worst"] == pytest.approx(max(distances.values()), abs=1e-6)
        assert distances[tuple(figures["worst_of"])] == pytest.approx(figures["worst"], abs=1e-6)


def test_a_table_is_no_distance_from_itself(folder: Path) -> None:
    assert [each["worst"] for each in measured(folder, ROWS)["ways"]] == [0, 0, 0]


def test_of_many_columns_some_marginals_are_measured_and_the_others_counted() -> None:
    rows = np.arange(24)
    columns = [_BinnedSides(str(place), 2, (rows >> place) % 2, (rows >> place) % 2) for place in range(24)]
    figures = _of_way(columns, np.ones(24), 2)
    assert (figures["marginals"], figures["left_out"]) == (MARGINALS, math.comb(24, 2) - MARGINALS)


def test_cells_that_take_too_much_work_are_left_out() -> None:
    shares, rows = np.full((300, 100), 0.01), np.arange(5000)
    after = (rows % 300, rows // 300, rows % 7)
    columns = [_BinnedSides(str(place), 100, np.zeros(3, np.int64), each, shares) for place, each in enumerate(after)]
    figures = _of_way(columns, np.ones(5000), 3)
    assert (figures["marginals"], figures["left_out"], figures["mean"], figures["worst_of"]) == (0, 1, None, [])
    assert _of_way(columns, np.ones(5000), 2)["mean"] == pytest.approx(0.9999)
