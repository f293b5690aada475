"""For a comment on a merge request or the summary of a job: verdict, what is not met, tables of figures."""

from __future__ import annotations

from typing import IO

from anonymize.errors import visible
from anonymize.formats.base import Checked


def render(checked: Checked, out: IO[str], color: str) -> None:
    from anonymize.report.markdown import markdown, plain
    from anonymize.report.verdict import problems_title

    unmet = checked.of_levels("error")
    lines = [f"- {plain(visible(finding.message))}{_place(finding.file, finding.line)}" for finding in unmet]
    report = markdown(checked.report)
    if lines:
        title, _, rest = report.partition("\n\n")
        heading = problems_title(each.state for each in unmet)
        report = "\n".join([title, "", f"## {heading}", "", *lines, "", rest])
    out.write(report)


def _place(file: str | None, line: int | None) -> str:
    return "" if file is None else f" (`{file}`{'' if line is None else f', line {line}'})"
