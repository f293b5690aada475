"""A suppressed row reads as suppressed in every quasi-identifier where others do not, whoever made it so."""

from __future__ import annotations

import csv
import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import InfeasibleError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make
from anonymize.verify import Check, measure
from tests.common.budgets import CLASSED, options_of

NAMES = tuple("abcdef")
ROWS = 100


def table(folder: Path, rows: Sequence[tuple[str, ...]]) -> Path:
    path = folder / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([NAMES[: len(rows[0])], *rows])
    return path


def rare(rows: int, values: int, columns: int = 6) -> list[tuple[str, ...]]:
    """Flat values, of which some are frequent and many are alone."""
    draw = random.Random(7)
    ranks = [int(values * draw.random() ** 3) for _ in range(rows * columns)]
    return [tuple(f"v{rank}" for rank in each) for each in zip(*[iter(ranks)] * columns, strict=True)]


def run(folder: Path, algorithm: str, path: Path, suppression: float, **options: Any) -> dict[str, Any]:
    with path.open(encoding="utf-8") as file:
        names = next(csv.reader(file))
    workload = {"targets": [names[0]]} if ALGORITHMS[algorithm].NEEDS.target else {}
    spec = make(
        {
            "version": 1,
            "input": {"path": str(path)},
            "quasi_identifiers": {name: {} for name in names},
            "privacy": {"k": 3, "suppression": suppression},
            **({"workload": workload} if workload else {}),
        },
        PARAMETERS,
    )
    output = folder / f"{algorithm}.csv"
    given = options_of(algorithm, **options)
    unsafe = not ALGORITHMS[algorithm].NEEDS.guarantees
    return release(Request(spec, algorithm, given, output=str(output), threads=1, force=True, allow_unsafe=unsafe))


def hidden(path: Path) -> tuple[int, int]:
    """How many rows of a CSV read `*` in every column, and how many it has."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return sum(set(row) == {"*"} for row in rows), len(rows)


@pytest.mark.parametrize(
    ("algorithm", "options", "suppression"),
    [
        *itertools.product(CLASSED, [{}], [0.0, 0.05]),
        *itertools.product(["incognito"], [{"iterate": True}], [0.0, 0.05]),
        *itertools.product(["incognito"], [{"iterate": True, "round_share": 0.9, "time_limit": 1e-9}], [0.0]),
        ("mu-argus", {"outliers": "k"}, 0.0),
    ],
)
def test_no_algorithm_passes_the_limit(
    algorithm: str, options: dict[str, Any], suppression: float, tmp_path: Path
) -> None:
    report = run(tmp_path, algorithm, table(tmp_path, rare(ROWS, 9, 4)), suppression, **options)
    blank, rows = hidden(tmp_path / f"{algorithm}.csv")
    dropped = report["output"]["dropped_rows"]
    lost = dropped + (0 if blank == rows else blank)
    assert lost <= suppression * ROWS
    assert report["output"]["suppressed_rows"] == lost == round(report["utility"]["suppression"] * ROWS)
    assert rows == ROWS - dropped
    assert any("contain no information" in each for each in report["warnings"]) == (blank == rows)


def test_iterated_rounds_release_something_within_the_limit(tmp_path: Path) -> None:
    """What was left in the end used to be released at the roots, as many rows as there were, with the figure 0."""
    report = run(tmp_path, "incognito", table(tmp_path, rare(600, 6)), 0.0, iterate=True)
    assert hidden(tmp_path / "incognito.csv")[0] == report["output"]["suppressed_rows"] == 0
    assert report["recoding"]["rounds"] > 1


def test_rows_at_the_root_count_in_every_figure(tmp_path: Path) -> None:
    """Two values that nobody else has are put together: both rows read as suppressed, and are."""
    path = table(tmp_path, [("x",)] * 6 + [("y",)] * 6 + [("p",), ("q",), ("r",)])
    report = run(tmp_path, "mondrian", path, 0.2)
    assert hidden(tmp_path / "mondrian.csv") == (3, 15)
    assert report["output"]["suppressed_rows"] == 3 and report["utility"]["suppression"] == 0.2
    sizes = [{"from": 5, "to": 9, "classes": 2, "rows": 12}]
    assert report["classes"] == {"count": 2, "min_size": 6, "mean_size": 6.0, "max_size": 6, "sizes": sizes}
    measured = measure(pl.read_csv(tmp_path / "mondrian.csv"), ["a"], [Check("k-anonymity", None, {"k": 3})])
    assert measured.suppressed_rows == 3 and not measured.blank
    assert {**measured.classes, "sizes": measured.sizes} == report["classes"]


def test_everything_is_generalized_where_too_much_would_be_suppressed(tmp_path: Path) -> None:
    path = table(tmp_path, [("x",)] * 6 + [("y",)] * 6 + [("p",), ("q",), ("r",)])
    report = run(tmp_path, "mondrian", path, 0.1)
    assert hidden(tmp_path / "mondrian.csv") == (15, 15)
    assert report["output"]["suppressed_rows"] == report["utility"]["suppression"] == 0
    assert report["classes"]["count"] == 1 and report["utility"]["gcp"] == 1
    assert any("contain no information" in each for each in report["warnings"])


def test_what_cannot_be_shown_otherwise_is_refused(tmp_path: Path) -> None:
    """A value that reads as a suppressed cell makes suppressed rows, of which nobody knows before."""
    path = table(tmp_path, [("x",)] * 6 + [("*",)] * 6)
    with pytest.raises(InfeasibleError, match="at most 0 rows are suppressed: 6 read"):
        run(tmp_path, "datafly", path, 0.0)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["table.csv"]
