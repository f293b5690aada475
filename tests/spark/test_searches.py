"""Full-domain releases on an engine have the levels, the texts and the figures of those on one machine."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anonymize
from anonymize import spark
from anonymize.errors import DataError, InfeasibleError, UsageError

SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {
        "age": {"type": "numeric", "hierarchy": {"intervals": [5, 10, 20, 40]}},
        "zip.code": {"hierarchy": {"mask": "right"}},
        "job": {"weight": 2},
    },
    "sensitive": {"ill": {}, "cost": {"type": "numeric"}},
    "identifiers": ["name"],
    "insensitive": ["id"],
    "privacy": {"k": 6, "suppression": 0.05},
}
MODELS = [
    {"model": "t-closeness", "attribute": "ill", "t": 0.4},
    {"model": "entropy-l-diversity", "attribute": "ill", "l": 2},
    {"model": "k-e-anonymity", "attribute": "cost", "k": 3, "e": 200},
]
PRIVACY = {"k": 4, "suppression": 0.1, "models": MODELS}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Rows with missing values, and a column whose name has a dot."""
    rng, rows = np.random.default_rng(6), 900
    table = pl.DataFrame(
        {
            "name": [f"n{row}" for row in range(rows)],
            "id": np.arange(rows),
            "age": rng.normal(45, 15, rows).astype(int).clip(17, 90),
            "zip.code": rng.choice(["1010", "1011", "1020", "1100", "2011", "2500"], rows),
            "job": rng.choice(["cook", "clerk", "nurse", "vet"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "ill": rng.choice(["flu", "gout", "cold", "mumps"], rows, p=[0.4, 0.3, 0.2, 0.1]),
            "cost": rng.integers(1, 9, rows) * 100,
        }
    )
    absent = pl.col("id") % 37 == 0
    return table.with_columns(
        pl.when(~absent).then("age").alias("age"), pl.when(pl.col("id") % 41 > 0).then("job").alias("job")
    )


def check_same(
    frame_of: Any, folder: Path, table: pl.DataFrame, spec: dict[str, Any], name: str, **options: Any
) -> Any:
    """Both releases are the same rows, and what was found and measured is the same; returns the engine's report."""
    own = anonymize.release(table, spec, name, **options)
    released, report = spark.release(frame_of(table), spec, checkpoint=str(folder), algorithm=name, **options)
    assert pl.DataFrame(released.toArrow()).sort("id").equals(own.frame.sort("id"))
    for block in ("recoding", "classes", "output", "codebook", "algorithm"):
        expected = (
            {**own.report[block], "path": "<DataFrame>", "sha256": None} if block == "output" else own.report[block]
        )
        assert report[block] == expected, block
    idle = [[each for each in made["warnings"] if "effect" in each] for made in (report, own.report)]
    assert idle[0] == idle[1]
    for figure in ("satisfied", "models", "missing"):
        assert report["privacy"][figure] == own.report["privacy"][figure]
    for metric, figure in report["utility"].items():
        if metric not in ("attributes", "ncp_set", "gcp_set"):
            expected = own.report["utility"][metric]
            assert (figure is None) is (expected is None), metric
            assert figure is None or figure == pytest.approx(expected, rel=1e-9), metric
    return report


@pytest.mark.parametrize(
    ("name", "privacy", "options"),
    [
        ("incognito", {}, {"round_share": 0.5}),
        ("incognito", PRIVACY, {"metric": "entropy"}),
        ("incognito", PRIVACY, {"iterate": True}),
        ("samarati", PRIVACY, {"all_minimal": True}),
        ("mingen", {}, {}),
        ("datafly", {"k": 9, "suppression": 0}, {"outliers": "k"}),
        ("research-value", PRIVACY, {}),
        ("k-optimize", {"k": 4, "models": MODELS[1:2]}, {"nodes": 3, "level": 2, "orders": 2}),
        ("mu-argus", {"k": 3, "suppression": 0.05, "models": MODELS[1:2]}, {"allow_unsafe": True}),
    ],
)
def test_same_as_on_one_machine(
    frame_of: Any, tmp_path: Path, people: pl.DataFrame, name: str, privacy: dict[str, Any], options: dict[str, Any]
) -> None:
    spec = {**SPEC, "privacy": privacy or SPEC["privacy"]}
    table = people.head(250) if name == "k-optimize" or "iterate" in options else people  # which take long
    report = check_same(frame_of, tmp_path, table, spec, name, **options)
    assert report["privacy"]["satisfied"] or options.get("allow_unsafe")


def test_rows_that_are_left_out(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    """Of the whole lattice but its lowest levels; suppressed rows are not published."""
    quasi = {name: {**each, "levels": {"min": 1}} for name, each in SPEC["quasi_identifiers"].items() if name != "job"}
    spec = {**SPEC, "quasi_identifiers": {**quasi, "job": {}}, "output": {"suppressed_rows": "drop"}}
    report = check_same(frame_of, tmp_path, people, spec, "incognito", metric="discernibility")
    assert report["output"]["dropped_rows"] > 0


LEVELLED = {
    "age": {**SPEC["quasi_identifiers"]["age"], "levels": {"min": 1}},
    "zip.code": {"hierarchy": {"mask": "right"}, "levels": {"min": 2}},
    "job": {},
}


@pytest.mark.parametrize("name", ["incognito", "mondrian", "bottom-up", "mu-argus"])
def test_declared_levels_hold(frame_of: Any, tmp_path: Path, people: pl.DataFrame, name: str) -> None:
    """Whether an algorithm looks at levels or not; and a table that shows more does not meet them."""
    spec = {**SPEC, "quasi_identifiers": LEVELLED, "privacy": {"k": 3, "suppression": 0.2}}
    asked: dict[str, Any] = {"passes": 1, "sweeps": 1} if name == "bottom-up" else {}
    asked |= {"checkpoint": str(tmp_path), "algorithm": name, "allow_unsafe": True}
    df, report = spark.release(frame_of(people), spec, **asked)
    released = pl.DataFrame(df.toArrow())
    assert released["zip.code"].str.contains(r"^(..\*\*|.\*\*\*|\*)$").all()
    ages = released["age"].drop_nulls().unique().to_list()
    assert all(text == "*" or "[" in text or text == "" for text in ages), ages
    declared = [each for each in report["privacy"]["models"] if each["model"] == "levels"]
    assert [(each["attribute"], each["satisfied"]) for each in declared] == [("age", True), ("zip.code", True)]
    checked = spark.audit(frame_of(people.drop("name")), {**spec, "identifiers": []})
    unmet = {each["attribute"]: each for each in checked["privacy"]["models"] if each["model"] == "levels"}
    assert unmet["zip.code"]["failing_rows"] == people.height
    assert unmet["age"]["satisfied"] is False and checked["privacy"]["satisfied"] is False


def test_a_highest_level_is_refused_where_rows_are_cut(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    quasi = {**LEVELLED, "zip.code": {"hierarchy": {"mask": "right"}, "levels": {"max": 2}}}
    with pytest.raises(UsageError, match=r"levels\.max"):
        spark.release(frame_of(people), {**SPEC, "quasi_identifiers": quasi}, checkpoint=str(tmp_path))


def test_refusals(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    df = frame_of(people)
    asked: dict[str, Any] = {"checkpoint": str(tmp_path), "algorithm": "incognito"}
    with pytest.raises(DataError, match="more than 50 different combinations"):
        spark.release(df, SPEC, most_combinations=50, **asked)
    with pytest.raises(InfeasibleError, match="nearest feasible: k=900"):
        spark.release(df, SPEC, k=901, **asked)
    with pytest.raises(InfeasibleError, match="nearest feasible: k=900"):
        spark.release(df, SPEC, k=901, **{**asked, "algorithm": "mu-argus"})
    with pytest.raises(UsageError, match="`mask_minimality`: not on an engine"):
        spark.release(df, SPEC, mask_minimality=True, **asked)
    with pytest.raises(UsageError, match="`metric` has to be one of"):
        spark.release(df, SPEC, metric="none", **asked)
    assert not list(tmp_path.glob("release-*"))


PREDICTED = {**SPEC, "quasi_identifiers": {**SPEC["quasi_identifiers"], "job": {}}}
SINGLE: list[tuple[str, dict[str, Any], list[Any], dict[str, Any]]] = [
    ("tds", {"k": 6}, ["kind"], {}),
    ("tds", {"k": 4, "models": MODELS}, ["kind", {"job": {}}], {"score": "2007"}),
    ("bug", {"k": 6, "suppression": 0.05}, ["kind"], {}),
    ("bug", {"k": 4, "models": MODELS}, ["job"], {}),
    ("k-optimize", {"k": 6, "suppression": 0.05}, ["kind"], {"cost": "classification", "nodes": 3, "level": 1}),
]


OUTPUTS: list[dict[str, Any]] = [{}, {"edges": "tight", "categorical": "set"}]


@pytest.mark.parametrize(
    ("name", "privacy", "targets", "options", "output"),
    [(*each, OUTPUTS[place % 2]) for place, each in enumerate(SINGLE)],
)
def test_targets_are_counted(
    frame_of: Any,
    tmp_path: Path,
    people: pl.DataFrame,
    name: str,
    privacy: dict[str, Any],
    targets: list[Any],
    options: dict[str, Any],
    output: dict[str, Any],
) -> None:
    """Targets that pass through, or are quasi-identifiers; of people who come in groups of equals."""
    kind = pl.when(pl.col("age").fill_null(0) + pl.col("id") % 30 < 55).then(pl.lit("young")).otherwise(pl.lit("old"))
    alike = people.select(pl.exclude("id", "cost", "name")).head(80 if name == "k-optimize" else 300)
    table = (
        pl.concat([alike, alike, people.select(alike.columns).head(3 * len(alike))])
        .with_row_index("id")
        .with_columns(pl.col("id").cast(int))
    )
    table = table.with_columns(
        kind=kind, cost=pl.col("id") % 8 * 100, name=pl.col("id").cast(pl.String), age=pl.col("age") // 3
    )
    spec = {**PREDICTED, "privacy": privacy, "workload": {"targets": targets}, "output": output}
    if "kind" not in targets:
        spec |= {"insensitive": ["id", "kind"]}
    report = check_same(frame_of, tmp_path, table, spec, name, **options)
    assert report["recoding"]["intervals"]["age"] > 1 or name == "bug"
    assert report["privacy"]["satisfied"]


def test_a_workload_that_nothing_looks_at(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    spec = {**SPEC, "workload": {"targets": ["job"]}}
    with pytest.raises(UsageError, match="workload: not on an engine"):
        spark.release(frame_of(people), spec, checkpoint=str(tmp_path), algorithm="incognito")
    with pytest.raises(UsageError, match="tds needs a target"):
        spark.release(frame_of(people), SPEC, checkpoint=str(tmp_path), algorithm="tds")
