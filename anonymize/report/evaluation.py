"""What is measured beyond the verdict, as tables: risk of re-identification, of a sample and its population and of
subsets of the quasi-identifiers; and targets, selections, queries, models and patterns, which `evaluate` adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from anonymize.report.section import Section, explained, figure, share, whom

# --- risk -------------------------------------------------------------------------------------------------------------
# The report's risk as tables: re-identification, the sample and its population, subsets of the quasi-identifiers.

NOT_MEASURED = "Figures that this release cannot have"
SHOWN = 25
"""Subsets that a table shows at most; the JSON report has them all."""


MEANINGS = {
    "Re-identification risk": {
        "prosecutor_max": "highest risk of {a}, if the attacker knows that the person is in the table",
        "prosecutor_mean": "mean risk over the {many}, if the attacker knows it",
        "journalist_max": "highest risk of {a}, if the attacker does not know it",
        "marketer": "{many} expected to be linked correctly",
        "records_at_risk": "{many} whose risk is above {threshold}",
        "uniques": "unique {many}, alone in their class",
    },
    "Rows that may be yours": {
        "by_regions": "rows of all classes whose regions cover a person, the median",
        "by_method": "rows of the smallest of these regions, where the method mostly puts people, the median",
        "right": "people whose class it is",
        "right_by_rows": "the same if a class is picked by its number of rows alone",
    },
    "Columns that pass through": {
        "uniques": "rows that are unique by these columns alone",
        "uniques_with_quasi_identifiers": "unique rows, with the quasi-identifiers as released",
        "uniques_with_sensitive": "unique rows, with the sensitive attributes as well",
        "below_k": "rows in groups of fewer than {k}{of} by these columns alone",
        "below_k_with_quasi_identifiers": "rows in such groups, with the quasi-identifiers as released",
        "below_k_with_sensitive": "rows in such groups, with the sensitive attributes as well",
    },
    "Risk by sampling weights": {
        "population": "the sum of the sampling weights",
        "journalist_max": "highest 1 / estimated size of a class in the population",
        "individual_max": "highest individual risk of {a} (Benedetti and Franconi)",
        "individual_mean": "mean individual risk over the {many}",
        "expected": "{many} expected to be linked correctly, if all are linked",
        "records_at_risk": "{many} whose individual risk is above {threshold}",
    },
    "Risk of individuals by all of their rows": {
        "units": "individuals (or households: what the unit names) that the rows are about",
        "max": "highest chance that at least one row of an individual is linked correctly",
        "mean": "mean of that chance over the individuals",
        "expected": "individuals expected to have a correctly linked row",
        "at_risk": "individuals whose chance is above {threshold}",
    },
    "Population uniqueness by a log-linear model": {
        "terms": "main effects, or all pairs of attributes",
        "sampling_fraction": "people of the population who are in the table",
        "uniques": "unique rows of the table",
        "population_uniques": "those of them who are expected to be unique in the population (tau1)",
        "correct_matches": "matches with them that are expected to be correct (tau2)",
        "fit": "0 for a model that fits, above 0 for one that fits too little",
    },
    "Risk against the population": {
        "population": "rows of the population",
        "journalist_max": "highest risk of a row, if the attacker does not know that the person is in the table",
        "marketer": "rows expected to be linked correctly",
        "records_at_risk": "rows whose journalist's risk is above {threshold}",
    },
    "Population uniqueness": {
        "sampling_fraction": "people of the population who are in the table",
        "uniques": "unique people of the population by the quasi-identifiers, estimated",
        "estimator": "what it was estimated with",
    },
}
"""By the title of a table, the figures that it has and what they mean."""
WORDS = {"uniques": "unique rows", "below_k": "rows in such groups"}
"""What is bounded of the columns that pass through."""
RULES = {
    "copy": "a copy: each group of two or more has one value",
    "predicted": "predicted: share of people guessed right from the others of their group",
    "order": "in the same order: rank correlation",
}
"""How a column goes with a quasi-identifier."""


ESTIMATED = {
    "sample": "Risk by sampling weights",
    "household": "Risk of individuals by all of their rows",
    "log_linear": "Population uniqueness by a log-linear model",
    "journalist": "Risk against the population",
    "population": "Population uniqueness",
}
"""Blocks within `risk` that are tables of their own, in order, and the titles of these."""


def risks(report: Mapping[str, Any]) -> list[Section]:
    """The sections of the block `risk`."""
    block, words = report["risk"], whom(report)
    wildcard = block.get("wildcard", {})
    figures = partial(_figures, words, threshold=block.get("threshold", 0.2))
    drawn = [figures("Re-identification risk", block, wildcard=wildcard or None)]
    if "candidates" in block:
        drawn.append(figures("Rows that may be yours", block["candidates"]))
    if "attacker" in block:
        drawn.append(_attacker(block["attacker"]))
    if block.get("passing", {}).get("columns"):
        drawn += _passing(words, block["passing"])
    for name, title in ESTIMATED.items():
        if name in block:
            drawn.append(figures(title, block[name], wildcard=wildcard.get(name)))
    if "subsets" in block:
        drawn += [_subsets(block["subsets"]), _special(block["special_uniques"])]
    return drawn


def _figures(
    words: Mapping[str, str],
    title: str,
    block: Mapping[str, Any],
    *,
    wildcard: Mapping[str, Any] | None = None,
    **given: float,
) -> Section:
    """A table of `MEANINGS`. `words`: for what is counted; `given`: what they name, such as the `threshold` above which
    a row is at risk."""
    values = {name: figure(value) for name, value in given.items()} | dict(words)
    meanings = {name: meaning.format(**values) for name, meaning in MEANINGS[title].items()}
    return explained(title, block, meanings, shares=_shares(title), wildcard=wildcard)


def _shares(title: str) -> frozenset[str]:
    """The keys of a table's figures that are shares; numbers of rows and of people are not."""
    counted = {"population", "expected", "estimator", "units", "terms", "population_uniques", "correct_matches", "fit"}
    counted |= {"by_regions", "by_method"}
    if title in ("Re-identification risk", "Population uniqueness by a log-linear model"):
        counted.add("uniques")
    return frozenset(MEANINGS[title]) - counted


