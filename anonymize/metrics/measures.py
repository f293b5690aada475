"""What `evaluate` adds to a release's metrics: measures that need the original. `MEASURES` is the registry.

They are in a module of their own because every release imports the metrics, and none of them these.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from anonymize.classes import Bools, Floats, Integers, Ints, Runs
from anonymize.metrics import distributions
from anonymize.metrics.base import OF_CLASSES, OF_ESTIMATES
from anonymize.metrics.evidence import Evidence, OfClasses, OriginalMeasure
from anonymize.metrics.joint import MOST_CELLS, Joint
from anonymize.metrics.queries import Queries
from anonymize.metrics.queries.answers import counted, estimated
from anonymize.table import Selection, Table, columns


class AverageClassSize:
    """Average class size: rows over equivalence classes, suppressed rows being one class where they are published.

    Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, section 4.1.
    """

    ID = "average_class_size"
    DEFINED_FOR = OF_CLASSES

    @staticmethod
    def measure(evidence: Evidence) -> float | None:
        """Released rows / classes; None where there are no rows."""
        return float(evidence.sizes.mean()) if len(evidence.sizes) else None


def _figures_of_target(column: columns.CodedColumn, evidence: Evidence) -> dict[str, float]:
    if not len(column.codes):
        return {}
    one = np.zeros(len(column.codes), np.int64)
    if not column.numeric:
        within = conditional_entropy(evidence.class_of, column.codes, len(evidence.sizes), column.size)
        return {"conditional_entropy": within, "entropy": conditional_entropy(one, column.codes, 1, column.size)}
    assert column.values is not None
    values = column.values[column.codes]
    some = ~np.isnan(values)
    if not some.any():
        return {}
    within = squared_error(evidence.class_of[some], values[some])
    return {"mean_squared_error": within, "variance": squared_error(one[some], values[some])}


def conditional_entropy(classes: Ints, labels: Integers, count: int, size: int) -> float:
    """H(labels | classes) in bits of rows (n,); `count` classes, `size` labels."""
    runs = Runs.count_values(classes, labels, count, size)
    sizes = np.bincount(classes, minlength=count)[runs.classes]
    return float(abs((runs.counts * np.log2(sizes / runs.counts)).sum()) / len(classes))


def squared_error(classes: Ints, values: Floats) -> float:
    """Mean of squared distances from the mean of the row's class, over rows (n,)."""
    sizes = np.maximum(np.bincount(classes), 1)
    means = np.bincount(classes, values) / sizes
    return float(((values - means[classes]) ** 2).mean())


class TargetsLeft:
    """Targets: the remaining uncertainty about each target once the class of a row is known.

    For a categorical target, the conditional entropy H(C | P) in bits: the entropy of its labels within each class,
    weighted by rows; 0 where every class has one label. A missing label is a separate label. `entropy` is that of all
    released rows, without any knowledge of the class. For a numeric target, the mean squared error around the mean of
    the class; rows without a number are left out. `variance` is that of all rows.

    A target that is a quasi-identifier is generalized itself. Its values come from the original, where rows correspond.

    Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, equation 7 and section 3.2.
    """

    ID = "targets"
    DEFINED_FOR = OF_CLASSES

    @staticmethod
    def measure(evidence: Evidence) -> dict[str, dict[str, float]] | None:
        """By target: `conditional_entropy` and `entropy`, or `mean_squared_error` and `variance`."""
        of_targets = {name: _figures_of_target(column, evidence) for name, column in evidence.targets.items()}
        return {name: figures for name, figures in of_targets.items() if figures} or None


def _figures(selection: Selection, evidence: Evidence) -> dict[str, int]:
    meant = np.ones(evidence.table.rows, np.bool_)
    returned = np.ones(len(evidence.sizes), np.bool_)
    for index, leaves in selection.leaves.items():
        meant &= leaves[evidence.table.attributes[index].codes]
        returned &= evidence.cells(index).meeting(leaves)
    original, released = int(np.count_nonzero(meant)), int(evidence.sizes[returned].sum())
    return {"original": original, "released": released, "imprecision": released - original}


class Imprecision:
    """Imprecision: how many rows a selection returns from the release that it would not return from the original.

    From the release a selection returns every row whose region overlaps the selection, because only then are all
    selected rows certain to be included. Suppressed rows overlap everything. Rows that were left out are not returned,
    so a release that leaves out rows may have a negative figure.

    Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, equation 5.
    """

    ID = "imprecision"
    DEFINED_FOR = OF_CLASSES

    @staticmethod
    def measure(evidence: Evidence) -> dict[str, int | list[dict[str, int]]] | None:
        """The total, and of every selection of the workload in its order: rows selected from the original and from the
        release, and the imprecision. None where there are no selections."""
        selections = [_figures(selection, evidence) for selection in evidence.table.selections]
        if not selections:
            return None
        return {"total": sum(each["imprecision"] for each in selections), "selections": selections}


