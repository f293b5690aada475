"""Columns are found by their names, whatever these are: `*` and `^a.*$` are patterns to polars, and the names of the
columns that the program makes for itself are names of columns like any other."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.audit import Against, Audit, audit
from anonymize.auditing.sample import Deeper
from anonymize.errors import UsageError
from anonymize.evaluate import Evaluate, evaluate
from anonymize.privacy import PARAMETERS
from anonymize.recode import Recode, recode
from anonymize.release import release
from anonymize.request import Request
from anonymize.spec import make

PATTERNS = ["^dx$", "*", "^s.*$"]
ALIASES = [
    *("count", "class", "size", "len", "rank", "value", "unit", "text", "low", "high", "q0", "s0", "c0", "t0", "owner"),
    *("group", "weight", "number", "rows", "listed", "people", "person", "step", "before", "after", "index", "0", "1"),
    *("literal", "name", "cell", "low_low", "suppressed", "pattern", "first", "a0", "field_0", "column_1"),
]


def table(path: Path, columns: dict[str, list[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *zip(*columns.values(), strict=True)])
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# --- patterns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_an_audit_measures_the_column_that_it_names(name: str, suffix: str, tmp_path: Path) -> None:
    """Forty people who are unique in the column, beside columns of one value that its pattern fits."""
    frame = pl.DataFrame({"dx": ["a"] * 40, "sx": ["a"] * 40, name: [f"p{number}" for number in range(40)]})
    path = tmp_path / f"table.{suffix}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[suffix](path)
    result = audit(Audit(path=path, quasi_identifiers=[name], k=5, further=Deeper(subsets=True)))
    assert result.satisfied is False
    assert result.verdict.risk["uniques"] == 40
    assert result.report["risk"]["subsets"][0]["uniques"] == 40


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("algorithm", ["mondrian", "incognito"])
def test_a_release_shows_the_column_that_it_names(name: str, algorithm: str, tmp_path: Path) -> None:
    columns = {"dx": [f"b{n}" for n in range(40)], "sx": ["a"] * 40, name: [f"p{n // 10}" for n in range(40)]}
    path = table(tmp_path / "table.csv", columns)
    roles = {"quasi_identifiers": {name: {}}, "insensitive": ["dx"], "sensitive": {"sx": {}}}
    out = tmp_path / "out.csv"
    spec = make({"version": 1, "input": {"path": str(path)}, **roles, "privacy": {"k": 10}}, PARAMETERS)
    release(Request(spec, algorithm, ALGORITHMS[algorithm].Options(), output=str(out)))
    assert Counter(row[name] for row in rows_of(out)) == {"p0": 10, "p1": 10, "p2": 10, "p3": 10}
    assert sorted(row["dx"] for row in rows_of(out)) == sorted(columns["dx"])


# --- names of everything ---------------------------------------------------------------------------------------------


def people(names: list[str], rows: int = 60) -> dict[str, list[str]]:
    """A table with two numbers, a category, a sensitive attribute and a column that passes through."""
    ages = [str(20 + n * 7 % 23) for n in range(rows)]
    hours = [str(n * 5 % 11) for n in range(rows)]
    jobs = [("cook", "clerk", "chief")[n * 11 % 3] for n in range(rows)]
    ills = [("flu", "gout", "cold", "ache")[n * 13 % 4] for n in range(rows)]
    notes = [f"note {n % 9}" for n in range(rows)]
    return dict(zip(names, (ages, hours, jobs, ills, notes), strict=True))


def content(path: Path, names: list[str], **privacy: Any) -> dict[str, Any]:
    numeric = {name: {"type": "numeric"} for name in names[:2]}
    return {
        "version": 1,
        "input": {"path": str(path)},
        "quasi_identifiers": numeric | {names[2]: {}},
        "sensitive": {names[3]: {}},
        "insensitive": [names[4]],
        "privacy": privacy,
    }


def windows() -> list[list[str]]:
    """Every name in every role."""
    wanted = [*ALIASES, *PATTERNS]
    return [[wanted[(start + shift) % len(wanted)] for shift in range(5)] for start in range(0, len(wanted), 3)]


PLAIN = ["age", "hours", "job", "ill", "note"]


def figures(names: list[str], folder: Path) -> dict[str, Any]:
    """What every command measures of the same table under these names, with plain names in place of them."""
    folder.mkdir()
    path, out = table(folder / "table.csv", people(names)), folder / "out.csv"
    spec = make(content(path, names, k=4, l=2), PARAMETERS)
    reports: dict[str, Any] = {}
    for algorithm in ("mondrian", "incognito"):
        request = Request(
            spec, algorithm, ALGORITHMS[algorithm].Options(), output=str(out), save_recoding=str(folder / "r.json"),
            force=True,
        )  # fmt: skip
        reports[algorithm] = release(request)
        reports[f"{algorithm} rows"] = out.read_text(encoding="utf-8").split("\n", 1)[1]
        again = folder / "again.csv"
        reports[f"{algorithm} recode"] = recode(Recode(str(folder / "r.json"), str(path), str(again), force=True))
        reports[f"{algorithm} again"] = again.read_text(encoding="utf-8").split("\n", 1)[1]
        reports[f"{algorithm} evaluate"] = evaluate(Evaluate(spec, str(out), queries=50))
        further = Audit(spec, out, further=Deeper(subsets=True), against=Against(previous=path), missing_as="wildcard")
        reports[f"{algorithm} audit"] = audit(further).report
    return with_plain_names(reports, names)


def with_plain_names(reports: dict[str, Any], names: list[str]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for kind, report in reports.items():
        if isinstance(report, dict):
            report = {
                key: report[key]
                for key in ("rows", "classes", "risk", "privacy", "utility", "previous", "outside")
                if key in report
            }
        kept[kind] = renamed(report, dict(zip(names, PLAIN, strict=True)))
    return kept


def renamed(report: Any, names: dict[str, str]) -> Any:
    """Keys under which a report has attributes, and values that name one."""
    if isinstance(report, dict):
        named = {
            "attributes",
            "targets",
            "contributions",
            "means",
            "columns",
        }
        return {
            key: {names.get(name, name): renamed(each, names) for name, each in value.items()}
            if key in named and isinstance(value, dict)
            else [names.get(each, each) if isinstance(each, str) else renamed(each, names) for each in value]
            if key == "attributes" and isinstance(value, list)
            else names.get(value, value)
            if key == "attribute" and isinstance(value, str)
            else renamed(value, names)
            for key, value in report.items()
            if key != "path"
        }
    if isinstance(report, list):
        return [renamed(each, names) for each in report]
    return report


def test_it(tmp_path: Path) -> None:
    plain = figures(PLAIN, tmp_path / "plain")
    print(json.dumps({k: v for k, v in plain.items() if "rows" not in k}, indent=1)[:6000])
    for number, names in enumerate(windows()):
        assert figures(names, tmp_path / str(number)) == plain, names
