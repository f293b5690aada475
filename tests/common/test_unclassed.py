"""What every algorithm must pass whose releases have no equivalence classes: anatomy, randomize.

The checks of `test_algorithms.py` that make sense for them: what passes through is the same text, rows are all there or
counted as left out, the guarantee holds by a count of its own, and the same seed gives the same bytes. Classes of
similar rows, and the loss of generalized cells, are not: quasi-identifiers are released as they are, or distorted.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import InfeasibleError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import load
from tests.common.budgets import CHANGES_VALUES, CLASSED
from tests.common.oracle import compared
from tests.common.tables import Case, cases
from tests.common.test_algorithms import CHANGING, UNCLASSED
from tests.examples import some


def test_every_algorithm_is_checked_in_one_way() -> None:
    families = {name: algorithm.NEEDS.family.name for name, algorithm in ALGORITHMS.items()}
    assert [name for name, family in families.items() if family in UNCLASSED] == ["anatomy", "randomize"]
    assert set(CLASSED) | {"anatomy", "randomize", *CHANGES_VALUES} == set(ALGORITHMS)


def released(
    case: Case, folder: Path, algorithm: str, options: dict[str, Any], threads: int
) -> dict[str, bytes] | None:
    """The files of a release but its report; None where it is refused as infeasible, and nothing is left."""
    request = Request(
        load(case.write(folder), PARAMETERS),
        algorithm,
        ALGORITHMS[algorithm].Options(**options),
        output=str(folder / "out.csv"),
        reports=[str(folder / "report.json")],
        seed=5,
        threads=threads,
        force=True,
    )
    before = sorted(folder.iterdir())
    try:
        release(request)
    except InfeasibleError:
        assert sorted(folder.iterdir()) == before
        return None
    return {path.name: path.read_bytes() for path in folder.glob("out.*")}


def table(folder: Path, name: str, separator: str) -> tuple[list[str], list[list[str]]]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter=separator)
    return header, rows


def drawn(data: st.DataObject, algorithm: str) -> Case:
    """A table with a spec that the algorithm takes: one sensitive attribute, l alone."""
    case = data.draw(cases(ALGORITHMS[algorithm].NEEDS))
    sensitive = list(case.spec["sensitive"])
    case.spec["insensitive"] += sensitive[1:]
    case.spec["sensitive"] = {sensitive[0]: case.spec["sensitive"][sensitive[0]]}
    case.spec["privacy"] = {"l": data.draw(st.integers(1, 4)), "suppression": data.draw(st.sampled_from([0, 0.5]))}
    case.spec["output"] |= {"numeric": "interval"}
    return case


def repeated(case: Case, folder: Path, algorithm: str, options: dict[str, Any]) -> dict[str, Any] | None:
    """The report of a release that was made twice, alike; None of one that is infeasible."""
    first = released(case, folder, algorithm, options, threads=1)
    if first is None:
        return None
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert released(case, folder, algorithm, options, threads=3) == first
    again = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert {key: again[key] for key in again if key not in CHANGING} == {
        key: report[key] for key in report if key not in CHANGING
    }
    assert report["privacy"]["satisfied"] and report["privacy"]["verified"]
    return report  # type: ignore[no-any-return]


@pytest.mark.parametrize("joined", [False, True])
@settings(max_examples=some(30))
@given(st.data())
def test_anatomy(joined: bool, data: st.DataObject) -> None:
    case = drawn(data, "anatomy")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = repeated(case, folder, "anatomy", {"joined": joined})
        (sensitive,), missing = case.spec["sensitive"], case.spec["input"]["missing"]
        at, l = case.header.index(sensitive), case.spec["privacy"]["l"]  # noqa: E741
        numeric = case.spec["sensitive"][sensitive].get("type") == "numeric"
        values = [shown(row[at], missing, numeric) for row in case.rows]
        if report is None:
            present = Counter(value for value in values if value != missing[0])
            assert not present or case.spec["privacy"]["suppression"] < 1
            assert max(present.values(), default=1) * l > sum(present.values())
            return
        separator = case.spec["input"]["separator"]
        header, rows = table(folder, "out.csv" if joined else "out.qit.csv", separator)
        check_rows(case, header, rows, [] if joined else [sensitive], report)
        check_groups(folder, header, rows, None if joined else separator, sensitive, (missing, numeric), l, values)


def shown(text: str, missing: list[str], numeric: bool) -> str:
    """A sensitive value as it is compared, numbers by what they are worth."""
    text = compared(text)
    return missing[0] if text in ("", *missing) else str(float(text)) if numeric else text


def check_rows(case: Case, header: list[str], rows: list[list[str]], apart: list[str], report: dict[str, Any]) -> None:
    """Every column that is not generalized away comes out as it came in, row by row where rows are numbered."""
    identifiers = case.spec["identifiers"]
    assert header == [*(name for name in case.header if name not in identifiers and name not in apart), "group"]
    assert len(rows) == report["output"]["rows"] == len(case.rows) - report["output"]["dropped_rows"]
    same = [name for name in header[:-1] if name not in case.spec["sensitive"]]
    nulls = {"", *case.spec["input"]["missing"]} if "" in case.spec["input"]["missing"] else set()

    def kept(names: list[str], row: list[str]) -> tuple[str, ...]:
        return tuple("" if row[names.index(name)] in nulls else row[names.index(name)] for name in same)

    original = Counter(kept(case.header, row) for row in case.rows)
    found = Counter(kept(header, row) for row in rows)
    assert found <= original


def check_groups(
    folder: Path,
    header: list[str],
    rows: list[list[str]],
    separator: str | None,
    sensitive: str,
    reading: tuple[list[str], bool],
    l: int,  # noqa: E741
    values: list[str],
) -> None:
    """Every group is diverse, and all sensitive values are there as often as they were."""
    sizes = Counter(row[-1] for row in rows)
    groups: dict[str, Counter[str]] = {group: Counter() for group in sizes}
    if separator is None:
        for row in rows:
            groups[row[-1]][shown(row[header.index(sensitive)], *reading)] += 1
    else:
        names, counts = table(folder, "out.st.csv", separator)
        assert names == ["group", sensitive, "count"]
        for group, value, count in counts:
            groups[group][shown(value, *reading)] += int(count)
    for group, histogram in groups.items():
        assert histogram.total() == sizes[group]
        present = histogram.copy()
        del present[reading[0][0]]
        assert len(present) >= l
        assert max(present.values()) * l <= present.total()
    everything = sum(groups.values(), Counter())
    assert everything <= Counter(values)
    assert everything.total() == len(rows)


@pytest.mark.parametrize("on", ["both", "qi", "sensitive"])
@settings(max_examples=some(20))
@given(st.data())
def test_randomize(on: str, data: st.DataObject) -> None:
    case = drawn(data, "randomize")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = repeated(case, folder, "randomize", {"on": on})
        if report is None:
            return
        header, rows = table(folder, "out.csv", case.spec["input"]["separator"])
        assert header == [name for name in case.header if name not in case.spec["identifiers"]]
        assert len(rows) == len(case.rows) == report["output"]["rows"]
        distortion = report["recoding"]["distortion"]
        assert list(distortion) == [*case.spec["quasi_identifiers"], *case.spec["sensitive"]]
        held = [name for name in distortion if (name in case.spec["sensitive"]) == (on == "qi") and on != "both"]
        assert all(distortion[name]["p"] == 1 for name in held)
        told = json.loads((folder / "out.params.json").read_text(encoding="utf-8"))
        assert [(each["name"], each["p"]) for each in told["attributes"]] == [
            (n, d["p"]) for n, d in distortion.items()
        ]
        for each in told["attributes"]:
            values = {row[header.index(each["name"])] for row in rows}
            assert "values" not in each or values <= set(each["values"])
            assert "values" in each or values <= {row[case.header.index(each["name"])] for row in case.rows}
        assert not report["recoding"]["safe_to_publish"]
