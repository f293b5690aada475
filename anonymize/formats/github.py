"""For a workflow of GitHub Actions: annotations, at the line of the spec that is not met.

Workflow commands: `::error file=...,line=...,title=...::message`. In a message %, carriage return and line feed are
escaped; in a property also colon and comma. Other control characters are spelled out.
"""

from __future__ import annotations

from typing import IO

from anonymize.claims import State
from anonymize.errors import visible
from anonymize.formats.base import Checked, Finding

COMMANDS = {"error": "error", "warning": "warning"}


def render(checked: Checked, out: IO[str], color: str) -> None:
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
    return f"::{COMMANDS[finding.level]} {listed}::{_message(finding.message)}"


def _message(text: str) -> str:
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
