"""JUnit XML, held against what the schemas of its readers have in common.

These are junit-10.xsd of Jenkins' xUnit plugin, and jenkins-junit.xsd, against which JUnit 5 tests its own reports.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from xml.etree import ElementTree as XML

import pytest

from anonymize.formats import Checked, Finding
from anonymize.formats.junit import render


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


def rendered(*findings: Finding) -> XML.Element:
    out = io.StringIO()
    render(Checked({"input": {"path": "released.csv"}}, findings), out, "never")
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
    suites = rendered(*(FINDINGS[name] for name in names))
    assert suites.tag == "testsuites" and not wrong(suites)


def test_the_schema_is_strict() -> None:
    """The test above can fail: attributes that other readers know, and another order, are found."""
    (suite,) = rendered(FINDINGS["unmet"])
    suite[0].set("file", "spec.yaml")
    XML.SubElement(suite[0], "error")
    suite.attrib.pop("errors")
    assert sorted(wrong(suite)) == ["testcase has file", "testcase: order", "testsuite lacks errors"]


def test_each_state_is_an_element_of_its_own_and_counted() -> None:
    suites = rendered(*FINDINGS.values())
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
    texts = [case[0].text for case in rendered(*FINDINGS.values())[0]]
    assert texts[:4] == [
        "is met: k=5 (spec.yaml, line 3)",
        "is not met (spec.yaml, line 4)",
        "is not met",
        "could not be shown (spec.yaml)",
    ]
