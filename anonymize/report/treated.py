"""Steps of `treatments`, and what is left of numbers that were changed, as tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anonymize.report.section import Picture, Section, figure, share

STEPS, NUMBERS, TOGETHER = "Treatments", "Numbers that were changed", "Numbers together"
CATEGORIES = "Frequencies that were changed"
INTROS = {
    STEPS: "Steps that changed values of columns, beside what quasi-identifiers get, and what was measured of them.",
    NUMBERS: "Changes in standard deviations of the original column; a variance of 1 is what it was.",
    CATEGORIES: "Half the sum of the differences of shares: 0 is what it was, 1 has nothing in common with it.",
    TOGETHER: "How columns of numbers go together, before and after.",
}
"""How to read the sections, by their titles."""


def steps(report: Mapping[str, Any]) -> list[Section]:
    """The steps, a line for each figure of each."""
    rows: list[tuple[str, ...]] = []
    for number, step in enumerate(report["treatments"], 1):
        about = (f"{number}", step["method"], ", ".join(step["columns"]), step["meaning"])
        figures = list(_flat({**step.get("measured", {}), **step.get("private", {})})) or [("", "")]
        rows += [(*about, name, value) for name, value in figures]
    return [Section(STEPS, ("step", "method", "columns", "a cell is", "measure", "figure"), rows, names=4)]


def _flat(block: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Figures of a block and of blocks in it, by their keys."""
    for name, value in block.items():
        title = f"{before}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            yield from _flat(value, f"{title}: ")
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
    rows = [
        (column, *(_written(name, each.get(name)) for name in present)) for column, each in block["columns"].items()
    ]
    of_columns = Section(NUMBERS, ("column", *(measures[name] for name in present)), rows)
    return [of_columns, Section(TOGETHER, ("measure", "figure", "key"), _together(block))]


def categories(report: Mapping[str, Any]) -> list[Section]:
    """Frequencies of columns that were randomized."""
    measures = {"total_variation": "total variation", "total_variation_corrected": "corrected by the manifest"}
    rows = [(name, *(figure(each.get(measure)) for measure in measures)) for name, each in report["categories"].items()]
    return [Section(CATEGORIES, ("column", *measures.values()), rows)]


def _written(name: str, value: float | None) -> str:
    return share(value) if name == "total_change" and value is not None else figure(value)


def _together(block: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What is said of several columns."""
    meanings = {
        "il1s": "how far cells moved, in standard deviations by the root of two (IL1s), a mean",
        "covariance_change.mean": "change of a covariance, in standard deviations of both, a mean",
        "covariance_change.max": "the largest such change",
        "correlation_change.mean": "change of a correlation, a mean",
        "correlation_change.max": "the largest such change",
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
