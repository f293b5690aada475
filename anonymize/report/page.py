"""A report as a page: what HTML and Markdown are both rendered from.

The page is made from the JSON report alone. Verdict first, in a sentence that needs no glossary; then chapters, each
with its tables and, where people would rather look, pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from anonymize.claims import State
from anonymize.errors import Caution, counted
from anonymize.records import dataclass
from anonymize.report import blocks
from anonymize.report.blocks import ATTACKS, FURTHER, attacked, label
from anonymize.report.cards import CARDED, Card, Certificate, cards, certificate, officer, rows
from anonymize.report.section import Curves, Picture, Section, method_of, percent, whom
from anonymize.report.tables import INTROS, WAYS, parameters, sections
from anonymize.report.verdict import (
    Tone,
    capital,
    known_by,
    main_figures,
    opening,
    problems_title,
    smallest_group,
    verdict_of,
)

Report = Mapping[str, Any]

PRIVATE = (
    "This report discloses more than the published table, such as counts and ranges of the input, and is as "
    "confidential as the input."
)
PUBLIC_FORM = " A report that may be published is written with --public-report."


SAMPLED = (
    "At equal distances in the file. Cells that may be values of the table, such as ends of intervals, are shown with "
    "--show-values alone."
)
FOLDED = frozenset({"Settings", "Codebook", "Associations", FURTHER, "Information loss compared"})
"""Chapters that are for the few who look for them."""


@dataclass(frozen=True)
class Chapter:
    """A heading, a word on how to read what follows, pictures, and a table."""

    title: str
    intro: str = ""
    pictures: tuple[Picture | Curves, ...] = ()
    table: Section | None = None

    @property
    def on_cards(self) -> bool:
        """Whether the cards of the columns have the same."""
        return self.title in CARDED

    @property
    def folded(self) -> bool:
        """Whether a page has it folded up."""
        return self.title in FOLDED


@dataclass(frozen=True)
class FileFact:
    """What is said of a file, as far as the report knows it."""

    name: str
    rows: int | None
    path: str | None
    sha256: str | None


@dataclass(frozen=True)
class Page:
    """`tone` is for colours; `verdict` is the bare verdict, `known_by` how it is known, `summary` what it means.
    `about`: the table, the day and the method. `smallest`: the main figure, and what stands beneath it. `figures`:
    those that decide, each with its name and how the sentence goes on. `problems`: what is not met or could not be
    shown. `private`: what there is to say of a report that is not for the public, else empty. `tool`: which made it,
    with its version; `algorithm`: its name and its options."""

    title: str
    about: str
    tone: Tone
    verdict: str
    known_by: str
    summary: str
    opening: Caution | None
    smallest: list[str]
    figures: list[tuple[str, str, str]]
    problems: list[str]
    problems_title: str
    private: str
    tool: str
    started: str | None
    algorithm: tuple[str, str] | None
    files: list[FileFact]
    warnings: list[Caution]
    chapters: list[Chapter]
    cards: list[Card]
    certificate: Certificate | None


def page(report: Report) -> Page:
    """The page of a report of any kind."""
    verdict, models = verdict_of(report), report.get("privacy", {}).get("models", [])
    stated = list(_problems(report))
    return Page(
        title="Anonymization report",
        about=_about(report),
        tone=verdict.tone,
        verdict=verdict.sentence,
        known_by="" if verdict.tone in ("neutral", "unknown") else known_by(models),
        summary=_summary(report),
        opening=opening(report),
        smallest=smallest_group(report),
        figures=list(main_figures(report)),
        problems=[problem for _, problem in stated],
        problems_title=problems_title(state for state, _ in stated),
        private=_private(report),
        tool=" ".join(filter(None, [report["tool"]["name"], report["tool"]["version"]])),
        started=report.get("started_at"),
        algorithm=_algorithm(report),
        files=list(_files(report)),
        warnings=[Caution(each) for each in report["warnings"]],
        chapters=[*_chapters(report)],
        cards=cards(report),
        certificate=certificate(report),
    )


# --- the head -----------------------------------------------------------------------------------------------------


def _summary(report: Report) -> str:
    """What the verdict means, for somebody who has never heard of a model, and what it cost."""
    gcp = report.get("utility", {}).get("gcp")
    said = gcp is not None and opening(report) is None
    lost = f"The quasi-identifiers lost {percent(gcp)} of their precision." if said else ""
    return " ".join(filter(None, [report.get("differential", {}).get("said", ""), officer(report), lost]))


def _problems(report: Report) -> Iterator[tuple[State, str]]:
    privacy = report.get("privacy", {})
    for each in privacy.get("models", []):
        if each["satisfied"] is False:
            about = f" of {each['attribute']}" if each["attribute"] else ""
            reached, required = parameters(each["achieved"]), parameters(each["required"])
            yield State.UNMET, f"{each['model']}{about}: {reached} where {required} is required"
    yield from ((State.UNKNOWN, message) for message in privacy.get("unknown", []))
    yield from ((State.UNMET, message) for message in _unmet_passing(report.get("risk", {}).get("passing", {})))


def _unmet_passing(passing: Report) -> Iterator[str]:
    for name, most in passing.get("required", {}).items():
        reached = passing[f"{name}_with_quasi_identifiers"]
        if passing["satisfied"] is False and reached > most:
            yield f"passing: {name} {percent(reached)} where at most {percent(most)} is required"
    yield from [each["says"] for each in passing.get("derived", {}).get("found", []) if not each["accepted"]]


def _private(report: Report) -> str:
    """What is said of a report that is not public; and of a release's, that there is another form."""
    if not report.get("private", True):
        return ""
    return PRIVATE + (PUBLIC_FORM if "recoding" in report else "")


