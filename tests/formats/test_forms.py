"""Every form says what is wrong, where, and nothing that the form cannot hold."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from anonymize.formats import FORMATS
from anonymize.formats.base import Checked, Finding

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
