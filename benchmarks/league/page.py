"""The league's page from its results, as Markdown: `python benchmarks/league/page.py results.json`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

WHAT = {"k": "k alone", "l": "distinct l = 3", "entropy": "entropy l = 3", "t": "t = 0.3"}
HEAD = """# The league

What each algorithm loses on public tables that a PyPI package ships, as [run.py](run.py) measured it and
[page.py](page.py) wrote it down. A figure is the release's gcp, the share of the quasi-identifiers' precision that is
lost; a suppressed row counts as lost altogether. Every release was verified when it was made; `-` is one that could not
be made, or was not asked for. **Bold** is the least of a line. Tables marked *tuning* are those that algorithms may be
tuned on; the others only judge.

    cd benchmarks/league
    python run.py TABLES -k 5 --models k --suppression 0 --only census -o results.json
    python bounds.py TABLES --only census -o bounds.json
    python page.py results.json bounds.json

[results.json](results.json) has the cells; a run adds those that it lacks. Seconds are wall seconds of one release on
two cores that three others worked on: they say little, and none where a run was held up. *Bound* is a gcp that no
release with classes can be below (`--bound`, [bounds.py](bounds.py)); how near the best release comes to it is not
known.
"""


def main() -> None:
    """Prints the page."""
    cells = json.loads(Path(sys.argv[1]).read_text(encoding="utf8"))
    bounds = json.loads(Path(sys.argv[2]).read_text(encoding="utf8")) if len(sys.argv) > 2 else {}
    labels = list(dict.fromkeys(cell["label"] for cell in cells))
    tables: dict[tuple[str, str], dict[Any, dict[str, dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        line = (cell["model"], cell["suppression"], cell["k"])
        tables[cell["table"], f"{cell['package']}, {cell['licence']}; {cell['use']}"][line][cell["label"]] = cell
    print(HEAD)
    _account(cells, [line for table in tables.values() for line in table])
    for use in ("tuning", "judging"):
        print(f"## All lines of the tables for {use}\n")
        rows = [row for (_, about), table in tables.items() if about.endswith(use) for row in table.values()]
        _summary(rows, labels)
    for (name, about), lines in tables.items():
        print(f"## {name}\n\n{about}\n")
        print(f"| required | suppressed | k | {' | '.join(labels)} | bound |")
        print("|" + "---|" * (len(labels) + 4))
        for (model, share, k), row in lines.items():
            least = bounds.get(f"{name} {k}", {}).get("gcp") if not share else None
            bound = "-" if least is None else f"{least:.4f}"
            print(f"| {WHAT[model]} | {share:.0%} | {k} | {' | '.join(_figures(row, labels))} | {bound} |")
        print()


def _account(cells: list[dict[str, Any]], lines: list[tuple[str, float, int]]) -> None:
    """What of the league was run, and whether the other script read the same losses."""
    again = [cell for cell in cells if cell.get("recomputed") is not None]
    apart = max((abs(cell["recomputed"] - cell["gcp"]) for cell in again), default=0.0)
    models = ", ".join(f"{WHAT[model]} {sum(line[0] == model for line in lines)}" for model in WHAT)
    suppressed = sum(line[1] > 0 for line in lines)
    print(f"{len(lines)} lines of 384 were run ({models}; {suppressed} of them with 2 % suppression).")
    print(f"[outside.py](outside.py) read {len(again)} releases again: it differs by {apart:.0e} at most.\n")


def _figures(row: dict[str, dict[str, Any]], labels: list[str]) -> list[str]:
    losses = {label: row[label]["gcp"] for label in labels if label in row and row[label]["gcp"] is not None}
    least = min(losses.values(), default=None)
    texts = {label: f"{loss:.4f}" for label, loss in losses.items()}
    texts |= {label: f"**{texts[label]}**" for label, loss in losses.items() if loss == least}
    return [texts.get(label, "-") for label in labels]


def _summary(rows: list[dict[str, dict[str, Any]]], labels: list[str]) -> None:
    """Of each algorithm how far it is above the least of each line, and how long it took."""
    print("| algorithm | made | least, or within 1 % | median above the least | most above | median seconds |")
    print("|---|---|---|---|---|---|")
    for label in labels:
        above, seconds = [], []
        for row in rows:
            losses = [cell["gcp"] for cell in row.values() if cell["gcp"] is not None]
            cell = row.get(label)
            if cell is not None and cell["gcp"] is not None:
                above.append(cell["gcp"] / min(losses) - 1 if min(losses) else float(cell["gcp"] > 0))
                seconds += [] if cell["seconds"] is None else [cell["seconds"]]
        if above:
            near = sum(each <= 0.01 for each in above)
            print(
                f"| {label} | {len(above)} of {len(rows)} | {near} | {median(above):.1%} | {max(above):.1%} |"
                f" {median(seconds):.1f} |"
            )
    print()


if __name__ == "__main__":
    main()
