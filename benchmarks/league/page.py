"""The league's page from its results, as Markdown: `python page.py results.json bounds.json rounded.json efforts.json`,
of which only the first has to be there."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from league import results, tables

WHAT = {"k": "k alone", "l": "distinct l = 3", "t": "t = 0.3", "entropy": "entropy l = 3"}
USES = {
    "tuning": "tables for tuning",
    "judging": "tables for judging",
    "wide": "wide table, of 51 quasi-identifiers",
}
HEAD = """# The league

What each algorithm loses on public tables, as [run.py](run.py) measured it and [page.py](page.py) wrote it down.
Algorithms may be tuned on some tables; others only judge. Every release was verified when it was made. A line is a
table and what is required of its release: k, and beside it a model that protects its sensitive attribute.

    cd benchmarks/league
    python run.py TABLES -j 2 -o results.json
    python bounds.py TABLES -o bounds.json
    python rounded.py TABLES -o rounded.json
    python efforts.py TABLES -o efforts.json
    python page.py results.json bounds.json rounded.json efforts.json

[results.json](results.json) has the cells; a run adds those that it lacks, what tells most first.

- **Loss** is the release's gcp, the share of the quasi-identifiers' precision that is lost; a suppressed row counts as
  lost altogether. *Least* is that of the best algorithm on the line. *Weighted* is the same with the weights of the
  [specs](specs), which no search was told.
- **Query error** is the median relative error of 1,000 COUNT queries, the same for all releases of a table.
- **Accuracy lost**, in points: how much more often a naive Bayes model is right on rows of the original that it has not
  seen, when it is trained on the original and not on the release. The target is that of the spec, which no search was
  told; two tables have none. The release was made with these rows, which flatters all algorithms alike.
- **CPU seconds** are the processor's, user and system, of one release: other work on the machine disturbs them less
  than seconds of the wall.
- **Bound** is a gcp that no release with classes can be below (`--bound`, [bounds.py](bounds.py)); how near the best
  release comes to it is not known.

