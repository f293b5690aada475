"""`audit` as a gate: forms, what is required, what it is compared with."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as XML

import polars as pl
import pytest

from anonymize.errors import Caution
from anonymize.formats import AUTO, FORMATS, Checked, Finding, chosen
from tests.cli.conftest import CELLS, SPEC, Call, Desk, Ended

RELEASED = "age,zip,job,diagnosis,ward\n" + "".join(
    f"[1-2],{zip},*,{diagnosis},w\n" for zip in ("1*", "2*") for diagnosis in ("flu", "cold", "flu", "cough")
)
GATE = SPEC.replace("[name]", "[]").replace("k: 3", "k: 4").replace("l: 2", "l: 3")


@pytest.fixture
def released(desk: Desk) -> Path:
    """A table that meets the spec of `gate.yaml`."""
    (desk.folder / "gate.yaml").write_text(GATE)
    path = desk.folder / "released.csv"
    path.write_text(RELEASED)
    return path


def gate(call: Call, *more: object) -> Ended:
    return call("audit", "gate.yaml", "-i", "released.csv", *more)


def strict(desk: Desk) -> None:
    """Makes the gate ask for more than the table has."""
    (desk.folder / "gate.yaml").write_text(GATE.replace("k: 4", "k: 5"))


# --- forms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("code", [0, 1])
def test_every_form_has_the_same_outcome(desk: Desk, released: Path, call: Call, form: str, code: int) -> None:
    if code:
        strict(desk)
    ended = gate(call, "--format", form)
    assert ended.code == code
    assert (ended.out.endswith(b"\n") and b"k-anonymity" in ended.out) or (form, code) in {("github", 0), ("sarif", 0)}
    assert ("k-anonymity (k=5) is not met" in ended.err) == bool(code)


@pytest.mark.parametrize("form", FORMATS)
def test_no_form_shows_a_cell(call: Call, form: str) -> None:
    ended = call("audit", "spec.yaml", "--format", form)
    assert ended.code == 1 and ended.out and not CELLS.search(ended.out.decode())


def test_github_annotates_the_line_that_is_not_met(desk: Desk, released: Path, call: Call) -> None:
    strict(desk)
    out = gate(call, "--format", "github").out.decode()
    assert out == (
        "::error file=gate.yaml,line=12,title=k-anonymity (k=5)::"
        "k-anonymity (k=5) is not met: k=4; 8 rows in 2 classes fail\n"
    )


def test_github_says_that_all_is_well(released: Path, call: Call) -> None:
    out = gate(call, "--format", "github").out
    assert out == b"::notice title=anonymize audit::released.csv: every requirement is met\n"


def checked(*findings: Finding, state: str = "unmet") -> Checked:
    tool = {"name": "anonymize", "version": "1"}
    return Checked({"tool": tool, "input": {"path": "a table.csv"}, "privacy": {"state": state}}, findings)


def rendered(form: str, *findings: Finding) -> str:
    out = io.StringIO()
    FORMATS[form](checked(*findings), out, "never")
    return out.getvalue()


def test_github_escapes_what_would_end_a_command() -> None:
    finding = Finding("r", "50%, a:b", "100%\r\nof: a, b", "error", "a,b:c%.yaml", 3)
    assert rendered("github", finding) == (
        "::error file=a%2Cb%3Ac%25.yaml,line=3,title=50%25%2C a%3Ab::100%25%0D%0Aof: a, b\n"
    )


def test_sarif_has_the_essential_structure(desk: Desk, released: Path, call: Call) -> None:
    strict(desk)
    log = json.loads(gate(call, "--format", "sarif", "--require", "entropy-l-diversity l=9").out)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "anonymize" and driver["version"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids) and all(rule["shortDescription"]["text"] for rule in driver["rules"])
    assert [result["ruleId"] for result in run["results"]] == ["k-anonymity", "entropy-l-diversity"]
    for result in run["results"]:
        assert result["level"] == "error" and result["message"]["text"]
        assert ids[result["ruleIndex"]] == result["ruleId"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert places[0] == {"artifactLocation": {"uri": "gate.yaml"}, "region": {"startLine": 12}}
    assert places[1] == {"artifactLocation": {"uri": "released.csv"}}


def test_sarif_of_a_table_that_is_safe_has_no_results(released: Path, call: Call) -> None:
    assert json.loads(gate(call, "--format", "sarif").out)["runs"][0]["results"] == []


def test_sarif_names_files_as_references(tmp_path: Path) -> None:
    absolute = tmp_path / "s p.yaml"
    findings = [Finding("r", "t", "m", "error", "a b/c.yaml", 1), Finding("r", "t", "m", "error", str(absolute), 1)]
    results = json.loads(rendered("sarif", *findings))["runs"][0]["results"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert uris == ["a%20b/c.yaml", absolute.as_uri()]


def test_junit_has_a_case_for_each_requirement(desk: Desk, released: Path, call: Call) -> None:
    strict(desk)
    suites = XML.fromstring(gate(call, "--format", "junit").out)
    (suite,) = suites
    assert (suite.tag, suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("testsuite", "2", "1", "0")
    size, values = suite
    failure = size.find("failure")
    assert failure is not None and size.get("name") == "k-anonymity (k=5)"
    assert str(failure.text).endswith(" (gate.yaml, line 12)")
    assert failure.get("type") == "k-anonymity" and "is not met" in str(failure.get("message"))
    assert values.get("name") == "distinct-l-diversity (l=3) of diagnosis" and values.find("failure") is None


def test_junit_can_hold_any_name() -> None:
    (case,) = XML.fromstring(rendered("junit", Finding("r", 'a<b>&"\x00\x1f', "\ud800", "error")))[0]
    assert case.get("name") == 'a<b>&"\ufffd\ufffd'


def test_markdown_begins_with_what_is_not_met(desk: Desk, released: Path, call: Call) -> None:
    strict(desk)
    lines = gate(call, "--format", "markdown").out.decode().splitlines()
    assert lines[0].startswith("# ") and lines[2] == "## Not met"
    assert lines[4].startswith("- k-anonymity (k=5) is not met") and lines[4].endswith("(`gate.yaml`, line 12)")
    assert "| k-anonymity |  | k = 5 | k = 4 | NO |" in lines


@pytest.mark.parametrize(
    ("environment", "form"),
    [
        ({}, "text"),
        ({"GITHUB_ACTIONS": "true"}, "github"),
        ({"GITHUB_ACTIONS": ""}, "text"),
        ({"GITLAB_CI": "true"}, "text"),
    ],
    ids=["terminal", "github", "empty", "gitlab"],
)
def test_auto_is_chosen_by_the_environment(
    released: Path, call: Call, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], form: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert chosen(AUTO, environment) == form
    assert gate(call).out == gate(call, "--format", form).out
    if form != "text":  # which is what nobody asked for
        assert gate(call, "--json").out == gate(call, "--format", "json").out
        assert gate(call, "-q").out == b""


def test_no_form_is_hushed_that_was_asked_for(released: Path, call: Call) -> None:
    assert gate(call, "-q", "--format", "github").out and not gate(call, "-q", "--format", "text").out


@pytest.mark.parametrize(("form", "code"), [("text", 0), ("json", 74)])
def test_where_standard_output_is_closed_a_verdict_for_people_goes_without_it(
    released: Path, call: Call, monkeypatch: pytest.MonkeyPatch, form: str, code: int
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", None)
        ended = gate(call, "--format", form)
    assert ended.code == code and ("<stdout>: cannot be written" in ended.err) == (code == 74)


def test_texts_that_mean_missing_are_named_one_by_one(desk: Desk, call: Call) -> None:
    (desk.folder / "t.csv").write_text("q,s\na,x\na,so\na,la\na,y\n")
    columns = ("audit", "-i", "t.csv", "--qi", "q", "--sensitive", "s", "-l", 3)
    codes = [call(*columns, *more).code for more in ((), ("--missing", "so"), ("--missing", "so", "--missing", "la"))]
    assert codes == [0, 0, 1]


# --- what is required ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["frequency-l-diversity l=2"], 0),
        (["frequency-l-diversity l=2.1"], 1),
        (["frequency-l-diversity l=2", "distinct-l-diversity l=4 attribute=diagnosis"], 1),
        (["recursive-cl-diversity c=2 l=2"], 0),
        (["recursive-cl-diversity c=1 l=2"], 1),
    ],
)
def test_require_with_a_spec_and_without(released: Path, call: Call, texts: list[str], code: int) -> None:
    asked = [word for text in texts for word in ("--require", text)]
    assert gate(call, *asked).code == code
    columns = ("--qi", "age,zip,job", "--sensitive", "diagnosis")
    assert call("audit", "-i", "released.csv", *columns, *asked).code == code


def test_a_name_with_a_space_can_be_quoted(desk: Desk, call: Call) -> None:
    (desk.folder / "t.csv").write_text("q,the state\na,x\na,y\n")
    columns = ("--qi", "q", "--sensitive", "the state")
    assert (
        call("audit", "-i", "t.csv", *columns, "--require", "distinct-l-diversity l=2 attribute='the state'").code == 0
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("k-anonimity k=3", "did you mean"),
        ("k-anonymity", "k"),
        ("k-anonymity k=three", "k"),
        ("k-anonymity k=0", "k"),
        ("k-anonymity 3", "expected MODEL"),
        ("k-anonymity k=", "expected MODEL"),
        ("k-anonymity 'k=3", "expected MODEL"),
        ("k-anonymity k=[", "expected MODEL"),
        ("", "expected MODEL"),
        ("distinct-l-diversity l=2 attribute=ward", "ward"),
        ("distinct-l-diversity l=2 m=3", "m"),
        ("k-anonymity k=2 k=3", "a parameter is given twice"),
    ],
)
def test_what_makes_no_sense_is_refused(released: Path, call: Call, text: str, told: str) -> None:
    ended = gate(call, "--require", text)
    assert ended.code == 2 and "--require" in ended.err and told in ended.err and not ended.out


@pytest.mark.parametrize("number", ["1e-3", "1E-3", "1.0e-3", ".001", "0.1e-2"])
def test_a_number_is_read_as_a_spec_reads_it(desk: Desk, call: Call, number: str) -> None:
    """Also in a list of values, and where a value is a name: `no` and `007` are what is written."""
    (desk.folder / "t.csv").write_text("q,no,s\na,x,007\na,x,8\nb,y,007\nb,y,8\n")
    columns = ("audit", "-i", "t.csv", "--qi", "q", "--sensitive", "s", "--sensitive", "no", "--json")
    texts = [f"t-closeness t={number} attribute=s", "distinct-l-diversity l=1 attribute=no"]
    texts += ["frequency-l-diversity l=2 attribute=s 'values=[007]'", f"passing uniques={number}"]
    ended = call(*columns, *(word for text in texts for word in ("--require", text)))
    models = json.loads(ended.out)["privacy"]["models"]
    assert ended.code == 0 and models[0]["required"]["t"] == 0.001
    assert [model["attribute"] for model in models] == ["s", "no", "s"]


def test_a_t_needs_a_model_that_has_one(desk: Desk, call: Call, released: Path) -> None:
    (desk.folder / "t.csv").write_text("q,s\na,x\na,y\n")
    columns = ("audit", "-i", "t.csv", "--qi", "q", "--sensitive", "s", "-t", 0.25)
    for ended in (call(*columns), gate(call, "-t", 0.25)):
        assert ended.code == 2 and '--require "t-closeness t=0.25"' in ended.err and "unknown key" not in ended.err
    assert '"t": 0.25' in call(*columns, "--require", "t-closeness t=1", "--json").out.decode()


def test_a_column_with_a_comma_is_named_in_quotes(desk: Desk, call: Call) -> None:
    (desk.folder / "t.csv").write_text('"leaf, length (cm)",stem = "x",s\n1,2,x\n1,2,y\n')
    ended = call("audit", "-i", "t.csv", "--qi", '"leaf, length (cm)",stem = "x"', "--sensitive", "s", "-k", 2)
    assert ended.code == 0
    ended = call("audit", "-i", "t.csv", "--qi", "leaf, length (cm)", "--sensitive", "s", "-k", 2)
    assert ended.code == 3 and "has no column leaf" in ended.err


@pytest.mark.parametrize("threshold", ["0", "1.5", "-1", "nan"])
def test_a_threshold_that_is_no_probability(released: Path, call: Call, threshold: str) -> None:
    ended = gate(call, "--threshold", threshold)
    assert (ended.code, ended.out) == (2, b"") and "--threshold: must be above 0 and at most 1" in ended.err


def test_numbers_of_a_column_that_is_not_measured(released: Path, call: Call) -> None:
    ended = call("audit", "-i", "released.csv", "--qi", "age", "--sensitive", "diagnosis", "--numeric", "age")
    assert ended.code == 2 and "--numeric: age is not a sensitive attribute" in ended.err


def test_standard_input_is_one_table(released: Path, call: Call) -> None:
    ended = gate(call, "-i", "-", "--previous", "-")
    assert ended.code == 2 and "cannot both come from standard input" in ended.err


# --- an earlier report -----------------------------------------------------------------------------------------------


def baseline(call: Call, desk: Desk, *more: object) -> None:
    (desk.folder / "baseline.json").write_bytes(gate(call, "--json", *more).out)


def risky(figure: str) -> str:
    """A report of risks that are not numbers."""
    names = ("prosecutor_max", "prosecutor_mean", "journalist_max", "marketer", "records_at_risk", "uniques")
    figures = ", ".join(f'"{name}": {figure}' for name in names)
    return f'{{"privacy": {{"models": []}}, "risk": {{"threshold": 0.2, {figures}}}}}'


def test_nothing_is_worse_than_itself(desk: Desk, released: Path, call: Call) -> None:
    baseline(call, desk)
    ended = gate(call, "--baseline", "baseline.json", "--no-regress", "--json")
    assert ended.code == 0 and json.loads(ended.out)["baseline"] == {"path": "baseline.json", "changes": []}


def test_what_is_worse_is_named(desk: Desk, released: Path, call: Call) -> None:
    baseline(call, desk)
    rows = RELEASED.splitlines()
    released.write_text("\n".join([*rows, "[1-2],3*,*,flu,w", "[1-2],3*,*,cold,w"]) + "\n")
    (desk.folder / "gate.yaml").write_text(GATE.replace("k: 4", "k: 2").replace("l: 3", "l: 2"))
    compared = ("--baseline", "baseline.json")
    assert gate(call, *compared).code == 0
    ended = gate(call, *compared, "--no-regress")
    assert ended.code == 1
    for told in (
        "k-anonymity k is 2, and was 4",
        "distinct-l-diversity l of diagnosis is 2, and was 3",
        "risk prosecutor_max is 0.5, and was 0.25",
        "risk records_at_risk (threshold=0.2) is 1, and was 1",
    ):
        assert (told in ended.err) == ("and was 1" not in told)
    changes = json.loads(gate(call, *compared, "--json").out)["baseline"]["changes"]
    assert {"figure": "k-anonymity k", "was": 4, "now": 2, "worse": True} in changes
    for more, level in (((), "warning"), (("--no-regress",), "error")):
        (run,) = json.loads(gate(call, *compared, *more, "--format", "sarif").out)["runs"]
        levels = {each["level"] for each in run["results"] if each["ruleId"] == "regression"}
        assert levels == {level}


def test_what_is_better_passes(desk: Desk, released: Path, call: Call) -> None:
    baseline(call, desk)
    released.write_text(RELEASED.replace("2*", "1*"))
    ended = gate(call, "--baseline", "baseline.json", "--no-regress", "--json")
    assert ended.code == 0
    changes = json.loads(ended.out)["baseline"]["changes"]
    assert {"figure": "k-anonymity k", "was": 4, "now": 8, "worse": False} in changes
    assert not any(change["worse"] for change in changes)


def test_the_report_of_a_release_is_a_baseline(desk: Desk, call: Call) -> None:
    assert call("mondrian", "spec.yaml", "-o", "out.csv", "-r", "r.json").code == 0
    compared = ("--baseline", "r.json", "--no-regress")
    assert call("audit", "spec.yaml", "-i", "out.csv", *compared).code == 0
    (desk.folder / "loose.yaml").write_text(SPEC.replace("k: 3", "k: 2"))
    assert call("mondrian", "loose.yaml", "-o", "loose.csv").code == 0
    assert call("audit", "loose.yaml", "-i", "loose.csv", *compared).code == 1


def test_a_figure_that_is_not_measured_any_more_is_no_pass(desk: Desk, released: Path, call: Call) -> None:
    baseline(call, desk, "--require", "entropy-l-diversity l=1")
    ended = gate(call, "--baseline", "baseline.json", "--no-regress")
    assert ended.code == 2 and "entropy-l-diversity l of diagnosis is in the baseline" in ended.err
    assert gate(call, "--baseline", "baseline.json", "--require", "entropy-l-diversity l=1").code == 0


@pytest.mark.parametrize(
    "content",
    [None, "", "[]", "{}", '{"privacy": {"models": 3}, "risk": {}}', "\x00", *map(risky, ('"a"', "true", "NaN"))],
)
def test_what_is_no_report_is_no_baseline(desk: Desk, released: Path, call: Call, content: str | None) -> None:
    if content is not None:
        (desk.folder / "baseline.json").write_text(content)
    ended = gate(call, "--baseline", "baseline.json")
    assert ended.code == 2 and "baseline.json" in ended.err


def test_no_regress_needs_a_baseline(released: Path, call: Call) -> None:
    assert gate(call, "--no-regress").code == 2


def test_nothing_required_but_that_nothing_is_worse(desk: Desk, released: Path, call: Call) -> None:
    columns = ("-i", "released.csv", "--qi", "age,zip,job")
    (desk.folder / "baseline.json").write_bytes(call("audit", *columns, "--json").out)
    compared = ("--baseline", "baseline.json", "--no-regress", "--json")
    assert json.loads(call("audit", *columns, *compared).out)["privacy"]["satisfied"] is True
    released.write_text(RELEASED.replace("1*", "3*", 1))
    ended = call("audit", *columns, *compared)
    assert ended.code == 1 and json.loads(ended.out)["privacy"]["satisfied"] is False


def test_only_what_was_required_is_met(desk: Desk, call: Call, released: Path) -> None:
    columns = ("-i", released.name, "--qi", "age,zip,job", "--format", "junit")
    assert "k-anonymity (k=4) is met: k=4" in call("audit", *columns, "-k", 4).out.decode()
    measured = call("audit", *columns).out.decode()
    assert "k-anonymity: k=4" in measured and "is met" not in measured


# --- an earlier release ----------------------------------------------------------------------------------------------


def written(desk: Desk, name: str, *rows: str) -> None:
    (desk.folder / name).write_text("q,s\n" + "".join(row + "\n" for row in rows))


def together(call: Call, *more: object) -> Any:
    ended = call("audit", "-i", "now.csv", "--qi", "q", "--sensitive", "s", "--previous", "old.csv", "--json", *more)
    return ended.code, json.loads(ended.out)


def test_two_safe_releases_that_are_not_safe_together(desk: Desk, call: Call) -> None:
    """Classes {1, 2, 3} {4, 5, 6} and {1, 2} {3, 4} {5, 6}: row 3 is alone, and so is row 4."""
    written(desk, "now.csv", "a,x", "a,y", "a,z", "b,x", "b,y", "b,z")
    written(desk, "old.csv", "c,x", "c,y", "d,z", "d,x", "e,y", "e,z")
    assert call("audit", "-i", "now.csv", "--qi", "q", "--sensitive", "s", "-k", 2, "-l", 2).code == 0
    assert call("audit", "-i", "old.csv", "--qi", "q", "--sensitive", "s", "-k", 2, "-l", 2).code == 0
    code, report = together(call, "-k", 2, "-l", 2, "--by-position")
    found = report["previous"]
    assert code == 1 and report["privacy"]["satisfied"] is False
    assert (found["joined_by"], found["smallest"], found["rows_at_risk"]) == ("position", 1, 2)
    assert [(each["achieved"], each["failing_rows"]) for each in found["models"]] == [({"k": 1}, 2), ({"l": 1}, 2)]
    assert all(each["satisfied"] for each in report["privacy"]["models"])


def test_the_same_release_twice_gives_away_nothing_more(desk: Desk, call: Call) -> None:
    written(desk, "now.csv", "a,x", "a,y", ",x", ",z")
    written(desk, "old.csv", "a,x", "a,y", ",x", ",z")
    code, report = together(call, "-k", 2, "--by-position")
    assert code == 0 and report["previous"]["smallest"] == 2 and report["previous"]["rows_at_risk"] == 0


def test_a_distance_that_needs_a_hierarchy_is_measured_on_both_together(desk: Desk, call: Call) -> None:
    (desk.folder / "h.csv").write_text("x;upper;*\ny;upper;*\nz;lower;*\n")
    (desk.folder / "s.yaml").write_text(
        "version: 1\nquasi_identifiers: [q]\nsensitive: {s: {hierarchy: h.csv}}\n"
        "privacy: {models: [{model: t-closeness, t: 0.4, distance: hierarchical}]}\n"
        "output: {row_order: keep}\n"
    )
    written(desk, "now.csv", "a,x", "a,z", "b,x", "b,z")
    written(desk, "old.csv", "a,x", "b,z", "a,x", "b,z")
    assert call("audit", "s.yaml", "-i", "now.csv").code == 0
    ended = call("audit", "s.yaml", "-i", "now.csv", "--previous", "old.csv", "--by-position")
    assert ended.code == 1 and "t-closeness" in ended.err


def test_nothing_required_of_two_releases(desk: Desk, call: Call) -> None:
    written(desk, "now.csv", "a,x", "a,y")
    written(desk, "old.csv", "c,x", "d,y")
    for matched in ((), ("--by-position",)):
        code, report = together(call, *matched)
        assert code == 0 and report["privacy"]["satisfied"] is None
        assert (report["previous"]["smallest"], report["previous"]["rows_at_risk"]) == (1, None)
        assert matched or report["previous"]["models"] == []


def test_without_positions_there_are_bounds_that_do_not_clear(desk: Desk, call: Call) -> None:
    """Class a (x, y, z) and class a of the other (x, w, w) share one x; b is in the new one alone; * fits anything:
    it shares one y with a, and with b nothing."""
    written(desk, "now.csv", "a,x", "a,y", "a,z", "b,u", "b,v")
    written(desk, "old.csv", "a,x", "a,w", "a,w", "*,y")
    code, report = together(call, "-k", 2)
    assert code == 1 and report["privacy"]["satisfied"] is None
    found = report["previous"]
    assert (found["joined_by"], found["pairs"], found["smallest"], found["rows_at_risk"]) == ("classes", 2, 1, 3)
    assert found["certain"] == 0
    (unknown,) = report["privacy"]["unknown"]
    assert unknown.endswith(", together with the previous release")
    assert [Caution(each).text for each in report["warnings"]] == [
        "together with the previous release, up to 3 rows may be in fewer than k: of two classes that may be about one "
        "individual at most 1 rows are in both, and at least 0"
    ]


def test_shuffled_releases_are_not_matched_by_position(desk: Desk, call: Call) -> None:
    (desk.folder / "s.yaml").write_text(
        "version: 1\nquasi_identifiers: {q: {type: numeric}}\nsensitive: {s: {}}\nprivacy: {k: 2}\n"
        "output: {row_order: shuffle}\n"
    )
    written(desk, "now.csv", "[1-5],x", "[1-5],y", "[6-9],x", "[6-9],y")
    written(desk, "old.csv", "[4-7],y", "[4-7],y", "8,x", "8,x")
    found = json.loads(call("audit", "s.yaml", "-i", "now.csv", "--previous", "old.csv", "--json").out)["previous"]
    # [4-7] overlaps both and shares one y with each; 8 is in [6-9] alone and shares one x.
    assert (found["joined_by"], found["pairs"], found["smallest"], found["rows_at_risk"]) == ("classes", 3, 1, 4)


def pairs_of(desk: Desk, call: Call, spec: str, now: str, old: str) -> int:
    """How many pairs of classes may be about one individual, of two releases of one column (cells apart by spaces)."""
    spec = f"version: 1\nprivacy: {{k: 2}}\n{spec}\n"
    (desk.folder / "s.yaml").write_text(spec if "output:" in spec else spec + "output: {row_order: shuffle}\n")
    for name, cells in (("now.csv", now), ("old.csv", old)):
        rows = [cell.replace("/", ",") for cell in cells.split()]
        header = ("q", "q_low,q_high", "q,q_low,q_high")[cells.split()[0].count("/")]
        (desk.folder / name).write_text("\n".join([header, *rows]) + "\n")
    ended = call("audit", "s.yaml", "-i", "now.csv", "--previous", "old.csv", "--json")
    return int(json.loads(ended.out)["previous"]["pairs"])


@pytest.mark.parametrize(
    ("now", "old", "pairs"),
    [
        ("*", "[1-5] [7-9] 6 x", 4),  # suppressed may be any number
        ("[1-5] [7-9] 6 x", "*", 4),
        ("*", "*", 1),
        ("x", "y 3", 2),  # so may what is not known
        ("?", "[1-5]", 1),  # and what is missing, even if it reads like a number
        ("-99", "[1-5]", 1),
        ("[1-5]", "5 6", 1),
        ("[1-5]", "0 1", 1),
        ("[.5-.9]", ".7 .4 [0.9-2] [-1-.5] 3", 3),  # numbers without a digit before the point
        ("[5.-9.]", "+7 1e1", 1),
        ("[9-5]", "[9-5] 7", 1),  # the wrong way round, but the same text
        ("1/5 6/9", "4/7", 2),
        ("*/*", "4/7 1/2", 2),
        ("1/5", "6/9 5/5", 1),
        ("*/1/5", "*/6/9 */4/6", 1),  # the two bounds say more than a column beside them
    ],
)
def test_numbers_of_two_releases(desk: Desk, call: Call, now: str, old: str, pairs: int) -> None:
    spec = "quasi_identifiers: {q: {type: numeric}}\ninput: {missing: ['?', '-99']}"
    assert pairs_of(desk, call, spec, now, old) == pairs


@pytest.mark.parametrize(
    ("definition", "output", "now", "old", "pairs"),
    [
        ("{}", "node", "a *", "a b", 3),
        ("{}", "node", "a b", "b *", 3),
        ("{}", "node", "a", "ab", 0),
        ("{hierarchy: {flat: true}}", "node", "a", "ab", 0),
        ("{}", "set", "{a|b}", "c {c|d}", 2),  # which values a set has is not looked at
        ("{}", "bounds", "0/1", "2/2 0/1", 2),  # leaves of one release are not those of another
        ("{hierarchy: {mask: right}}", "node", "02*", "021 031 03* * ***", 3),
        ("{hierarchy: {mask: right}}", "node", "021", "02*", 1),
        ("{hierarchy: {mask: right}}", "node", "02* 1*", "0213 0 12", 3),  # of different lengths
        ("{hierarchy: h.csv}", "node", "* unknown", "clerk cook", 4),
        ("{hierarchy: h.csv}", "node", "clerk cook", "* unknown", 4),
        ("{hierarchy: h.csv}", "node", "clerk office", "clerk cook chief", 3),
        ("{hierarchy: h.csv}", "node", "twice", "clerk cook", 2),  # a label in two places may be either
    ],
)
def test_categories_of_two_releases(
    desk: Desk, call: Call, definition: str, output: str, now: str, old: str, pairs: int
) -> None:
    (desk.folder / "h.csv").write_text("clerk;office;*\nchief;office;*\ncook;kitchen;*\na;twice;*\nc;d;*\ntwice;d;*\n")
    spec = f"quasi_identifiers: {{q: {definition}}}\noutput: {{row_order: shuffle, categorical: {output}}}"
    assert pairs_of(desk, call, spec, now, old) == pairs


def test_a_null_means_missing_where_the_empty_text_is_another_value(desk: Desk, call: Call) -> None:
    spec = "quasi_identifiers: {q: {}}\ninput: {missing: ['?']}"
    assert pairs_of(desk, call, spec, "a", "b ?") == 0
    pl.DataFrame({"q": [None, "b"]}).write_parquet(desk.folder / "now.parquet")
    ended = call("audit", "s.yaml", "-i", "now.parquet", "--previous", "old.csv", "--json")
    assert json.loads(ended.out)["previous"]["pairs"] == 2
    (desk.folder / "now.csv").write_text('q\n""\nb\n')
    ended = call("audit", "s.yaml", "-i", "now.csv", "--previous", "old.csv", "--json")
    assert json.loads(ended.out)["previous"]["pairs"] == 1


def test_too_many_pairs_of_classes_are_refused(desk: Desk, call: Call) -> None:
    for name in ("now.csv", "old.csv"):
        (desk.folder / name).write_text("q\n" + "\n".join(map(str, range(4500))) + "\n")
    (desk.folder / "s.yaml").write_text(
        "version: 1\nquasi_identifiers: {q: {}}\nprivacy: {k: 2}\noutput: {row_order: shuffle}\n"
    )
    ended = call("audit", "s.yaml", "-i", "now.csv", "--previous", "old.csv")
    assert ended.code == 2 and "4500 and 4500 classes are too many to compare" in ended.err


def test_intervals_that_are_half_open_do_not_have_their_upper_ends(desk: Desk, call: Call) -> None:
    (desk.folder / "s.yaml").write_text(
        "version: 1\nquasi_identifiers: {q: {type: numeric}}\nprivacy: {k: 2}\noutput: {row_order: shuffle}\n"
    )
    (desk.folder / "now.csv").write_text("q\n" + "[0.5-5)\n" * 3 + "[5-7.5)\n" * 2)
    # All three of the first class can be in both, or two of them alone, and then none of them is for certain.
    for rows, at_risk in ((3, 2), (2, 5)):
        (desk.folder / "old.csv").write_text("q\n" + "[4-5)\n" * rows + "[5-6]\n" * 1)
        found = json.loads(call("audit", "s.yaml", "-i", "now.csv", "--previous", "old.csv", "--json").out)["previous"]
        assert (found["pairs"], found["smallest"], found["rows_at_risk"]) == (2, 1, at_risk)


def test_labels_of_a_hierarchy_file_overlap_where_one_is_above_the_other(desk: Desk, call: Call) -> None:
    (desk.folder / "h.csv").write_text("clerk;office;*\nchief;office;*\ncook;kitchen;*\n")
    (desk.folder / "s.yaml").write_text(
        "version: 1\nquasi_identifiers: {q: {hierarchy: h.csv}}\nprivacy: {k: 2}\noutput: {row_order: shuffle}\n"
    )
    (desk.folder / "now.csv").write_text("q\n" + "office\n" * 3 + "kitchen\n" * 2)
    (desk.folder / "old.csv").write_text("q\n" + "chief\n" * 1 + "cook\n" * 2)
    found = json.loads(call("audit", "s.yaml", "-i", "now.csv", "--previous", "old.csv", "--json").out)["previous"]
    assert (found["pairs"], found["smallest"], found["rows_at_risk"]) == (2, 1, 3)


def test_an_earlier_release_that_lacks_a_column(desk: Desk, call: Call) -> None:
    written(desk, "now.csv", "a,x")
    (desk.folder / "old.csv").write_text("q\na\n")
    ended = call("audit", "-i", "now.csv", "--qi", "q", "--sensitive", "s", "--previous", "old.csv")
    assert ended.code == 3 and "old.csv: has no column s" in ended.err


@pytest.mark.parametrize("option", ["--link", "--previous", "-i"])
def test_a_report_never_takes_the_place_of_what_is_read(desk: Desk, call: Call, option: str) -> None:
    """A private link that is overwritten is lost, also where files that exist are to be replaced."""
    assert call("mondrian", "spec.yaml", "-o", "out.csv", "--save-link", "link.json").code == 0
    (desk.folder / "out.json").write_bytes((desk.folder / "link.json").read_bytes())
    before = (desk.folder / "out.json").read_bytes()
    command = ("audit", "spec.yaml", "-i", "out.csv", "--unit-from", "table.csv")
    ended = call(*command, option, "out.json", "-r", "./out.json", "--force")
    assert ended.code == 2 and "out.json: is read by this run" in ended.err
    assert (desk.folder / "out.json").read_bytes() == before


def test_nor_that_of_the_spec_or_of_what_it_names(desk: Desk, call: Call) -> None:
    named = {"version": 1, "input": {"path": "table.csv"}, "identifiers": ["name"]}
    named |= {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {"hierarchy": "jobs.md"}}}
    named |= {"insensitive": ["ward", "zip"], "sensitive": ["diagnosis"], "privacy": {"k": 2}}
    (desk.folder / "jobs.md").write_bytes((desk.folder / "jobs.csv").read_bytes())
    (desk.folder / "spec.json").write_text(json.dumps(named))
    for path in ("spec.json", "jobs.md"):
        ended = call("audit", "spec.json", "-r", path, "--force")
        assert ended.code == 2 and f"{path}: is read by this run" in ended.err


def test_the_input_of_the_spec_is_read_where_no_other_table_is_named(desk: Desk, call: Call) -> None:
    spec = "version: 1\ninput: {path: t.json}\nquasi_identifiers: [q]\nprivacy: {k: 2}\n"
    (desk.folder / "s.yaml").write_text(spec)
    for name in ("t.json", "other.csv"):
        (desk.folder / name).write_text("q\na\na\n")
    ended = call("audit", "s.yaml", "-r", "t.json", "--force")
    assert ended.code == 2 and "t.json: is read by this run" in ended.err
    assert call("audit", "s.yaml", "-i", "other.csv", "-r", "t.json", "--force").code == 0
    assert json.loads((desk.folder / "t.json").read_text())["privacy"]["satisfied"] is True


def test_the_table_that_has_the_unit_is_in_the_encoding_of_the_spec(desk: Desk, call: Call) -> None:
    (desk.folder / "s.yaml").write_text(
        "version: 1\ninput: {path: t.csv, encoding: latin-1}\nunit: who\nquasi_identifiers: [q]\nprivacy: {k: 2}\n"
        "output: {row_order: keep}\n"
    )
    (desk.folder / "t.csv").write_bytes("who,q\nä,ö\nü,ö\n".encode("latin-1"))
    (desk.folder / "out.csv").write_text("q\nö\nö\n")
    assert call("audit", "s.yaml", "-i", "out.csv", "--unit-from", "t.csv").code == 0


def test_a_table_that_is_not_utf_8_is_read_as_the_spec_reads_its_own(desk: Desk, call: Call) -> None:
    (desk.folder / "s.yaml").write_text(
        "version: 1\ninput: {path: t.csv, encoding: latin-1}\nquasi_identifiers: [q]\nprivacy: {k: 2}\n"
    )
    (desk.folder / "t.csv").write_bytes("q\nä\nä\n".encode("latin-1"))
    assert call("audit", "s.yaml").code == 0
    assert call("audit", "s.yaml", "-i", "t.csv").code == 0
    (desk.folder / "s.yaml").write_text("version: 1\ninput: {path: t.csv}\nquasi_identifiers: [q]\nprivacy: {k: 2}\n")
    assert call("audit", "s.yaml", "-i", "t.csv").code == 3
    assert call("audit", "s.yaml", "-i", "t.csv", "--encoding", "latin-1").code == 0


def test_bounds_beside_a_column_are_columns_of_their_own(desk: Desk, call: Call) -> None:
    """Without a spec nothing says that they are the column's; where it is there, it is what is meant."""
    (desk.folder / "table.csv").write_text("age,age_low,age_high\n4,1,2\n4,3,4\n4,5,6\n")
    report = json.loads(call("audit", "-i", "table.csv", "--qi", "age", "--json").out)
    assert report["classes"]["count"] == 1 and report["risk"]["passing"]["columns"] == ["age_low", "age_high"]


