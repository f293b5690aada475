"""Every form says what is wrong, where, and nothing that the form cannot hold."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as XML

import pytest

from anonymize.claims import State
from anonymize.formats import FORMATS, LEVELS, Checked, Concluded, Finding, privacy_block, render_junit, state_of
from tests.security.running import Run, running

PLACED = Finding("k-anonymity", "k-anonymity: k=2, x", "50 % fail:\na, b", "error", "specs/a b.yaml", 4)
PLACELESS = Finding("k-map", "k-map (k=2)", "nobody looked", "error", known=False)
WARNING = Finding("warning", "warning", "look | at this", "warning", "s.yaml")
MEASURED = Finding("marketer", "marketer", "0.5", "measured")
MET = Finding("k-anonymity", "k-anonymity (k=1)", "met", "pass")


def rendered(form: str, *findings: Finding, verdict: str | None = "all is well") -> str:
    report: dict[str, Any] = {
        "schema_version": 1,
        "tool": {"name": "anonymize", "version": "9"},
        "input": {"path": "t.csv", "rows": 4, "columns": 1, "sha256": "aa"},
        "privacy": {"satisfied": False, "state": "unmet", "models": []},
        "warnings": [],
    }
    out = io.StringIO()
    FORMATS[form](Checked(report, findings, verdict=verdict), out, "never")
    return out.getvalue()


def test_an_annotation_is_one_line_with_its_place() -> None:
    lines = rendered("github", PLACED, WARNING, PLACELESS, MET, MEASURED).splitlines()
    assert lines == [
        "::error file=specs/a b.yaml,line=4,title=k-anonymity%3A k=2%2C x::50 %25 fail:%0Aa, b",
        "::warning file=s.yaml,title=warning::look | at this",
        "::error title=k-map (k=2)%2C not shown::nobody looked",
    ]


@pytest.mark.parametrize("findings", [(), (WARNING,), (MET,)])
def test_where_nothing_is_wrong_an_annotation_says_so(findings: tuple[Finding, ...]) -> None:
    assert rendered("github", *findings).splitlines()[-1] == "::notice title=anonymize audit::t.csv: all is well"


def test_code_scanning_has_a_rule_for_each_finding_and_a_result_for_what_is_wrong() -> None:
    (run,) = json.loads(rendered("sarif", MET, PLACED, WARNING, PLACELESS, MEASURED))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["k-anonymity", "warning", "k-map", "marketer"]
    assert [(each["ruleId"], each["ruleIndex"], each["level"]) for each in run["results"]] == [
        ("k-anonymity", 0, "error"),
        ("warning", 1, "warning"),
        ("k-map", 2, "error"),
    ]
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert places == [
        {"artifactLocation": {"uri": "specs/a%20b.yaml"}, "region": {"startLine": 4}},
        {"artifactLocation": {"uri": "s.yaml"}},
        {"artifactLocation": {"uri": "t.csv"}},
    ]


def test_an_absolute_path_is_a_uri_of_its_own(tmp_path: Path) -> None:
    (run,) = json.loads(rendered("sarif", Finding("spec", "spec", "wrong", "error", str(tmp_path / "s.yaml"))))["runs"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("file:///")


def test_a_comment_lists_what_is_wrong_behind_the_title() -> None:
    text = rendered("markdown", Finding("k", "k", "a | b", "error", "s.yaml", 3), MET)
    assert text.startswith("# ") and "\n\n## Not met\n\n- a \\| b (`s.yaml`, line 3)\n\n" in text
    assert "## Not met, or not shown to be\n" in rendered("markdown", PLACED, PLACELESS)
    assert "## Not met" not in rendered("markdown", WARNING, MET)


def test_programs_and_people_get_the_report() -> None:
    assert json.loads(rendered("json", PLACED))["input"]["path"] == "t.csv"
    assert rendered("text", PLACED).startswith("NOT SAFE")


@pytest.mark.parametrize("form", FORMATS)
def test_every_form_can_be_rendered_without_findings(form: str) -> None:
    assert rendered(form)


# --- base -------------------------------------------------------------------------------------------------------------

UNMET = Finding("k-anonymity", "k-anonymity (k=2)", "not met", "error", "s.yaml", 4)
UNKNOWN = Finding("k-map", "k-map (k=2)", "nobody looked", "error", known=False)
BASE_WARNING = Finding("warning", "warning", "look at this", "warning")
BASE_MET = Finding("k-anonymity", "k-anonymity (k=1)", "met", "pass")
REPORT = {"input": {"path": "t.csv"}, "tool": {"name": "anonymize", "version": "9"}}


@pytest.mark.parametrize(
    ("errors", "required", "state"),
    [
        ([], True, State.MET),
        ([], False, State.NOTHING_REQUIRED),
        ([UNKNOWN], True, State.UNKNOWN),
        ([UNKNOWN], False, State.UNKNOWN),
        ([UNKNOWN, UNMET], True, State.UNMET),
    ],
)
def test_findings_clear_only_where_something_is_required_and_nothing_is_wrong(
    errors: list[Finding], required: bool, state: State
) -> None:
    assert state_of(errors, required=required) is state


def test_what_keeps_a_table_back_is_an_error() -> None:
    assert {state for state, level in LEVELS.items() if level == "error"} == {each for each in State if each.fails}


def test_the_block_names_what_could_not_be_shown() -> None:
    block = privacy_block([UNMET, UNKNOWN, BASE_WARNING], State.UNMET)
    assert block == {"satisfied": False, "state": "unmet", "unknown": ["nobody looked"]}
    assert privacy_block([BASE_MET], State.MET) == {"satisfied": True, "state": "met"}


def test_problems_are_errors_with_their_lines() -> None:
    checked = Checked(REPORT, (UNMET, BASE_WARNING, BASE_MET, UNKNOWN))
    assert [(each.message, each.file, each.line) for each in checked.problems] == [
        ("not met", "s.yaml", 4),
        ("nobody looked", None, None),
    ]
    assert checked.table == "t.csv" and checked.of_levels("warning", "pass") == [BASE_WARNING, BASE_MET]
    concluded = Concluded(State.UNKNOWN, checked)
    assert concluded.satisfied is None and concluded.report is REPORT


# --- junit ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Element:
    """What both schemas allow: attributes, and children in their order."""

    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    children: tuple[str, ...] = ()


COUNTS = frozenset({"tests", "failures", "errors"})
CAUSE = Element(optional=frozenset({"message", "type"}))
SCHEMA = {
    "testsuites": Element(optional=frozenset({"name", "time"}) | COUNTS, children=("testsuite",)),
    "testsuite": Element(
        frozenset({"name"}) | COUNTS,
        frozenset({"time", "skipped", "timestamp", "hostname", "id", "package"}),
        ("properties", "testcase", "system-out", "system-err"),
    ),
    "testcase": Element(
        frozenset({"name"}),
        frozenset({"time", "classname"}),
        ("skipped", "error", "failure", "system-out", "system-err"),
    ),
    "failure": CAUSE,
    "error": CAUSE,
    "skipped": Element(),
    "system-out": Element(),
}
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")
FINDINGS = {
    "met": Finding("k-anonymity", "k-anonymity (k=5)", "is met: k=5", "pass", "spec.yaml", 3),
    "unmet": Finding("k-anonymity", "k-anonymity (k=9)", "is not met", "error", "spec.yaml", 4),
    "unmet, of no spec": Finding("k-anonymity", "k-anonymity (k=9)", "is not met", "error"),
    "unknown": Finding("k-map", "k-map (k=5)", "could not be shown", "error", "spec.yaml", None, known=False),
    "nothing required": Finding("k-anonymity", "k-anonymity", "k=2", "measured"),
    "warning": Finding("warning", "warning", "something", "warning"),
}


def as_junit(*findings: Finding) -> XML.Element:
    out = io.StringIO()
    render_junit(Checked({"input": {"path": "released.csv"}}, findings), out, "never")
    return XML.fromstring(out.getvalue())


def wrong(element: XML.Element) -> list[str]:
    """What the schemas do not allow in an element and below it."""
    allowed = SCHEMA[element.tag]
    given, order = set(element.attrib), [allowed.children.index(child.tag) for child in element]
    found = [f"{element.tag} lacks {name}" for name in allowed.required - given]
    found += [f"{element.tag} has {name}" for name in given - allowed.required - allowed.optional]
    found += [f"{element.tag}: order"] if order != sorted(order) else []
    found += [f"{element.tag}: time"] if not TIME.fullmatch(element.get("time", "")) else []
    return [*found, *(each for child in element for each in wrong(child))]


@pytest.mark.parametrize("names", [[], *([name] for name in FINDINGS), list(FINDINGS)], ids=str)
def test_what_is_written_is_valid(names: list[str]) -> None:
    suites = as_junit(*(FINDINGS[name] for name in names))
    assert suites.tag == "testsuites" and not wrong(suites)


def test_the_schema_is_strict() -> None:
    """The test above can fail: attributes that other readers know, and another order, are found."""
    (suite,) = as_junit(FINDINGS["unmet"])
    suite[0].set("file", "spec.yaml")
    XML.SubElement(suite[0], "error")
    suite.attrib.pop("errors")
    assert sorted(wrong(suite)) == ["testcase has file", "testcase: order", "testsuite lacks errors"]


def test_each_state_is_an_element_of_its_own_and_counted() -> None:
    suites = as_junit(*FINDINGS.values())
    (suite,) = suites
    elements = {name: case[0].tag for name, case in zip(FINDINGS, suite, strict=True)}
    assert elements == {
        "met": "system-out",
        "unmet": "failure",
        "unmet, of no spec": "failure",
        "unknown": "error",
        "nothing required": "skipped",
        "warning": "system-out",
    }
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "6", "failures": "2", "errors": "1", "skipped": "1"}
    assert all(suites.get(name) == suite.get(name) for name in COUNTS)


def test_the_place_in_the_spec_is_in_the_text() -> None:
    texts = [case[0].text for case in as_junit(*FINDINGS.values())[0]]
    assert texts[:4] == [
        "is met: k=5 (spec.yaml, line 3)",
        "is not met (spec.yaml, line 4)",
        "is not met",
        "could not be shown (spec.yaml)",
    ]


CALLS = {
    State.MET: "-k 2",
    State.UNMET: "-k 3",
    State.UNKNOWN: "-k 2 --previous old.csv",
    State.NOTHING_REQUIRED: "",
}
SENTENCES = {
    State.MET: "every requirement is met",
    State.UNMET: "not safe: a requirement is not met",
    State.UNKNOWN: "not shown: a requirement could not be shown to be met",
    State.NOTHING_REQUIRED: "measured; nothing was required",
}
TITLES = {State.UNMET: "Not met", State.UNKNOWN: "Not shown to be met"}


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "now.csv").write_text("q,s\na,x\na,y\nb,x\nb,y\n")
    (tmp_path / "old.csv").write_text("q,s\na,x\nb,y\na,x\nb,x\nb,y\n")
    return running(tmp_path, capsys)


def printed(run: Run, state: State, form: str) -> str:
    ended = run("audit", "-i", "now.csv", "--qi", "q", "--sensitive", "s", *CALLS[state].split(), "--format", form)
    assert ended.code == (1 if state.fails else 0)
    return ended.out


@pytest.mark.parametrize("form", FORMATS)
def test_no_two_states_are_shown_alike(form: str, run: Run) -> None:
    shown = {re.sub(r"\bk ?= ?\d|\d+", "#", printed(run, state, form)) for state in State}
    assert len(shown) == len(State)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_page_says_it_in_a_sentence(form: str, state: State, run: Run) -> None:
    text = " ".join(printed(run, state, form).split())
    assert [each for each, sentence in SENTENCES.items() if sentence in text.lower()] == [state]
    if form != "text":
        headings = [title for title in TITLES.values() if f"## {title} - " in text or f">{title}</h2>" in text]
        assert headings == [title for each, title in TITLES.items() if each is state]
    if form == "html":
        counted = re.search(r"\d of \d requirement|requirements \d met", " ".join(re.sub("<[^>]+>", " ", text).split()))
        assert (counted is None) == (state is State.NOTHING_REQUIRED)
    if form == "markdown":
        assert ("**, measured from the table" in text) == (state in (State.MET, State.UNMET))


@pytest.mark.parametrize("state", State)
def test_json_says_it_in_a_word(state: State, run: Run) -> None:
    privacy = json.loads(printed(run, state, "json"))["privacy"]
    assert (privacy["state"], privacy["satisfied"]) == (str(state), state.satisfied)
    assert ("unknown" in privacy) == (state is State.UNKNOWN)
    assert {each["basis"] for each in privacy["models"]} == {"measured"}


@pytest.mark.parametrize("state", State)
def test_an_annotation_says_it(state: State, run: Run) -> None:
    text = printed(run, state, "github")
    commands = {line.split(" ")[0] for line in text.splitlines() if "title=warning" not in line}
    assert commands == {"::error" if state.fails else "::notice"}
    assert ("not shown::" in text) == (state is State.UNKNOWN)
    assert ("nothing was required" in text) == (state is State.NOTHING_REQUIRED)


@pytest.mark.parametrize("state", State)
def test_code_scanning_says_it_of_the_run_and_of_each_result(state: State, run: Run) -> None:
    found = json.loads(printed(run, state, "sarif"))["runs"][0]
    assert found["properties"]["state"] == str(state)
    errors = [result["properties"]["state"] for result in found["results"] if result["level"] == "error"]
    assert errors == [str(state)] * state.fails


@pytest.mark.parametrize("state", State)
def test_a_test_report_says_it_by_the_element(state: State, run: Run) -> None:
    suite = XML.fromstring(printed(run, state, "junit"))[0]
    elements = {
        State.MET: {"system-out"},
        State.UNMET: {"failure"},
        State.UNKNOWN: {"system-out", "error"},
        State.NOTHING_REQUIRED: {"skipped"},
    }
    assert {case[0].tag for case in suite if case.get("name") != "warning"} == elements[state]
