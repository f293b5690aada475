"""The verdict of a report in one sentence: on top of a page, on a terminal, in an annotation of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from anonymize.report.section import percent

State = Literal["met", "but", "unmet", "unknown", "neutral"]

UNSHOWN = "NOT SHOWN: a requirement could not be shown to be met"
UNSHOWN_HERE = "NOT SHOWN by this public report: whether requirements are met does not follow from the release alone"


@dataclass(frozen=True)
class ReportVerdict:
    """`state`: how it is coloured; "but" is met, with something that no requirement speaks of. `sentence`: without a
    capital and a full stop."""

    state: State
    sentence: str


def verdict_of(report: Mapping[str, Any]) -> ReportVerdict:
    """The verdict of a report of any kind."""
    if "comparison" in report:
        return ReportVerdict("neutral", "compared, and nothing published")
    if "privacy" not in report:
        return ReportVerdict("neutral", "evaluated, not judged" if "seed" in report else "recoded, not measured")
    privacy = report["privacy"]
    if privacy["satisfied"] is None and "unknown" in privacy:
        return ReportVerdict("unknown", UNSHOWN_HERE if "public" in report else UNSHOWN)
    if privacy["satisfied"] is None:
        return ReportVerdict("neutral", "measured; nothing was required")
    if not privacy["satisfied"]:
        return ReportVerdict("unmet", "NOT SAFE: a requirement is not met")
    return _met(report.get("risk", {}).get("passing", {}))


def _met(passing: Mapping[str, Any]) -> ReportVerdict:
    """That all is met. Requirements are about the quasi-identifiers; what passes through may single out every row all
    the same, and is said here unless the spec itself bounds it."""
    met, alone = "every requirement is met", passing.get("uniques_with_quasi_identifiers", 0.0)
    if not alone or "required" in passing:
        return ReportVerdict("met", met)
    return ReportVerdict("but", f"{met}, but columns that pass through single out {percent(alone)} of the rows")