A summary has medians over the lines on which an algorithm made a release. *Made* is of the lines on which it was run;
elsewhere its cell of a line is empty, and `-` says that it made no release. On tables of up to 10,000 rows `bottom-up`
and `top-down` make the search of `release`: most lines there have `release` alone.
"""

Row = dict[str, dict[str, Any]]
"""The cells of a line, by algorithm."""


def main() -> None:
    """Prints the page."""
    print(page(*map(Path, sys.argv[1:])), end="")


def page(
    path: Path, bounds_path: Path | None = None, rounded_path: Path | None = None, efforts_path: Path | None = None
) -> str:
    """All of it, from the files of results, of bounds, of losses with rounded ends, and of losses by effort."""
    about, cells = tables.tables(), results.load(path)
    bounds = {} if bounds_path is None else json.loads(bounds_path.read_text(encoding="utf8"))
    lines, labels = lines_of(cells), list(dict.fromkeys(cell["label"] for cell in cells))
    parts = [HEAD, _account(cells, list(lines))]
    for use, name in USES.items():
        rows = [row for line, row in lines.items() if about[line[0]]["use"] == use]
        if rows:
            parts += [f"## All lines of the {name}\n", table(SUMMARY, [_summary(rows, label) for label in labels])]
    parts += [] if rounded_path is None else [_rounded(json.loads(rounded_path.read_text(encoding="utf8")))]
    parts += [] if efforts_path is None else [_efforts(json.loads(efforts_path.read_text(encoding="utf8")))]
    for name in about:
        own = {line: row for line, row in sorted(lines.items(), key=_place) if line[0] == name}
        if own:
            parts += [f"## {name}\n", "{package}, {licence}; {use}\n".format(**about[name])]
            parts.append(_losses(own, labels, bounds))
    return "\n".join(parts)


def lines_of(cells: Sequence[results.Cell]) -> dict[tuple[Any, ...], Row]:
    """(table, model, suppression, k) -> the cells by algorithm."""
    lines: dict[tuple[Any, ...], Row] = defaultdict(dict)
    for cell in cells:
        lines[tuple(cell[name] for name in results.LINE)][cell["label"]] = dict(cell)
    return lines


def _place(item: tuple[tuple[Any, ...], Row]) -> tuple[float, int, int]:
    _, model, share, k = item[0]
    return share, list(WHAT).index(model), k


def _account(cells: Sequence[results.Cell], lines: Sequence[tuple[Any, ...]]) -> str:
    """What of the league was run, and whether the other script read the same losses."""
    again = [cell["apart"] for cell in cells if cell["apart"] is not None]
    models = ", ".join(f"{WHAT[model]} {sum(line[1] == model for line in lines)}" for model in WHAT)
    suppressed, whole = sum(line[2] > 0 for line in lines), len(tables.tables()) * len(WHAT) * 2 * 6
    return (
        f"{len(lines)} lines of {whole} were run ({models}; {suppressed} of them with 2 % suppression).\n"
        f"[outside.py](outside.py) read {len(again)} releases again: "
        f"it differs by {max(again, default=0.0):.0e} at most.\n"
    )


# --- the summaries ---------------------------------------------------------------------------------------------------

SUMMARY = (
    "algorithm",
    "made",
    "least",
    "within 1 %",
    "above the least: median",
    "most",
    "weighted: median above",
    "query error",
    "accuracy lost",
    "CPU seconds",
)


def _summary(rows: Sequence[Row], label: str) -> list[str]:
    """How far an algorithm is above the least of each line, and the medians of what else was measured."""
    above, cells = excess(rows, label), [row[label] for row in rows if label in row]
    return [
        label,
        f"{len(above)} of {len(cells)}",
        f"{sum(each == 0 for each in above)}",
        f"{sum(each <= 0.01 for each in above)}",
        shown(median, above),
        shown(max, above),
        shown(median, excess(rows, label, "gcp_weighted")),
        *_others(cells),
    ]


def _others(cells: Sequence[results.Cell]) -> list[str]:
    return [
        shown(median, _known(cells, "query_error"), "{:.3f}"),
        shown(median, [100 * points for points in _known(cells, "accuracy_lost")], "{:.1f}"),
        shown(median, _known(cells, "cpu_seconds"), "{:.1f}"),
    ]


def shown(figure: Callable[[list[float]], float], values: list[float], form: str = "{:,.1%}") -> str:
    """The figure of some values; `-` of none."""
    return form.format(figure(values)).replace("%", " %") if values else "-"


def excess(rows: Sequence[Row], label: str, figure: str = "gcp") -> list[float]:
    """How far an algorithm is above the least of each line where it has a release, as a share; 1 where the least is
    nothing and it is not."""
    shares = []
    for row in rows:
        own, least = row.get(label, {}).get(figure), min(_known(row.values(), figure), default=None)
        if own is not None and least is not None:
            shares.append(own / least - 1 if least else float(own > 0))
    return shares


def _known(cells: Iterable[results.Cell], figure: str) -> list[float]:
    return [cell[figure] for cell in cells if cell[figure] is not None]


ROUNDED = """## Rounded ends

Ends of intervals are tight in the league, so that its losses are those of the classes alone. By default they are
rounded (`edges: rounded`): gcp with tight ends, and by how much it is higher with rounded ones, under k-anonymity. The
median is {}.
"""


def _rounded(losses: dict[str, list[float]]) -> str:
    """What rounded ends cost: a line for each table and k, a column for each algorithm."""
    lines: dict[tuple[str, ...], dict[str, tuple[str, float]]] = defaultdict(dict)
    for key, (tight, rounded) in losses.items():
        name, k, label = key.split(" ", 2)
        more = rounded / tight - 1
        lines[name, k][label] = f"{tight:.4f}, {more:+.1%}".replace("%", " %"), more
    labels = list(dict.fromkeys(label for row in lines.values() for label in row))
    medians = [f"{median(row[each][1] for row in lines.values() if each in row):.1%} for `{each}`" for each in labels]
    rows = [[*line, *(row[each][0] if each in row else "" for each in labels)] for line, row in lines.items()]
    return "\n".join([ROUNDED.format(" and ".join(medians).replace("%", " %")), table(("table", "k", *labels), rows)])


EFFORTS = """## Efforts

