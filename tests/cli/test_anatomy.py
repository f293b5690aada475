"""Bucketized releases and their audit, as a user runs them."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict

import pytest

from tests.cli.conftest import CELLS, SPEC, Call, Desk, unnamed

ANATOMY = SPEC.replace("  k: 3\n", "").replace("  suppression: 0.1\n", "")


@pytest.fixture
def filled(desk: Desk) -> Desk:
    desk.fill(spec=ANATOMY)
    return desk


def records(desk: Desk, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((desk.folder / name).read_text(encoding="utf-8"), newline="")))


def test_two_files(call: Call, filled: Desk) -> None:
    filled.spec.write_text(ANATOMY + "output: {row_order: keep}\n", encoding="utf-8")
    ended = call("anatomy", filled.spec, "-o", "out.csv", "-r", "out.json", "--seed", 1, "-q")
    assert ended.code == 0, ended.err
    people, values = records(filled, "out.qit.csv"), records(filled, "out.st.csv")
    original = records(filled, "table.csv")
    assert list(people[0]) == ["age", "zip", "job", "ward", "group"]
    assert list(values[0]) == ["group", "diagnosis", "count"]
    for name in ("age", "zip", "job", "ward"):
        assert [row[name] for row in people] == [row[name] for row in original]
    sizes = Counter(row["group"] for row in people)
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for row in values:
        groups[row["group"]][row["diagnosis"]] += int(row["count"])
    assert {group: found.total() for group, found in groups.items()} == sizes
    assert all(len(found) >= 2 and max(found.values()) == 1 for found in groups.values())
    for row, before in zip(people, original, strict=True):
        assert sizes[row["group"]] >= 2
        assert before["diagnosis"] in groups[row["group"]]
    text = (filled.folder / "out.json").read_text(encoding="utf-8")
    assert not CELLS.search(unnamed(text))
    report = json.loads(text)
    assert report["output"]["path"] == "out.qit.csv"
    assert report["output"]["sensitive_path"] == "out.st.csv"
    assert report["recoding"] == {"kind": "buckets", "files": "two", "groups": 30, "l": 2, "suppressed_rows": 0}
    assert report["utility"]["ncp"] == 0
    assert report["risk"]["prosecutor_max"] == 1


def test_one_file(call: Call, filled: Desk) -> None:
    assert call("anatomy", filled.spec, "-o", "out.csv", "--joined", "--group", "bucket", "-q").code == 0
    rows, original = records(filled, "out.csv"), records(filled, "table.csv")
    assert list(rows[0]) == ["age", "zip", "job", "diagnosis", "ward", "bucket"]
    assert Counter(row["diagnosis"] for row in rows) == Counter(row["diagnosis"] for row in original)
    assert [row["diagnosis"] for row in rows] != [row["diagnosis"] for row in original]
    ended = call("audit", filled.spec, "-i", "out.csv", "--group", "bucket", "--json")
    assert ended.code == 0
    (model,) = json.loads(ended.out)["privacy"]["models"]
    assert model["achieved"] == {"l": 2}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_audit_understands_the_pair(call: Call, filled: Desk, suffix: str) -> None:
    assert call("anatomy", filled.spec, "-o", f"out{suffix}", "-q").code == 0
    assert call("audit", filled.spec, "-i", f"out.qit{suffix}", "-q").code == 0
    assert call("audit", filled.spec, "-i", f"out.qit{suffix}", "-l", 3, "-q").code == 1
    (filled.folder / f"out.st{suffix}").rename(filled.folder / f"values{suffix}")
    assert call("audit", filled.spec, "-i", f"out.qit{suffix}", "-q").code == 3
    assert call("audit", filled.spec, "-i", f"out.qit{suffix}", "--st", f"values{suffix}", "-q").code == 0


def test_audit_without_a_spec_and_files_that_do_not_belong_together(call: Call, filled: Desk) -> None:
    assert call("anatomy", filled.spec, "-o", "out.csv", "-q").code == 0
    options = ("--qi", "age,zip,job", "--sensitive", "diagnosis", "--json")
    report = json.loads(call("audit", "-i", "out.qit.csv", *options).out)
    assert [model["model"] for model in report["privacy"]["models"]] == [
        "distinct-l-diversity",
        "entropy-l-diversity",
        "frequency-l-diversity",
    ]
    assert report["classes"]["count"] == 30
    ended = call("audit", "-i", "out.qit.csv", *options, "-k", 2)
    assert ended.code == 2
    assert "anatomy gives no k-anonymity" in ended.err
    path = filled.folder / "out.st.csv"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    ended = call("audit", filled.spec, "-i", "out.qit.csv")
    assert ended.code == 3
    assert "1 groups have other numbers of rows" in ended.err
    ended = call("audit", filled.spec, "-i", "out.qit.csv", "--group", "none")
    assert ended.code == 3 and "out.qit.csv: has no column none" in ended.err


@pytest.mark.parametrize("name", ["age", "diagnosis"])
@pytest.mark.parametrize("command", ["audit", "evaluate"])
def test_another_column_is_no_column_of_groups(call: Call, filled: Desk, command: str, name: str) -> None:
    assert call("anatomy", filled.spec, "-o", "out.csv", "--joined", "-q").code == 0
    ended = call(command, filled.spec, *(["-i"] if command == "audit" else []), "out.csv", "--group", name)
    assert ended.code == 2 and f"--group: {name} is not the column of groups" in ended.err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--unit", "ward"), "the unit ward: the groups of a bucketized table are of rows"),
        (("--missing-as", "wildcard"), "missing as a wildcard: a group is known"),
        (("--previous", "out.csv"), "--previous: is for releases with equivalence classes, and this one is bucketized"),
    ],
)
def test_what_groups_of_rows_cannot_be_measured_by(
    call: Call, filled: Desk, options: tuple[str, str], reason: str
) -> None:
    assert call("anatomy", filled.spec, "-o", "out.csv", "--joined", "-q").code == 0
    named = ("--qi", "age,zip,job", "--sensitive", "diagnosis", "--group", "group")
    ended = call("audit", "-i", "out.csv", *named, *options)
    assert ended.code == 2 and reason in ended.err


def test_a_column_of_groups_may_be_called_count_where_no_table_counts(call: Call, filled: Desk) -> None:
    assert call("anatomy", filled.spec, "-o", "pair.csv", "-q").code == 0
    ended = call("audit", filled.spec, "-i", "pair.qit.csv", "--group", "count")
    assert ended.code == 2 and "--group: count is not the column of groups" in ended.err
    assert call("anatomy", filled.spec, "-o", "out.csv", "--joined", "--group", "count", "-q").code == 0
    assert call("audit", filled.spec, "-i", "out.csv", "--group", "count", "-q").code == 0


@pytest.mark.parametrize(
    ("was", "becomes", "problem"),
    [
        ("count", "number", "has no column count"),
        ("\n1,", "\n1,2,3,4,", ":2: 6 fields where the header has 3"),
        ("group", "set", "has no column group"),
    ],
)
def test_sensitive_values_apart_are_checked_as_any_table(
    call: Call, filled: Desk, was: str, becomes: str, problem: str
) -> None:
    assert call("anatomy", filled.spec, "-o", "pair.csv", "-q").code == 0
    apart = filled.folder / "pair.st.csv"
    apart.write_text(apart.read_text(encoding="utf-8").replace(was, becomes, 1), encoding="utf-8")
    ended = call("audit", filled.spec, "-i", "pair.qit.csv")
    assert ended.code == 3 and "pair.st.csv" in ended.err and problem in ended.err


def test_a_value_that_is_too_frequent(call: Call, filled: Desk) -> None:
    ended = call("anatomy", filled.spec, "-o", "out.csv", "-l", 5)
    assert ended.code == 4
    assert (
        "the value of rank 1 by frequency has 15 of 60 rows (25.00%), and groups of l=5 take at most 1/5" in ended.err
    )
    assert not list(filled.folder.glob("out*"))


def test_suppression_leaves_out_the_most_frequent(call: Call, filled: Desk) -> None:
    content = (filled.folder / "table.csv").read_text(encoding="utf-8")
    filled.fill(content + "n,8675301,09991,CANARY cook,CANARY-0,w\n" * 40, ANATOMY)
    assert call("anatomy", filled.spec, "-o", "out.csv").code == 4
    ended = call("anatomy", filled.spec, "-o", "out.csv", "--suppression", "0.2", "-r", "out.json", "-q")
    assert ended.code == 0, ended.err
    report = json.loads((filled.folder / "out.json").read_text(encoding="utf-8"))
    assert report["output"]["dropped_rows"] == 10
    assert report["output"]["rows"] == len(records(filled, "out.qit.csv")) == 90


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "-"), "two files cannot go to standard output"),
        (("-o", "out.csv", "-k", "3"), "k: anatomy gives no k-anonymity"),
        (("-o", "out.csv", "--group", "ward"), "'ward' is a column already"),
        (("-o", "out.csv", "-r", "out.st.csv"), "a report is one of"),
    ],
)
def test_what_is_refused(call: Call, filled: Desk, arguments: tuple[str, ...], message: str) -> None:
    before = filled.files()
    ended = call("anatomy", filled.spec, *arguments)
    assert ended.code == 2
    assert message in ended.err
    assert filled.files() == before


def test_two_sensitive_attributes_are_refused(call: Call, filled: Desk) -> None:
    filled.spec.write_text(
        ANATOMY.replace("  diagnosis: {}\n", "  diagnosis: {}\n  ward: {}\n").replace("[ward]", "[]")
    )
    ended = call("anatomy", filled.spec, "-o", "out.csv")
    assert ended.code == 2
    assert "anatomy takes one sensitive attribute, the spec has 2" in ended.err


def test_either_file_or_none_is_there(call: Call, filled: Desk) -> None:
    (filled.folder / "out.st.csv").write_text("", encoding="utf-8")
    before = filled.files()
    assert call("anatomy", filled.spec, "-o", "out.csv").code == 2
    assert filled.files() == before
    assert call("anatomy", filled.spec, "-o", "out.csv", "--dry-run", "--force", "-q").code == 0
    assert filled.files() == before
    assert call("anatomy", filled.spec, "-o", "-", "--joined", "-q").out.startswith(
        b"age,zip,job,diagnosis,ward,group\n"
    )


@pytest.mark.parametrize(
    ("model", "least"),
    [("{model: recursive-cl-diversity, c: 0.5, l: 2}", 4), ("{model: entropy-l-diversity, l: 2.5}", 3)],
)
def test_other_models_of_diversity(call: Call, filled: Desk, model: str, least: int) -> None:
    filled.spec.write_text(ANATOMY.replace("  l: 2\n", f"  models: [{model}]\n"), encoding="utf-8")
    assert call("anatomy", filled.spec, "-o", "out.csv", "-q").code == 0
    assert min(Counter(row["group"] for row in records(filled, "out.qit.csv")).values()) == least
