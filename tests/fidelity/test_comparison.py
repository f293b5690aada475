"""Marginals and associations against plain Python over the rows of released files."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from scipy.stats.contingency import association

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.fidelity.bins import UNNAMED

ROWS = [
    (age, ("F", "M")[(age * 7 + row) % 2], ("flu", "gout", "hiv")[(age // 20 + row) % 3])
    for row in range(40)
    for age in (20, 25, 31, 38, 44, 47, 52, 59)
]
SPEC = """\
version: 1
input: {path: table.csv, missing: ["?"]}
quasi_identifiers:
  age: {type: numeric}
  sex: {hierarchy: sex.csv}
sensitive: {illness: {}}
privacy: {k: 8}
output: {edges: tight}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fidelity")
    text = io.StringIO()
    csv.writer(text).writerows([("age", "sex", "illness"), *ROWS, ("?", "F", "flu"), *[("?", "M", "flu")] * 11])
    (folder / "table.csv").write_text(text.getvalue())
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    (folder / "spec.yaml").write_text(SPEC)
    return folder


def released(folder: Path, *options: str) -> tuple[list[dict[str, str]], dict[str, Any]]:
    output, report = folder / "released.csv", folder / "report.json"
    code = outcome(
        lambda: run(
            ["mondrian", str(folder / "spec.yaml"), "-o", str(output), "-r", str(report), "--force", "-q", *options]
        )
    )
    assert code == 0
    return list(csv.DictReader(io.StringIO(output.read_text()))), json.loads(report.read_text())


def test_marginals_before_are_counts_of_the_input(folder: Path) -> None:
    _, report = released(folder)
    block = report["marginals"]["sex"]
    assert dict(zip(block["bins"], block["before"], strict=True)) == {
        "F": sum(sex == "F" for _, sex, _ in ROWS) + 1,
        "M": sum(sex == "M" for _, sex, _ in ROWS) + 11,
    }


@pytest.mark.parametrize("options", [(), ("-k", "60"), ("-k", "150")])
def test_marginals_after_are_what_a_reader_counts(folder: Path, options: tuple[str, ...]) -> None:
    rows, report = released(folder, *options)
    block, shares = report["marginals"]["sex"], Counter[str]()
    for row in rows:
        if row["sex"] in ("F", "M"):
            shares[row["sex"]] += 1
    assert block["after"] == [shares[name] for name in block["bins"]]
    assert block["hidden"] == sum(row["sex"] == "*" for row in rows)


def test_an_interval_counts_with_the_width_it_has_in_a_bin(folder: Path) -> None:
    rows, report = released(folder, "-k", "12")
    block = report["marginals"]["age"]
    edges = [float(label.split()[1]) for label in block["bins"] if label.startswith("below")]
    edges += [float(label.split()[0]) for label in block["bins"] if label[0].isdigit()]
    expected = [0.0] * len(block["bins"])
    for row in rows:
        text = row["age"].removesuffix(" or ?")
        if text == "?":
            expected[block["bins"].index("missing")] += 1
            continue
        low, _, high = text.strip("[]").partition("-")
        years = list(range(int(low), int(high or low) + 1))
        for year in years:
            expected[sum(edge <= year for edge in sorted(set(edges)))] += 1 / len(years)
    assert block["after"] == pytest.approx(expected, abs=1e-2)


def test_associations_before_agree_with_scipy(folder: Path) -> None:
    _, report = released(folder)
    columns = {"age": [str(r[0]) for r in ROWS], "sex": [r[1] for r in ROWS], "illness": [r[2] for r in ROWS]}
    columns["age"] += ["?"] * 12
    columns["sex"] += ["F", *["M"] * 11]
    columns["illness"] += ["flu"] * 12
    pairs = {tuple(each["columns"]): each["before"] for each in report["associations"]["pairs"]}
    for a, b in combinations(columns, 2):
        names = sorted(set(columns[a])), sorted(set(columns[b]))
        counted = Counter(zip(columns[a], columns[b], strict=True))
        table = [[counted[x, y] for y in names[1]] for x in names[0]]
        assert pairs[a, b] == pytest.approx(association(table, method="cramer"), abs=1e-6)


