"""How often each search of `research-value` finds the best string of small random tables, and in how many checks.

The best string is found by a walk through the whole lattice. Tables have two to four attributes; k-anonymity, with
l-diversity or without; no suppression, or of some rows.

    python benchmarks/research_value.py --tables 500
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from anonymize.algorithms.base import Context
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.research_value import Options, run
from anonymize.errors import InfeasibleError
from anonymize.metrics.research_value import research_values
from anonymize.privacy import Requirement
from anonymize.table import Table
from tests.algorithms.tables import _random_attribute, k_anonymity, requirement, sensitive, table_of

SEARCHES = ("global", "hybrid", "local", "distributed")


def problem(seed: int) -> tuple[Table, tuple[Requirement, ...], int]:
    """A table, what is required, and how many rows may be suppressed."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(10, 60))
    attributes = [_random_attribute(rng, rows, f"q{index}") for index in range(int(rng.integers(2, 5)))]
    table = table_of(*attributes, sensitive=[sensitive(rng.choice(list("abc"), rows).tolist())])
    wanted = [k_anonymity(int(rng.integers(2, 5)))]
    model = str(rng.choice(["none", "distinct-l-diversity", "entropy-l-diversity"]))
    if model != "none":
        wanted.append(requirement(model, "s", l=2 if model.startswith("d") else 1.5))
    return table, tuple(wanted), int(rng.choice([0, rows // 20, rows // 5]))


def best(table: Table, wanted: tuple[Requirement, ...], limit: int) -> float | None:
    """The highest research value of a safe node, by a look at every one."""
    checker, values = Checker(table, wanted, limit), research_values(table)
    totals = [
        sum(float(value[level]) for value, level in zip(values, vector, strict=True))
        for vector in product(*(range(height + 1) for height in checker.lattice.heights))
        if checker.check(vector).safe
    ]
    return max(totals, default=None)


def main() -> None:
    """Prints a line for each search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=500)
    tables = parser.parse_args().tables
    problems = [problem(seed) for seed in range(tables)]
    optima = [best(*each) for each in problems]
    checks: dict[str, list[int]] = {}
    for search in SEARCHES:
        equal, checks[search] = 0, []
        for (table, wanted, limit), optimum in zip(problems, optima, strict=True):
            try:
                chosen = run(table, wanted, Options(search), Context(limit)).chosen or {}
            except InfeasibleError:
                equal += optimum is None
                checks[search].append(0)
                continue
            equal += optimum is not None and abs(chosen["research_value"] - optimum) < 1e-9
            checks[search].append(chosen["nodes_checked"])
        more = sum(a > b for a, b in zip(checks[search], checks["global"], strict=True))
        mean = sum(checks[search]) / tables
        print(f"{search}: {equal} of {tables} best, {mean:.1f} checks, {more} times more than global")


if __name__ == "__main__":
    main()
