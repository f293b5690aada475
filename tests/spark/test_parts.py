"""Searches that work on every part by itself: valid, the same rows wherever they come from, and near in loss."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anonymize
from anonymize import spark
from anonymize.errors import UsageError

SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {"age": {"type": "numeric"}, "zip": {"type": "numeric"}, "job": {}},
    "sensitive": {"ill": {}},
    "insensitive": ["id", "since"],
    "privacy": {"k": 5},
}
SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("top-down", {}),
    ("bottom-up", {}),
    ("release", {"effort": 0.0005}),
    ("mondrian", {"refine": True}),
    ("mondrian", {"relaxed": True}),
]
QUICK = {"passes": 1, "sweeps": 1}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Rows that are equal in their quasi-identifiers now and then, with missing values, and dates that pass through."""
    rng, rows = np.random.default_rng(3), 200
    table = pl.DataFrame(
        {
            "id": np.arange(rows),
            "age": rng.integers(20, 60, rows),
            "zip": rng.integers(100, 120, rows),
            "job": rng.choice(["cook", "clerk", "nurse", "vet"], rows),
            "ill": rng.choice(["flu", "gout", "cold", "mumps"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )
    since = pl.date(2020, 1, 1) + pl.duration(days=pl.col("id") % 90)
    return table.with_columns(since.alias("since"), pl.when(pl.col("id") % 37 > 0).then("age").alias("age"))


def options_of(algorithm: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with little refinement where there is some."""
    refines = algorithm in ("top-down", "bottom-up") or options.get("refine", False)
    return {**options, **(QUICK if refines else {})}


def made(frame: Any, folder: Path, spec: dict[str, Any], **options: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A release in parts of 80 rows at most, here, by its row numbers; and the report."""
    released, report = spark.release(frame, spec, checkpoint=str(folder), part_rows=80, **options)
    rows = pl.from_arrow(released.toArrow())
    assert isinstance(rows, pl.DataFrame)
    return rows.sort("id"), report


@pytest.mark.parametrize(("algorithm", "options"), SEARCHES)
def test_same_rows_wherever_they_come_from(
    frame_of: Any, tmp_path: Path, people: pl.DataFrame, algorithm: str, options: dict[str, Any]
) -> None:
    """In other partitions and another order; what passes through stays beside its row, and little more is lost."""
    given = options_of(algorithm, options)
    own = anonymize.release(people, SPEC, algorithm, **given)
    rows, report = made(frame_of(people, 3), tmp_path, SPEC, algorithm=algorithm, **given)
    shuffled = people.sample(fraction=1, shuffle=True, seed=7)
    again, _ = made(frame_of(shuffled, 2), tmp_path, SPEC, algorithm=algorithm, **given)
    assert rows.equals(again)
    passing = ["id", "since", "ill"]
    assert rows.select(passing).equals(people.select(passing))
    assert report["privacy"]["satisfied"] and report["classes"]["min_size"] >= 5
    assert report["utility"]["gcp"] <= 1.15 * own.report["utility"]["gcp"]
    assert report["algorithm"]["name"] == algorithm and report["recoding"]["parts"] >= 3
    low, high = (rows["age"].str.extract(r"^\[(\d+)-(\d+)\]$", group).cast(pl.Int64) for group in (1, 2))
    assert low.count() > 60 and people["age"].is_between(low, high).filter(low.is_not_null()).all()


def test_models_compare_with_the_whole_table(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    """A value is rare where the ages are low, and frequent where they are high: a part is not compared with itself."""
    ill = pl.when(pl.col("age").fill_null(0) < 40).then(pl.lit("flu")).otherwise("ill")
    table = people.with_columns(ill.alias("ill"))
    models = [{"model": "t-closeness", "attribute": "ill", "t": 0.4}]
    spec = {**SPEC, "privacy": {"k": 5, "models": models}}
    for algorithm in ("bottom-up", "mondrian"):
        _, report = made(frame_of(table), tmp_path, spec, algorithm=algorithm, refine=True, **QUICK)
        assert report["privacy"]["satisfied"]


def test_equal_rows_do_not_part_by_their_sensitive_values(frame_of: Any, tmp_path: Path) -> None:
    """Rows that are equal in their quasi-identifiers go to classes by chance: not those of one illness to one class."""
    rows = 240
    age = np.where(np.arange(rows) < 150, 30, 31)
    table = pl.DataFrame({"id": np.arange(rows), "age": age, "ill": ["flu", "gout"] * (rows // 2)})
    spec = {**SPEC, "quasi_identifiers": {"age": {"type": "numeric"}}, "insensitive": ["id"], "privacy": {"k": 20}}
    released, _ = spark.release(frame_of(table), spec, checkpoint=str(tmp_path), relaxed=True)
    rows_of = pl.DataFrame(released.toArrow()).rename({"age": "shown"}).join(table.select("id", "age"), on="id")
    shares = rows_of.group_by("shown", "age").agg(flu=(pl.col("ill") == "flu").mean(), rows=pl.len())
    assert len(shares.filter(age=30)) == 2, "rows of one value have parted"
    assert shares["flu"].is_between(0.2, 0.8).all()


def test_seed(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    """Chance follows the seed, 0 without one."""
    drawn = [
        made(frame_of(people), tmp_path, SPEC, algorithm="top-down", refine=False, **seed)
        for seed in ({}, {"seed": 0}, {"seed": 1})
    ]
    assert drawn[0][0].equals(drawn[1][0]) and not drawn[0][0].equals(drawn[2][0])
    assert [report["algorithm"]["seed"] for _, report in drawn] == [None, 0, 1]


LACKING: list[tuple[dict[str, Any], str]] = [
    ({"algorithm": "bottom-up", "time_limit": 3.0}, "`time_limit`: not on an engine"),
    ({"algorithm": "release", "local": False}, "`reusable`: not on an engine"),
    ({"seed": 3}, "nothing is drawn at random"),
    ({"algorithm": "incognito", "seed": 3}, "nothing is drawn at random"),
    ({"relaxed": True, "mask_minimality": True}, "`mask_minimality`: not on an engine"),
]


@pytest.mark.parametrize(("options", "message"), LACKING)
def test_refused(frame_of: Any, tmp_path: Path, people: pl.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(frame_of(people), tmp_path, SPEC, **options)
