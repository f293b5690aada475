"""The verdict of a report in one sentence: on top of a page, on a terminal, in an annotation of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from anonymize.claims import Basis, State
from anonymize.errors import Caution, counted
from anonymize.records import dataclass
from anonymize.report.blocks import attacked, interval, label
from anonymize.report.section import percent, whom

# --- releases of a comparison -----------------------------------------------------------------------------------------
# The releases of a comparison by k, and which of them loses least.

Result = Mapping[str, Any]


def by_k(report: Mapping[str, Any]) -> dict[int | None, list[Result]]:
    """The releases that were made and have a loss, by the k that they were made with, in the order compared."""
    made: dict[int | None, list[Result]] = {}
    for each in report.get("comparison", []):
        if each["code"] == 0 and each["gcp"] is not None:
            made.setdefault(each["k"], []).append(each)
    return made


def least(results: Sequence[Result]) -> Result:
    """The one of least loss; of equal ones the first."""
    return min(results, key=lambda each: float(each["gcp"]))


def as_rows(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The releases as rows of one table, for a CSV or a frame: figures in figures are columns of their own, such as
    `spread.gcp`, and what is wrong is one text."""
    return [_flat(each) for each in report.get("comparison", [])]


def _flat(result: Result, prefix: str = "") -> dict[str, Any]:
    """Options are in the label already."""
    row: dict[str, Any] = {}
    for name, value in result.items():
        if isinstance(value, Mapping):
            row |= {} if name == "options" else _flat(value, f"{prefix}{name}.")
        else:
            row[f"{prefix}{name}"] = "; ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return row


# --- verdict ----------------------------------------------------------------------------------------------------------

Tone = Literal["met", "but", "unmet", "unknown", "neutral"]

KNOWN_BY = {
    Basis.MEASURED: "measured from the table as written",
    Basis.DERIVED: "derived from the declared mechanism, against which the table was tested",
    Basis.UNKNOWN: "could not be shown",
}

BEFORE = "measured on the values before they were changed"
"""What is required of a sensitive column that a treatment changed."""
OF_THE_INPUT = frozenset({"rare"})
"""What is measured in the input, and no promise of the release."""
GONE = 0.9
"""The mean loss of a column's cells from which hardly anything is left of it."""
NAMED = 5
"""Columns that a line names at most."""
UNSHOWN = "NOT SHOWN: a requirement could not be shown to be met"
UNSHOWN_HERE = "NOT SHOWN by this public report: whether requirements are met cannot be seen from the release alone"


STEPS_REQUIRE = Caution.of(
    "`privacy` requires nothing: what the steps that suppress require was measured in the file, and nothing beyond it "
    "is guaranteed",
    "`privacy: {k: 5}` in the spec requires something of all quasi-identifiers together",
)


@dataclass(frozen=True)
class ReportVerdict:
    """`tone`: how it is coloured; "but" is met, with something that no requirement speaks of. `sentence`: without a
    capital and a full stop."""

    tone: Tone
    sentence: str


def verdict_of(report: Mapping[str, Any]) -> ReportVerdict:
    """The verdict of a report of any kind."""
    if "comparison" in report:
        return ReportVerdict("neutral", "compared, and nothing published")
    if "privacy" not in report:
        evaluated = bool({"utility", "left_out", "numbers", "categories"} & report.keys())
        return ReportVerdict("neutral", "evaluated, not judged" if evaluated else "recoded, not measured")
    state = State(report["privacy"]["state"])
    if state is State.MET:
        return _met(report.get("risk", {}).get("passing", {}))
    if state is State.UNMET:
        return ReportVerdict("unmet", "NOT SAFE: a requirement is not met")
    if state is State.UNKNOWN:
        return ReportVerdict("unknown", UNSHOWN_HERE if "public" in report else UNSHOWN)
    if groups := [each for step in _suppressing(report) for each in step["measured"]["groups"]]:
        return ReportVerdict("neutral", f"{_by_steps(groups)}; `privacy` requires nothing beyond that")
    if STEPS_REQUIRE in report.get("warnings", []):
        met = "what the steps that suppress require is met"
        return ReportVerdict("neutral", f"{met}; `privacy` requires nothing beyond that")
    return ReportVerdict("neutral", "measured; nothing was required")


def _by_steps(groups: Sequence[Mapping[str, Any]]) -> str:
    if len(groups) > 1:
        return f"all {len(groups)} requirements of suppression on groups of rows are met"
    (only,) = groups
    bound = f"k = {only['k']}" if "k" in only else f"a risk of at most {only['risk']:g}"
    return f"{bound}, as suppression requires for {shortened(only['columns'])}, is met"


def problems_title(states: Iterable[State | None]) -> str:
    """The heading of requirements that are not met, could not be shown, or some of either."""
    present = set(states)
    if State.UNKNOWN not in present:
        return "Not met"
    return "Not met, or not shown to be" if State.UNMET in present else "Not shown to be met"