What `release` loses by `--effort`, and the seconds of the processor that it takes, its start included. Elsewhere on
this page `release` is one that spared no work, at an earlier commit.
"""


def _efforts(figures: dict[str, list[float]]) -> str:
    """Loss and seconds by effort: the medians above the least of them, and a row for each line of the league."""
    lines: dict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(dict)
    for key, pair in figures.items():
        name, k, model, effort = key.split(" ")
        lines[name, WHAT[model], k][effort] = pair
    efforts = list(dict.fromkeys(effort for line in lines.values() for effort in line))
    named = {name: line for name, line in lines.items() if len(line) == len(efforts)}
    whole = list(named.values())
    least = [min(loss for loss, _ in line.values()) for line in whole]
    above = {
        effort: [line[effort][0] / best - 1 for line, best in zip(whole, least, strict=True) if best]
        for effort in efforts
    }
    summary = [
        [effort, shown(median, above[effort]), shown(max, above[effort])]
        + [f"{figure(line[effort][1] for line in whole):,.1f}" for figure in (median, sum)]
        for effort in efforts
    ]
    header = ("effort", "above the least of them: median", "most", "CPU seconds: median", f"of all {len(whole)} lines")
    cells = "{:.4f}, {:.1f} s"
    rows = [[*name, *(cells.format(*line[each]) for each in efforts)] for name, line in named.items()]
    return "\n".join([EFFORTS, table(header, summary), table(("table", "required", "k", *efforts), rows)])


# --- the tables ------------------------------------------------------------------------------------------------------


def _losses(lines: dict[tuple[Any, ...], Row], labels: Sequence[str], bounds: dict[str, Any]) -> str:
    """The losses of a table; the least of a line is bold, and what was not run is empty."""
    rows = []
    for (name, model, share, k), row in lines.items():
        least = bounds.get(f"{name} {k}", {}).get("gcp") if not share else None
        figures = _figures(row, labels)
        rows.append([WHAT[model], f"{share * 100:.0f} %", str(k), *figures, "-" if least is None else f"{least:.4f}"])
    return table(("required", "suppressed", "k", *labels, "bound"), rows)


def _figures(row: Row, labels: Sequence[str]) -> list[str]:
    losses = {label: row[label]["gcp"] for label in labels if label in row and row[label]["gcp"] is not None}
    least = min(losses.values(), default=None)
    texts = {label: f"**{loss:.4f}**" if loss == least else f"{loss:.4f}" for label, loss in losses.items()}
    return [texts.get(label, "-" if label in row else "") for label in labels]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


# --- the project's README --------------------------------------------------------------------------------------------

NAMES = {
    "release": "release --effort high",
    "mondrian refine=true": "mondrian --refine",
    "incognito iterate=true": "incognito --iterate",
}
SHORT = ("bottom-up", "top-down", *NAMES, "mondrian", "incognito", "datafly")


def short(path: Path) -> str:
    """The league in a few lines, without its wide table, from the file of results."""
    about = tables.tables()
    lines = {line: row for line, row in lines_of(results.load(path)).items() if about[line[0]]["use"] != "wide"}
    rows = [_in_short(list(lines.values()), label) for label in SHORT]
    header = ("method", "within 1 % of the least", "above it: median", "most", *SUMMARY[-3:])
    count = len({line[0] for line in lines})
    return f"{len(lines)} lines of {count} tables:\n\n{table(header, rows)}".rstrip("\n")


def _in_short(rows: Sequence[Row], label: str) -> list[str]:
    above, cells = excess(rows, label), [row[label] for row in rows if label in row]
    near = f"{sum(each <= 0.01 for each in above)} of {len(above)}"
    return [f"`{NAMES.get(label, label)}`", near, shown(median, above), shown(max, above), *_others(cells)]


if __name__ == "__main__":
    main()
