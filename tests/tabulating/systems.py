"""Small systems of tables for tests: random rows, grouped by a flat column and one with a hierarchy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonymize.spec.tabulation import DominanceRule, SuppressionRules, TabulatedMeasure, Tabulation
from anonymize.tabulating.cells import Floats, GroupedColumn, Ints, TableGrid
from anonymize.tabulating.counting import CellValues, count
from anonymize.tabulating.suppression import contributions, groups_of, is_count, measures_of


def flat(name: str, leaf: Ints) -> GroupedColumn:
    """A column of which each value is a leaf, under a total."""
    size = int(leaf.max()) + 1
    labels = (*(f"{name}{each}" for each in range(size)), "Total")
    return GroupedColumn(
        name, labels, np.array([size] * size + [-1]), np.vstack([np.arange(size), np.full(size, size)]), leaf
    )


def paired(name: str, leaf: Ints) -> GroupedColumn:
    """A column of which two values each are a node, under a total."""
    size = int(leaf.max()) + 1
    pairs = (size + 1) // 2
    above = size + np.arange(size) // 2
    labels = (*(f"{name}{each}" for each in range(size)), *(f"{name}pair{each}" for each in range(pairs)), "Total")
    parent = np.array([*above, *[size + pairs] * pairs, -1])
    return GroupedColumn(name, labels, parent, np.vstack([np.arange(size), above, np.full(size, size + pairs)]), leaf)


def tables(*measured: TabulatedMeasure, **rules: object) -> Tabulation:
    return Tabulation(mechanism="suppression", tables=measured, suppression=SuppressionRules(**rules))  # type: ignore[arg-type]


def values_of(grid: TableGrid, tabulate: Tabulation, numbers: Floats) -> dict[str, CellValues]:
    """What the tables come to. `numbers`: (rows,) of the column that is summed."""
    several = contributions(tabulate.rules)
    return {
        name: count(
            grid, groups_of(tabulate, name), np.ones(len(numbers)) if is_count(name) else numbers, None, several
        )
        for name in measures_of(tabulate)
    }


def random_system(seed: int) -> tuple[TableGrid, Tabulation, Floats]:
    """A few dozen rows in two columns, counted, summed and averaged in tables that share totals."""
    random = np.random.default_rng(seed)
    rows = int(random.integers(60, 120))
    grid = TableGrid((flat("a", random.integers(0, 3, rows)), paired("b", random.integers(0, 4, rows))))
    measured: Sequence[TabulatedMeasure] = (
        TabulatedMeasure(by=("a", "b"), count=True),
        TabulatedMeasure(by=("b",), mean="x") if seed % 2 else TabulatedMeasure(by=("a", "b"), sum="x"),
    )
    dominance = DominanceRule(n=1, k=70) if seed % 3 else None
    return grid, tables(*measured, minimum=4, p=15, dominance=dominance), np.rint(np.exp(random.normal(3, 1.3, rows)))
