"""Parts of a report's page: a card for each column of the release, and the certificate, one page to print and sign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anonymize.errors import counted
from anonymize.records import dataclass
from anonymize.report.section import Picture, Section, figure, method_of, percent, whom
from anonymize.report.tables import parameters
from anonymize.report.verdict import KNOWN_BY, shortened

# --- cards ------------------------------------------------------------------------------------------------------------
# A card for each column of a release: what it was, what it is now, what that cost, and what protects it.

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
    """A card for each column of a release, in its order; of a report without a codebook, for the
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
    """A few rows of the release, along with those of the original where the report has these."""
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


# --- a certificate ----------------------------------------------------------------------------------------------------
# One page to print and sign: what was required of a table, how that was measured, by what, and of which files.
#
# Its sentence is for a data protection officer, who has read no manual.

LISTED = 12
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
    """The certificate of a report of a release; None of any other report."""
    if "algorithm" not in report or "privacy" not in report or "tabulation" in report:
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
    return Certificate(officer(report), METHOD, rows[:LISTED], max(len(rows) - LISTED, 0), _certificate_facts(report))


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
    secret = "".join(f"; {name} alone singles out {percent(share)} of the rows" for name, share in unique.items())
    besides = f"; an attacker who also knows {shortened(kept)} singles out {percent(alone)} of the rows" if kept else ""
    others, most = counted(smallest - 1, f"other {whom(report)['one']}"), percent(risk["prosecutor_max"])
    return (
        f"Everybody in the table shares the quasi-identifiers{which} with at least {others}, so an attacker who "
        f"knows all of them, and that a person is in it, picks the person's row with a probability of at most {most}"
        f"{earlier}{besides}{secret}."
    )


def _certificate_facts(report: Report) -> list[tuple[str, str]]:
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
