"""What `evaluate` adds to a report, as tables: targets, selections, queries, models, patterns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonymize.report.section import Section, figure


def sections(report: Mapping[str, Any]) -> list[Section]:
    """The sections that there are figures for."""
    utility = report.get("utility", {})
    drawn = [_task(utility), _queries(utility), _uncertainty(utility), _imprecision(utility), _left_out(report)]
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
    return Section("How much is told (uncertainty coefficient)", ("by", "of", "original", "release"), rows, names=2)


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
    return Section("Not measured", ("figure", "reason"), [(", ".join(each), reason) for reason, each in names.items()])


def _models(title: str, models: Mapping[str, Any]) -> Section:
    rows = [
        (model, name.replace("_", " "), _spread(by.get("original"), name), _spread(by.get("released"), name))
        for model, by in models.items()
        for name in next(iter(by.values()))
    ]
    return Section(title, ("model", "measure", "original", "release"), rows, names=2)


def _spread(figures: Mapping[str, Any] | None, name: str) -> str:
    """Mean and standard deviation over the folds."""
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
        f"{target} without what tells most of it", ("dropped, too", "model", "original", "release"), rows, names=2
    )


def _nodes(title: str, nodes: list[Mapping[str, Any]]) -> Section:
    """A row a node, each before those below it, moved in by its depth."""
    rows = [
        (*_figures(node), "everywhere" if not node["depth"] else "· " * node["depth"] + node["condition"])
        for node in nodes
    ]
    return Section(title, ("rows", "share", "most are", "where"), rows)


def _figures(node: Mapping[str, Any]) -> tuple[str, str, str]:
    return figure(node["rows"]), figure(node["share"]), node["label"]


def _patterns(tree: Mapping[str, Any]) -> Section:
    rows = [
        (
            "yes" if each["survived"] else "no",
            *_figures(each),
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
