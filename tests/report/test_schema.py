"""The JSON Schema of reports describes real ones, of every family and every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import polars as pl
import pytest
from click.testing import CliRunner

import anonymize
from anonymize.cli.prepare import schema
from anonymize.key import Key
from anonymize.metrics import METRICS
from anonymize.report import SCHEMA

PEOPLE = pl.DataFrame(
    {
        "id": [f"p{row}" for row in range(60)],
        "age": [20 + row * 7 % 50 for row in range(60)],
        "sex": [("F", "M", None)[row % 3] for row in range(60)],
        "ill": [("flu", "gout", "hay", "cold")[row % 4] for row in range(60)],
        "ward": [f"w{row % 4}" for row in range(60)],
        "weight": [1.0 + row % 3 for row in range(60)],
    }
)
SPEC: dict[str, Any] = {
    "identifiers": ["id"],
    "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}},
    "sensitive": ["ill"],
    "insensitive": ["ward"],
    "sampling_weight": {"column": "weight"},
    "privacy": {"k": 4, "l": 2, "suppression": 0.3, "missing": "wildcard", "passing": {"uniques": 0.9}},
    "risk": {"attacks": ["prosecutor"]},
    "workload": {"selections": [{"age": {"from": 40}}]},
}
GROUPED = {**SPEC, "privacy": {"l": 2}, "risk": {}}
SERIES = {
    **{key: value for key, value in SPEC.items() if key not in ("identifiers", "workload", "risk", "sampling_weight")},
    "unit": "id",
    "others": "drop",
    "privacy": {"k": 4},
}
SCHEMA_OF_REPORTS = json.loads(SCHEMA.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def released() -> anonymize.Release:
    return anonymize.release(PEOPLE, SPEC, "mondrian", bound=True)


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of groups."""
    folder = tmp_path_factory.mktemp("grouped")
    anonymize.release(PEOPLE, GROUPED, "anatomy", output=folder / "out.csv")
    return folder / "out.qit.csv"


def check(report: dict[str, Any]) -> None:
    """A report is valid, and every block and key of a block is one that the schema names."""
    jsonschema.Draft202012Validator(SCHEMA_OF_REPORTS).validate(json.loads(json.dumps(report)))
    named = SCHEMA_OF_REPORTS["properties"]
    assert sorted(set(report) - set(named)) == []
    for name, block in report.items():
        if isinstance(block, dict) and "properties" in named[name]:
            assert (name, sorted(set(block) - set(named[name]["properties"]))) == (name, [])


@pytest.mark.parametrize("algorithm", ["release", "incognito", "anatomy", "randomize"])
@pytest.mark.parametrize("public", [False, True])
def test_reports_of_releases(algorithm: str, public: bool) -> None:
    spec = GROUPED if algorithm in ("anatomy", "randomize") else {**SPEC, "risk": {}}
    check(anonymize.release(PEOPLE, spec, algorithm, public=public).report)


MEASURED: dict[str, Callable[[Any, Path], Any]] = {
    "release": lambda released, grouped: released,
    "audit": lambda released, grouped: anonymize.audit(released.frame, SPEC, subsets=2, previous=released.frame),
    "audit, all": lambda released, grouped: anonymize.audit(
        PEOPLE,
        quasi_identifiers=["age"],
        unit="ward",
        subsets=1,
        risky_cells=[3],
        sampling_fraction=0.5,
        log_linear="main",
    ),
    "audit, alone": lambda released, grouped: anonymize.audit(PEOPLE, quasi_identifiers=["age"], sampling_fraction=0.5),
    "audit of groups": lambda released, grouped: anonymize.audit(grouped, GROUPED),
    "evaluate": lambda released, grouped: anonymize.evaluate(released.frame, SPEC, PEOPLE, queries=5),
    "evaluate, public": lambda released, grouped: anonymize.evaluate(released.frame, SPEC, public=True),
    "evaluate of groups": lambda released, grouped: anonymize.evaluate(grouped, GROUPED, PEOPLE, queries=5),
    "attack": lambda released, grouped: anonymize.attack(released.frame, SPEC, PEOPLE, attackers=["prosecutor"]),
    "compare": lambda released, grouped: anonymize.compare(PEOPLE, SPEC, ["mondrian", "anatomy"], seeds=2),
    "recode": lambda released, grouped: anonymize.recode(PEOPLE, released.recoding),
}


@pytest.mark.parametrize("name", MEASURED)
def test_reports_of_every_other_command(name: str, released: anonymize.Release, grouped: Path) -> None:
    check(MEASURED[name](released, grouped).report)


def test_reports_of_a_series_and_against_a_baseline(tmp_path: Path, released: anonymize.Release) -> None:
    (tmp_path / "key").touch(mode=0o600)
    (tmp_path / "key").write_text(Key.new().text)
    first = anonymize.release(
        PEOPLE,
        SERIES,
        "mondrian",
        start_series=tmp_path / "state",
        key=tmp_path / "key",
        output=tmp_path / "1.csv",
        save_link=tmp_path / "link.json",
    )
    check(first.report)
    check(anonymize.audit(spec=SERIES, series=tmp_path / "state", key=tmp_path / "key").report)
    released.save(tmp_path / "before.json")
    check(anonymize.audit(released.frame, SPEC, baseline=tmp_path / "before.json").report)


def test_every_metric_is_named() -> None:
    assert set(METRICS) <= set(SCHEMA_OF_REPORTS["properties"]["utility"]["properties"])
    jsonschema.Draft202012Validator.check_schema(SCHEMA_OF_REPORTS)


def test_the_command_prints_it() -> None:
    assert json.loads(CliRunner().invoke(schema, ["--report"]).output) == SCHEMA_OF_REPORTS


TREATED: dict[str, Any] = {
    "identifiers": ["id", "sex", "ill", "ward"],
    "insensitive": ["age", "weight"],
    "treatments": [{"method": "microaggregation", "columns": ["age", "weight"], "k": 3}],
}


@pytest.mark.parametrize("public", [False, True])
def test_reports_of_treatments(public: bool) -> None:
    report = anonymize.release(PEOPLE, TREATED, "perturb", public=public).report
    jsonschema.validate(report, SCHEMA_OF_REPORTS)
    assert report["treatments"][0]["method"] == "microaggregation"
    assert ("numbers" in report) is not public
    assert {*report} <= {*SCHEMA_OF_REPORTS["properties"]}
