"""A card for each column of a release: what it was, what it is now, what that cost, and what protects it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anonymize.report.section import Picture, Section, figure, percent
from anonymize.report.tables import parameters
from anonymize.report.verdict import counted

Report = Mapping[str, Any]

CARDED = frozenset({"Loss by attribute (mean per cell)", "Hierarchy levels", "Marginals"})
"""Sections whose figures are on the cards as well."""
KEPT = "not shown"
"""What stands for a cell of a release that is a value of the input, or has one as an end."""


@dataclass(frozen=True)
class Card:
    """`meaning`: how its cells read, as the codebook has it. `facts`: figures by what they are. `labels`: what it shows
    most often, with the share of rows. `picture`: before and after side by side; without one, `why` says so."""

    name: str
    role: str
    meaning: str
    facts: list[tuple[str, str]]
    labels: list[tuple[str, str]]
    picture: Picture | None
    why: str


def cards(report: Report) -> list[Card]:
    """Those of a release, in the order of its columns; of a report without a codebook, those of the
    quasi-identifiers."""
    if "codebook" in report:
        columns = [(each["name"], each["role"], each["meaning"]) for each in report["codebook"]["columns"]]
    elif "algorithm" in report:
        columns = [(name, "quasi-identifier", "") for name in report.get("utility", {}).get("attributes", {})]
    else:
        return []
    return [_card(report, *each) for each in columns]


def _card(report: Report, name: str, role: str, meaning: str) -> Card:
    sampled = report.get("sample", {})
    looked_at = sampled.get("looked_at", 0)
    labels = [(text, percent(rows / looked_at)) for text, rows in sampled.get("labels", {}).get(name, [])]
    return Card(
        name,
        role,
        meaning,
        list(_facts(report, name)),
        labels,
        _marginal(report, name),
        report.get("unbinned", {}).get(name, ""),
    )


def _facts(report: Report, name: str) -> Iterator[tuple[str, str]]:
    lost = report.get("utility", {}).get("attributes", {}).get(name, {})
    if lost.get("ncp") is not None:
        yield "lost", percent(lost["ncp"])
    if lost.get("weight", 1) != 1:
        yield "weight", figure(lost["weight"])
    levels, heights = (report.get("recoding", {}).get(block) for block in ("levels", "heights"))
    if isinstance(levels, dict) and name in levels:
        yield "level", figure(levels[name]) + (f" of {figure(heights[name])}" if heights and name in heights else "")
    hidden = report.get("marginals", {}).get(name, {}).get("hidden")
    if hidden:
        yield "shows nothing", counted(hidden, "row")
    certain = report.get("risk", {}).get("passing", {}).get("certain", {})
    if name in certain:
        yield "told for certain", f"of {percent(certain[name])} of the people"
    alone = report.get("risk", {}).get("unique_values", {}).get(name)
    if alone:
        yield "unique values", f"in {percent(alone)} of the rows"
    for model in report.get("privacy", {}).get("models", []):
        if model["attribute"] == name:
            required, reached = parameters(model["required"]), parameters(model["achieved"])
            met = {True: "met", False: "NOT met"}.get(model["satisfied"], "not shown")
            yield model["model"], f"{required} required, {reached} reached: {met}"


def _marginal(report: Report, name: str) -> Picture | None:
    block = report.get("marginals", {}).get(name)
    if block is None:
        return None
    series: dict[str, list[float | None]] = {side: list(block[side]) for side in ("before", "after")}
    return Picture("Rows before and after", block["bins"], series, "rows")


def rows(report: Report) -> Iterator[Section]:
    """A few rows of the release, and of the original beside them where the report has these."""
    block = report.get("sample")
    if block is None:
        return
    cells = [tuple(KEPT if cell is None else cell for cell in row) for row in block["rows"]]
    yield Section(f"{counted(len(cells), 'row')} of the release", tuple(block["columns"]), cells, names=0)
    if "original" in block:
        before = block["original"]
        yield Section(
            "The same rows of the original", tuple(before["columns"]), list(map(tuple, before["rows"])), names=0
        )
