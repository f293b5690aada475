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
be made. **Bold** is the least of a line. Tables marked *tuning* are those that algorithms may be tuned on; the others
only judge.

What stands here is a part of the league: nothing suppressed, k = 5 and 25, k alone on every table that is listed and
distinct l = 3 on some. [results.json](results.json) has the cells; a further run writes them anew.
"""


def main() -> None:
    """Prints the page."""
    cells = json.loads(Path(sys.argv[1]).read_text(encoding="utf8"))
    labels = list(dict.fromkeys(cell["label"] for cell in cells))
    tables: dict[tuple[str, str], dict[Any, dict[str, dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        line = (cell["model"], cell["suppression"], cell["k"])
        tables[cell["table"], f"{cell['package']}, {cell['licence']}; {cell['use']}"][line][cell["label"]] = cell
    print(HEAD)
    _summary([row for table in tables.values() for row in table.values()], labels)
    for (name, about), lines in tables.items():
        print(f"## {name}\n\n{about}\n")
        print(f"| required | suppressed | k | {' | '.join(labels)} |")
        print("|" + "---|" * (len(labels) + 3))
        for (model, share, k), row in lines.items():
            print(f"| {WHAT[model]} | {share:.0%} | {k} | {' | '.join(_figures(row, labels))} |")
        print()


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
                seconds.append(cell["seconds"])
        if above:
            near = sum(each <= 0.01 for each in above)
            print(
                f"| {label} | {len(above)} of {len(rows)} | {near} | {median(above):.1%} | {max(above):.1%} |"
                f" {median(seconds):.1f} |"
            )
    print()


if __name__ == "__main__":
    main()
