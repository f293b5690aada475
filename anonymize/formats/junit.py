"""For the test report of Jenkins, GitLab and others: JUnit XML, a test case for each finding.

What is not met is a failure, what could not be shown an error, what was measured without being required a skipped case.
There is no schema of JUnit; elements and attributes are those that both Jenkins' (junit-10.xsd of the xUnit plugin) and
JUnit 5's (jenkins-junit.xsd) have, so that the line of a spec is in the text.
"""

from __future__ import annotations

import re
from typing import IO
from xml.etree import ElementTree as XML

from anonymize.claims import State
from anonymize.errors import visible
from anonymize.formats.base import Checked, Finding

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""

TAGS = {
    State.MET: "system-out",
    State.UNMET: "failure",
    State.UNKNOWN: "error",
    State.NOTHING_REQUIRED: "skipped",
}
"""The element that says what a requirement comes to."""
COUNTED = {"failure": "failures", "error": "errors"}
"""What is wrong, and how the attribute is called that counts it."""


def render(checked: Checked, out: IO[str], color: str) -> None:
    cases = [_case(finding, checked.table) for finding in checked.findings]
    count = {"tests": str(len(cases))}
    count |= {plural: str(sum(case[0].tag == tag for case in cases)) for tag, plural in COUNTED.items()}
    suites = XML.Element("testsuites", count)
    suite = XML.SubElement(suites, "testsuite", {"name": f"anonymize {checked.command}", **count, "time": "0"})
    suite.set("skipped", str(sum(case[0].tag == "skipped" for case in cases)))
    suite.extend(cases)
    XML.indent(suites)
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n' + XML.tostring(suites, encoding="unicode") + "\n")


def _case(finding: Finding, table: str) -> XML.Element:
    case = XML.Element("testcase", {"classname": _text(table), "name": _text(finding.title), "time": "0"})
    tag = "system-out" if finding.state is None else TAGS[finding.state]
    entry = XML.SubElement(case, tag)
    entry.text = _text(finding.message + _place(finding))
    if tag in COUNTED:
        entry.attrib.update(message=_text(finding.message), type=_text(finding.rule))
    return case


def _place(finding: Finding) -> str:
    if finding.file is None:
        return ""
    return f" ({finding.file}{'' if finding.line is None else f', line {finding.line}'})"


def _text(text: str) -> str:
    return visible(_NOT_XML.sub("\ufffd", text))