def _passing(words: Mapping[str, str], block: Mapping[str, Any]) -> Iterator[Section]:
    """What the columns that pass through give away, and what is allowed of it; what the release tells of them; which
    follow from a quasi-identifier; the smallest sets that single rows out."""
    section = _figures(words, "Columns that pass through", block, k=block.get("k", 0))
    bounds = block.get("required", {})
    allowed = [
        (f"allowed of {WORDS[name]}, with the quasi-identifiers", share(most), name) for name, most in bounds.items()
    ]
    yield replace(section, rows=[*section.rows, *allowed])
    if certain := block.get("certain"):
        rows = [(name, share(part)) for name, part in certain.items()]
        yield Section("Told for certain of what passes through, of people", ("column", "share"), rows)
    yield from _derived(block.get("derived", {}))
    if block["smallest"] is not None:
        yield _smallest(block)


def _derived(block: Mapping[str, Any]) -> Iterator[Section]:
    """The columns that follow from a quasi-identifier, or give it away; or those of which that was not measured."""
    if names := block.get("not_judged"):
        title = "Not judged without the original: whether these follow from a quasi-identifier, or give it away"
        yield Section(title, ("column",), [(name,) for name in names])
    if stated := block.get("found"):
        rows = [
            (each["says"], RULES[each["rule"]], figure(each["figure"]), "yes" if each["accepted"] else "NO")
            for each in stated
        ]
        header = ("column", "how", "figure", "accepted")
        yield Section("Columns that follow from a quasi-identifier, in the original", header, rows)


def _attacker(block: Mapping[str, Mapping[str, Any] | None]) -> Section:
    meanings = {
        "success": "people whose value is the most frequent one of the release, given their quasi-identifiers",
        "baseline": "the same of a guess without quasi-identifiers",
        "original": "the same of the guess from the original table",
    }
    rows = [
        (f"{name}: {meaning}", share(guesses[guess]), guess)
        for name, guesses in block.items()
        for guess, meaning in meanings.items()
        if guesses is not None
    ]
    return Section("Named correctly by an ordinary attacker", ("measure", "share", "key"), rows)


def _smallest(block: Mapping[str, Any]) -> Section:
    title = f"The smallest sets of these that single rows out (of at most {block['max_size']} columns)"
    if block["left_out"]:
        title += f"; {len(block['left_out'])} columns were not looked at together with others"
    rows = [(", ".join(each["columns"]), figure(each["uniques"])) for each in block["smallest"]]
    return Section(title, ("columns", "unique rows"), rows)


