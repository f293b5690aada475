"""What attackers achieved, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonymize.report.section import Section, figure

TITLE = "What attackers learn because of the release"


HEADERS = {"rate": "success", "baseline": "baseline", "control": "control"}


def sections(report: Mapping[str, Any]) -> list[Section]:
    """A line for each thing attacked, and further figures of some."""
    results = report["attacks"]["results"]
    rates = [name for name in ("rate", "baseline", "control") if any(each[name] is not None for each in results)]
    header = ("attacker", *(HEADERS[name] for name in rates), "excess", "from", "to")
    rows = [(label(each), *(_share(each[name], "value") for name in rates), *_excess(each)) for each in results]
    further = [
        (label(each), name.replace("_", " "), figure(value))
        for each in results
        for name, value in each["figures"].items()
    ]
    return [Section(TITLE, header, rows), Section("Attacks: further figures", ("attacker", "", "figure"), further)]


def label(each: Mapping[str, Any]) -> str:
    """An attacker with what he attacked."""
    return f"{each['attacker']} ({each['about']})" if each["about"] else str(each["attacker"])


def _excess(each: Mapping[str, Any]) -> list[str]:
    return [_share(each["excess"], name) for name in ("value", "low", "high")]


def _share(block: Mapping[str, float] | None, name: str) -> str:
    return "-" if block is None else f"{round(block[name], 4) + 0.0:.4f}"
