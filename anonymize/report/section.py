"""A titled table of text, and figures as people read them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from anonymize.metrics import METRICS
from anonymize.records import dataclass

FIGURES = frozenset(
    {"level", "height", "k", "gcp", "highest risk", "mean risk", "classes", "suppressed", "seconds"}
    | {"success", "baseline", "control", "excess"}
    | {"figure", "share", "missing as anything", "weight", "distinct", "separation", "unique rows"}
    | {"minimal unique rows", *METRICS}
)
"""Columns whose texts stand on the right."""


INDIVIDUALS = "individuals"
"""What the block `risk` counts where rows may be about one individual: its key `counts`; rows where it has none."""
ROUNDING = 1e-12
"""What is smaller comes of rounding, and reads as 0."""


@dataclass(frozen=True)
class Section:
    """A titled table; the first column is on the left, figures are on the right. `names`: so many of the first columns
    name a row together."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    names: int = 1


@dataclass(frozen=True)
class Picture:
    """Horizontal bars. `series`: values by name; `form`: what they are, shares, rows or coefficients."""

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


def explained(
    title: str,
    block: Mapping[str, Any],
    meanings: Mapping[str, str],
    *,
    shares: Container[str] = (),
    wildcard: Mapping[str, Any] | None = None,
) -> Section:
    """Figures of a block, as far as it has them: what each says, and last its key. `shares`: the keys of those that are
    shares, which have a column of their own. `wildcard`: the same figures where missing is a wildcard."""
    names = [name for name in meanings if name in block]
    columns: dict[str, list[str]] = {
        "share": [share(block[name]) if name in shares else "" for name in names],
        "figure": ["" if name in shares else figure(block[name]) for name in names],
    }
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    if wildcard is not None:
        written = (share if name in shares else figure for name in names)
        columns["missing as anything"] = [write(wildcard[name]) for write, name in zip(written, names, strict=True)]
    rows = zip([meanings[name] for name in names], *columns.values(), names, strict=True)
    return Section(title, ("measure", *columns, "key"), list(rows))


def whom(report: Mapping[str, Any]) -> dict[str, str]:
    """The words for what the blocks `classes` and `risk` count: `one`, `a` with its article, `many`, and `of` after a
    number where rows need not be named."""
    if report.get("risk", {}).get("counts") == INDIVIDUALS:
        return {"one": "individual", "a": "an individual", "many": INDIVIDUALS, "of": f" {INDIVIDUALS}"}
    return {"one": "row", "a": "a row", "many": "rows", "of": ""}


def figure(value: Any) -> str:
    """A figure as people read it: four significant digits, thousands parted, yes and no."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        value = 0.0 if abs(value) < ROUNDING else value
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return f"[{', '.join(value)}]" if isinstance(value, list) else str(value)


def method_of(report: Mapping[str, Any]) -> str:
    """The algorithm that made a release, with its options where it was recommended; empty where nothing says it."""
    algorithm = report.get("algorithm", {})
    return called(algorithm["recommended"]) if "recommended" in algorithm else str(algorithm.get("name", ""))


def called(recommended: dict[str, Any]) -> str:
    """An algorithm with its options, as a command line has them, of the block `recommended`."""
    flags = [f"--{name}" if value is True else f"--{name} {value}" for name, value in recommended["options"].items()]
    return " ".join([recommended["algorithm"], *flags])


def percent(share: float | None) -> str:
    """A share in percent, three significant digits."""
    return "an unknown share" if share is None else f"{100 * share:.3g} %"


def share(value: float | None) -> str:
    """A share as a table has it."""
    return "-" if value is None else percent(value)