QUANTILES = (0.05, 0.25, 0.75, 0.95)


def true_counts(table: Table, queries: Queries) -> Ints:
    """(queries,) rows of the original that each selects."""
    return counted([attribute.codes for attribute in table.attributes], queries)


def query_figures(
    table: Table, queries: Queries, estimates: Floats, counts: Ints | None = None
) -> dict[str, Any] | None:
    """The errors of `estimates` (queries,); None without queries. `counts`: the `true_counts`, where they are known."""
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


class QueryError:
    """Query error: the relative error of counts estimated from the release.

    COUNT queries ask how many rows lie in a range of some quasi-identifiers. By default 1,000 are drawn: how many
    attributes each restricts and which is drawn evenly, and of each attribute a range between two of its leaves. How
    many attributes (`--query-dimensions`), which (`--query-attributes`), how much of the joint domain
    (`--query-selectivity`), and single values in place of ranges (`--query-points`) can be asked for, or all queries be
    listed in a file (`--query-file`).

    The recipient's answer spreads the rows of a class evenly over its region: over whole numbers where the column has
    nothing else, over the line between its ends, over the leaves of a category. The rows of a bucketized release and of
    a synthetic table are counted, a release through channels is reconstructed. Rows of which a number is missing are in
    no range.

    The error of a query is |estimate - count| / count. Queries whose true count is 0 have none: they are left out, and
    counted as `empty`. With a sanity bound of b rows (`--query-bound`) the error is |estimate - count| / max(count, b),
    no query is left out, and rare combinations weigh less. `quantiles` are of the errors, interpolated; `by_dimension`
    has the figures of the queries that restrict 1, 2, ... attributes. With `--query-seeds` n the queries of n seeds are
    put together, and `over_seeds` has the standard deviation (n - 1) of the mean and of the median of each seed: how
    far a figure would move with other queries.

    What the figures do not say: a random query is not what a recipient asks. Errors of relative size are mostly those
    of small counts, and the mean depends on few of them: read it with the median and the quantiles.

    Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006, experiments.
    """

    ID = "query_error"
    DEFINED_FOR = OF_ESTIMATES | {"invented"}

    @staticmethod
    def measure(evidence: Evidence) -> dict[str, Any] | None:
        """`mean` and `median` relative error, the number of `queries`, and those of them that were `empty`; and more,
        see above. None where there are no queries."""
        queries = evidence.queries
        if queries is None:
            return None
        gapped = {index: evidence.cells(index) for index in evidence.gapped}
        answers = estimated(evidence.start, evidence.stop, evidence.sizes, queries, gapped=gapped)
        return query_figures(evidence.table, queries, answers)


def distance_figures(joints: Mapping[str, Joint]) -> dict[str, Any] | None:
    """The distances between the joint tables of each attribute; None without any."""
    return {name: _compared(joint) for name, joint in joints.items()} or None


def _compared(joint: Joint) -> dict[str, Any]:
    axes = range(len(joint.names))
    cells = joint.cells(axes)
    block: dict[str, Any] = {"cells": int(cells)}
    if cells > MOST_CELLS:
        return block
    original, estimated = joint.tables(axes)
    if not (original > 0).any() or not (estimated > 0).any():
        return block
    return block | {
        **distributions.distances(original, estimated, joint.rows),
        "base_error": distributions.base_error(original, estimated),
        "cube_error": distributions.cube_error(original, estimated),
    }


class Distances:
    """Distances: how far the distribution that a recipient estimates from the release is from that of the original.

    Measured for each sensitive attribute and target that passes through, on the joint table of all quasi-identifiers
    and that attribute. From a generalized release the recipient spreads the rows of a class evenly over the leaves of
    its region; from a bucketized one, the sensitive values of a group evenly over its rows; what came through channels
    is reconstructed. `kl`, `chi_squared`, `euclidean`, `total_variation` and `hellinger` compare the estimate with the
    original's; `base_error` and `cube_error` are the mean relative errors of the counts of its cells, and of those of
    every group-by. A joint table of more than 20 million cells is not made, and these figures are left out; `cells`
    says how many it has.

    `kl` is the sum of p ln(p / q) in nats, p being the original's distribution and q the estimate. Cells in which p is
    0 add nothing, whatever q is there. Where p is not 0, q is raised to half a row of the original, 0.5 / rows, if it
    is less, and all of q is then rescaled to sum 1. Without this floor a single cell that exists and is estimated at 0
    would make the figure infinite, and no two such releases could be compared; half a row is the most that still rounds
    to no row. The price: `kl` is at most ln(3 x rows), so a release that rules out what is there looks better than it
    is, and as the floor follows from the number of rows, figures of originals of different size are not comparable. The
    floor does not act where every cell of the original is estimated at half a row or more. The other distances have no
    floor, and need none.

    Source: Guo, Ying, Wu, On attribute disclosure in randomization based privacy preserving data publishing, section V.
    """

    ID = "distances"
    DEFINED_FOR = OF_ESTIMATES

    @staticmethod
    def measure(evidence: Evidence) -> dict[str, Any] | None:
        """By attribute: `cells` of the joint table, and the figures. None where no rows are released, or nothing passes
        through."""
        return distance_figures(evidence.joints) if len(evidence.sizes) else None


