"""Randomized releases on an engine: the parameters of one machine, and rows distorted by them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anonymize
from anonymize import spark
from anonymize.errors import DataError, InfeasibleError, SpecError, UsageError
from anonymize.spark.engine import in_order

SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {
        "age": {"type": "numeric", "hierarchy": {"intervals": [10, 20]}, "level": 1},
        "job": {},
        "sex": {},
    },
    "sensitive": {"rows": {}, "cost": {"type": "numeric"}},
    "identifiers": ["name"],
    "insensitive": ["id"],
    "privacy": {
        "models": [
            {"model": "disclosure", "attribute": "rows", "l": 1.8},
            {"model": "local-dp", "attribute": "cost", "epsilon": 1.5},
        ]
    },
}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Rows with missing values; a sensitive attribute whose name is one that counts have elsewhere."""
    rng, rows = np.random.default_rng(9), 1500
    table = pl.DataFrame(
        {
            "name": [f"n{row}" for row in range(rows)],
            "id": np.arange(rows),
            "age": rng.integers(20, 60, rows),
            "job": rng.choice(["cook", "clerk", "vet"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "rows": rng.choice(["flu", "gout", "cold"], rows, p=[0.5, 0.3, 0.2]),
            "cost": rng.choice([100, 200, 300], rows),
        }
    )
    return table.with_columns(pl.when(pl.col("id") % 29 > 0).then("job").alias("job"))


def test_parameters_of_one_machine(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    path = tmp_path / "own.params.json"
    own = anonymize.release(people, SPEC, "randomize", parameters=str(path))
    released, parameters, report = spark.randomize(frame_of(people), SPEC, checkpoint=str(tmp_path))
    assert parameters == json.loads(path.read_text())
    assert report["recoding"] == own.report["recoding"] and report["privacy"]["satisfied"]
    assert report["privacy"]["models"] == own.report["privacy"]["models"]
    frame = pl.DataFrame(released.toArrow()).sort("id")
    assert frame.schema == own.frame.schema and frame.columns == own.frame.columns
    distorted = [each for each in parameters["attributes"] if "values" in each]
    assert {each["name"] for each in distorted} == {"age", "job", "sex", "cost"}
    before = own.frame.sort("id")
    for each in distorted:
        assert set(frame[each["name"]].drop_nulls()) <= set(each["values"])
    assert frame.select("id").equals(before.select("id"))
    undistorted = [each["name"] for each in parameters["attributes"] if "values" not in each]
    assert frame.select(undistorted).equals(before.select(undistorted))


def test_no_two_workers_draw_alike(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    """Three quarters of the values are kept; other ones in each partition and in each run."""
    df, spec, folder = frame_of(people), {**SPEC, "privacy": {"l": 1}}, str(tmp_path)
    made = [spark.randomize(df, spec, checkpoint=folder, p="sex=0.75")[0] for _ in range(2)]
    frames = [pl.DataFrame(each.toArrow()).sort("id") for each in made]
    kept = [(frame["sex"] == people["sex"]).to_numpy() for frame in frames]
    assert all(0.68 < each.mean() < 0.82 for each in kept)
    assert not frames[0]["sex"].equals(frames[1]["sex"])
    halves = kept[0].reshape(3, -1)
    assert (halves[0] != halves[1]).any() and (halves[1] != halves[2]).any()


def test_order_follows_from_what_is_released(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    spec = {**SPEC, "identifiers": ["name", "id"], "insensitive": []}
    released, _, _ = spark.randomize(frame_of(people), spec, checkpoint=str(tmp_path))
    frame = pl.DataFrame(released.toArrow())
    again = frame_of(frame.sample(fraction=1, shuffle=True, seed=1), 2)
    shown = in_order(again, "sorted", (["age", "job", "sex"], ["rows", "cost"]), len(frame))
    assert frame.equals(pl.DataFrame(shown.toArrow()))


def test_refusals(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    df, folder = frame_of(people), str(tmp_path)
    with pytest.raises(UsageError, match="needs a folder that workers can write to"):
        spark.randomize(df, SPEC)
    with pytest.raises(SpecError, match="k-anonymity"):
        spark.randomize(df, {**SPEC, "privacy": {"k": 5}}, checkpoint=folder)
    with pytest.raises(DataError, match="more than 20 different combinations"):
        spark.randomize(df, SPEC, checkpoint=folder, most_combinations=20)
    with pytest.raises(UsageError, match="`p`: 'nothing' is not an attribute"):
        spark.randomize(df, SPEC, checkpoint=folder, p="nothing=0.5")
    strict = {"privacy": {"models": [{"model": "disclosure", "attribute": "rows", "l": 40}]}}
    with pytest.raises(InfeasibleError, match="cannot be met"):
        spark.randomize(df, {**SPEC, **strict}, checkpoint=folder, on="sensitive")
    assert not list(tmp_path.glob("*-*"))