def test_what_is_shown_as_it_is_keeps_its_associations_and_one_class_keeps_none(folder: Path) -> None:
    _, fine = released(folder, "-k", "1")
    for each in fine["associations"]["pairs"]:
        assert each["after"] == pytest.approx(each["before"], abs=1e-6)
    _, coarse = released(folder, "-k", str(len(ROWS) + 12))
    for each in coarse["associations"]["pairs"]:
        assert each["after"] is None or math.isclose(each["after"], 0.0, abs_tol=1e-6)


def evaluated(folder: Path, released: str, *options: str) -> dict[str, Any]:
    arguments = ["evaluate", str(folder / "spec.yaml"), str(folder / released), "-r", str(folder / "evaluated.json")]
    assert outcome(lambda: run([*arguments, "--force", "-q", "--queries", "10", *options])) == 0
    found: dict[str, Any] = json.loads((folder / "evaluated.json").read_text())
    return found


BLOCKS = ("marginals", "unbinned", "associations")


@pytest.mark.parametrize(
    ("output", "options"),
    [
        ("{edges: tight}", ("-k", "12")),
        ("{edges: tight}", ("-k", "150")),
        ("{categorical: set, numeric: bounds}", ("-k", "40")),
        ("{row_order: shuffle}", ()),
    ],
)
def test_an_evaluation_reads_the_same_from_the_release(folder: Path, output: str, options: tuple[str, ...]) -> None:
    (folder / "spec.yaml").write_text(SPEC.replace("{edges: tight}", output))
    try:
        _, report = released(folder, *options)
        found = evaluated(folder, "released.csv", *options)
        assert {name: found[name] for name in BLOCKS} == {name: report[name] for name in BLOCKS}
    finally:
        (folder / "spec.yaml").write_text(SPEC)


@pytest.mark.parametrize("joined", [True, False])
def test_groups_keep_columns_and_tell_a_value_by_its_share(folder: Path, joined: bool) -> None:
    (folder / "spec.yaml").write_text(SPEC.replace("{k: 8}", "{l: 2}"))
    try:
        more = ("--joined",) if joined else ()
        path, report_path = str(folder / "groups.csv"), str(folder / "groups.json")
        arguments = ["anatomy", str(folder / "spec.yaml"), "-o", path, "-r", report_path, "--force", "-q", *more]
        assert outcome(lambda: run(arguments)) == 0
        report = json.loads((folder / "groups.json").read_text())
        assert report["marginals"]["sex"]["after"] == report["marginals"]["sex"]["before"]
        pairs = {tuple(each["columns"]): each["after"] for each in report["associations"]["pairs"]}
        assert set(pairs) == {("age", "illness"), ("sex", "illness")}
        if joined:
            rows = list(csv.DictReader(io.StringIO((folder / "groups.csv").read_text())))
            groups = {each: [row for row in rows if row["group"] == each] for each in {row["group"] for row in rows}}
            expected = [
                [
                    sum(
                        sum(row["sex"] == sex for row in group)
                        * sum(row["illness"] == ill for row in group)
                        / len(group)
                        for group in groups.values()
                    )
                    for ill in ("flu", "gout", "hiv")
                ]
                for sex in ("F", "M")
            ]
            total, sums = sum(map(sum, expected)), [sum(row) for row in expected]
            columns = [sum(each) for each in zip(*expected, strict=True)]
            independent = [[row * column / total for column in columns] for row in sums]
            squares = sum(
                (expected[a][b] - independent[a][b]) ** 2 / independent[a][b] for a in (0, 1) for b in range(3)
            )
            assert pairs["sex", "illness"] == pytest.approx(math.sqrt(squares / total), abs=1e-6)
        found = evaluated(folder, *(("groups.csv", "--group", "group") if joined else ("groups.qit.csv",)))
        assert {name: found[name] for name in BLOCKS} == {name: report[name] for name in BLOCKS}
    finally:
        (folder / "spec.yaml").write_text(SPEC)


def test_flat_values_are_counted_by_name_only_where_they_may_be(folder: Path) -> None:
    flat = SPEC.replace("sex: {hierarchy: sex.csv}", "sex: {}")
    (folder / "spec.yaml").write_text(flat)
    try:
        report = released(folder)[1]
        assert "sex" not in report["marginals"] and report["unbinned"] == {"sex": UNNAMED}
        assert released(folder, "--show-values")[1]["marginals"]["sex"]["bins"] == ["F", "M"]
        assert (
            outcome(lambda: run(["mondrian", str(folder / "spec.yaml"), "--show-values", "--public-report", "-q"])) == 2
        )
    finally:
        (folder / "spec.yaml").write_text(SPEC)
