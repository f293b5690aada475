"""Columns are found by their names, whatever these are: `*` and `^a.*$` are patterns to polars, and the names of the
columns that the program makes for itself are names of columns like any other."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize._audit import audit
from anonymize._evaluate import Evaluate, evaluate
from anonymize._recode import Recode, recode
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.auditing.request import Against, Audit, Deeper
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make
from tests.common.budgets import options_of
from tests.examples import THOROUGH

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
    writers: dict[str, Callable[[Path], object]]
    writers = {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}
    writers[suffix](path)
    result = audit(Audit(path=path, quasi_identifiers=[name], k=5, further=Deeper(subsets=0)))
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
    release(Request(spec, algorithm, options_of(algorithm), output=str(out)))
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
    """Every name in a role; in every role where somebody explores."""
    wanted = [*ALIASES, *PATTERNS]
    step = 3 if THOROUGH else 5
    return [[wanted[(start + shift) % len(wanted)] for shift in range(5)] for start in range(0, len(wanted), step)]


PLAIN = ["age", "hours", "job", "ill", "note"]
MEASURED = ("rows", "classes", "risk", "privacy", "utility", "previous", "outside", "models")


def numbers(report: Any) -> list[Any]:
    """The figures of a report, in its order, without what they are called."""
    if isinstance(report, dict):
        return [each for value in report.values() for each in numbers(value)]
    if isinstance(report, list):
        return [each for value in report for each in numbers(value)]
    return [] if isinstance(report, str) else [report]


def figures(report: dict[str, Any]) -> list[Any]:
    return numbers([report[key] for key in MEASURED if key in report])


def body(path: Path) -> str:
    """A file without its header."""
    return path.read_text(encoding="utf-8").split("\n", 1)[1]


def classed(names: list[str], folder: Path, algorithm: str) -> list[Any]:
    """A release, a recoding by it, its evaluation and its audit."""
    folder.mkdir()
    path, out, saved, again = table(folder / "i.csv", people(names)), folder / "o.csv", folder / "r.json", folder / "a"
    spec = make(content(path, names, k=4, l=2), PARAMETERS)
    options = options_of(algorithm)
    made = release(Request(spec, algorithm, options, output=str(out), save_recoding=str(saved)))
    recode(Recode(str(saved), str(path), str(again)))
    measured = evaluate(Evaluate(spec, str(out), queries=20))
    wanted = Audit(spec, out, further=Deeper(subsets=0), against=Against(previous=path), missing_as="wildcard")
    return [body(out), body(again), *map(figures, (made, measured, audit(wanted).report))]


def unclassed(names: list[str], folder: Path, algorithm: str, **options: Any) -> list[Any]:
    """A release without classes, its evaluation, and its audit where there is one."""
    folder.mkdir()
    path, out = table(folder / "i.csv", people(names)), folder / "o.csv"
    requirement = {"l": 2} if algorithm == "anatomy" else {"models": [{"model": "disclosure", "l": 2}]}
    spec = make(content(path, names, **requirement), PARAMETERS)
    asked = options_of(algorithm, **options)
    made = release(Request(spec, algorithm, asked, output=str(out), seed=1))
    files = [*folder.glob("o.qit.csv"), *folder.glob("o.st.csv"), *folder.glob("o.csv")]
    group = options.get("group")
    measured = evaluate(Evaluate(spec, str(files[0]), group=group, queries=20))
    audited = [audit(Audit(spec, files[0], group=group)).report] if algorithm == "anatomy" else []
    return [*map(body, files), *map(figures, (made, measured, *audited))]


@pytest.mark.parametrize("algorithm", ["mondrian", "incognito"])
def test_names_make_no_difference_to_classes(algorithm: str, tmp_path: Path) -> None:
    plain = classed(PLAIN, tmp_path / "plain", algorithm)
    for number, names in enumerate(windows()[:: 1 if algorithm == "mondrian" else 4]):  # all but the search is the same
        assert classed(names, tmp_path / str(number), algorithm) == plain, names


GROUPS = ["len", "count ", "*", "^s.*$", "value", "owner", "0"]


@pytest.mark.parametrize("joined", [False, True])
def test_names_make_no_difference_to_groups(joined: bool, tmp_path: Path) -> None:
    """Every name of the column of groups beside some names of the others, where both files are one; in two files that
    column is found alike, by some. All of them where somebody explores."""
    plain = unclassed(PLAIN, tmp_path / "plain", "anatomy", joined=joined, group="group")
    for place, group in enumerate(GROUPS if joined or THOROUGH else GROUPS[::3]):
        allowed = [names for names in windows() if group not in names and "count" not in names]
        for number, names in enumerate(allowed if THOROUGH else [allowed[place % len(allowed)]]):
            folder = tmp_path / f"{place} {number}"
            assert unclassed(names, folder, "anatomy", joined=joined, group=group) == plain, (group, names)


def test_names_make_no_difference_to_distortions(tmp_path: Path) -> None:
    plain = unclassed(PLAIN, tmp_path / "plain", "randomize")
    for number, names in enumerate(windows()[::2]):
        assert unclassed(names, tmp_path / str(number), "randomize") == plain, names


def weighed(names: tuple[str, str], called: list[str], folder: Path) -> list[Any]:
    """A release with a unit, sampling weights and a population, and its audit: its cells, and the figures of both."""
    folder.mkdir()
    unit, weight = names
    columns = people(called) | {
        unit: [f"p{n // 2}" for n in range(60)],
        weight: [str(1 + n * n % 7 % 3) for n in range(60)],
    }
    path = table(folder / "i.csv", columns)
    population = table(folder / "p.csv", {name: columns[name] * 3 for name in called[:3]})
    models = [{"model": "k-map", "k": 2, "population": str(population)}]
    described = content(path, called, k=4, l=2, models=models) | {"unit": unit, "sampling_weight": weight}
    spec, out, link = make(described, PARAMETERS), folder / "o.csv", folder / "link.json"
    made = release(Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), output=str(out), save_link=str(link)))
    measured = audit(
        Audit(spec, out, unit_from=path, further=Deeper(subsets=2, population=population), link=link)
    ).report
    return [[row[name] for row in rows_of(out) for name in called], figures(made), figures(measured)]


def test_names_make_no_difference_to_units_weights_and_populations(tmp_path: Path) -> None:
    plain = weighed(("person", "share"), PLAIN, tmp_path / "plain")
    for number, names in enumerate((("^u.*$", "*"), ("*", "^w.*$"), ("size", "rows"), ("q0", "c0"))):
        assert weighed(names, ["age", "^a.*$", "job", "ill", "note"], tmp_path / str(number)) == plain, names
