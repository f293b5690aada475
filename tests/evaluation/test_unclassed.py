"""Releases without classes beside their original: as they are written, and against sums over rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize._evaluate import Evaluate, evaluate
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import DataError, UsageError
from anonymize.evaluation.patterns import TreePlan
from anonymize.fidelity import DISTRIBUTIONS
from anonymize.metrics import METRICS, joint
from anonymize.modelling import Protocol
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make

ROWS = 400
DISTANCES = ("kl", "chi_squared", "euclidean", "total_variation", "hellinger", "base_error", "cube_error")


@pytest.fixture
def spec(tmp_path: Path) -> Any:
    """Ages, sexes (some missing) and an illness that goes with age."""
    random = np.random.default_rng(5)
    ages, sexes = random.integers(20, 26, ROWS), random.choice(["F", "M", "?"], ROWS, p=[0.5, 0.4, 0.1])
    ills = np.array(["a", "b", "c", "d", "?"])[(ages + random.integers(0, 4, ROWS)) % 5]
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows([["age", "sex", "ill"], *zip(ages, sexes, ills, strict=True)])
    given = {
        "version": 1,
        "input": {"path": str(tmp_path / "people.csv"), "separator": ";", "missing": ["?"]},
        "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}},
        "sensitive": ["ill"],
        "privacy": {"l": 2},
        "workload": {"targets": ["sex"]},
    }
    return make(given, PARAMETERS)


def released(spec: Any, algorithm: str, suffix: str = "csv", unsafe: bool = False, **options: Any) -> dict[str, Any]:
    """The report of a release called `out`."""
    path = Path(spec.input.path).with_name(f"out.{suffix}")
    chosen = ALGORITHMS[algorithm].Options(**options)
    return release(Request(spec, algorithm, chosen, output=str(path), seed=1, force=True, allow_unsafe=unsafe))


def beside(spec: Any, name: str) -> str:
    return str(Path(spec.input.path).with_name(name))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("joined", [False, True], ids=["two files", "one file"])
def test_the_figures_of_a_bucketized_release_are_those_of_its_report(spec: Any, joined: bool, suffix: str) -> None:
    report = released(spec, "anatomy", suffix, joined=joined)
    path, group = (f"out.{suffix}", "group") if joined else (f"out.qit.{suffix}", None)
    found = evaluate(Evaluate(spec, beside(spec, path), group=group))
    for name in METRICS:
        assert found["utility"][name] == pytest.approx(report["utility"][name])
    assert found["utility"]["attributes"] == report["utility"]["attributes"]
    assert found["classes"] == report["classes"]
    hidden = ("path", "sensitive_path", "suppressed_cells")
    assert {name: value for name, value in found["output"].items() if name not in hidden} == {
        name: value for name, value in report["output"].items() if name not in hidden
    }
    assert found["utility"]["query_error"]["mean"] == 0
    assert found["utility"]["uncertainty"]["age"]["sex"]["released"] == pytest.approx(
        found["utility"]["uncertainty"]["age"]["sex"]["original"]
    )
    told = found["utility"]["uncertainty"]["age"]["ill"]
    assert told["released"] < told["original"] / 2
    assert all(found["utility"]["distances"]["ill"][name] > 0 for name in DISTANCES)


def test_both_ways_to_write_a_bucketized_release_are_near(spec: Any) -> None:
    released(spec, "anatomy")
    two = evaluate(Evaluate(spec, beside(spec, "out.qit.csv")))
    released(spec, "anatomy", joined=True)
    one = evaluate(Evaluate(spec, beside(spec, "out.csv"), group="group"))
    assert one["utility"]["distances"]["ill"] == pytest.approx(two["utility"]["distances"]["ill"])


def test_numbers_are_numbers_with_classes_as_without(spec: Any) -> None:
    path = Path(spec.input.path)
    path.write_text("age;sex;pay\n20;F;1\n20;F;1.0\n20;F;2\n21;M;2\n21;M;1\n21;M;3\n", encoding="utf-8")
    given = {
        "version": 1,
        "input": {"path": str(path), "separator": ";"},
        "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}},
        "sensitive": {"pay": {"type": "numeric"}},
        "privacy": {"l": 2},
    }
    numbers = make(given, PARAMETERS)
    path.with_name("alone.csv").write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    whole = evaluate(Evaluate(numbers, beside(numbers, "alone.csv"), queries=0))["utility"]["distances"]["pay"]
    released(numbers, "randomize", unsafe=True, p="age=1,sex=1,pay=1")
    assert evaluate(Evaluate(numbers, beside(numbers, "out.csv"), queries=0))["utility"]["distances"]["pay"] == whole
    assert whole["cells"] == 2 * 2 * 3
    changed(beside(numbers, "alone.csv"), "pay", "nothing")
    with pytest.raises(DataError, match="pay: 1 cells of the release are not numbers"):
        evaluate(Evaluate(numbers, beside(numbers, "alone.csv")))


@pytest.mark.parametrize("method", [None, "inverse", "simplex", "clip", "bayes"])
def test_a_randomized_release_is_reconstructed(spec: Any, method: Any) -> None:
    report = released(spec, "randomize", on="both")
    found = evaluate(Evaluate(spec, beside(spec, "out.csv"), method=method, queries=60))
    assert found["output"]["sha256"] == report["output"]["sha256"]
    assert found["output"]["parameters_path"] == beside(spec, "out.params.json")
    assert "classes" not in found and "classes" not in report and "utility" not in report
    assert set(found["utility"]) == {"query_error", "distances", "uncertainty"}
    block = found["utility"]["distances"]["ill"]
    assert block["cells"] == 6 * 3 * 5
    assert 0 < block["total_variation"] < 0.5
    assert 0 < found["utility"]["query_error"]["mean"] < 0.5
    assert set(found["left_out"]) == {*METRICS, *DISTRIBUTIONS, "average_class_size", "targets", "imprecision"}
    assert report["left_out"] == {name: found["left_out"][name] for name in (*METRICS, *DISTRIBUTIONS)}
    assert found["left_out"]["gcp"] == (
        "some columns show values changed by chance; this is about columns of values as they were, intervals or "
        "labels, values by group"
    )


def test_without_distortion_nothing_is_lost(spec: Any) -> None:
    released(spec, "randomize", unsafe=True, p="age=1,sex=1,ill=1")
    found = evaluate(Evaluate(spec, beside(spec, "out.csv"), queries=60))["utility"]
    assert [found["distances"]["ill"][name] for name in DISTANCES] == pytest.approx([0] * 7, abs=1e-9)
    assert found["query_error"]["mean"] == pytest.approx(0, abs=1e-9)
    for by in found["uncertainty"].values():
        for each in by.values():
            assert each["original"] == pytest.approx(each["released"])


def test_queries_of_a_joint_table_that_is_too_large(spec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    released(spec, "randomize", on="qi")
    for module in (joint, *[__import__(f"anonymize.{name}", fromlist=["x"]) for name in ROOMS]):
        monkeypatch.setattr(module, "MOST_CELLS", 80)
    found = evaluate(Evaluate(spec, beside(spec, "out.csv")))
    assert found["utility"]["query_error"] is None
    assert found["left_out"]["query_error"] == "the joint table has 90 cells, more than 80"
    assert found["utility"]["distances"] == {"ill": {"cells": 90}}
    assert found["utility"]["uncertainty"]["age"]["sex"] is None
    assert found["utility"]["uncertainty"]["sex"]["ill"]["original"] > 0


ROOMS = ("metrics.measures", "evaluation.unclassed")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"group": "group", "manifest": "x.json"}, "--st and --group are about a bucketized release"),
        ({"st": "x.csv", "method": "bayes"}, "--st and --group are about a bucketized release"),
        ({"method": "bayes"}, "--method: is about a randomized release"),
        ({"group": "group", "tree": TreePlan("sex")}, "--tree: needs a release with equivalence classes"),
        ({"group": "group", "models": Protocol()}, "--models: needs a release with equivalence classes"),
    ],
)
def test_what_makes_no_sense_together(spec: Any, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(Evaluate(spec, spec.input.path.with_name("some.csv").as_posix(), **asked))


def changed(path: str, column: str, value: str) -> None:
    frame = pl.read_csv(path, separator=";", infer_schema=False)
    first = pl.Series(column, [value, *frame[column][1:]])
    frame.with_columns(first).write_csv(path, separator=";")


@pytest.mark.parametrize(
    ("file", "column", "value", "message"),
    [
        ("out.qit.csv", "age", "99", "age: 1 cells of the release are not values of the original"),
        ("out.qit.csv", "group", "9999", "2 groups have other numbers of rows in the sensitive table"),
        ("out.st.csv", "count", "7", "1 groups have other numbers of rows in the sensitive table"),
        ("out.st.csv", "ill", "zz", "ill: 1 cells of the release are not values of the original"),
        ("out.st.csv", "count", "-1", "1 counts are not whole numbers above 0"),
    ],
)
def test_files_that_do_not_belong_to_the_original(spec: Any, file: str, column: str, value: str, message: str) -> None:
    released(spec, "anatomy")
    changed(beside(spec, file), column, value)
    with pytest.raises(DataError, match=message):
        evaluate(Evaluate(spec, beside(spec, "out.qit.csv")))


def test_parameters_of_another_release(spec: Any) -> None:
    released(spec, "randomize", on="qi")
    path = Path(beside(spec, "out.csv"))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    with pytest.raises(DataError, match="has 399 rows, and its parameters are of 400"):
        evaluate(Evaluate(spec, str(path)))


def test_columns_that_are_lacking(spec: Any) -> None:
    released(spec, "anatomy")
    with pytest.raises(DataError, match="has no column bucket"):
        evaluate(Evaluate(spec, beside(spec, "out.qit.csv"), group="bucket"))


@pytest.mark.parametrize("form", [".json", ".md"])
def test_reports_of_it(spec: Any, form: str) -> None:
    released(spec, "randomize", on="qi")
    path = Path(beside(spec, f"figures{form}"))
    report = evaluate(Evaluate(spec, beside(spec, "out.csv"), reports=[str(path)]))
    told = path.read_text(encoding="utf-8")
    if form == ".json":
        assert json.loads(told) == report
    else:
        assert "Association (uncertainty coefficient)" in told
        assert "| age | ill |" in told