def known_by(models: Sequence[Mapping[str, Any]]) -> str:
    """How the figures of the requirements are known, whichever way most of them are first; nothing without any."""
    ways = [BEFORE if each.get("before_treatment") else KNOWN_BY[Basis(each["basis"])] for each in models]
    numbers = {way: ways.count(way) for way in (*KNOWN_BY.values(), BEFORE) if way in ways}
    if len(numbers) == 1:
        return ways[0]
    return ", ".join(f"{numbers[way]} {way}" for way in sorted(numbers, key=lambda own: -numbers[own]))


def _met(passing: Mapping[str, Any]) -> ReportVerdict:
    """That all is met. Requirements are about the quasi-identifiers; what passes through may single out every row all
    the same, and is said here unless the spec itself bounds it."""
    met, alone = "every requirement is met", passing.get("uniques_with_quasi_identifiers", 0.0)
    if not alone or "required" in passing:
        return ReportVerdict("met", met)
    return ReportVerdict("but", f"{met}, but columns that pass through single out {percent(alone)} of the rows")


def smallest_group(report: Mapping[str, Any]) -> list[str]:
    """The main figure of a table in classes, the size of the smallest one; and beneath it what becomes of groups for
    whoever knows the columns that pass through as well. Nothing where there are no classes, or no such columns."""
    smallest, risk = report.get("classes", {}).get("min_size"), report.get("risk", {})
    passing = risk.get("passing", {})
    share = passing.get("below_k_with_quasi_identifiers")
    if smallest is None or share is None or not passing.get("columns"):
        return []
    words = whom(report)
    main = f"smallest group by the quasi-identifiers: {counted(smallest, words['one'])}"
    names = shortened(passing["columns"])
    return [main, f"with {names}: {percent(share)} of rows in groups below {passing['k']}{words['of']}"]


