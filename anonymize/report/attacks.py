"""What attackers achieved, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonymize.report.section import Section, figure, percent, share

TITLE = "What attackers learn because of the release"
FURTHER = "Attacks: further figures"


MEANINGS = {
    "max": "the highest chance of a target",
    "at_risk": "targets whose chance is above 0.2",
    "by_regions": "rows that may be yours: of all classes that cover a target, the median",
    "by_method": "rows that may be yours: of the smallest region among these, the median",
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
    "columns": "numbers that are known of a person",
    "standardized": "rows linked with the right person by standardized values",
    "ranks": "rows linked with the right person by ranks",
    "one_to_one": "the same of somebody who links everybody at once",
    "intervals": "rows whose true values are all within 5 % of a standard deviation of the released ones",
    "fewest": "chains of rows that could be one target's, at the fewest",
}
"""What the further figures say."""

HEADERS = {"rate": "success", "baseline": "baseline", "control": "control"}


def sections(report: Mapping[str, Any]) -> list[Section]:
    """A line for each thing attacked, who learns most first; who had nothing to attack; and further figures."""
    results = report["attacks"]["results"]
    tried = sorted(filter(attacked, results), key=lambda each: -each["excess"]["value"])
    rates = [name for name in HEADERS if any(each[name] is not None for each in tried)]
    header = ("attacker", *(HEADERS[name] for name in rates), "excess", "95 % interval")
    rows = [
        (label(each), *(_of(each[name]) for name in rates), _of(each["excess"]), interval(each["excess"]))
        for each in tried
    ]
    idle: dict[str, list[str]] = {}
    for each in results:
        if not attacked(each):
            idle.setdefault(each["attacker"], []).append(each["about"] or "people")
    nothing = [(name, ", ".join(columns)) for name, columns in idle.items()]
    further = [
        (label(each), name.replace("_", " "), figure(value), MEANINGS.get(name, ""))
        for each in tried
        for name, value in each["figures"].items()
    ]
    columns = ("attacker", "", "figure", "meaning")
    return [
        Section(TITLE, header, rows),
        Section("Attackers who found nothing to attack", ("attacker", "in"), nothing),
        Section(FURTHER, columns, further, names=2),
    ]


def attacked(each: Mapping[str, Any]) -> bool:
    """Whether there was anything that an attacker could try."""
    if each["rate"] is None or each["excess"] is None:
        return False
    ends = {each["excess"][name] for name in ("value", "low", "high")}
    return ends != {0.0} or each["rate"]["value"] > 0


def interval(excess: Mapping[str, float]) -> str:
    """The ends of the interval of an excess, or that there is none."""
    low, high = excess["low"], excess["high"]
    return "exact: all was tried" if low == high else f"{percent(low)} to {percent(high)}"


def label(each: Mapping[str, Any]) -> str:
    """An attacker with what he attacked."""
    return f"{each['attacker']} ({each['about']})" if each["about"] else str(each["attacker"])


def _of(block: Mapping[str, float] | None) -> str:
    return share(None if block is None else block["value"])
