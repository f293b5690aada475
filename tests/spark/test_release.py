"""Releases on an engine have the classes, the texts and the figures of those on one machine."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anonymize
from anonymize import spark
from anonymize.errors import Caution, DataError, InfeasibleError, UnsafeError, UsageError
from anonymize.report import RENDERERS
from anonymize.spark import checking

SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {"age": {"type": "numeric"}, "zip.code": {"type": "numeric"}, "job": {}},
    "sensitive": {"ill": {}, "cost": {"type": "numeric"}},
    "identifiers": ["name"],
    "insensitive": ["id", "ID"],
    "privacy": {"k": 5},
}
MEASURED = ("satisfied", "models", "missing", "verified")


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Rows with missing values, a column whose name has a dot, and two whose names differ in case."""
    rng, rows = np.random.default_rng(5), 2000
    table = pl.DataFrame(
        {
            "name": [f"n{row}" for row in range(rows)],
            "id": np.arange(rows),
            "ID": rng.choice(["a", "b"], rows),
            "age": rng.integers(17, 90, rows),
            "zip.code": rng.integers(1000, 1100, rows) / 10,
            "job": rng.choice(["cook", "clerk", "nurse", "vet"], rows),
            "ill": rng.choice(["flu", "gout", "cold", "mumps"], rows, p=[0.4, 0.3, 0.2, 0.1]),
            "cost": rng.integers(1, 9, rows) * 100,
        }
    )
    absent = pl.col("id") % 37 == 0
    return table.with_columns(
        pl.when(~absent).then("age").alias("age"), pl.when(pl.col("id") % 41 > 0).then("job").alias("job")
    )


def rows_of(df: Any) -> pl.DataFrame:
    """A DataFrame here, in the order of its row numbers."""
    frame = pl.from_arrow(df.toArrow())
    assert isinstance(frame, pl.DataFrame)
    return frame.sort("id")


def check_same(frame_of: Any, folder: Path, table: pl.DataFrame, spec: dict[str, Any], **options: Any) -> Any:
    """Both releases are the same rows, and what was measured of them is the same; returns the engine's report."""
    part_rows, partitions = options.pop("part_rows", 300), options.pop("partitions", 3)
    own = anonymize.release(table, spec, "mondrian", **options)
    released, report = spark.release(
        frame_of(table, partitions), spec, checkpoint=str(folder), part_rows=part_rows, **options
    )
    assert rows_of(released).equals(own.frame.sort("id"))
    assert {name: report["privacy"][name] for name in MEASURED} == {n: own.report["privacy"][n] for n in MEASURED}
    assert report["classes"] == own.report["classes"]
    passing = {**own.report["risk"]["passing"], "smallest": None, "max_size": None, "left_out": None}
    counted_in_codes = ("unique_values", "candidates")
    risk = {name: figure for name, figure in own.report["risk"].items() if name not in counted_in_codes}
    assert report["risk"] == {**risk, "before": None, "passing": passing}
    for name, figure in report["utility"].items():
        if name != "attributes" and figure is not None:
            assert figure == pytest.approx(own.report["utility"][name], rel=1e-9), name
    assert report["output"]["suppressed_cells"] == own.report["output"]["suppressed_cells"]
    alone = {"marginals", "unbinned", "associations", "sample"}
    assert set(own.report) - set(report) == set(own.report) & alone
    return report


@pytest.mark.parametrize("cut", ["auto", "widest"])
def test_same_as_on_one_machine(frame_of: Any, tmp_path: Path, people: pl.DataFrame, cut: str) -> None:
    report = check_same(frame_of, tmp_path, people, SPEC, cut=cut)
    assert report["recoding"]["cut"] == ("rate" if cut == "auto" else cut)


MODELS = [
    {"model": "t-closeness", "attribute": "ill", "t": 0.3},
    {"model": "entropy-l-diversity", "attribute": "ill", "l": 2},
    {"model": "k-e-anonymity", "attribute": "cost", "k": 3, "e": 200},
]


@pytest.mark.parametrize("cut", ["ncp", "auto"])
def test_models_of_sensitive_values(frame_of: Any, tmp_path: Path, people: pl.DataFrame, cut: str) -> None:
    """Cuts are refused above the parts as they are within them. A small table is tried as a whole, here and there."""
    spec = {**SPEC, "privacy": {"k": 4, "models": MODELS}}
    check_same(frame_of, tmp_path, people, spec, cut=cut, part_rows=150)


