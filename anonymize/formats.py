"""How the result of a check is printed: one form, one function. `FORMATS` is the registry; the options of `audit` are
made from it.

A form renders a `Checked` to a stream. Nothing heavy is imported before something is printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import quote
from xml.etree import ElementTree as XML

from anonymize.claims import State, overall
from anonymize.errors import Problem, visible
from anonymize.records import dataclass

# --- findings ---------------------------------------------------------------------------------------------------------
# The findings of a check, in the shape that every form is rendered from.

Level = Literal["error", "warning", "pass", "measured"]
LEVELS: Mapping[State, Level] = {
    State.MET: "pass",
    State.UNMET: "error",
    State.UNKNOWN: "error",
    State.NOTHING_REQUIRED: "measured",
}


@dataclass(frozen=True)
class Finding:
    """One result of a check.

    `rule`: the privacy model, or `direct-identifier`, `regression`, `warning`. `title`: the rule with what it
    requires. `level`: error (not met, or not `known` to be met), warning, pass (met) or measured (nothing was
    required). `file` and `line`: the spec and the line (from 1) that requires it, None where no spec does.
    """

    rule: str
    title: str
    message: str
    level: Level
    file: str | None = None
    line: int | None = None
    known: bool = True

    @property
    def state(self) -> State | None:
        """What the requirement comes to; None of a warning, which is about none."""
        if self.level == "error":
            return State.UNMET if self.known else State.UNKNOWN
        return {"pass": State.MET, "measured": State.NOTHING_REQUIRED}.get(self.level)


@dataclass(frozen=True)
class Checked:
    """A table that was checked: the report, and the findings that it comes down to. `command`: which one did it.
    `verdict`: what there is to say where nothing is wrong; None: what the report says of privacy."""

    report: dict[str, Any]
    findings: tuple[Finding, ...]
    command: str = "audit"
    verdict: str | None = None

    @property
    def table(self) -> str:
        """The table's name."""
        return str(self.report["input"]["path"])

    @property
    def state(self) -> State:
        """What all findings come to together."""
        return overall(each.state for each in self.findings if each.state is not None)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is not met or could not be shown, with the line of the spec that asks for it, where one does."""
        return tuple(Problem(each.message, file=each.file, line=each.line) for each in self.of_levels("error"))

    def of_levels(self, *levels: Level) -> list[Finding]:
        """The findings of some levels."""
        return [finding for finding in self.findings if finding.level in levels]


def state_of(errors: Iterable[Finding], *, required: bool) -> State:
    """What a check comes to whose findings of the level error are these. `required`: something was."""
    states = [each.state for each in errors if each.state is not None]
    return overall([*states, State.MET if required else State.NOTHING_REQUIRED])


def privacy_block(findings: Sequence[Finding], state: State) -> dict[str, Any]:
    """What everything comes to, as the block `privacy` of a report begins, and what could not be shown."""
    unknown = [finding.message for finding in findings if finding.level == "error" and not finding.known]
    return {"satisfied": state.satisfied, "state": str(state)} | ({"unknown": unknown} if unknown else {})


@dataclass(frozen=True)
class Concluded:
    """What a check came to. `checked`: what is printed of it."""

    state: State
    checked: Checked

    @property
    def satisfied(self) -> bool | None:
        return self.state.satisfied

    @property
    def report(self) -> dict[str, Any]:
        """What `--json` prints."""
        return self.checked.report

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is not met or could not be shown, with the line of the spec that asks for it: a table that has any must
        not be published."""
        return self.checked.problems


# --- text -------------------------------------------------------------------------------------------------------------
# For people: verdict, warnings and tables of figures.


def render_text(checked: Checked, out: IO[str], color: str) -> None:
    from anonymize.report.terminal import console, show

    show(checked.report, console(out, color))


# --- json -------------------------------------------------------------------------------------------------------------
# For programs: the report.


def render_json(checked: Checked, out: IO[str], color: str) -> None:
    from anonymize.report import as_json

    out.write(as_json(checked.report))


# --- html -------------------------------------------------------------------------------------------------------------
# A page for people: verdict, what is not met, tables and pictures, in one file that needs nothing else.


def render_html(checked: Checked, out: IO[str], color: str) -> None:
    from anonymize.report.rendering import html

    out.write(html(checked.report))


# --- markdown ---------------------------------------------------------------------------------------------------------
# For a comment on a merge request or the summary of a job: verdict, what is not met, tables of figures.


def render_markdown(checked: Checked, out: IO[str], color: str) -> None:
    from anonymize.report.rendering import markdown, plain
    from anonymize.report.verdict import problems_title

    unmet = checked.of_levels("error")
    lines = [f"- {plain(visible(finding.message))}{_place(finding, '`')}" for finding in unmet]
    report = markdown(checked.report)
    if lines:
        title, _, rest = report.partition("\n\n")
        heading = problems_title(each.state for each in unmet)
        report = "\n".join([title, "", f"## {heading}", "", *lines, "", rest])
    out.write(report)


