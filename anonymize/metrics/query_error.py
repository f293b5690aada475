"""Query error: how wrong a count is when it is estimated from the release.

COUNT queries ask how many rows lie in a range of some quasi-identifiers. By default 1,000 are drawn: how many
attributes each restricts and which is drawn evenly, and of each attribute a range between two of its leaves. How many
attributes (`--query-dimensions`), which (`--query-attributes`), how much of the joint domain (`--query-selectivity`),
and single values in place of ranges (`--query-points`) can be asked for, or all queries be listed in a file
(`--query-file`).

The recipient's answer spreads the rows of a class evenly over its region: over whole numbers where the column has
nothing else, over the line between its ends, over the leaves of a category. The rows of a bucketized release are
counted, a release through channels is reconstructed. Rows of which a number is missing are in no range.

The error of a query is |estimate - count| / count. Queries whose true count is 0 have none: they are left out, and
counted as `empty`. With a sanity bound of b rows (`--query-bound`) the error is |estimate - count| / max(count, b), no
query is left out, and rare combinations weigh less. `quantiles` are of the errors, interpolated; `by_dimension` has the
figures of the queries that restrict 1, 2, ... attributes. With `--query-seeds` n the queries of n seeds are put
together, and `over_seeds` has the standard deviation (n - 1) of the mean and of the median of each seed: how far a
figure would move with other queries.

What the figures do not say: a random query is not what a recipient asks. Errors of relative size are mostly those of
small counts, and the mean hangs on few of them: read the median and the quantiles beside it.

Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, experiments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.classes import Bools, Floats, Ints
from anonymize.metrics.base import OF_ESTIMATES
from anonymize.metrics.evidence import Evidence
from anonymize.metrics.queries import Queries, counted, estimated
from anonymize.table import Table

ID = "query_error"
DEFINED_FOR = OF_ESTIMATES
QUANTILES = (0.05, 0.25, 0.75, 0.95)


def measure(evidence: Evidence) -> dict[str, Any] | None:
    """`mean` and `median` relative error, the number of `queries`, and those of them that were `empty`; and more, see
    above. None where there are no queries."""
    queries = evidence.queries
    if queries is None:
        return None
    gapped = {index: evidence.cells(index) for index in evidence.gapped}
    answers = estimated(evidence.start, evidence.stop, evidence.sizes, queries, gapped=gapped)
    return figures(evidence.table, queries, answers)


def true_counts(table: Table, queries: Queries) -> Ints:
    """(queries,) rows of the original that each selects."""
    return counted([attribute.codes for attribute in table.attributes], queries)


def figures(table: Table, queries: Queries, estimates: Floats, counts: Ints | None = None) -> dict[str, Any] | None:
    """The same, of the recipient's answers, `estimates` (queries,). None where there are no queries. `counts`: the
    `true_counts`, where they are known."""
    if not queries.count:
        return None
    counts = true_counts(table, queries) if counts is None else counts
    errors = np.full(queries.count, np.nan)
    base = np.maximum(counts, queries.bound)
    np.divide(np.abs(estimates - counts), base, out=errors, where=base > 0)
    every = np.ones(queries.count, np.bool_)
    block = _summary(errors, counts, every)
    block["by_dimension"] = {
        str(size): _summary(errors, counts, queries.dimensions == size) for size in np.unique(queries.dimensions)
    }
    repeats = int(queries.repeat.max()) + 1
    if repeats > 1:
        block["over_seeds"] = _deviations([_summary(errors, counts, queries.repeat == each) for each in range(repeats)])
    return block | ({"settings": dict(queries.settings)} if queries.settings else {})


def _summary(errors: Floats, counts: Ints, chosen: Bools) -> dict[str, Any]:
    """The figures of some queries."""
    measured = errors[chosen & ~np.isnan(errors)]
    measurable = len(measured) > 0
    quantiles = np.quantile(measured, QUANTILES).tolist() if measurable else [None] * len(QUANTILES)
    return {
        "mean": float(measured.mean()) if measurable else None,
        "median": float(np.median(measured)) if measurable else None,
        "quantiles": {str(share): value for share, value in zip(QUANTILES, quantiles, strict=True)},
        "queries": int(np.count_nonzero(chosen)),
        "empty": int(np.count_nonzero(counts[chosen] == 0)),
    }


def _deviations(summaries: list[dict[str, Any]]) -> dict[str, Any]:
    """How far the figures of several seeds lie apart; None where a seed has none."""
    block: dict[str, Any] = {"seeds": len(summaries)}
    for name in ("mean", "median"):
        values = [each[name] for each in summaries]
        block[f"{name}_sd"] = None if None in values else float(np.std(values, ddof=1))
    return block