def test_rounded_ends(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    """Classes of several parts read alike more often than where ends are tight."""
    quasi = {**SPEC["quasi_identifiers"], "age": {"type": "numeric", "round": 2, "top": 80}}
    spec = {**SPEC, "quasi_identifiers": quasi, "output": {"edges": "rounded"}}
    check_same(frame_of, tmp_path, people, spec, part_rows=150)


def test_hierarchies(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    tree = {"medical": ["nurse", "vet"], "kitchen": ["cook"], "office": ["clerk"]}
    path = tmp_path / "jobs.yaml"
    path.write_text("".join(f"{node}: [{', '.join(leaves)}]\n" for node, leaves in tree.items()))
    quasi = {**SPEC["quasi_identifiers"], "age": {"type": "numeric", "round": 5}}
    spec = {**SPEC, "quasi_identifiers": quasi, "output": {"edges": "tight", "categorical": "set"}}
    check_same(frame_of, tmp_path, people, spec)


def test_parts_that_are_one_class(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    """A part that is larger than a worker takes, and that cannot be cut, comes in pieces that read the same."""
    skewed = people.with_columns(
        pl.when(pl.col("id") < 1500).then(pl.lit(40)).otherwise("age").alias("age"),
        pl.when(pl.col("id") < 1500).then(pl.lit("cook")).otherwise("job").alias("job"),
        pl.when(pl.col("id") < 1500).then(pl.lit(5.0)).otherwise("zip.code").alias("zip.code"),
    )
    check_same(frame_of, tmp_path, skewed, {**SPEC, "privacy": {"k": 25}}, part_rows=120)


def test_a_worker_with_several_parts_of_many_texts(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    """Each part has fewer texts than a byte counts, and those of a worker together have more."""
    apart = people.with_columns((pl.col("id") * 7 % 2000).alias("age"))
    check_same(frame_of, tmp_path, apart, {**SPEC, "privacy": {"k": 2}}, part_rows=200)


def test_empty_partitions_and_one_row(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    check_same(frame_of, tmp_path, people.head(12), SPEC, partitions=8)
    check_same(frame_of, tmp_path, people.head(1), {**SPEC, "privacy": {"k": 1}}, partitions=2)


def test_order_follows_from_what_is_released(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    """The same rows in another order, in other partitions, are released in the same order."""
    spec = {key: value for key, value in SPEC.items() if key != "insensitive"}
    spec |= {"identifiers": ["name", "id", "ID"]}
    orders = []
    for table, partitions in ((people, 1), (people.sample(fraction=1, shuffle=True, seed=3), 4)):
        released, _ = spark.release(frame_of(table, partitions), spec, checkpoint=str(tmp_path), part_rows=500)
        orders.append(pl.DataFrame(released.toArrow()))
    assert orders[0].equals(orders[1])


def test_settings_and_more_than_one_requirement(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    """`k` over the spec, and a report that has a page."""
    released, report = spark.release(frame_of(people), SPEC, checkpoint=str(tmp_path), k=7)
    assert report["settings"]["k"] == {"value": 7, "from": "command line"}
    assert report["classes"]["min_size"] >= 7 and released.count() == len(people)
    assert "every requirement is met" in RENDERERS[".md"](report)
    pytest.importorskip("lets_plot")
    assert "<html" in RENDERERS[".html"](report)


# --- refusals --------------------------------------------------------------------------------------------------------


def test_no_rows(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    with pytest.raises(DataError, match="no rows"):
        spark.release(frame_of(people.clear(), 1), SPEC, checkpoint=str(tmp_path))


def test_too_many_values(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    spec = {**SPEC, "insensitive": ["ID"]}
    spec["quasi_identifiers"] = {**SPEC["quasi_identifiers"], "id": {"type": "numeric"}}
    with pytest.raises(DataError, match="'id' has more than 1,000 different values"):
        spark.release(frame_of(people), spec, checkpoint=str(tmp_path), most_values=1000)


def test_infeasible(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    with pytest.raises(InfeasibleError, match="k-anonymity"):
        spark.release(frame_of(people), SPEC, checkpoint=str(tmp_path), k=3000)


def test_passing_columns_that_single_out(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    """What is required of columns that pass through is measured there, and refused."""
    spec = {**SPEC, "privacy": {"k": 5, "passing": {"uniques": 0.1}}}
    with pytest.raises(UnsafeError, match="columns that pass through"):
        spark.release(frame_of(people), spec, checkpoint=str(tmp_path))


BEYOND: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"output": {"row_order": "keep"}}, {}, "a DataFrame has no order"),
    ({"output": {"numeric": "mean"}}, {}, "output.numeric: mean"),
    ({}, {"cut": "infogain"}, "infogain"),
    ({}, {"algorithm": "anatomy"}, "anatomy: not on an engine: .*`mondrian` meets the same models"),
    ({}, {"checkpoint": None}, "a folder that workers can write to"),
    ({}, {"theta": 1}, "no option theta"),
]


@pytest.mark.parametrize(("changed", "options", "message"), BEYOND)
def test_what_an_engine_does_not_do(
    frame_of: Any, tmp_path: Path, people: pl.DataFrame, changed: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        spark.release(frame_of(people), {**SPEC, **changed}, **{"checkpoint": str(tmp_path), **options})


def test_column_without_a_role(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    with pytest.raises(DataError, match="column other has no role"):
        spark.release(frame_of(people.with_columns(other=1)), SPEC, checkpoint=str(tmp_path))


def test_a_column_that_follows_from_a_quasi_identifier_is_found_in_what_the_release_is_made_of(
    frame_of: Any, tmp_path: Path, people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In all rows, and where they are many in some that their own content chooses."""
    table = people.with_columns(ID=(pl.col("age") // 10).cast(pl.String).fill_null("none"))
    with pytest.raises(UnsafeError, match="ID follows from age"):
        spark.release(frame_of(table, 3), SPEC, checkpoint=str(tmp_path))
    spec = {**SPEC, "privacy": {"k": 5, "passing": {"accept_derived": ["ID"]}}}
    for sample in (200_000, 700):
        monkeypatch.setattr(checking, "SAMPLE", sample)
        _, report = spark.release(frame_of(table, 3), spec, checkpoint=str(tmp_path))
        derived = report["risk"]["passing"]["derived"]
        assert [each["says"] for each in derived["found"]] == ["ID follows from age"]
        assert (derived.get("rows", 2000) < 2000) is (sample < 2000)


def test_what_is_undecided_is_left_out_and_named(frame_of: Any, tmp_path: Path, people: pl.DataFrame) -> None:
    spec = SPEC | {"insensitive": ["id"], "undecided": ["ID"], "others": "drop"}
    released, report = spark.release(frame_of(people, 2), spec, checkpoint=str(tmp_path))
    assert "ID" not in released.columns and "id" in released.columns
    assert any(
        each.startswith("1 column is undecided") and Caution(each).text.endswith(": ID") for each in report["warnings"]
    )
    randomized = {**spec, "quasi_identifiers": {"job": {}}, "sensitive": {"ill": {}}, "privacy": {"l": 2}}
    randomized |= {"insensitive": ["id", "age", "zip.code"], "identifiers": ["name", "cost"]}
    released, _, report = spark.randomize(frame_of(people, 2), randomized, checkpoint=str(tmp_path / "r"), p="job=0.5")
    assert "ID" not in released.columns and any("undecided" in each for each in report["warnings"])


def test_numbers_and_dates_are_read_as_on_one_machine(frame_of: Any, tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "pay": [f"{1000 + row * 37.25:,.2f} €".translate(str.maketrans(",.", ".,")) for row in range(120)],
            "born": [f"{1915 + row % 60}-0{1 + row % 9}-11" for row in range(120)],
            "charge": [f"{500 + row % 10},5" for row in range(120)],
            "id": range(120),
        }
    )
    models = [{"model": "k-e-anonymity", "attribute": "charge", "k": 2, "e": 1}]
    born = {"hierarchy": {"dates": ["year", "decade"]}, "levels": {"min": 1}, "bottom": 1934}
    spec: dict[str, Any] = {
        "input": {"decimal": ",", "thousands": "."},
        "quasi_identifiers": {"pay": {"type": "numeric", "unit_text": "€"}, "born": born},
        "sensitive": {"charge": {"type": "numeric"}},
        "insensitive": ["id"],
        "privacy": {"k": 4, "models": models, "passing": {"accept_derived": ["id"]}},
    }
    check_same(frame_of, tmp_path, table, spec)