def uncertainty_figures(joints: Mapping[str, Joint]) -> dict[str, Any] | None:
    """The uncertainty coefficients of each pair of attributes of the joint tables, both ways."""
    coefficients: dict[str, dict[str, Any]] = {}
    for joint in joints.values():
        for x, y in combinations(range(len(joint.names)), 2):
            one, other = joint.names[x], joint.names[y]
            if other not in coefficients.get(one, {}):
                forth, back = _both_ways(joint, (x, y))
                coefficients.setdefault(one, {})[other] = forth
                coefficients.setdefault(other, {})[one] = back
    return coefficients or None


def _both_ways(joint: Joint, pair: tuple[int, int]) -> list[dict[str, float] | None]:
    """U(X, Y) and U(Y, X), before and after."""
    tables = joint.tables(pair) if joint.cells(pair) <= MOST_CELLS else ()
    if not tables or not all((table > 0).any() for table in tables):
        return [None, None]
    before, after = (distributions.uncertainties(distributions.distribution(table)) for table in tables)
    return [{"original": one, "released": other} for one, other in zip(before, after, strict=True)]


class Uncertainty:
    """Uncertainty: how much of the information that one attribute has about another is left in the release.

    The uncertainty coefficient U(X, Y) = (H(X) + H(Y) - H(X, Y)) / H(Y) is the share of the entropy of Y that is
    removed by knowing X: 0 if X has no information about Y, 1 if it determines Y. It is given for every pair of
    quasi-identifiers, and for each of them with every sensitive attribute and target that passes through: of the
    original, and of what a recipient estimates from the release. The joint table of the two is summed from that of all
    attributes, whose negative counts are set to 0 first; where that would have more than 20 million cells, it is
    estimated by itself. It is null for a pair that has more.

    Setting negative counts to 0 biases U of a randomized release. The counts that noise has pushed below 0 are cut off,
    those that it has pushed above 0 stay, and the table is rescaled: mass moves into cells that are empty in truth. So
    what is independent seems to be related, and what is closely related seems to be less so. The bias fades with more
    rows and with less distortion, but it does not average out over repeated releases. Measured on two attributes of 8
    values, both kept with probability p and otherwise drawn evenly, over 200 tables each, as mean U of the release:

    - independent (U of the original 0.01 at 1,000 rows, 0.001 at 10,000): at 1,000 rows 0.32, 0.17 and 0.04
      for p of 0.3, 0.5 and 0.8; at 10,000 rows 0.13, 0.02 and 0.004; at 100,000 rows 0.015, 0.002 and 0.0004;
    - each determines the other (U of the original 1): at 1,000 rows 0.47, 0.65 and 0.84; at 10,000 rows 0.66, 0.82 and
      0.93; at 100,000 rows 0.84, 0.93 and 0.97.

    These are figures of `--method inverse`. A U of a randomized release that is above the original's is therefore
    noise, and not something that the release reveals.

    Source: Guo, Ying, Wu, On attribute disclosure in randomization based privacy preserving data publishing, section V.
    """

    ID = "uncertainty"
    DEFINED_FOR = OF_ESTIMATES

    @staticmethod
    def measure(evidence: Evidence) -> dict[str, Any] | None:
        """`original` and `released` U(X, Y) by X, then by Y. None where no rows are released, or there is no pair."""
        return uncertainty_figures(evidence.joints or {"": OfClasses(evidence)}) if len(evidence.sizes) else None


MEASURES: dict[str, OriginalMeasure] = {
    AverageClassSize.ID: AverageClassSize(),
    TargetsLeft.ID: TargetsLeft(),
    Imprecision.ID: Imprecision(),
    QueryError.ID: QueryError(),
    Distances.ID: Distances(),
    Uncertainty.ID: Uncertainty(),
}
