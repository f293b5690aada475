"""Query error: how wrong a count is when it is estimated from the release.

Random queries count the rows in a range: each restricts some of the quasi-identifiers, how many and which being drawn
evenly, to the leaves between two that are drawn evenly. The recipient's answer spreads the rows of a class evenly over
its region: over whole numbers where the column has nothing else, over the line between its ends, over the leaves of a
category. The rows of a bucketized release are counted, a randomized release is reconstructed. Rows of which a number is
missing are in no range. The error of a query is |estimate - count| / count; queries whose true count is 0 are left out,
and counted.

Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, experiments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anonymize.classes import Floats
from anonymize.domain.numeric import Numeric
from anonymize.metrics.evidence import Evidence
from anonymize.table import Table

ID = "query_error"


@dataclass(frozen=True)
class Query:
    """First and last leaf, by the index of each quasi-identifier that it restricts."""

    ranges: Mapping[int, tuple[int, int]]

    def count(self, table: Table) -> int:
        """Rows of the original."""
        selected = np.ones(table.rows, np.bool_)
        for index, (first, last) in self.ranges.items():
            codes = table.attributes[index].codes
            selected &= (codes >= first) & (codes <= last)
        return int(np.count_nonzero(selected))

    def estimate(self, evidence: Evidence) -> float:
        """The number of rows to be expected from a release of classes."""
        expected = evidence.sizes.astype(np.float64)
        for index, (first, last) in self.ranges.items():
            domain = evidence.table.attributes[index].domain
            low, high, whole = float(first), float(last), True
            if isinstance(domain, Numeric):
                low, high, whole = float(domain.values[first]), float(domain.values[last]), domain.whole
            expected *= evidence.overlap(index, low, high, whole=whole)
        return float(expected.sum())


def measure(evidence: Evidence) -> dict[str, float | int | None] | None:
    """`mean` and `median` relative error, the number of `queries`, and those of them that were `empty`."""
    queries = drawn(evidence.table, evidence.queries, evidence.seed)
    return figures(evidence.table, queries, np.array([query.estimate(evidence) for query in queries]))


def figures(table: Table, queries: Sequence[Query], estimates: Floats) -> dict[str, float | int | None] | None:
    """The same, of the recipient's answers, `estimates` (queries,). None where there are no queries."""
    if not queries:
        return None
    counts = np.array([query.count(table) for query in queries])
    some = counts > 0
    errors = np.abs(estimates[some] - counts[some]) / counts[some]
    return {
        "mean": float(errors.mean()) if len(errors) else None,
        "median": float(np.median(errors)) if len(errors) else None,
        "queries": len(queries),
        "empty": len(queries) - len(errors),
    }


def drawn(table: Table, queries: int, seed: int) -> list[Query]:
    """Random queries; none restricts an attribute without any value."""
    random = np.random.default_rng(seed)
    sizes = {}
    for index, attribute in enumerate(table.attributes):
        domain = attribute.domain
        size = len(domain.values) if isinstance(domain, Numeric) else domain.size
        if size:
            sizes[index] = size
    chosen = [_chosen(random, list(sizes)) for _ in range(queries)] if sizes else []
    return [Query({index: _range(random, sizes[index]) for index in each}) for each in chosen]


def _chosen(random: np.random.Generator, attributes: list[int]) -> list[int]:
    count = int(random.integers(1, len(attributes), endpoint=True))
    return sorted(random.choice(attributes, count, replace=False).tolist())


def _range(random: np.random.Generator, size: int) -> tuple[int, int]:
    first, last = sorted(random.integers(0, size, 2).tolist())
    return first, last