def _about(report: Report) -> str:
    """The table, the day and the method, as far as the report knows them."""
    paths = [report.get(name, {}).get("path") for name in ("input", "output")]
    tables = " to ".join(path.rsplit("/", 1)[-1] for path in paths if path and path != "-")
    return ", ".join(filter(None, [tables, str(report.get("started_at", ""))[:10], method_of(report)]))


def _algorithm(report: Report) -> tuple[str, str] | None:
    """The algorithm and its options; None where none was run."""
    if "algorithm" not in report:
        return None
    options = ", ".join(f"{name} = {value}" for name, value in report["algorithm"]["options"].items())
    return report["algorithm"]["name"], options


def _files(report: Report) -> Iterator[FileFact]:
    for name in ("input", "output", "spec"):
        block = report.get(name, {})
        fact = FileFact(name, block.get("rows"), block.get("path"), block.get("sha256"))
        if not (fact.rows is None and fact.path is None and fact.sha256 is None):
            yield fact


# --- chapters --------------------------------------------------------------------------------------------------------


def _chapters(report: Report) -> Iterator[Chapter]:
    """The tables of the report, each with what there is to look at; what has pictures alone comes after them."""
    illustrated: dict[str, Callable[[Report], Iterator[Picture | Curves]]] = {
        "Algorithms compared": _compared,
        ATTACKS: _attacks,
        "Re-identification risk": _risks,
        "Equivalence classes": _sizes,
        "Loss by attribute (mean per cell)": _losses,
        blocks.NUMBERS: blocks.pictures,
    }
    for section in sections(dict(report)):
        draw = illustrated.get(section.title)
        pictures = () if draw is None else tuple(draw(report))
        yield Chapter(section.title, INTROS.get(section.title, ""), pictures, section)
    for each in rows(report):
        yield Chapter(each.title, SAMPLED, (), each)
    chapters = (("Marginals", _marginals, _unbinned(report)), ("Associations", _associations, None))
    for title, illustrate, table in chapters:
        if (pictures := tuple(illustrate(report))) or table:
            yield Chapter(title, INTROS[title], pictures, table)
    yield from _settings(report)
    yield from _codebook(report)


def _risks(report: Report) -> Iterator[Picture | Curves]:
    risk, words = report["risk"], whom(report)
    names = {
        "prosecutor_max": f"highest risk of {words['a']}",
        "prosecutor_mean": f"mean risk of {words['a']}",
        "records_at_risk": f"{words['many']} with a risk above {percent(risk.get('threshold', 0.2))}",
    }
    present = [name for name in names if name in risk]
    series = {"after": [risk[name] for name in present]}
    if risk.get("before") is not None:
        series = {"before": [risk["before"][name] for name in present], **series}
    yield Picture("Risk of being re-identified", [names[name] for name in present], series, "share")


def _compared(report: Report) -> Iterator[Picture | Curves]:
    series: dict[str, list[tuple[float, float]]] = {}
    for each in report["comparison"]:
        if each.get("gcp") is not None and each.get("prosecutor_max") is not None:
            series.setdefault(each["label"], []).append((each["prosecutor_max"], each["gcp"]))
    if series:
        ordered = {name: sorted(points) for name, points in series.items()}
        yield Curves("Risk against loss", ordered, "highest risk of a row", "loss (gcp)")
    varied = [each for each in report["comparison"] if each.get("variation_1") is not None]
    if varied:
        labels, names = [_bounded(each) for each in varied], {f"{way} together": f"variation_{way}" for way in WAYS}
        bars = {way: [each[name] for each in varied] for way, name in names.items() if name in varied[0]}
        yield Picture("Marginals: mean total variation from the original", labels, bars, "share")


