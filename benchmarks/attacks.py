"""What attackers get of releases of Adult, beside a copy of the original: the table of docs/attacks.md.

    python benchmarks/attacks.py adult.csv

A fifth of the people, drawn by a fixed seed, is held out of every release and is the control. Prints Markdown.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anonymize.algorithms import ALGORITHMS
from anonymize.attack import Attack, attack
from anonymize.privacy import PARAMETERS
from anonymize.release import release
from anonymize.report.attacks import label
from anonymize.request import Request
from anonymize.spec import Spec, make

QUASI = ("sex", "race", "marital-status", "education", "native-country", "workclass")
SENSITIVE = ("occupation", "salary-class")


def spec_of(path: Path, k: int) -> Spec:
    """Seven quasi-identifiers, flat but for age; two sensitive attributes."""
    content = {
        "version": 1,
        "input": {"path": str(path), "separator": ";"},
        "quasi_identifiers": {"age": {"type": "numeric"}, **{name: {} for name in QUASI}},
        "sensitive": {name: {} for name in SENSITIVE},
        "privacy": {"k": k},
    }
    return make(content, PARAMETERS)


def attacked(folder: Path, k: int | None) -> dict[str, Any]:
    """The results by label: of mondrian at k, or of a copy for None."""
    own, released, link = folder / "own.csv", folder / f"k{k}.csv", folder / f"k{k}.json"
    spec = spec_of(own, k or 2)
    control = str(folder / "others.csv")
    if k is None:
        request = Attack(spec, str(own), control=control)
    else:
        options = ALGORITHMS["mondrian"].Options()
        release(Request(spec, "mondrian", options, output=str(released), save_link=str(link)))
        request = Attack(spec, str(released), control=control, link=str(link))
    return {label(each): each["excess"] for each in attack(request).report["attacks"]["results"]}


def main(path: str) -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = pl.read_csv(path, separator=";", infer_schema=False)
        order = np.random.default_rng(0).permutation(table.height)
        held = table.height // 5
        table[np.sort(order[held:])].write_csv(folder / "own.csv", separator=";")
        table[np.sort(order[:held])].write_csv(folder / "others.csv", separator=";")
        columns = {"copy": None, "k = 5": 5, "k = 10": 10}
        results = {title: attacked(folder, k) for title, k in columns.items()}
    print("| attacker | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for name in results["copy"]:
        cells = [_interval(results[title][name]) for title in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")


def _interval(excess: dict[str, float] | None) -> str:
    if excess is None:
        return "not measured"
    value, low, high = (round(excess[name], 3) + 0.0 for name in ("value", "low", "high"))
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main(sys.argv[1])
