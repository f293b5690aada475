"""The pictures and tables of randomization.md, from what `randomization.py` has measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import plots
import randomization_intervals
from plots import Line, Panel
from randomization import BAYES, BOUNDS, METHODS, QUASI, SENSITIVE, SIZES, kept, renew

HERE = Path(__file__).resolve().parent
PAGE = HERE / "randomization.md"
DISTANCES = {
    "kl": "KL, nats",
    "chi_squared": "chi-squared",
    "euclidean": "Euclidean",
    "total_variation": "total variation",
    "hellinger": "Hellinger",
}
COUNTS = {"base count": "base group-by", "cube count": "CUBE"}
CORRELATIONS = {"U sensitive": "with the sensitive attribute", "U quasi": "between quasi-identifiers"}
SHOWN = (3, 4, 5)


def case(data: str, method: str, l: int, size: float = 1.0, estimator: str = "inverse") -> dict[str, Any]:  # noqa: E741
    """What was measured of one case: `mean` and `deviation`, or None where there is no such release."""
    wanted = {"data": data, "method": method, "l": l, "size": size, "estimator": estimator}
    return next(each for each in kept()["cases"] if all(each[key] == value for key, value in wanted.items()))


def points(data: str, method: str, figure: str, estimator: str = "inverse") -> list[tuple[float, float, float]]:
    """(l, mean, deviation) of a figure, for every l at which there is a release."""
    found = [(bound, case(data, method, bound, estimator=estimator)) for bound in BOUNDS[data]]
    return [(bound, each["mean"][figure], each["deviation"][figure]) for bound, each in found if each["mean"]]


# --- pictures --------------------------------------------------------------------------------------------------------


def lines_of(data: str) -> dict[str, tuple[str, str]]:
    """Method and estimator of each line, by its name."""
    found = {method: (method, "inverse") for method in METHODS}
    bayes = {f"{method}, Bayes": (method, "bayes") for method in BAYES[data]}
    return found | bayes


def panels(data: str, figures: dict[str, str]) -> Iterator[Panel]:
    """A panel for each figure, a line for each method of which there are releases at several l."""
    for figure, title in figures.items():
        lines = [Line(name, points(data, method, figure, by)) for name, (method, by) in lines_of(data).items()]
        if figure.startswith("U "):
            original = case(data, "RR-QI", BOUNDS[data][0])["mean"][figure.replace("U ", "original ")]
            lines.append(Line("original", [(bound, original, 0.0) for bound in BOUNDS[data]]))
        yield Panel(title, [line for line in lines if len(line.points) > 1])


def sizes() -> Iterator[Panel]:
    """Distances of RR-Both at l = 3 by the number of rows."""
    for figure in ("kl", "chi_squared", "euclidean"):
        found = [(size, case("EMGRW", "RR-Both", 3, size)) for size in SIZES]
        line = Line("RR-Both", [(size, each["mean"][figure], each["deviation"][figure]) for size, each in found])
        yield Panel(DISTANCES[figure], [line])


def pictures() -> dict[str, str]:
    """Every picture by the name of its file."""
    return {
        "randomization-first.svg": plots.panels(list(panels("EMGRW", DISTANCES)), "l"),
        "randomization-rows.svg": plots.panels(list(sizes()), "rows, times 30,162"),
        "randomization-second.svg": plots.panels(list(panels("ESGRO", DISTANCES)), "l"),
        "randomization-counts.svg": plots.panels(list(panels("ESGRO", COUNTS)), "l"),
        "randomization-correlations.svg": plots.panels(list(panels("ESGRO", CORRELATIONS)), "l"),
    }


# --- tables ----------------------------------------------------------------------------------------------------------


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *rows))


def parameters() -> str:
    """The p of each attribute on the first data set."""
    names = [*QUASI["EMGRW"], SENSITIVE["EMGRW"]]
    rows = []
    for method in ("RR-QI", "RR-Both", "RR-S"):
        for l in BOUNDS["EMGRW"]:  # noqa: E741
            mean = case("EMGRW", method, l)["mean"]
            cells = [f"{mean[f'p {name}']:.4f}" for name in names] if mean else ["none"] * len(names)
            rows.append([method, str(l), *cells])
    return markdown(["", "l", *names], rows)


def coefficients(pairs: Sequence[tuple[str, str]]) -> str:
    """Uncertainty coefficients of some pairs on the second data set, times 100."""
    head = case("ESGRO", "RR-QI", SHOWN[0])["mean"]
    rows = [["original", "", *(f"{100 * head[f'original {x} {y}']:.2f}" for x, y in pairs)]]
    for method in ("RR-QI", "anatomy", "l-diversity"):
        for l in SHOWN:  # noqa: E741
            found = case("ESGRO", method, l)
            cells = [(found["mean"][f"U {x} {y}"], found["deviation"][f"U {x} {y}"]) for x, y in pairs]
            rows.append([method, str(l), *(f"{abs(100 * mean):.2f} ± {100 * spread:.2f}" for mean, spread in cells)])
    return markdown(["", "l", *(f"{x}, {y}" for x, y in pairs)], rows)


def distances(data: str, l: int) -> str:  # noqa: E741
    """Every distance by every method and estimator at one l."""
    rows = []
    for each in kept()["cases"]:
        if (each["data"], each["l"], each["size"]) == (data, l, 1.0) and each["mean"]:
            estimator = {"inverse": "clipped", "bayes": "iterative Bayes"}[each["estimator"]]
            label = f"{each['method']}, {estimator}" if each["method"].startswith("RR") else each["method"]
            cells = [f"{each['mean'][name]:.4f} ± {each['deviation'][name]:.4f}" for name in (*DISTANCES, "unclipped")]
            rows.append([label, *cells])
    return markdown(["", *DISTANCES.values(), "Euclidean, nothing clipped"], rows)


def coverage() -> str:
    """How often intervals hold the true count, by the tables that were drawn and the count."""
    rows = []
    for each in randomization_intervals.kept():
        sizes, p = (", ".join(map(str, each[key])) for key in ("shape", "p"))
        label = f"{each['rows']:,} rows; {sizes} values; p {p}"
        own, normal = each["interval"], each["normal"]
        figures = (own["holds"], normal["holds"], normal["points"])
        widths = [f"{own['width']:.1f}", f"{normal['width']:.1f}"]
        rows.append([label, str(each["count"]), *(f"{100 * figure:.1f} %" for figure in figures), *widths])
    header = ["tables", "count", "holds it", "normal: holds it", "normal: a point", "width", "normal: width"]
    return markdown(header, rows)


def tables() -> dict[str, str]:
    """Every table by its name in the page."""
    quasi, sensitive = QUASI["ESGRO"], SENSITIVE["ESGRO"]
    return {
        "parameters": parameters(),
        "distances-first": distances("EMGRW", 3),
        "distances-second": distances("ESGRO", 3),
        "quasi": coefficients([(x, y) for at, x in enumerate(quasi) for y in quasi[at + 1 :]]),
        "sensitive": coefficients([(x, sensitive) for x in quasi]),
        "coverage": coverage(),
    }


def filled(text: str) -> str:
    """The page with its tables in their places."""
    for name, table in tables().items():
        place = f"(?s)(<!-- {name} -->\n).*?(<!-- end -->)"
        text, count = re.subn(place, partial(_between, table), text)
        assert count == 1, name
    return text


def _between(table: str, marks: re.Match[str]) -> str:
    return f"{marks[1]}\n{table}\n\n{marks[2]}"


def write(measure: bool = True) -> None:
    """Measures, where that is wanted and possible; writes pictures and page."""
    if measure:
        renew()
    for name, picture in pictures().items():
        (HERE / name).write_text(picture, encoding="utf8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf8")), encoding="utf8")
