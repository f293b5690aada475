"""Searches for research value where a walk through the lattice is long: on Adult, and on 24 attributes of 4 levels.

Adult: the best string by each search; all attributes weigh the same. The scale of Morton et al.: 5,000 rows, 24
attributes of eight values on four levels, with a limit of time. Their table is not public; these are drawn, each value
as likely as any other or one half as likely as the one before.

    python benchmarks/research_value_large.py --data FOLDER --seconds 50
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from k_optimize import adult

from anonymize.algorithms.base import Context
from anonymize.algorithms.research_value import Options, run
from anonymize.privacy import Requirement
from anonymize.table import Table
from tests.algorithms.tables import categorical, k_anonymity, table_of, taxonomy

ADULT = (
    Options("global"),
    Options("hybrid"),
    Options("local"),
    Options("distributed"),
)
HEADER = ("table", "k", "search", "research value", "gap", "checks", "CPU s", "wall s")


def drawn(rows: int, count: int, ratio: float) -> Table:
    """Attributes of eight values, on four levels; each value is by the `ratio` as likely as the one before."""
    rng = np.random.default_rng(0)
    shares = ratio ** np.arange(8)
    paths = [f"v{number} a{number // 2} b{number // 4} *" for number in range(8)]
    columns = [rng.choice(8, rows, p=shares / shares.sum()) for _ in range(count)]
    return table_of(
        *(
            categorical([f"v{each}" for each in codes], taxonomy(*paths, name=f"q{i}"))
            for i, codes in enumerate(columns)
        )
    )


def line(name: str, table: Table, k: int, options: Options) -> tuple[str, ...]:
    """One search, as a row of the page."""
    wanted: tuple[Requirement, ...] = (k_anonymity(k),)
    cpu, wall = time.process_time(), time.perf_counter()
    chosen = run(table, wanted, options, Context()).chosen or {}
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    figures = (f"{chosen['research_value']:.4f}", f"{chosen['gap']:.4f}", f"{chosen['nodes_checked']:,}")
    return name, str(k), options.search, *figures, f"{cpu:.1f}", f"{wall:.1f}"


def lines(data: Path, seconds: float) -> Iterator[tuple[str, ...]]:
    """All rows."""
    table = adult(data)
    for options in ADULT:
        yield line("Adult", table, 10, options)
    for ratio in (1.0, 0.5):
        table = drawn(5000, 24, ratio)
        for options in (Options("local", time_limit=seconds), Options("distributed", time_limit=seconds)):
            yield line(f"24 attributes, ratio {ratio:g}", table, 5, options)


def main() -> None:
    """Prints a Markdown table, line by line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="a folder with adult.csv")
    parser.add_argument("--seconds", type=float, default=50.0)
    options = parser.parse_args()
    print("|", " | ".join(HEADER), "|\n|" + "---|" * len(HEADER))
    for each in lines(options.data, options.seconds):
        print("|", " | ".join(each), "|", flush=True)


if __name__ == "__main__":
    main()
