"""For a comment on a merge request or the summary of a job: verdict, what is not met, tables of figures."""

from __future__ import annotations

from typing import IO

from anonymize.formats.base import Checked, Finding


def render(checked: Checked, out: IO[str], color: str) -> None:
    from anonymize.report.markdown import markdown, plain

    unmet = checked.of_levels("error")
    lines = [f"- {plain(finding.message)}{_place(finding.file, finding.line)}" for finding in unmet]
    report = markdown(checked.report)
    if lines:
        title, _, rest = report.partition("\n\n")
        report = "\n".join([title, "", _heading(unmet), "", *lines, "", rest])
    out.write(report)


def _heading(unmet: list[Finding]) -> str:
    return "## Not met" if all(finding.known for finding in unmet) else "## Not met, or not shown to be"


def _place(file: str | None, line: int | None) -> str:
    return "" if file is None else f" (`{file}`{'' if line is None else f', line {line}'})"
