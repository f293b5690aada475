"""For the test report of GitLab, Jenkins and others: JUnit XML, a test case for each finding."""

from __future__ import annotations

import re
from typing import IO
from xml.etree import ElementTree as XML

from anonymize.formats.base import Checked, Finding

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""


def render(checked: Checked, out: IO[str], color: str) -> None:
    failures = len(checked.of_levels("error"))
    count = {"tests": str(len(checked.findings)), "failures": str(failures), "errors": "0", "skipped": "0"}
    suites = XML.Element("testsuites", count)
    suite = XML.SubElement(suites, "testsuite", {"name": f"anonymize {checked.command}", **count})
    for finding in checked.findings:
        suite.append(_case(finding, checked.table))
    XML.indent(suites)
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n' + XML.tostring(suites, encoding="unicode") + "\n")


def _case(finding: Finding, table: str) -> XML.Element:
    named = {"classname": _text(table), "name": _text(finding.title)}
    if finding.file is not None:
        named["file"] = _text(finding.file)
    if finding.line is not None:
        named["line"] = str(finding.line)
    case = XML.Element("testcase", named)
    kind = "failure" if finding.level == "error" else "system-out"
    entry = XML.SubElement(case, kind)
    entry.text = _text(finding.message)
    if kind == "failure":
        entry.attrib.update(message=_text(finding.message), type=_text(finding.rule))
    return case


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
