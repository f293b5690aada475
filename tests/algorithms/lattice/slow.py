"""Scores by the book: plain loops over rows, from what `scores` documents."""

from __future__ import annotations

import math
from collections import Counter

from anonymize.metrics.research_value import research_values
from tests.algorithms.full_domain import classes, failing, heights, shown
from tests.algorithms.lattice.cases import Case, Vector

OWN = {
    "loss": "geometric",
    "ncp": "mean",
    "precision": "mean",
    "height": "sum",
    "entropy": "sum",
    "normalized-entropy": "mean",
    "entropy-loss": "sum",
}


def score(
    case: Case, vector: Vector, metric: str, aggregate: str | None, gs: float, lost: set[int] | None = None
) -> tuple[float, ...]:
    """The score of a node; `lost`: the rows that are suppressed, by default those of the classes that fail."""
    lost = set(failing(case.table, vector, case.wanted)) if lost is None else lost
    rows, s, g = case.table.rows, min(2 * gs, 1), min(1, 1 - 2 * (gs - 0.5))
    kept = [len(each) for each in classes(shown(case.table, vector)) if each[0] not in lost]
    if metric == "discernibility":
        return (sum(size**2 for size in kept) + rows * len(lost),)
    if metric == "discernibility-star":
        return (sum(len(each) ** 2 for each in classes(shown(case.table, vector))),)
    if metric in ("ambiguity", "kl-divergence"):
        return (spread(case, vector, metric, lost),)
    if metric == "c_avg":
        count = s * len(kept) + (g if lost else 0)
        return (rows / count if count else math.inf,)
    if metric == "research-value":
        return (1 - sum(of[level] for of, level in zip(research_values(case.table), vector, strict=True)),)
    figures = [figure(case, vector, index, metric, lost, s, g) for index in range(len(vector))]
    largest = max(attribute.weight for attribute in case.table.attributes)
    weighted = [
        attribute.weight / largest * value for attribute, value in zip(case.table.attributes, figures, strict=True)
    ]
    match aggregate or OWN[metric]:
        case "mean":
            return (sum(weighted) / len(weighted),)
        case "sum":
            return (sum(weighted),)
        case "max":
            return (max(weighted),)
        case "geometric":
            return (math.prod((value + 1) ** (1 / len(weighted)) for value in weighted) - 1,)
    return tuple(sorted(weighted, reverse=True))


def spread(case: Case, vector: Vector, metric: str, lost: set[int]) -> float:
    """What the rows may stand for, row by row."""
    rows, hierarchies = case.table.rows, [attribute.hierarchy for attribute in case.table.attributes]
    everything = math.prod(hierarchy.size for hierarchy in hierarchies)
    table = shown(case.table, vector)
    areas = [
        everything
        if row in lost
        else math.prod(int(h.stop[n] - h.start[n]) for h, n in zip(hierarchies, nodes, strict=True))
        for row, nodes in enumerate(table)
    ]
    if metric == "ambiguity":
        return sum(areas) / rows
    reads = Counter("suppressed" if row in lost else nodes for row, nodes in enumerate(table))
    values = shown(case.table, (0,) * len(vector))
    own = Counter(values)
    total = 0.0
    for row, nodes in enumerate(table):
        expected = reads["suppressed" if row in lost else nodes] / rows / areas[row]
        total += math.log2(own[values[row]] / rows / expected) / rows  # p log2(p / q), a row at a time
    return total


def figure(case: Case, vector: Vector, index: int, metric: str, lost: set[int], s: float, g: float) -> float:
    """The v of one attribute."""
    rows, level, over = case.table.rows, vector[index], case.table.attributes[index].generalization
    nodes = [row[index] for row in shown(case.table, vector)]
    if metric == "height":
        return level
    if metric == "precision":
        share = g * level / heights(case.table)[index]
        return ((rows - len(lost)) * share + len(lost) * s) / rows
    if metric == "normalized-entropy":
        root = tuple(heights(case.table)[index] if other == index else 0 for other in range(len(vector)))
        most = figure(case, root, index, "entropy", set(), 0, 1)
        return figure(case, vector, index, "entropy", lost, s, g) / (most or 1)
    if metric == "entropy":
        values = [row[index] for row in shown(case.table, (0,) * len(vector))]
        of_node, of_value = Counter(nodes), Counter(values)
        bits = sum(math.log2(of_node[a] / of_value[b]) for a, b in zip(nodes, values, strict=True))
        gone = Counter(nodes[row] for row in lost)
        return g * bits - s * sum(c * math.log2(c / len(lost)) for c in gone.values())
    if metric == "entropy-loss":
        sizes = [attribute.hierarchy.size for attribute in case.table.attributes]
        bits = math.log2(math.prod(sizes)) or 1
        costs = [math.log2(int(over.hierarchy.stop[n] - over.hierarchy.start[n])) / bits for n in nodes]
        whole = math.log2(sizes[index]) / bits
        return (g * sum(costs) + s * sum(whole - g * costs[row] for row in lost)) / rows
    cost = over.share if metric == "loss" else over.ncp
    x = g * sum(cost[node] for node in nodes) + s * sum(1 - g * cost[nodes[row]] for row in lost)
    if metric == "ncp":
        return float(x / rows)
    least = g * rows / over.hierarchy.size
    return float(max(0, x - least) / (rows - least)) if rows > least else 0.0
