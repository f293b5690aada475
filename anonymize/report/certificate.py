"""One page to print and sign: what was required of a table, how that was measured, by what, and of which files.

Its sentence is for a data protection officer, who has read no manual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anonymize.report.section import method_of, percent
from anonymize.report.tables import parameters
from anonymize.report.verdict import KNOWN_BY, counted, shortened

Report = Mapping[str, Any]

MOST = 12
"""Requirements that are listed on the page at most."""
METHOD = (
    "Measured from the released file as it was written, read again by code that shares nothing with the code that "
    "made it. Requirements are about the quasi-identifiers and the sensitive attributes that the spec declares; that "
    "these are the right ones is the signatory's judgement."
)


@dataclass(frozen=True)
class Certificate:
    """`sentence`: what the table promises. `requirements`: each with what is required, reached, whether it is met, and
    how that is known; `further`: how many more there are. `facts`: files and versions, by what they are."""

    sentence: str
    method: str
    requirements: list[tuple[str, str, str, str, str]]
    further: int
    facts: list[tuple[str, str]]


def certificate(report: Report) -> Certificate | None:
    """That of a report of a release; None of any other."""
    if "algorithm" not in report or "privacy" not in report:
        return None
    models = report["privacy"].get("models", [])
    rows = [
        (
            " of ".join(filter(None, [each["model"], each["attribute"]])),
            parameters(each["required"]),
            parameters(each["achieved"]),
            {True: "yes", False: "NO"}.get(each["satisfied"], "not shown"),
            KNOWN_BY[each["basis"]].partition(",")[0],
        )
        for each in models
    ]
    return Certificate(officer(report), METHOD, rows[:MOST], max(len(rows) - MOST, 0), _facts(report))


def officer(report: Report) -> str:
    """What a release promises, in a sentence for a data protection officer; empty where that has no sense."""
    smallest, risk = report.get("classes", {}).get("min_size"), report.get("risk", {})
    if smallest is None or "prosecutor_max" not in risk:
        return ""
    names = list(report.get("utility", {}).get("attributes", {}))
    which = f" ({shortened(names)})" if names else ""
    before = risk.get("before") or {}
    earlier = f", which was {percent(before['prosecutor_max'])} in the original" if before else ""
    passing = risk.get("passing", {})
    kept = passing.get("columns", [])
    alone = passing.get("uniques_with_quasi_identifiers", 0.0)
    unique = {name: share for name, share in risk.get("unique_values", {}).items() if share}
    secret = "".join(f"; whoever knows {name} singles out {percent(share)}" for name, share in unique.items())
    besides = f"; whoever knows {shortened(kept)} as well singles out {percent(alone)} of the rows" if kept else ""
    others, most = counted(smallest - 1, "other row"), percent(risk["prosecutor_max"])
    return (
        f"Everybody in the table shares the quasi-identifiers{which} with at least {others}, so that somebody who "
        f"knows all of them, and that a person is in it, picks the person's row with a chance of at most {most}"
        f"{earlier}{besides}{secret}."
    )


def _facts(report: Report) -> list[tuple[str, str]]:
    """The files with their hashes, the tool and the day, as far as the report knows them."""
    facts = [
        ("release", _file(report["output"])),
        ("spec", _file(report.get("spec", {}))),
        ("original", _file(report.get("input", {}))),
        ("method", method_of(report)),
        ("made by", f"{report['tool']['name']} {report['tool']['version']}"),
        ("on", str(report.get("started_at", ""))),
    ]
    return [(name, text) for name, text in facts if text]


def _file(block: Report) -> str:
    rows, path, sha256 = block.get("rows"), block.get("path"), block.get("sha256")
    parts = [path, None if rows is None else counted(rows, "row"), None if sha256 is None else f"SHA-256 {sha256}"]
    return ", ".join(part for part in parts if part)
