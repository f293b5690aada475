"""Blocks of a report as tables: what attackers achieved, the series that a release belongs to, and steps of
`treatments` with what is left of numbers that were changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from anonymize.report.section import Picture, Section, explained, figure, percent, share

# --- attackers --------------------------------------------------------------------------------------------------------
# What attackers achieved, as a table.

ATTACKS = "What attackers learn because of the release"
FURTHER = "Attacks: further figures"


ATTACK_MEANINGS = {
    "max": "the highest chance of a target",
    "at_risk": "targets whose chance is above 0.2",
    "by_regions": "rows that may be yours: of all classes that cover a target, the median",
    "by_method": "rows that may be yours: of the smallest region among these, the median",
    "dcap": "mean share that is offered to the true value",
    "dcap_baseline": "the same by the values of all rows",
    "weap": "targets about whom the attacker is certain",
    "tcap": "of these, those where the attacker is right",
    "rapid": "targets whose true value is much more probable than before",
    "isolating": "conditions that exactly one person meets",
    "narrowed": "cells, or classes with cells, that can be narrowed",
    "expected": "success rate that the attacker expects",
    "nested": "targets in classes that have another inside",
    "ruled_out": "of the targets' combinations, what these rule out",
    "refused": "targets in classes about which a refused step discloses something",
    "balanced": "1: shares were balanced over all people; 0: not",
    "columns": "numbers that are known of a person",
    "standardized": "rows linked with the right person by standardized values",
    "ranks": "rows linked with the right person by ranks",
    "one_to_one": "the same for an attacker who links everybody at once",
    "intervals": "rows whose true values are all within 5 % of a standard deviation of the released ones",
    "robust": "rows with a released value in the interval that grows with their robust Mahalanobis distance",
    "robust_apart": "rows among these that have no other released row near",
    "conditions": "conditions that exactly one invented row meets",
    "closest": "how far invented rows are from the nearest of the original, the median",
    "closest_control": "how far they are from the nearest of the control, the median",
    "equal": "rows that equal somebody of the original",
    "equal_control": "rows that equal somebody of the control",
    "fewest": "chains of rows that could be one target's, at the fewest",
}
"""What the further figures say."""

HEADERS = {"rate": "success", "baseline": "baseline", "control": "control"}


def attack_sections(report: Mapping[str, Any]) -> list[Section]:
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
        (label(each), name.replace("_", " "), figure(value), ATTACK_MEANINGS.get(name, ""))
        for each in tried
        for name, value in each["figures"].items()
    ]
    columns = ("attacker", "", "figure", "meaning")
    return [
        Section(ATTACKS, header, rows),
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


# --- a series ---------------------------------------------------------------------------------------------------------
# The block `series` of a release, as tables.

SERIES_MEANINGS = {
    "before": "people in the release before",
    "departed": "of them, not in the input any more, since the last release",
    "in_small_company": "of those who left, not shown any more with fewer than k people of their history: not bounded",
    "kept": "not in the input any more, and shown as they were last until k people of their history have left",
    "told_by_values": "of them, with fewer than k of their history whose values have stayed the same: not bounded",
    "released": "people in this release",
    "newcomers": "of them, for the first time",
    "held_back": "in the input and never released so far: too few for a class, or waiting for others",
    "withheld": "released before, and not now: too few of their history are left",
}


def series_sections(report: Mapping[str, Any]) -> list[Section]:
    """Who came, left and is not shown, and then what was measured."""
    block = report["series"]
    people = [explained("People of the series", block["people"], SERIES_MEANINGS)] if "people" in block else []
    return [*people, *measured(report)]


# --- a ledger ---------------------------------------------------------------------------------------------------------

BUDGET_MEANINGS = {
    "epsilon": "epsilon of all differentially private outputs about these people, with this one",
    "delta": "at this delta, that of the cap",
    "rho": "what was summed: zero-concentrated differential privacy",
    "slack": "the probability that this leaves out",
}


def budget_sections(report: Mapping[str, Any]) -> list[Section]:
    """What was spent on the people of the release."""
    return [explained("Budget of the people", report["budget"]["spent"], BUDGET_MEANINGS)]


# --- by history -----------------------------------------------------------------------------------------------------


SERIES = "People by history, from the first release on"


def measured(report: Mapping[str, Any]) -> list[Section]:
    """What was verified, release by release, along with the promises of the literature."""
    block = report["series"]
    verified, literature = block.get("verified"), block.get("beside")
    drawn = [] if verified is None else [_histories(verified), _models(verified)]
    return drawn if literature is None else [*drawn, _correspondence(literature), _invariance(literature)]


def _histories(verified: Mapping[str, Any]) -> Section:
    header = ("release", "people", "for the first time", "histories", "fewest in one", "left", "in company below k")
    counts = ("people", "first_time", "histories", "smallest")
    rows = [
        (_name(each), *(figure(each[name]) for name in counts), *_left(each["left"])) for each in verified["releases"]
    ]
    return Section(SERIES, header, rows)


def _left(block: Mapping[str, Any] | None) -> tuple[str, str]:
    return ("-", "-") if block is None else (figure(block["people"]), figure(block["in_small_company"]))


def _models(verified: Mapping[str, Any]) -> Section:
    """Each model of each release, by the values of the release that shows least."""
    rows = [row for release in verified["releases"] for row in (*_rows(release), *_rows(release, "departed"))]
    return Section("Models by history", ("release", "model", "attribute", "achieved", "by values of", "met"), rows)


def _rows(release: Mapping[str, Any], whose: str = "models") -> Iterator[tuple[str, ...]]:
    for model in release.get(whose, ()):
        reached = ", ".join(f"{name} = {figure(value)}" for name, value in model["achieved"].items()) or "-"
        by = PurePath(model["values_of"]).name if model.get("values_of") else ""
        met = "not shown" if model["satisfied"] is None else figure(model["satisfied"])
        name = _name(release) if whose == "models" else f"{_name(release)}, not in it any more"
        yield name, model["model"], model["attribute"] or "", reached, by, met


def _correspondence(literature: Mapping[str, Any]) -> Section:
    header = ("release", "after", "forward, cross", "backward")
    rows = [
        (_name(each, "release"), _name(each, "after"), figure(each.get("forward")), figure(each.get("backward")))
        for each in literature["bcf_anonymity"]
    ]
    return Section("BCF-anonymity of a release and the one before, from the files alone (not judged)", header, rows)


def _invariance(literature: Mapping[str, Any]) -> Section:
    header = ("attribute", "m", "classes of distinct values", "people whose values stay", "fewest in common")
    names = ("m", "distinct", "invariant", "common")
    rows = [(each["attribute"], *(figure(each[name]) for name in names)) for each in literature["m_invariance"]]
    return Section("m-invariance (not judged)", header, rows)


def _name(block: Mapping[str, Any], key: str = "name") -> str:
    return PurePath(str(block[key])).name


# --- treated ----------------------------------------------------------------------------------------------------------
# Steps of `treatments`, and what is left of numbers that were changed, as tables and pictures.

STEPS, NUMBERS, TOGETHER = "Treatments", "Numbers that were changed", "Numbers together"
CATEGORIES = "Frequencies that were changed"
INTROS = {
    STEPS: "Steps that changed values of columns, in addition to generalization, and their effects.",
    NUMBERS: "Changes in standard deviations of the original column; a variance of 1 is what it was.",
    CATEGORIES: "Half the sum of the differences of shares: 0 is what it was, 1 has nothing in common with it.",
    TOGETHER: "How columns of numbers go together, before and after.",
}
"""How to read the sections, by their titles."""


def steps(report: Mapping[str, Any]) -> list[Section]:
    """The steps, a line for each figure of each; of steps that suppress also their columns, and the groups that they
    have made."""
    rows: list[tuple[str, ...]] = []
    for number, step in enumerate(report["treatments"], 1):
        is_cell = "the original value, or suppressed" if step["method"] == "suppress" else step["meaning"]
        about = (f"{number}", step["method"], ", ".join(step["columns"]), is_cell)
        settings = {name: value for name, value in step["settings"].items() if value not in (None, False, [], {})}
        measured = {name: value for name, value in step.get("measured", {}).items() if name != "cells"}
        figures = list(_flat({**settings, **measured, **step.get("private", {})})) or [("", "")]
        rows += [(*about, name, value) for name, value in figures]
    every = Section(STEPS, ("step", "method", "columns", "a cell is", "measure", "figure"), rows, names=4)
    return [every, *_suppressed(report["treatments"])]


def _suppressed(steps: Sequence[Mapping[str, Any]]) -> list[Section]:
    """What steps have suppressed, by column, and how large groups are of which they require a size or a risk."""
    cells: list[tuple[str, ...]] = []
    groups: list[tuple[str, ...]] = []
    for number, step in enumerate(steps, 1):
        measured = step.get("measured", {})
        own = measured.get("cells", {}).items()
        cells += [(f"{number}", name, figure(each["suppressed"]), percent(each["share"])) for name, each in own]
        for each in measured.get("groups", []) if own else []:
            bound = f"k = {each['k']}" if "k" in each else f"risk = {each['risk']:g}"
            figures = (figure(each[name]) for name in ("groups", "smallest", "rows_below_before"))
            groups.append((f"{number}", ", ".join(each["columns"]), bound, *figures))
    header = ("step", "columns", "required", "groups", "rows of the smallest", "rows that fell short before")
    return [
        Section("Suppressed cells", ("step", "column", "suppressed cells", "share"), cells, names=2),
        Section("Rows that read the same in the columns of a step", header, groups, names=3),
    ]


def _flat(block: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Figures of a block and of blocks in it, by their keys."""
    for name, value in block.items():
        title = f"{before}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            yield from _flat(value, f"{title}: ")
        elif isinstance(value, tuple):
            yield title, " of ".join(map(figure, value))
        elif not isinstance(value, list):
            yield title, figure(value)


