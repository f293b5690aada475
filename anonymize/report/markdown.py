"""The report in Markdown."""

from __future__ import annotations

from typing import Any

from anonymize.report.section import Section, verdict_of
from anonymize.report.tables import sections


def markdown(report: dict[str, Any]) -> str:
    """A title, what it is about, the warnings, then a table a section."""
    lines = ["# Anonymization report", "", *_about(report), ""]
    if report["warnings"]:
        lines += ["## Warnings", "", *(f"- {plain(warning)}" for warning in report["warnings"]), ""]
    for section in sections(report):
        lines += [f"## {section.title}", "", *_table(section), ""]
    return "\n".join(lines)


def _about(report: dict[str, Any]) -> list[str]:
    """One line a fact: verdict, tool, algorithm, files."""
    facts = ["**evaluated**, not judged" if "seed" in report else "**recoded**, not measured"]
    if "privacy" in report:
        facts = [f"**{verdict_of(report['privacy'])}**, measured from the table as written"]
    tool = report["tool"]
    facts.append(", ".join([f"{tool['name']} {tool['version']}", *filter(None, [report.get("started_at")])]))
    if "algorithm" in report:
        options = ", ".join(f"{name} = {value}" for name, value in report["algorithm"]["options"].items())
        facts.append(f"algorithm {report['algorithm']['name']} ({options})")
    for name in ("input", "output"):
        if name in report:
            facts.append(_file(name, report[name]))
    return [f"- {fact}" for fact in facts]


def _file(name: str, block: dict[str, Any]) -> str:
    parts = [f"{name}: {block['rows']:,} rows"]
    parts += [plain(str(block["path"]))] if "path" in block else []
    parts += [f"sha256 `{block['sha256']}`"] if "sha256" in block else []
    return ", ".join(parts)


def _table(section: Section) -> list[str]:
    header = "| " + " | ".join(section.header) + " |"
    rule = "|" + "|".join(" --- " for _ in section.header) + "|"
    return [header, rule, *("| " + " | ".join(plain(cell) for cell in row) + " |" for row in section.rows)]


def plain(text: str) -> str:
    """Text that Markdown leaves alone inside a table."""
    for character in "\\|*_`<>[]":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")
