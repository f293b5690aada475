"""The report as a few tables of text: what the terminal and Markdown both show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anonymize.metrics import METRICS
from anonymize.report import blocks, evaluation, verdict
from anonymize.report.evaluation import risks
from anonymize.report.section import Section, explained, figure, share, whom

INTROS = {
    "Re-identification risk": "Before is the original with its values as they are; after is the release. The "
    "prosecutor knows that a person is in the table, the journalist does not; the marketer links everybody.",
    "Equivalence classes": "Rows that read the same in every quasi-identifier are one class.",
    "Loss by attribute (mean per cell)": "0 %: every value is shown as it was. 100 %: nothing is shown.",
    "Hierarchy levels": "Level 0 shows the values as they are, and each level above it less. At the height nothing is "
    "shown.",
    "Marginals": "How many rows have each value before, and how many a reader of the release would count if every "
    "value under a label were equally likely. Rows that show nothing in a column are not in its bars.",
    "Associations": "Cramér's V of pairs of columns: 0 if they are independent, 1 if one determines the other. "
    "After, from what the classes show. The pairs with the strongest associations before.",
    blocks.PROTECTED: "Narrowest: how far the interval of an unsafe group reaches at the least, as a share of how far "
    "it has to; the tables of one run are attacked together.",
    "Settings": "What was required or chosen, and where each value came from.",
    "Information loss compared": "The metrics other than gcp; the report in JSON has sums over rows as well.",
    "Algorithms compared": "Risk is the highest of any row, loss is gcp. Efficient: no other release here has less of "
    "one and no more of the other.",
    blocks.ATTACKS: "Success: how often the attacker is right. Excess: the share of what was left to learn that he "
    "learns because of the release, over the control where there is one, else over the baseline.",
    **blocks.INTROS,
    evaluation.NOT_MEASURED: "Why each is left out; `anonymize explain gcp` says what a figure is.",
    "Codebook": "How the columns and special cells of the release read.",
}
"""How to read a section, by its title: on a page, and where a table has no meanings of its own."""


WAYS = (1, 2, 3)
"""Of how many columns a comparison has marginals."""


def sections(report: dict[str, Any]) -> list[Section]:
    """The sections that a report's blocks give, in the order in which a reader wants them."""
    makers = {
        "comparison": _comparison,
        "attacks": blocks.attack_sections,
        "outside": _outside,
        "privacy": privacies,
        "series": blocks.series_sections,
        "budget": blocks.budget_sections,
        "classes": _classes,
        "risk": risks,
        "treatments": blocks.steps,
        "tabulation": blocks.tabulations,
        "numbers": blocks.numbers,
        "categories": blocks.categories,
        "utility": _utilities,
        "recoding": _levels,
    }
    drawn = [section for key, maker in makers.items() if key in report for section in maker(report)]
    drawn += evaluation.evaluation_sections(report)
    return [section for section in drawn if section.rows]


def parameters(values: dict[str, Any]) -> str:
    """Parameters with their values, as text."""
    return ", ".join(f"{name} = {figure(value)}" for name, value in values.items()) or "-"


def privacies(report: dict[str, Any]) -> list[Section]:
    """What is required and what is reached; where missing is a wildcard, the same in that meaning."""
    block = report["privacy"]
    models = block["models"]
    measured = _privacy(f"Privacy, {verdict.known_by(models)}" if models else "Privacy", models)
    if "wildcard" not in block:
        return [measured]
    title = "The same where a missing or suppressed cell matches anything, which does not decide"
    return [measured, _privacy(title, block["wildcard"]["models"])]


def _privacy(title: str, models: list[dict[str, Any]]) -> Section:
    rows = [
        (
            model["model"],
            model["attribute"] or "",
            parameters(model["required"]),
            parameters(model["achieved"]),
            _met(model),
        )
        for model in models
    ]
    return Section(title, ("model", "attribute", "required", "achieved", "met"), rows, names=2)


def _met(model: Mapping[str, Any]) -> str:
    """Whether a requirement is met; nothing where it is none."""
    if "unknown" in model:
        return "not shown"
    return "" if model["satisfied"] is None else figure(model["satisfied"])


def _classes(report: dict[str, Any]) -> list[Section]:
    meanings = {
        "count": "classes",
        "min_size": f"{whom(report)['many']} in the smallest class",
        "mean_size": f"{whom(report)['many']} in a class, mean",
        "max_size": f"{whom(report)['many']} in the largest class",
        "rows": "rows in the release",
        "suppressed_rows": "rows that are suppressed, or were left out",
        "suppressed_cells": "cells of quasi-identifiers that are suppressed",
    }
    if "beta" in report.get("recoding", {}):
        meanings["dropped_rows"] = "rows that are not in the release: not drawn, or in groups below k"
    sizes = {name: value for name, value in report["classes"].items() if value is not None}
    block = sizes | {name: value for name, value in report.get("output", {}).items() if name in meanings}
    return [explained("Equivalence classes" if "count" in sizes else "Rows", block, meanings)]


SHARES = {"bound", "prosecutor_max", "prosecutor_mean"} | {
    name for name, metric in METRICS.items() if metric.BOUNDS == (0.0, 1.0)
}
"""The keys of figures that are shares."""


