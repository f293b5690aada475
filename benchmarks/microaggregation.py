"""Microaggregation: information lost, and seconds of the processor, by table, method and k.

Tarragona (834 companies, 13 numbers) and Adult with its eight quasi-identifiers as numbers, a text by its rank among
those of its column. The share of the sum of squares of z-scores is in per cent; work is counted, so that it is the same
on every machine, and the seconds are not.

    python benchmarks/microaggregation.py --data FOLDER [--effort 4] [--k 3 5 10]
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from anonymize.treatments.microaggregation import aggregated, groups, information_lost

TABLES = {"tarragona": ("tarragona.csv", ",", ()), "adult": ("adult.csv", ";", ("salary-class",))}
"""Files, what separates their cells, and columns that are left out."""
METHODS = ("mdav", "search")


def numbers(path: Path, separator: str, without: tuple[str, ...]) -> np.ndarray:
    """(rows, columns) the values of a table, texts as ranks."""
    with path.open(newline="") as lines:
        names, *rows = csv.reader(lines, delimiter=separator)
    columns = [np.array(each) for name, each in zip(names, zip(*rows, strict=True), strict=True) if name not in without]
    return np.stack([_ranked(column) for column in columns], axis=1)


def _ranked(column: np.ndarray) -> np.ndarray:
    try:
        return column.astype(float)
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(float)


def figures(data: Path, sizes: list[int], effort: float) -> Iterator[tuple[str, ...]]:
    """A line for each table, size and method."""
    for table, (name, separator, without) in TABLES.items():
        if not (data / name).is_file():
            continue
        values = numbers(data / name, separator, without)
        for k in sizes:
            for method in METHODS:
                begin = time.process_time()
                group = groups(values, k, method=method, effort=effort)
                seconds = time.process_time() - begin
                lost = 100 * information_lost(values, aggregated(values, group))
                yield table, str(k), method, f"{lost:.4f}", f"{seconds:.1f}"


def main() -> None:
    """Prints the figures as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--k", type=int, nargs="+", default=[3, 5, 10])
    parser.add_argument("--effort", type=float, default=1.0)
    options = parser.parse_args()
    print("| table | k | method | lost, % | CPU s |\n|---|---|---|---|---|")
    for line in figures(options.data, options.k, options.effort):
        print("|", " | ".join(line), "|", flush=True)


if __name__ == "__main__":
    main()