def main_figures(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What a release comes to: requirements, the smallest group, the highest risk of a row, what was lost, and rows;
    of each its name, the figure, and how the sentence goes on. What is not defined for the release is left out."""
    required = [each for each in report.get("privacy", {}).get("models", []) if each["model"] not in OF_THE_INPUT]
    if models := [each for each in required if each["satisfied"]]:
        yield "requirements", f"{len(models)} met", f", {known_by(models)}"
    classes, risk, output = (report.get(name, {}) for name in ("classes", "risk", "output"))
    if (smallest := classes.get("min_size")) is not None:
        alone = {name: share for name, share in risk.get("unique_values", {}).items() if share}
        known = [f"{name} alone singles out {percent(share)} of the rows" for name, share in alone.items()]
        meaning = "; ".join([" by the quasi-identifiers", *smallest_group(report)[1:], *known])
        yield "smallest group", counted(smallest, whom(report)["one"]), meaning
    if (highest := risk.get("prosecutor_max")) is not None:
        before = (risk.get("before") or {}).get("prosecutor_max")
        earlier = "" if before is None else f"; {percent(before)} before the release"
        yield "highest risk", percent(highest), f" for {whom(report)['a']}{earlier}"
    if (lost := report.get("utility", {}).get("gcp")) is not None:
        columns = report["utility"].get("attributes", {})
        gone = [name for name, each in columns.items() if (each.get("ncp") or 0) >= GONE]
        rest = f"; hardly anything is left of {shortened(gone)}" if 0 < len(gone) < len(columns) else ""
        yield "lost", percent(lost), f" of the precision of the quasi-identifiers (gcp){rest}"
    yield from _suppressed_cells(report)
    if tables := report.get("tabulation", {}).get("tables"):
        groups, blank = (sum(each[name] for each in tables) for name in ("groups", "blank"))
        yield "tables", f"{len(tables)}", f" with {groups:,} groups, {blank:,} of them blank"
    if {"beta", "k"} <= (drawn := report.get("recoding", {})).keys():
        yield "drawn at random", percent(drawn["beta"]), f" of the rows; groups below k = {drawn['k']:,} are left out"
    if (rows := output.get("rows")) is not None:
        kinds = (("suppressed", output.get("suppressed_rows")), ("left out", output.get("dropped_rows")))
        yield "rows", f"{rows:,}", "".join(f", {number:,} {kind}" for kind, number in kinds if number is not None)
    if said := report.get("budget", {}).get("said"):
        first, colon, rest = said.partition(":")
        yield "budget", first, f"{colon}{rest}"


def _suppressed_cells(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """How many cells steps of `treatments` have suppressed, and of which column most; nothing where they have none. A
    public report does not tell which steps there were, and knows the cells of quasi-identifiers alone."""
    cells = {name: each for step in _suppressing(report) for name, each in step["measured"]["cells"].items()}
    shares, number = {name: each["share"] for name, each in cells.items()}, sum(e["suppressed"] for e in cells.values())
    if "public" in report and report.get("algorithm", {}).get("name") == "perturb":
        number = report["output"].get("suppressed_cells", 0)
        shares = {name: each["ncp"] or 0.0 for name, each in report.get("utility", {}).get("attributes", {}).items()}
    if number and shares:
        worst = max(shares, key=lambda name: float(shares[name]))
        most = f"; most of {worst}: {percent(shares[worst])}" if len(shares) > 1 else ""
        mean = percent(sum(shares.values()) / len(shares))
        yield "suppressed cells", f"{number:,}", f", {mean} of those of {counted(len(shares), 'column')}{most}"


def _suppressing(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The steps that suppress cells, with what was measured of them."""
    return [step for step in report.get("treatments", []) if "cells" in step.get("measured", {})]


def capital(text: str) -> str:
    """A sentence with its capital."""
    return text[:1].upper() + text[1:]


def shortened(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    further = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {further} more" if further > 0 else "")


# --- what was found, and what to do ---------------------------------------------------------------------------------


def opening(report: Mapping[str, Any]) -> Caution | None:
    """What was found, in a sentence, and what to do; None of a release, whose figures say it."""
    if "attacks" in report and "input" in report and "algorithm" not in report:
        return _of_attacks(report["attacks"]["results"])
    if "comparison" in report:
        return _of_comparison(report)
    if "privacy" in report and "algorithm" not in report:
        return _of_audit(report)
    return _of_evaluation(report) if "algorithm" not in report and "utility" in report else None


def _of_attacks(results: Sequence[Result]) -> Caution:
    tried = [each for each in results if attacked(each)]
    if not tried:
        return Caution("there was nothing to attack")
    sure = [each for each in tried if each["excess"]["low"] > 0]
    worst = max(sure or tried, key=lambda each: float(each["excess"]["value"]))
    against = worst[worst["against"]]["value"]
    other = "chance gives" if worst["against"] == "baseline" else "it is right of people outside the release for"
    said = f"{label(worst)} is right for {percent(worst['rate']['value'])} where {other} {percent(against)}"
    if worst["excess"]["low"] <= 0 < worst["excess"]["high"]:
        return Caution(f"no attacker surely learns anything because of the release; at most, {said}")
    if worst["excess"]["value"] <= 0:
        return Caution("no attacker learns anything because of the release")
    excess = f"an excess of {percent(worst['excess']['value'])} ({interval(worst['excess'])})"
    return Caution.of(f"{said}: {excess}", worst["remedy"])


def _of_comparison(report: Mapping[str, Any]) -> Caution | None:
    """Which of the releases that were compared loses least at each k."""
    made = {k: least(results) for k, results in by_k(report).items()}
    if not made:
        return None
    said = [
        f"{'' if k is None else f'at k = {k:,}, '}{each['label']} loses least, {percent(each['gcp'])} of the precision"
        for k, each in made.items()
    ]
    k, first = next(iter(made.items()))
    name, flag = first.get("algorithm", first["label"]), "" if k is None else f" -k {k}"
    return Caution.of("; ".join(said), f"`anonymize {name} SPEC{flag} -o released.csv -r report.html`")


def _of_audit(report: Mapping[str, Any]) -> Caution | None:
    """What of the requirements is not met, or how small the smallest group is."""
    models = report["privacy"].get("models", [])
    failing = [each for each in models if each["satisfied"] is False]
    smallest = report.get("classes", {}).get("min_size")
    if failing:
        worst = max(failing, key=lambda each: int(each.get("failing_rows", 0)))
        said = f"{len(failing)} of {counted(len(models), 'requirement')} not met, {worst['model']} in most rows"
        rows = f"{counted(worst.get('failing_rows', 0), 'row')} fail"
        made = "`anonymize release SPEC -o released.csv -r report.html` makes one that does"
        return Caution.of(f"{said}: {rows}", made)
    if smallest is None:
        return None
    said = f"the smallest group by the quasi-identifiers has {counted(smallest, whom(report)['one'])}"
    if State(report["privacy"]["state"]) is State.NOTHING_REQUIRED:
        return Caution.of(
            f"{said}; no requirement says whether that is enough", "`-k 5`, or a spec, requires something"
        )
    return None


def _of_evaluation(report: Mapping[str, Any]) -> Caution | None:
    """What the release has lost, and of which column most."""
    lost, columns = report["utility"].get("gcp"), report["utility"].get("attributes") or {}
    losses = {name: each["ncp"] for name, each in columns.items() if each.get("ncp") is not None}
    if lost is None or not losses:
        return None
    worst = max(losses, key=lambda name: float(losses[name]))
    if not losses[worst]:
        return Caution("the release lost nothing of the precision of the quasi-identifiers")
    said = f"the release lost {percent(lost)} of the precision of the quasi-identifiers, most of {worst}"
    added = f"`weight: 3`, added to {worst} in the spec,"
    if columns[worst].get("changed_by") == "suppress":
        added = f"a higher `importance` of {worst} in the step that suppresses it"
    keeps = f"{added} may keep more of it, at the cost of the others"
    return Caution.of(f"{said}: {percent(losses[worst])}", keeps)