def numbers(report: Mapping[str, Any]) -> list[Section]:
    """The columns, and what is said of several of them together."""
    block = report["numbers"]
    measures = {
        "mean_change": "mean",
        "decile_change_max": "deciles, at most",
        "variance_ratio": "variance",
        "variance_ratio_corrected": "variance, corrected",
        "il1s": "IL1s",
        "total_change": "weighted total",
        "total_change_in_errors": "in standard errors",
    }
    present = [name for name in measures if any(name in each for each in block["columns"].values())]
    write = {name: share if name == "total_change" else figure for name in present}
    rows = [
        (column, *(written(each.get(name)) for name, written in write.items()))
        for column, each in block["columns"].items()
    ]
    of_columns = Section(NUMBERS, ("column", *(measures[name] for name in present)), rows)
    return [of_columns, Section(TOGETHER, ("measure", "figure", "key"), _together(block))]


def categories(report: Mapping[str, Any]) -> list[Section]:
    """Frequencies of columns that went through a channel."""
    measures = {"total_variation": "total variation", "total_variation_corrected": "corrected by the manifest"}
    rows = [(name, *(figure(each.get(measure)) for measure in measures)) for name, each in report["categories"].items()]
    return [Section(CATEGORIES, ("column", *measures.values()), rows)]


