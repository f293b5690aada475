"""A titled table of text, and figures as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anonymize.metrics import METRICS

FIGURES = frozenset(
    {"level", "height", "k", "gcp", "highest risk", "mean risk", "classes", "suppressed", "seconds"}
    | {"success", "baseline", "control", "excess", "from", "to"}
    | {"figure", "missing as anything", "weight", "distinct", "separation", "uniques", "minimal uniques"}
    | METRICS.keys()
)
"""Columns whose texts stand on the right."""


@dataclass(frozen=True)
class Section:
    """A titled table; the first column is on the left, figures are on the right. `names`: so many of the first columns
    name a row together."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    names: int = 1


def explained(
    title: str,
    block: Mapping[str, Any],
    meanings: Mapping[str, str],
    *,
    beside: Mapping[str, Any] | None = None,
    header: tuple[str, str] = ("measure", "figure"),
) -> Section:
    """Figures of a block, each with its meaning, as far as the block has them. `beside`: the same figures where missing
    is a wildcard."""
    other = {} if beside is None else {"missing as anything": beside}
    rows = [
        (name, *(figure(each[name]) for each in (block, *other.values())), meaning)
        for name, meaning in meanings.items()
        if name in block
    ]
    return Section(title, (*header, *other, "meaning"), rows)


def figure(value: Any) -> str:
    """A figure as people read it: four significant digits, thousands parted, yes and no."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return f"[{', '.join(value)}]" if isinstance(value, list) else str(value)


def called(recommended: dict[str, Any]) -> str:
    """An algorithm with its options, as a command line has them, of the block `recommended`."""
    flags = [f"--{name}" if value is True else f"--{name} {value}" for name, value in recommended["options"].items()]
    return " ".join([recommended["algorithm"], *flags])


def percent(share: float | None) -> str:
    """A share in percent, three significant digits."""
    return "an unknown share" if share is None else f"{100 * share:.3g} %"
