"""What attackers achieved, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonymize.report.section import Section, figure

TITLE = "What attackers learn because of the release"


MEANINGS = {
    "max": "the highest chance of a target",
    "at_risk": "targets whose chance is above 0.2",
    "dcap": "mean share that is offered to the true value",
    "dcap_baseline": "the same by the values of all rows",
    "weap": "targets of whom the attacker is certain",
    "tcap": "of these, those of whom he is right",
    "rapid": "targets whose true value is much more probable than before",
    "isolating": "conditions that exactly one person meets",
    "narrowed": "cells, or classes with cells, that can be narrowed",
    "expected": "how often the attacker thinks that he is right",
    "nested": "targets in classes that have another inside",
    "ruled_out": "of the targets' combinations, what these rule out",
    "refused": "targets in classes of which a refused step tells something",
    "balanced": "1: shares were balanced over all people; 0: not",
    "fewest": "chains of rows that could be one target's, at the fewest",
}
"""What the further figures say."""

HEADERS = {"rate": "success", "baseline": "baseline", "control": "control"}


def sections(report: Mapping[str, Any]) -> list[Section]:
    """A line for each thing attacked, and further figures of some."""
    results = report["attacks"]["results"]
    rates = [name for name in ("rate", "baseline", "control") if any(each[name] is not None for each in results)]
    header = ("attacker", *(HEADERS[name] for name in rates), "excess", "from", "to")
    rows = [(label(each), *(_share(each[name], "value") for name in rates), *_excess(each)) for each in results]
    further = [
        (label(each), name.replace("_", " "), figure(value), MEANINGS.get(name, ""))
        for each in results
        for name, value in each["figures"].items()
    ]
    columns = ("attacker", "", "figure", "meaning")
    return [Section(TITLE, header, rows), Section("Attacks: further figures", columns, further, names=2)]


def label(each: Mapping[str, Any]) -> str:
    """An attacker with what he attacked."""
    return f"{each['attacker']} ({each['about']})" if each["about"] else str(each["attacker"])


def _excess(each: Mapping[str, Any]) -> list[str]:
    return [_share(each["excess"], name) for name in ("value", "low", "high")]


def _share(block: Mapping[str, float] | None, name: str) -> str:
    return "-" if block is None else f"{round(block[name], 4) + 0.0:.4f}"