def _place(finding: Finding, mark: str = "") -> str:
    """Where the spec requires it. `mark`: what stands around the file."""
    line = "" if finding.line is None else f", line {finding.line}"
    return "" if finding.file is None else f" ({mark}{finding.file}{mark}{line})"


# --- github -----------------------------------------------------------------------------------------------------------
# For a workflow of GitHub Actions: annotations, at the line of the spec that is not met.
#
# Workflow commands: `::error file=...,line=...,title=...::message`. In a message %, carriage return and line feed are
# escaped; in a property also colon and comma. Other control characters are spelled out.


def render_github(checked: Checked, out: IO[str], color: str) -> None:
    findings = checked.of_levels("error", "warning")
    for finding in findings:
        out.write(_command(finding) + "\n")
    if not checked.of_levels("error"):
        from anonymize.report.verdict import verdict_of

        verdict = checked.verdict or verdict_of(checked.report).sentence
        out.write(f"::notice title=anonymize {checked.command}::{_message(f'{checked.table}: {verdict}')}\n")


def _command(finding: Finding) -> str:
    title = f"{finding.title}, not shown" if finding.state is State.UNKNOWN else finding.title
    properties = {"file": finding.file, "line": finding.line, "title": title}
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None)
    return f"::{finding.level} {listed}::{_message(finding.message)}"


def _message(text: str) -> str:
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


# --- junit ------------------------------------------------------------------------------------------------------------
# For the test report of Jenkins, GitLab and others: JUnit XML, a test case for each finding.
#
# What is not met is a failure, what could not be shown an error, what was measured without being required a skipped
# case. There is no schema of JUnit; elements and attributes are those that both Jenkins' (junit-10.xsd of the xUnit
# plugin) and JUnit 5's (jenkins-junit.xsd) have, so that the line of a spec is in the text.

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


def render_junit(checked: Checked, out: IO[str], color: str) -> None:
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


def _text(text: str) -> str:
    return visible(_NOT_XML.sub("\ufffd", text))


# --- sarif ------------------------------------------------------------------------------------------------------------
# For code scanning: SARIF 2.1.0, a result for each requirement that is not met, at the line of the spec that states it.
# Whether it is not met or could not be shown, and what everything comes to, is the property `state` of the result and
# of the run. A finding that belongs to no line of a spec is located at the table. A path that is not absolute is a
# relative reference, which a viewer takes from the root of the repository.

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MEANINGS = {
    "direct-identifier": "A column that identifies people directly is in the table.",
    "max-excess": "An attacker learns more because of the release than is allowed, or that could not be measured.",
    "series-record": "The state of a series has something else on record than the files of a release say.",
    "spec": "The spec, or what it names, is not valid.",
    "regression": "A figure of privacy or risk is worse than in the baseline.",
    "warning": "Something to look at before the table is published.",
}


def render_sarif(checked: Checked, out: IO[str], color: str) -> None:
    findings = checked.of_levels("error", "warning")
    names = dict.fromkeys(finding.rule for finding in checked.findings)
    rules = {name: MEANINGS.get(name, f"The privacy model {name} is not met.") for name in names}
    run = {
        "tool": {
            "driver": {
                "name": checked.report["tool"]["name"],
                "version": checked.report["tool"]["version"],
                "rules": [{"id": rule, "shortDescription": {"text": meaning}} for rule, meaning in rules.items()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "properties": {"state": str(checked.state)},
        "results": [_result(finding, list(rules).index(finding.rule), checked.table) for finding in findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    out.write(visible(json.dumps(log, indent=2, ensure_ascii=False), lines=True) + "\n")


def _result(finding: Finding, rule: int, table: str) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.file or table)}}
    if finding.file is not None and finding.line is not None:
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.level,
        **({} if finding.state is None else {"properties": {"state": str(finding.state)}}),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }


def _uri(path: str) -> str:
    place = Path(path)
    return place.as_uri() if place.is_absolute() else quote(place.as_posix())


# --- registry ---------------------------------------------------------------------------------------------------------

__all__ = ["AUTO", "FORMATS", "Checked", "Concluded", "Finding", "chosen", "privacy_block", "state_of"]

AUTO = "auto"

FORMATS: dict[str, Callable[[Checked, IO[str], str], None]] = {
    "text": render_text,
    "json": render_json,
    "github": render_github,
    "sarif": render_sarif,
    "junit": render_junit,
    "markdown": render_markdown,
    "html": render_html,
}
"""Name -> (what was checked, where to write it, colours: auto, always or never)."""


def chosen(name: str, environment: Mapping[str, str]) -> str:
    """The form that a name stands for: `auto` is github in a workflow of GitHub Actions, and text anywhere else. That
    includes GitLab, which reads what it shows next to a merge request from a file (`--format junit > audit.xml`).
    """
    if name != AUTO:
        return name
    return "github" if environment.get("GITHUB_ACTIONS") == "true" else "text"