def _bounded(each: Report) -> str:
    return f"{each['label']}, epsilon {each['epsilon']:g}" if "epsilon" in each else f"{each['label']}, k {each['k']}"


def _attacks(report: Report) -> Iterator[Picture | Curves]:
    results = [each for each in report["attacks"]["results"] if attacked(each) and each["excess"]["value"] > 0]
    results = sorted(results, key=lambda each: -each["excess"]["value"])[:STRONGEST]
    if results:
        series = {
            "baseline": [each["baseline"]["value"] for each in results],
            "success": [each["rate"]["value"] for each in results],
        }
        yield Picture("How often attackers are right", [label(each) for each in results], series, "share")


def _sizes(report: Report) -> Iterator[Picture | Curves]:
    ranges, many = report["classes"].get("sizes", []), whom(report)["many"]
    if ranges:
        yield Picture(
            f"{capital(many)} by the size of their class",
            [_range(each) for each in ranges],
            {many: [each["rows"] for each in ranges]},
            "rows",
        )


def _range(each: Report) -> str:
    low, high = each["from"], each["to"]
    return f"{low:,} and more" if high is None else f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _losses(report: Report) -> Iterator[Picture | Curves]:
    attributes = {
        name: block["ncp"] for name, block in report["utility"]["attributes"].items() if block["ncp"] is not None
    }
    if attributes:
        yield Picture("Mean loss of a cell (NCP)", list(attributes), {"loss": list(attributes.values())}, "share")


def _marginals(report: Report) -> Iterator[Picture | Curves]:
    for name, block in report.get("marginals", {}).items():
        count = block["hidden"]
        hidden = f" ({counted(count, 'row')} {'shows' if count == 1 else 'show'} nothing)" if count else ""
        yield Picture(f"{name}{hidden}", block["bins"], {"before": block["before"], "after": block["after"]}, "rows")


def _unbinned(report: Report) -> Section | None:
    """The quasi-identifiers of which there is no marginal, and why."""
    rows = list(report.get("unbinned", {}).items())
    return Section("Marginals", ("column without marginals", "because it has"), rows) if rows else None


STRONGEST = 12
"""Pairs of which the association is drawn; the JSON report has them all."""


def _associations(report: Report) -> Iterator[Picture | Curves]:
    block = report.get("associations", {})
    coarse = set(block.get("coarse", ()))
    pairs = [
        each
        for each in block.get("pairs", [])
        if each["before"] is not None and not coarse.intersection(each["columns"])
    ]
    strongest = sorted(pairs, key=lambda each: -each["before"])[:STRONGEST]
    if strongest:
        series = {side: [each[side] for each in strongest] for side in ("before", "after")}
        yield Picture("Cramér's V", [" and ".join(each["columns"]) for each in strongest], series, "coefficient")


def _settings(report: Report) -> Iterator[Chapter]:
    rows = [(name, str(each["value"]), each["from"]) for name, each in report.get("settings", {}).items()]
    if rows:
        yield Chapter("Settings", INTROS["Settings"], (), Section("Settings", ("setting", "value", "from"), rows))


def _as_text(name: str, cell: str | list[str]) -> str:
    """How a special cell stands in the codebook: what may be empty in quotes."""
    if isinstance(cell, list):
        return ", ".join(map(repr, cell))
    return repr(cell) if name in ("missing", "suppressed") else cell


def _codebook(report: Report) -> Iterator[Chapter]:
    block = report.get("codebook")
    if block is None:
        return
    rows = [(each["name"], each["role"], each["meaning"]) for each in block["columns"]]
    special = {
        "missing": "missing",
        "also_missing": "missing as well, in columns that are as in the original table",
        "suppressed": "suppressed: nothing is shown",
        "interval": "an interval, both ends included",
        "interval_without_high": "an interval, the upper end not included",
        "interval_without_low": "an interval, the lower end not included",
        "interval_without_ends": "an interval, neither end included",
        "open_high": "this number or a higher one",
        "open_low": "this number or a lower one",
        "or_missing": "any of these numbers, or no value: people of one class differ in that",
    }
    cells = [(_as_text(name, block[name]), "", meaning) for name, meaning in special.items() if name in block]
    table = Section("Codebook", ("column or cell", "role", "meaning"), [*rows, *cells])
    yield Chapter("Codebook", INTROS["Codebook"], (), table)
