"""The releases of a comparison by k, and which of them loses least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