def test_what_is_required_is_said_to_the_last_digit(released: Path, call: Call) -> None:
    ended = gate(call, "-k", 12345678)
    assert ended.code == 1 and "k-anonymity (k=12345678) is not met" in ended.err
    met = gate(call, "--require", "entropy-l-diversity l=1.23456789", "--format", "junit")
    assert b"entropy-l-diversity (l=1.23456789)" in met.out


def test_an_empty_name_between_commas_is_no_column(released: Path, call: Call) -> None:
    ended = call("audit", "-i", "released.csv", "--qi", " age,,zip ,", "--qi", "job", "--json")
    assert ended.code == 0
    assert ended.out == call("audit", "-i", "released.csv", "--qi", "age,zip,job", "--json").out


@pytest.mark.parametrize(
    ("rest", "reason"), [("", "is named nowhere in the spec"), ("undecided: [ward]\n", "is undecided")]
)
def test_what_others_leaves_out_is_not_called_an_identifier(
    desk: Desk, released: Path, call: Call, rest: str, reason: str
) -> None:
    (desk.folder / "gate.yaml").write_text(GATE.replace("insensitive: [ward]\n", rest + "others: drop\n"))
    ended = gate(call)
    assert ended.code == 1 and "ward is a direct identifier" not in ended.err
    assert f"column ward {reason}, and left out by `others: drop`, and it is in the table" in ended.err
