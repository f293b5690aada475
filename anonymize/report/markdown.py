"""The report in Markdown: the same page as the HTML report's, without pictures."""

from __future__ import annotations

from typing import Any

from anonymize.report.page import page
from anonymize.report.templates import environment


def markdown(report: dict[str, Any]) -> str:
    """A title, what it is about, the warnings, then a table a chapter."""
    template = environment().get_template("report.md.j2")
    return template.render(page=page(report), report=report, facts=_facts(report), plain=plain)


def _facts(report: dict[str, Any]) -> list[str]:
    """One line a fact: tool, algorithm, files."""
    tool = report["tool"]
    facts = [", ".join([f"{tool['name']} {tool['version']}", *filter(None, [report.get("started_at")])])]
    if "algorithm" in report:
        options = ", ".join(f"{name} = {value}" for name, value in report["algorithm"]["options"].items())
        facts.append(f"algorithm {report['algorithm']['name']} ({options})")
    return [*facts, *(_file(name, report[name]) for name in ("input", "output") if name in report)]


def _file(name: str, block: dict[str, Any]) -> str:
    parts = [f"{name}: {block['rows']:,} rows"]
    parts += [plain(str(block["path"]))] if "path" in block else []
    parts += [f"sha256 `{block['sha256']}`"] if "sha256" in block else []
    return ", ".join(parts)


def plain(text: str) -> str:
    """Text that Markdown leaves alone inside a table."""
    for character in "\\|*_`<>[]":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")
