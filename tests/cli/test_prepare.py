"""`hierarchy show`, `hierarchy check` and `hierarchy make`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

from anonymize.domain import files
from anonymize.domain.taxonomy import Taxonomy, as_csv, as_yaml
from anonymize.domain.tree import Tree
from tests.algorithms.tables import random_taxonomy, seeds, taxonomy
from tests.cli.conftest import CELLS, JOBS, SPEC, Call, Desk, table

RULED = SPEC.replace(
    "  age: {type: numeric}",
    "  age: {type: numeric, weight: 2, hierarchy: {intervals: [10, 100]}, rules: [{keep_apart: [8675309, 8675310]}]}",
).replace(
    "  job: {hierarchy: jobs.csv}",
    "  job: {hierarchy: jobs.csv, rules: [{keep_apart: [Office, CANARY cook], importance: 3}, "
    "{keep_apart: [CANARY clerk, CANARY chief]}]}",
)
FILES_ONLY = "version: 1\nquasi_identifiers:\n  age: {type: numeric}\n  job: {hierarchy: jobs.csv}\nprivacy: {k: 2}\n"


# --- show -----------------------------------------------------------------------------------------------------------


def test_show_prints_every_level(desk: Desk, call: Call) -> None:
    desk.fill(spec=RULED)
    ended = call("hierarchy", "show", "spec.yaml")
    assert ended.code == 0 and ended.err == ""
    lines = [line.rstrip() for line in ended.out.decode().splitlines()]
    assert [line for line in lines if "weight" in line] == [
        "age (numeric, weight 0.5)",
        "zip (categorical, weight 0.25)",
        "job (categorical, weight 0.25)",
    ]
    start = lines.index("job (categorical, weight 0.25)")
    assert [line.split() for line in lines[start + 1 :]] == [
        ["level", "values", "occurring", "research", "value", "rules", "broken"],
        ["0", "3", "3", "0.25"],
        ["1", "2", "2", "0.125", *["CANARY", "clerk", "|", "CANARY", "chief", "(1)"]],
        ["2", "1", "1", "0", *["Office", "|", "CANARY", "cook", "(3)"]],
        ["CANARY", "clerk", "|", "CANARY", "chief", "(1)"],
    ]


def test_a_value_of_one_row_occurs(desk: Desk, call: Call) -> None:
    desk.fill(table(3), spec=RULED)
    (shown,) = json.loads(call("hierarchy", "show", "spec.yaml", "job", "-i", "table.csv", "--json").out)["attributes"]
    assert [level["occurring"] for level in shown["levels"]] == [3, 2, 1]


def test_show_one_attribute_as_json(desk: Desk, call: Call) -> None:
    desk.fill(spec=RULED)
    (shown,) = json.loads(call("hierarchy", "show", "spec.yaml", "age", "-i", "table.csv", "--json").out)["attributes"]
    assert (shown["name"], shown["type"], shown["weight"]) == ("age", "numeric", 0.5)
    assert [level["values"] for level in shown["levels"]] == [37, 4, 1, 1]
    broken = [[rule["keep_apart"] for rule in level["broken_rules"]] for level in shown["levels"]]
    assert broken == [[], [], [[8675309, 8675310]], [[8675309, 8675310]]]
    values = [level["research_value"] for level in shown["levels"]]
    # Intervals of ten numbers each, whether or not all of them occur.
    assert values == pytest.approx([0.5, 0.5 * 60 / (60 * 10), 0, 0])


def test_show_without_a_table_shows_files(desk: Desk, call: Call) -> None:
    desk.fill(spec=FILES_ONLY)
    ended = call("hierarchy", "show", "spec.yaml")
    assert ended.code == 0 and ended.err == "not shown without a table: age\n"
    assert ended.out.decode().splitlines()[-1].split() == ["2", "1", "-", "0.1667"]
    assert call("hierarchy", "show", "spec.yaml", "job").err == ""
    desk.fill(spec=FILES_ONLY.replace("privacy", "  zip: {hierarchy: {mask: right}}\nprivacy"))
    ended = call("hierarchy", "show", "spec.yaml")
    assert ended.code == 0 and ended.err == "not shown without a table: age, zip\n"


@pytest.mark.parametrize(
    ("spec", "arguments", "told"),
    [
        (FILES_ONLY, ["age"], "takes a table"),
        (FILES_ONLY + "weights: correlation\n", ["job"], "weights: correlation takes a table"),
        (FILES_ONLY, ["jobs"], "which has age, job"),
        (RULED.replace("keep_apart: [Office,", "keep_apart: [Ofice,"), [], "spec.yaml:7:"),
        (RULED.replace("[Office, CANARY cook]", "[Office, CANARY clerk]"), [], "one lies within the other"),
    ],
)
def test_show_refuses(desk: Desk, call: Call, spec: str, arguments: list[str], told: str) -> None:
    desk.fill(spec=spec)
    ended = call("hierarchy", "show", "spec.yaml", *arguments)
    assert ended.code == 2 and told in ended.err
    assert ended.out == b""


def test_rules_about_values_that_do_not_occur_have_no_effect(desk: Desk, call: Call) -> None:
    spec = RULED.replace("[8675309, 8675310]", "[1, 2]").replace("[zip", "zip")
    spec = spec.replace("  zip: {hierarchy: {mask: right}}", "  zip: {rules: [{keep_apart: [a, b]}]}")
    desk.fill(spec=spec)
    out = call("hierarchy", "show", "spec.yaml").out.decode()
    assert "the rule 1 | 2 (1) has no effect: it names a value that is neither a leaf" in " ".join(out.split())
    report = desk.folder / "r.json"
    assert call("mondrian", "spec.yaml", "-o", "out.csv", "-r", "r.json").code == 0
    idle = [text for text in json.loads(report.read_text())["warnings"] if "has no effect: it names" in text]
    assert [text.partition(" has")[0] for text in idle] == [
        "rule 1 of quasi-identifier 'age'",
        "rule 1 of quasi-identifier 'zip'",
    ]


# --- check ----------------------------------------------------------------------------------------------------------


def test_check_reads_every_file(desk: Desk, call: Call) -> None:
    (desk.folder / "tree.yaml").write_text('"*":\n  A: [a, b]\n  c:\n', encoding="utf-8")
    ended = call("hierarchy", "check", "jobs.csv", "tree.yaml")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.decode() == "jobs.csv: 3 leaves, 3 levels\ntree.yaml: 3 leaves, 3 levels\n"
    assert call("hierarchy", "check", "jobs.csv", "-q").out == b""


def test_check_tells_the_problems_of_all_files(desk: Desk, call: Call) -> None:
    (desk.folder / "twice.csv").write_text(JOBS + "CANARY cook;Kitchen;*\nCANARY chef\n", encoding="utf-8")
    ended = call("hierarchy", "check", "none.csv", "twice.csv", "jobs.csv")
    assert ended.code == 2
    assert ended.out == b"jobs.csv: 3 leaves, 3 levels\n"
    assert [line.split(": ")[1] for line in ended.err.splitlines()] == ["none.csv", "twice.csv:4", "twice.csv:5"]
    assert call("hierarchy", "check").code == 2


# --- make -----------------------------------------------------------------------------------------------------------


def test_make_writes_what_a_builder_makes(desk: Desk, call: Call) -> None:
    ended = call("hierarchy", "make", "spec.yaml", "zip", "-i", "table.csv", "-o", "zips.csv")
    assert (ended.code, ended.out, ended.err) == (0, b"", "")
    lines = (desk.folder / "zips.csv").read_text().splitlines()
    assert len(lines) == 5 and lines[0] == "09990;0999*;099**;09***;0****;*"
    desk.fill(spec=SPEC.replace("{mask: right}", "zips.csv"))
    assert call("mondrian", "spec.yaml", "-o", "a.csv").code == 0
    desk.fill(spec=SPEC)
    assert call("mondrian", "spec.yaml", "-o", "b.csv").code == 0
    assert (desk.folder / "a.csv").read_bytes() == (desk.folder / "b.csv").read_bytes()


def test_make_writes_numbers_to_standard_output(desk: Desk, call: Call) -> None:
    desk.fill(spec=RULED)
    out = call("hierarchy", "make", "spec.yaml", "age").out.decode()
    assert out.splitlines()[0] == "8675300;[8675300-8675309];[8675300-8675399];*"
    assert call("hierarchy", "make", "spec.yaml", "job").out.decode() == JOBS


def test_make_refuses(desk: Desk, call: Call) -> None:
    before = desk.files()
    assert call("hierarchy", "make", "spec.yaml", "diagnosis").code == 2
    assert call("hierarchy", "make", "spec.yaml", "zip", "-o", "jobs.csv").code == 2
    assert call("hierarchy", "make", "spec.yaml", "zip", "-i", "none.csv").code == 3
    assert desk.files() == before
    assert call("hierarchy", "make", "spec.yaml", "zip", "-o", "jobs.csv", "--force").code == 0


WEIGHTED = (
    '{label: "*", children: [{label: Office, weight: 1.25, children: [CANARY clerk, CANARY chief]}, CANARY cook]}'
)


def test_weights_of_nodes_are_not_broken(desk: Desk, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.folder / "jobs.yaml").write_text(WEIGHTED, encoding="utf-8")
    desk.fill(spec=SPEC.replace("jobs.csv", "jobs.yaml"))
    monkeypatch.setenv("COLUMNS", "56")
    lines = call("hierarchy", "show", "spec.yaml", "job").out.decode().splitlines()
    assert any("weights" in line for line in lines[1:]) and any("1 to 1.25" in line for line in lines)


def test_weights_of_nodes_are_shown_kept_and_refused(desk: Desk, call: Call) -> None:
    (desk.folder / "jobs.yaml").write_text(WEIGHTED, encoding="utf-8")
    desk.fill(spec=SPEC.replace("jobs.csv", "jobs.yaml"))
    lines = call("hierarchy", "show", "spec.yaml", "job").out.decode().splitlines()
    assert [line.split()[-1] for line in lines[2:]] == ["1", "1.25", "1"] and "1 to 1.25" in lines[3]
    (shown,) = json.loads(call("hierarchy", "show", "spec.yaml", "job", "--json").out)["attributes"]
    assert [level["node_weights"] for level in shown["levels"]] == [[1, 1], [1, 1.25], [1, 1]]
    assert call("hierarchy", "make", "spec.yaml", "job").code == 2
    assert call("hierarchy", "make", "spec.yaml", "job", "-o", "again.yaml").code == 0
    desk.fill(spec=SPEC.replace("jobs.csv", "again.yaml"))
    assert call("hierarchy", "show", "spec.yaml", "job").out.decode().splitlines()[2:] == lines[2:]
    (desk.folder / "again.yaml").write_text(WEIGHTED.replace('"*"', '"*", weight: 2'), encoding="utf-8")
    ended = call("mondrian", "spec.yaml", "-o", "out.csv")
    assert ended.code == 2 and "again.yaml:1: hierarchy of 'job': the root has a weight" in ended.err
    assert not CELLS.search(ended.err)


def test_numbers_have_no_weights_of_nodes(desk: Desk, call: Call) -> None:
    ages = ", ".join(str(8675300 + number) for number in range(37))
    tree = f'{{label: "*", children: [{{label: some, weight: 2, children: [{ages}]}}]}}'
    (desk.folder / "ages.yaml").write_text(tree, encoding="utf-8")
    desk.fill(spec=SPEC.replace("{type: numeric}", "{type: numeric, hierarchy: ages.yaml}"))
    ended = call("mondrian", "spec.yaml", "-o", "out.csv")
    assert ended.code == 2 and "ages.yaml: hierarchy of 'age': weights of nodes are for categories" in ended.err


def test_no_cell_but_where_it_was_asked_for(desk: Desk, call: Call) -> None:
    desk.fill(spec=SPEC)
    assert not CELLS.search(call("hierarchy", "show", "spec.yaml").out.decode())


@given(seeds.map(random_taxonomy))
def test_a_hierarchy_written_is_read_as_the_same(made: Taxonomy) -> None:
    for suffix, write in (("csv", as_csv), ("yaml", as_yaml)):
        read = read_back(made, suffix, write)
        assert read.labels == made.labels and read.missing == made.missing
        assert read.levels.tolist() == made.levels.tolist()
    assert read.weights.tolist() == made.weights.tolist()


def read_back(
    made: Taxonomy, suffix: str = "csv", write: Callable[[Taxonomy], str] = as_csv, *, normalize: bool = True
) -> Taxonomy:
    missing = None if made.missing is None else made.labels[made.missing]
    if made.size == 1 and missing is not None:  # no leaf but the missing one: not a file
        return made
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"tree.{suffix}"
        path.write_text(write(made), encoding="utf-8", newline="")
        return Taxonomy.of(made.name, files.read(path, normalize=normalize), missing)


def test_odd_labels_are_quoted() -> None:
    made = Taxonomy.of("c", Tree.from_paths([('a "b"; c', "x\ny", "*"), ("", "*"), ("*", "*")]))
    normalized = [" ".join(label.split()) for label in made.labels]
    assert normalized != made.labels
    for suffix, write in (("csv", as_csv), ("yaml", as_yaml)):
        assert read_back(made, suffix, write, normalize=False).labels == made.labels
        assert read_back(made, suffix, write).labels == normalized
    assert as_csv(taxonomy("a *")) == "a;*\n"


def test_tables_are_apart_and_begin_at_the_margin(desk: Desk, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """However narrow the terminal is, a heading of figures is not broken."""
    desk.fill(spec=RULED)
    monkeypatch.setenv("COLUMNS", "45")
    lines = [line.rstrip() for line in call("hierarchy", "show", "spec.yaml").out.decode().splitlines()]
    titles = [number for number, line in enumerate(lines) if "weight" in line]
    assert titles[0] == 0 and [lines[number - 1] for number in titles[1:]] == ["", ""]
    heading = "level  values  occurring  research value"
    assert all(any(line.startswith(heading) for line in lines[number + 1 : number + 3]) for number in titles)


def test_names_in_json_are_as_they_are(desk: Desk, call: Call) -> None:
    desk.fill(spec="version: 1\nquasi_identifiers: {größe: {hierarchy: jobs.csv}}\nprivacy: {k: 2}\n")
    lines = call("hierarchy", "show", "spec.yaml", "--json").out.decode().splitlines()
    assert lines[1] == '  "attributes": [' and any("größe" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["diagnosis", "-i", "none.csv"], "'diagnosis' is not a quasi-identifier"),
        (["zone", "-i", "table.csv"], "'zone' is not a quasi-identifier"),
    ],
)
def test_make_refuses_what_the_spec_or_the_table_does_not_have(
    desk: Desk, call: Call, arguments: list[str], told: str
) -> None:
    desk.fill(spec=SPEC.replace("  zip:", "  'z*':"))
    ended = call("hierarchy", "make", "spec.yaml", *arguments)
    assert (ended.code, ended.out) == (2, b"") and told in ended.err
