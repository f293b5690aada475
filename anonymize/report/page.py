"""A report as a page: what HTML and Markdown are both rendered from.

The page is made from the JSON report alone. Verdict first, in a sentence that needs no glossary; then chapters, each
with its tables and, where people would rather look, pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anonymize.claims import State
from anonymize.report.attacks import TITLE as ATTACKS
from anonymize.report.attacks import label
from anonymize.report.compared import by_k, least
from anonymize.report.intros import INTROS
from anonymize.report.section import Section, called, percent
from anonymize.report.tables import parameters, sections
from anonymize.report.verdict import Tone, counted, known_by, main_figures, problems_title, smallest_group, verdict_of

Report = Mapping[str, Any]

PRIVATE = (
    "This report tells more than the published table does, such as counts and ranges of the input, and is as "
    "confidential as the input. A report that may be published is written with --public-report."
)


@dataclass(frozen=True)
class Picture:
    """Horizontal bars. `series`: values by name; `form`: how they are written; see `pictures.bars`."""

    caption: str
    labels: list[str]
    series: dict[str, list[float | None]]
    form: str


@dataclass(frozen=True)
class Curves:
    """Points joined by lines, a line for each of `series`: its points (x, y) by name. `x`, `y`: what the axes say."""

    caption: str
    series: dict[str, list[tuple[float, float]]]
    x: str
    y: str


@dataclass(frozen=True)
class Chapter:
    """A heading, a word on how to read what follows, pictures, and a table."""

    title: str
    intro: str = ""
    pictures: tuple[Picture | Curves, ...] = ()
    table: Section | None = None


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
    smallest: list[str]
    figures: list[tuple[str, str, str]]
    problems: list[str]
    problems_title: str
    private: str
    tool: str
    started: str | None
    algorithm: tuple[str, str] | None
    files: list[FileFact]
    warnings: list[str]
    chapters: list[Chapter]


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
        smallest=smallest_group(report),
        figures=list(main_figures(report)),
        problems=[problem for _, problem in stated],
        problems_title=problems_title(state for state, _ in stated),
        private=PRIVATE if report.get("private", True) else "",
        tool=_tool(report),
        started=report.get("started_at"),
        algorithm=_algorithm(report),
        files=list(_files(report)),
        warnings=[str(each) for each in report["warnings"]],
        chapters=[*_chapters(report)],
    )


# --- the head -----------------------------------------------------------------------------------------------------


def _summary(report: Report) -> str:
    """What the verdict means, for somebody who has never heard of a model."""
    privacy = report.get("privacy", {})
    parts = []
    if models := [each for each in privacy.get("models", []) if each["satisfied"] is not None or "unknown" in each]:
        met = sum(each["satisfied"] is True for each in models)
        parts.append(f"{met} of {counted(len(models), 'privacy requirement')} met, {known_by(models)}.")
    smallest = report.get("classes", {}).get("min_size")
    if smallest and "risk" in report:
        parts.append(
            f"Who knows all quasi-identifiers of a person, and that the person is in the table, picks the right row "
            f"with a chance of at most {percent(report['risk'].get('prosecutor_max'))}{_before(report['risk'])}."
        )
    gcp = report.get("utility", {}).get("gcp")
    if gcp is not None:
        parts.append(f"The quasi-identifiers lost {percent(gcp)} of their precision.")
    parts += _least(report)
    return " ".join(parts)


def _least(report: Report) -> Iterator[str]:
    """Which of the releases that were compared loses least at each k."""
    for k, results in by_k(report).items():
        chosen = least(results)
        place = "" if k is None else f"At k = {k:,}, "
        yield f"{place}{chosen['label']} loses least: {percent(chosen['gcp'])} of the quasi-identifiers' precision."


def _problems(report: Report) -> Iterator[tuple[State, str]]:
    """What is not met, or could not be shown, model by model."""
    privacy = report.get("privacy", {})
    for each in privacy.get("models", []):
        if each["satisfied"] is False:
            about = f" of {each['attribute']}" if each["attribute"] else ""
            reached, required = parameters(each["achieved"]), parameters(each["required"])
            yield State.UNMET, f"{each['model']}{about}: {reached} where {required} is required"
    yield from ((State.UNKNOWN, message) for message in privacy.get("unknown", []))
    yield from ((State.UNMET, message) for message in _unmet_passing(report.get("risk", {}).get("passing", {})))


def _unmet_passing(passing: Report) -> Iterator[str]:
    """What is not met by the columns that pass through."""
    for name, most in passing.get("required", {}).items():
        reached = passing[f"{name}_with_quasi_identifiers"]
        if passing["satisfied"] is False and reached > most:
            yield f"passing: {name} {percent(reached)} where at most {percent(most)} is required"
    yield from [each["says"] for each in passing.get("derived", {}).get("found", []) if not each["accepted"]]


def _before(risk: Report) -> str:
    before = risk.get("before")
    return "" if before is None else f" ({percent(before['prosecutor_max'])} in the original)"


def _about(report: Report) -> str:
    """The table, the day and the method, as far as the report knows them."""
    paths = [report.get(name, {}).get("path") for name in ("input", "output")]
    tables = " to ".join(path.rsplit("/", 1)[-1] for path in paths if path and path != "-")
    algorithm = report.get("algorithm", {})
    method = called(algorithm["recommended"]) if "recommended" in algorithm else algorithm.get("name", "")
    return ", ".join(filter(None, [tables, str(report.get("started_at", ""))[:10], method]))


def _tool(report: Report) -> str:
    return " ".join(filter(None, [report["tool"]["name"], report["tool"]["version"]]))


def _algorithm(report: Report) -> tuple[str, str] | None:
    """The algorithm and its options; None where none was run."""
    if "algorithm" not in report:
        return None
    options = ", ".join(f"{name} = {value}" for name, value in report["algorithm"]["options"].items())
    return report["algorithm"]["name"], options


def _files(report: Report) -> Iterator[FileFact]:
    """The files of a report of which anything is known."""
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
    }
    for section in sections(dict(report)):
        pictures = tuple(illustrated.get(section.title, _none)(report))
        yield Chapter(section.title, INTROS.get(section.title, ""), pictures, section)
    chapters = (("Marginals", _marginals, _unbinned(report)), ("Associations", _associations, None))
    for title, draw, table in chapters:
        if (pictures := tuple(draw(report))) or table:
            yield Chapter(title, INTROS[title], pictures, table)
    yield from _settings(report)
    yield from _codebook(report)


def _none(report: Report) -> Iterator[Picture | Curves]:
    yield from ()


def _risks(report: Report) -> Iterator[Picture | Curves]:
    risk = report["risk"]
    names = {
        "prosecutor_max": "highest risk of a row",
        "prosecutor_mean": "mean risk of a row",
        "records_at_risk": f"rows with a risk above {percent(risk.get('threshold', 0.2))}",
    }
    present = [name for name in names if name in risk]
    series = {"after": [risk[name] for name in present]}
    if risk.get("before") is not None:
        series = {"before": [risk["before"][name] for name in present], **series}
    yield Picture("Risk of being re-identified", [names[name] for name in present], series, ".1~%")


def _compared(report: Report) -> Iterator[Picture | Curves]:
    series: dict[str, list[tuple[float, float]]] = {}
    for each in report["comparison"]:
        if each.get("gcp") is not None and each.get("prosecutor_max") is not None:
            series.setdefault(each["label"], []).append((each["prosecutor_max"], each["gcp"]))
    if series:
        ordered = {name: sorted(points) for name, points in series.items()}
        yield Curves("Risk against loss", ordered, "highest risk of a row", "loss (gcp)")


def _attacks(report: Report) -> Iterator[Picture | Curves]:
    results = [each for each in report["attacks"]["results"] if each["rate"] is not None]
    if results:
        series = {
            "baseline": [each["baseline"]["value"] for each in results],
            "success": [each["rate"]["value"] for each in results],
        }
        yield Picture("How often attackers are right", [label(each) for each in results], series, ".1~%")


def _sizes(report: Report) -> Iterator[Picture | Curves]:
    ranges = report["classes"].get("sizes", [])
    if ranges:
        yield Picture(
            "Rows by the size of their class",
            [_range(each) for each in ranges],
            {"rows": [each["rows"] for each in ranges]},
            ",.0f",
        )


def _range(each: Report) -> str:
    low, high = each["from"], each["to"]
    return f"{low:,} and more" if high is None else f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _losses(report: Report) -> Iterator[Picture | Curves]:
    attributes = {
        name: block["ncp"] for name, block in report["utility"]["attributes"].items() if block["ncp"] is not None
    }
    if attributes:
        yield Picture("Mean loss of a cell (NCP)", list(attributes), {"loss": list(attributes.values())}, ".1~%")


def _marginals(report: Report) -> Iterator[Picture | Curves]:
    for name, block in report.get("marginals", {}).items():
        count = block["hidden"]
        hidden = f" ({counted(count, 'row')} {'shows' if count == 1 else 'show'} nothing)" if count else ""
        yield Picture(f"{name}{hidden}", block["bins"], {"before": block["before"], "after": block["after"]}, ",.0f")


def _unbinned(report: Report) -> Section | None:
    """The quasi-identifiers of which there is no marginal, and why."""
    rows = list(report.get("unbinned", {}).items())
    return Section("Marginals", ("column without marginals", "because it has"), rows) if rows else None


STRONGEST = 12
"""Pairs of which the association is drawn; the JSON report has them all."""


def _associations(report: Report) -> Iterator[Picture | Curves]:
    pairs = [each for each in report.get("associations", {}).get("pairs", []) if each["before"] is not None]
    strongest = sorted(pairs, key=lambda each: -each["before"])[:STRONGEST]
    if strongest:
        series = {side: [each[side] for each in strongest] for side in ("before", "after")}
        yield Picture("Cramér's V", [" and ".join(each["columns"]) for each in strongest], series, ".2f")


def _settings(report: Report) -> Iterator[Chapter]:
    rows = [(name, str(each["value"]), each["from"]) for name, each in report.get("settings", {}).items()]
    if rows:
        yield Chapter("Settings", INTROS["Settings"], (), Section("Settings", ("setting", "value", "from"), rows))


def _codebook(report: Report) -> Iterator[Chapter]:
    block = report.get("codebook")
    if block is None:
        return
    rows = [(each["name"], each["role"], each["meaning"]) for each in block["columns"]]
    special = {
        "missing": "missing",
        "suppressed": "suppressed: nothing is shown",
        "interval": "an interval, both ends included",
        "interval_without_high": "an interval, the upper end not included",
        "interval_without_low": "an interval, the lower end not included",
        "interval_without_ends": "an interval, neither end included",
        "open_high": "this number or a higher one",
        "open_low": "this number or a lower one",
        "or_missing": "any of these numbers, or no value: people of one class differ in that",
    }
    quoted = ("missing", "suppressed")
    cells = [
        (repr(block[name]) if name in quoted else block[name], "", meaning)
        for name, meaning in special.items()
        if name in block
    ]
    table = Section("Codebook", ("column or cell", "role", "meaning"), [*rows, *cells])
    yield Chapter("Codebook", INTROS["Codebook"], (), table)