def _subsets(subsets: list[dict[str, Any]]) -> Section:
    """Every attribute by itself, then the subsets that single out most rows."""
    single = [subset for subset in subsets if len(subset["attributes"]) == 1]
    others = sorted((s for s in subsets if len(s["attributes"]) > 1), key=lambda s: -s["minimal_uniques"])
    listed = [*single, *others][: max(SHOWN, len(single))]
    title = "What subsets of the quasi-identifiers distinguish"
    if len(listed) < len(subsets):
        title += f" ({len(listed)} of {len(subsets)}; all are in the JSON report)"
    headings = {
        "distinct": "distinct",
        "separation": "separation",
        "uniques": "unique rows",
        "minimal_uniques": "minimal unique rows",
        "risky_cells": "risky cells",
    }
    names = [name for name in headings if any(name in subset for subset in listed)]
    rows = [(", ".join(subset["attributes"]), *(figure(subset[name]) for name in names)) for subset in listed]
    return Section(title, ("subset", *(headings[name] for name in names)), rows)


def _special(block: Mapping[str, Any]) -> Section:
    score = block["score"]
    rows = [
        ("unique rows", figure(block["uniques"]), f"on a subset of at most {block['max_size']} quasi-identifiers"),
        ("highest score", figure(score["max"]), "of a row: smaller minimal subsets count more"),
        ("mean score", figure(score["mean"]), "over the rows"),
    ]
    rows += [(name, share(part), "of all scores") for name, part in score["contributions"].items()]
    return Section("Special uniques", ("measure", "figure", "meaning"), rows)


# --- an evaluation ----------------------------------------------------------------------------------------------------
# What `evaluate` adds to a report, as tables: targets, selections, queries, models, patterns.


def evaluation_sections(report: Mapping[str, Any]) -> list[Section]:
    """The sections that there are figures for."""
    utility = report.get("utility", {})
    drawn = [_task(utility), _variation(report), _queries(utility), _uncertainty(utility), _imprecision(utility)]
    drawn.append(_left_out(report))
    for target, block in report.get("models", {}).get("targets", {}).items():
        drawn += [_models(f"Models of {target}", block["models"]), _projection(target, block.get("projection", []))]
    if "tree" in report:
        tree = report["tree"]
        drawn += [
            _nodes(f"{tree['target']}: first splits on the original", tree["original"]),
            _nodes(f"{tree['target']}: first splits on the release", tree["release"]),
            _patterns(tree),
        ]
    return [section for section in drawn if section.rows]


def _task(utility: Mapping[str, Any]) -> Section:
    """Targets and joint tables: what a recipient's figures are off by."""
    size = utility.get("average_class_size")
    rows = [] if size is None else [("average class size", figure(size), "rows of a class, suppressed rows included")]
    meanings = {
        "conditional_entropy": "bits left to guess once the class is known",
        "entropy": "bits to guess without the release's classes",
        "mean_squared_error": "squared distance from the mean of the class",
        "variance": "squared distance from the mean of all rows",
    }
    for target, figures in (utility.get("targets") or {}).items():
        rows += [
            (f"{target}: {name.replace('_', ' ')}", figure(value), meanings[name]) for name, value in figures.items()
        ]
    for name, block in (utility.get("distances") or {}).items():
        about = f"quasi-identifiers with {name}, estimated from the release, against the original"
        measures = {"total_variation": "total variation", "hellinger": "Hellinger distance", "cube_error": "CUBE error"}
        rows += [(f"{name}: {text}", figure(block[key]), about) for key, text in measures.items() if key in block]
    return Section("What a recipient can do", ("measure", "figure", "meaning"), rows)


def _variation(report: Mapping[str, Any]) -> Section:
    """How far marginals are from the original's, and how many were not compared."""
    rows = [
        (
            str(each["columns"]),
            figure(each["marginals"]),
            figure(each["left_out"]),
            *(figure(each[name]) for name in ("mean", "worst")),
            ", ".join(each["worst_of"]),
        )
        for each in report.get("variation", {}).get("ways", [])
    ]
    header = ("columns together", "marginals", "not compared", "mean", "worst", "of")
    return Section("Marginals: total variation from the original", header, rows)


