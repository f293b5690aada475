"""A check on an engine has the figures of a check on one machine, to the last digit."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import anonymize
from anonymize import spark
from anonymize.errors import DataError, UsageError

SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {"age": {}, "job": {}},
    "sensitive": {"ill": {}, "cost": {"type": "numeric"}},
    "insensitive": ["note"],
}
EVERYTHING: list[dict[str, Any]] = [
    {"model": "t-closeness", "attribute": "ill", "t": 0.2},
    {"model": "t-closeness", "attribute": "cost", "t": 0.2, "distance": "ordered"},
    {"model": "entropy-l-diversity", "attribute": "ill", "l": 2},
    {"model": "recursive-cl-diversity", "attribute": "ill", "c": 3, "l": 2},
    {"model": "delta-disclosure", "attribute": "ill", "delta": 2},
    {"model": "enhanced-beta-likeness", "attribute": "ill", "beta": 2},
    {"model": "k-e-anonymity", "attribute": "cost", "k": 2, "e": 200},
    {"model": "squared-error-diversity", "attribute": "cost", "error": 100},
]

COMBINED = {"combinations": [{"columns": ["age", "job"], "k": 3}, {"size": 1, "k": 50}]}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Classes of one row and more, suppressed rows, missing values, texts that look alike."""
    rng, rows = np.random.default_rng(8), 600
    made = pl.DataFrame(
        {
            "age": rng.choice(["30-39", "40-49", "4\u00ad0-49", " 30-39", "", "50+"], rows),
            "job": rng.choice(["cook", "clerk", "cook ", "*"], rows),
            "ill": rng.choice(["flu", "FLU", "gout", "cold"], rows, p=[0.5, 0.1, 0.3, 0.1]),
            "cost": rng.integers(1, 9, rows) * 100,
            "note": rng.choice(["a", "b", "c ", "c"], rows),
        }
    )
    row = pl.int_range(pl.len())
    hidden = pl.when(row < 40).then(pl.lit("*"))
    return made.with_columns(
        hidden.otherwise("age").alias("age"),
        hidden.otherwise(pl.when(row % 11 > 0).then("job")).alias("job"),
        pl.when(row % 13 > 0).then("ill").alias("ill"),
    )


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("privacy", [{}, {"k": 3, "l": 2}, {"k": 2, "models": EVERYTHING}, COMBINED])
def test_figures_are_identical(frame_of: Any, table: pl.DataFrame, privacy: dict[str, Any], *, normalize: bool) -> None:
    spec = {**SPEC, "privacy": privacy, "input": {"normalize": normalize}}
    own = anonymize.audit(table, spec)
    report = spark.audit(frame_of(table), spec)
    assert report["privacy"] == {**own.report["privacy"], "order": None}
    assert report["classes"] == own.report["classes"]
    passing = {**own.report["risk"]["passing"], "smallest": None, "max_size": None, "left_out": None}
    assert report["risk"] == {**own.report["risk"], "passing": passing}
    assert report["privacy"]["satisfied"] is own.satisfied


def test_everything_suppressed(frame_of: Any, table: pl.DataFrame) -> None:
    """Then nothing counts as suppressed."""
    blank = table.with_columns(age=pl.lit("*"), job=pl.lit("*"))
    spec = {**SPEC, "privacy": {"k": 3}}
    report, own = spark.audit(frame_of(blank), spec), anonymize.audit(blank, spec).report
    assert report["classes"] == own["classes"] and report["classes"]["suppressed_rows"] == 0
    assert report["warnings"] == own["warnings"]


def test_direct_identifier(frame_of: Any, table: pl.DataFrame) -> None:
    spec = {**SPEC, "insensitive": [], "identifiers": ["note"], "privacy": {"k": 1}}
    assert spark.audit(frame_of(table), spec)["privacy"]["satisfied"] is False


def test_refusals(frame_of: Any, table: pl.DataFrame) -> None:
    with pytest.raises(DataError, match="no rows"):
        spark.audit(frame_of(table.clear(), 1), SPEC)
    protected = {"model": "alpha-k-anonymity", "attribute": "ill", "alpha": 0.9, "k": 1, "values": ["mumps"]}
    with pytest.raises(DataError, match="the protected value 'mumps' does not occur"):
        spark.audit(frame_of(table), {**SPEC, "privacy": {"models": [protected]}})
    with pytest.raises(DataError, match="other"):
        spark.audit(frame_of(table.with_columns(other=1)), SPEC)
    with pytest.raises(UsageError, match="wildcard"):
        spark.audit(frame_of(table), {**SPEC, "privacy": {"k": 2, "missing": "wildcard"}})