def _comparison(report: dict[str, Any]) -> list[Section]:
    """One line a release; below, why those that were not made were not, and what else was lost."""
    header = ("gcp", "highest risk", "mean risk", "classes", "suppressed", "seconds")
    names = ("gcp", "prosecutor_max", "prosecutor_mean", "classes", "suppressed_rows", "seconds")
    results = report["comparison"]
    further = _measured_further(results)
    rows = []
    for place, each in enumerate(results):
        measured = [(share if name in SHARES else figure)(each.get(name)) for name in names]
        measured += [figure(column[place]) for column in further.values()]
        state = f"exit {each['code']}" if each["code"] else "yes" if each["efficient"] else ""
        rows.append((each["label"], figure(each["k"]), *measured, state))
    compared = Section("Algorithms compared", ("algorithm", "k", *header, *further, "efficient"), rows, names=2)
    return [compared, _reasons(results), _losses(results)]


def _reasons(results: Sequence[Mapping[str, Any]]) -> Section:
    rows = [
        (each["label"], figure(each["k"]), why) for each in results if each["code"] for why in each.get("error", [])[:1]
    ]
    return Section("Not released", ("algorithm", "k", "because"), rows, names=2)


def _losses(results: Sequence[Mapping[str, Any]]) -> Section:
    """The metrics that any of the releases has, without gcp, which stands next to the risk, and without sums over rows,
    of which there are means."""
    listed = [name for name, metric in METRICS.items() if name != "gcp" and not metric.SUM]
    listed = [name for name in listed if any(each.get(name) is not None for each in results)]
    rows = [
        (each["label"], figure(each["k"]), *((share if name in SHARES else figure)(each.get(name)) for name in listed))
        for each in results
    ]
    header = [name if METRICS[name].GOAL == "lower" else f"{name} (kept)" for name in listed]
    return Section("Information loss compared", ("algorithm", "k", *header), rows if listed else [], names=2)


MEASURED_FURTHER = {
    "gcp_without_levels": "gcp without levels",
    "query_error": "query error",
    "epsilon": "epsilon",
    "linkage": "linked by numbers",
    "il1s": "IL1s",
    "total_variation": "total variation",
    **{f"variation_{way}": f"{way}-way variation" for way in WAYS},
}
"""Figures of a comparison that are in no report of a release, and their headings."""


def _measured_further(results: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """By heading, the further figures of each release, where any release has them."""
    present = {name: title for name, title in MEASURED_FURTHER.items() if any(name in each for each in results)}
    columns = {title: [each.get(name) for each in results] for name, title in present.items()}
    targets = {target: about["figure"] for each in results for target, about in each.get("models", {}).items()}
    for target, name in targets.items():
        models = [each.get("models", {}).get(target, {}) for each in results]
        for side in ("original", "released"):
            columns[f"{target}: {name.replace('_', ' ')}, {side}"] = [each.get(side) for each in models]
    return columns


def _outside(report: dict[str, Any]) -> list[Section]:
    """What of a recoded table the recoding had no answer for, or one that was made without it."""
    meanings = {
        "rows": "rows that are outside for any reason",
        "unknown": "suppressed: a value that the recoding does not know",
        "suppressed_class": "suppressed: a class or a value that the release suppressed",
        "out_of_range": "a number beyond all that the recoding was made from",
        "outside_interval": "a value that is none of those its class spans",
        "new_combination": "values that no class of the release has together",
    }
    of = f"of {figure(report['input']['rows'])} rows"
    return [explained(f"Outside the recoding, {of}", report["outside"], meanings)]


def _utilities(report: dict[str, Any]) -> list[Section]:
    meanings = {name: metric.MEANING.removesuffix(", 0 to 1") for name, metric in METRICS.items()}
    meanings["bound"] = "no release with classes has a gcp below it"
    least = report["utility"].get("bound", {}).get("gcp")
    block = {name: value for name, value in (report["utility"] | {"bound": least}).items() if value is not None}
    kept = {name: block.pop(name) for name in METRICS if METRICS[name].GOAL == "higher" and name in block}
    sides = (("Information loss", block), ("What is kept (higher is better)", kept))
    rows = [
        (name, figure(block["weight"]), share(block["ncp"]), share(block["loss"]))
        for name, block in report["utility"].get("attributes", {}).items()
    ]
    attributes = Section("Loss by attribute (mean per cell)", ("attribute", "weight", "ncp", "loss"), rows)
    return [*(explained(title, each, meanings, shares=SHARES) for title, each in sides), attributes]


def _levels(report: dict[str, Any]) -> list[Section]:
    """The level of each quasi-identifier, where all of it is on one, and the height of its hierarchy, which a report of
    the release alone does not know."""
    levels, heights = report["recoding"].get("levels"), report["recoding"].get("heights", {})
    if not isinstance(levels, dict):
        return []
    header = ("attribute", "level", "height") if heights else ("attribute", "level")
    rows = [(name, *(figure(each[name]) for each in (levels, heights) if each)) for name in levels]
    return [Section("Hierarchy levels", header, rows)]