def _queries(utility: Mapping[str, Any]) -> Section:
    """The errors of all queries, and those by how many attributes they restrict."""
    block = utility.get("query_error")
    if not block:
        return Section("", (), [])
    by = {"all": block} | dict(block["by_dimension"])
    rows = [
        (
            size,
            figure(each["queries"]),
            figure(each["empty"]),
            *(figure(each[name]) for name in ("median", "mean")),
            *(figure(value) for value in each["quantiles"].values()),
        )
        for size, each in by.items()
    ]
    quantiles = (f"{float(share):.0%}" for share in block["quantiles"])
    header = ("attributes", "queries", "count is 0", "median", "mean", *quantiles)
    return Section("COUNT queries: relative error", header, rows)


def _uncertainty(utility: Mapping[str, Any]) -> Section:
    """How much each attribute tells of those that pass through."""
    coefficients = utility.get("uncertainty") or {}
    rows = [
        (x, y, figure(by[y]["original"]), figure(by[y]["released"]))
        for y in utility.get("distances") or {}
        for x, by in coefficients.items()
        if by.get(y) is not None
    ]
    return Section("Association (uncertainty coefficient)", ("by", "of", "original", "release"), rows, names=2)


def _imprecision(utility: Mapping[str, Any]) -> Section:
    block = utility.get("imprecision") or {"selections": []}
    rows = [
        (str(number), figure(each["original"]), figure(each["released"]), figure(each["imprecision"]))
        for number, each in enumerate(block["selections"], 1)
    ]
    return Section("Selections: rows returned", ("selection", "original", "release", "imprecision"), rows)


def _left_out(report: Mapping[str, Any]) -> Section:
    names: dict[str, list[str]] = {}
    for name, reason in report.get("left_out", {}).items():
        names.setdefault(reason, []).append(name)
    return Section(NOT_MEASURED, ("left out", "because"), [(", ".join(each), reason) for reason, each in names.items()])


def _models(title: str, models: Mapping[str, Any]) -> Section:
    rows = [
        (model, name.replace("_", " "), _spread(by.get("original"), name), _spread(by.get("released"), name))
        for model, by in models.items()
        for name in next(iter(by.values()))
    ]
    return Section(title, ("model", "measure", "original", "release"), rows, names=2)


def _spread(figures: Mapping[str, Any] | None, name: str) -> str:
    summary = (figures or {}).get(name) or {"mean": None, "sd": None}
    return figure(summary["mean"]) + ("" if summary["sd"] is None else f" ± {summary['sd']:.2g}")


def _projection(target: str, steps: list[Mapping[str, Any]]) -> Section:
    """A row a step: the attribute that was dropped last, and the first figure of each model."""
    rows = []
    for index, step in enumerate(steps):
        dropped = step["dropped"][-1] if index else "none"
        for model, by in step["models"].items():
            name = next(iter(next(iter(by.values()))))
            rows.append((dropped, model, _spread(by.get("original"), name), _spread(by.get("released"), name)))
    return Section(
        f"{target} without its best predictors", ("dropped, too", "model", "original", "release"), rows, names=2
    )


def _nodes(title: str, nodes: list[Mapping[str, Any]]) -> Section:
    """A row a node, each before those below it, indented by its depth."""
    rows = [
        (*_of_node(node), "everywhere" if not node["depth"] else "· " * node["depth"] + node["condition"])
        for node in nodes
    ]
    return Section(title, ("rows", "share", "most are", "where"), rows)


def _of_node(node: Mapping[str, Any]) -> tuple[str, str, str]:
    return figure(node["rows"]), figure(node["share"]), node["label"]


def _patterns(tree: Mapping[str, Any]) -> Section:
    rows = [
        (
            "yes" if each["survived"] else "no",
            *_of_node(each),
            " and ".join(each["conditions"]),
            figure(each["rows_in_release"]),
            figure(each["share_in_release"]),
            " and ".join(each["statement"]),
        )
        for each in tree["patterns"]
    ]
    title = f"{tree['target']}: {tree['survived']} of {len(rows)} patterns survived"
    header = ("survived", "rows", "share", "most are", "pattern", "rows", "share", "as the release states it")
    return Section(title, header, rows)