def _together(block: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    meanings = {
        "il1s": "how far cells moved, in standard deviations by the root of two (IL1s), a mean",
        "covariance_change.mean": "change of a covariance, in standard deviations of both, a mean",
        "covariance_change.max": "the largest such change",
        "covariance_change_corrected.mean": "the same, a mean, once noise is taken out by the manifest",
        "correlation_change.mean": "change of a correlation, a mean",
        "correlation_change.max": "the largest such change",
        "correlation_change_corrected.mean": "the same, a mean, once noise is taken out by the manifest",
        "coefficient_change.mean": "change of a regression coefficient, in standard deviations of both, a mean",
        "coefficient_change.max": "the largest such change",
        "coefficient_change_corrected.mean": "the same, a mean, once noise is taken out by the manifest",
        "eigenvalues.change": "change of the eigenvalues of correlations, relative to each, in all",
        "regression_overlap.mean": "overlap of the confidence intervals of regression coefficients, a mean",
        "regression_overlap.min": "the least such overlap; below 0 they are apart",
    }
    rows = []
    for key, meaning in meanings.items():
        outer, _, inner = key.partition(".")
        value = block.get(outer)
        value = value.get(inner) if inner and isinstance(value, Mapping) else value
        if value is not None:
            rows.append((meaning, figure(value), key))
    if "corrected" in block:
        rows.append(("columns out of whose moments noise is taken", ", ".join(block["corrected"]), "corrected"))
    for name, why in block.get("not_corrected", {}).items():
        rows.append((f"out of those of {name} nothing is taken", why, "not_corrected"))
    return rows


def pictures(report: Mapping[str, Any]) -> Iterator[Picture]:
    """How far the columns' deciles and means moved."""
    columns = report.get("numbers", {}).get("columns", {})
    series: dict[str, list[float | None]] = {
        "mean": [abs(each.get("mean_change", 0.0)) for each in columns.values()],
        "deciles, at most": [each.get("decile_change_max") for each in columns.values()],
    }
    if columns:
        yield Picture("Changes in standard deviations", list(columns), series, "coefficient")


# --- tables -----------------------------------------------------------------------------------------------------------
# The tables of `tabulate`, as a table.

TABLES = "Tables"
PROTECTED = "What the tables tell"


_COUNTED = ["groups", "blank"]


def tabulations(report: Mapping[str, Any]) -> list[Section]:
    """A line for each table; and of a private report a line for each measure, with what an attacker can tell."""
    block = report["tabulation"]
    noisy = ["noise_sd"] if block["mechanism"] == "dp" else []
    rows = [
        (each["file"], ", ".join(each["by"]), _measured(each), *(figure(each.get(name)) for name in _COUNTED + noisy))
        for each in block["tables"]
    ]
    drawn = [Section(TABLES, ("file", "by", "measure", *_COUNTED, *(name.replace("_", " ") for name in noisy)), rows)]
    figures = block.get("private", {}).get("measures", {})
    names = list(dict.fromkeys(name for each in figures.values() for name in each))
    lines = [(measure, *(figure(each.get(name)) for name in names)) for measure, each in figures.items()]
    title = PROTECTED if block["mechanism"] == "suppression" else "Checked in what was written"
    return [*drawn, Section(title, ("measure", *names), lines)]


def _measured(table: Mapping[str, Any]) -> str:
    return table["measure"] if table["column"] is None else f"{table['measure']} of {table['column']}"
