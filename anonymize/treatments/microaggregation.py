"""Microaggregation: similar rows share one value, the mean of their group.

What it does. Rows are put into groups of k to 2k - 1 with similar values in some numeric columns, and every value is
replaced by the mean of its group (or the median, or the mode). Columns are first made comparable: as z-scores (the
sample's standard deviation), by median and median absolute deviation (`robust`), or not at all.

`search`, the default, starts with groups of equal rows and MDAV groups of the others, in a large table within blocks of
similar rows. Then rows are exchanged between neighbouring groups by simulated annealing, using the exact change of the
sum of squares; with up to 2,048 rows and k of at most 6, two or three neighbouring groups at once are divided anew. The
result never loses more than the start, and `effort` scales the amount of work. `mdav` is sdcMicro's method of that
name. `pca` and `z-scores` sort rows by their first principal component, or by the sum of their z-scores, and divide
that order where it loses least, or after every k rows (`fixed`, as in sdcMicro). `univariate` is the optimum of a
single column. `individual-ranking` treats each column separately.

What it guarantees. With all but `individual-ranking`, at least k rows of a stratum have the same values of these
columns: if they are all the quasi-identifiers, the release is k-anonymous. Sums and means of a table are preserved, up
to rounding, if groups show their mean, without weights or with the weights used to compute it.

Decimals. Means and medians are shown with one decimal more than the column has, as is usual, unless `digits` says
otherwise. Where numbers have more than nine decimals, they are not rounded.

What it does not guarantee. `individual-ranking` bounds nothing for columns together. Values are hidden only within
their group: if all values of a group are equal, they are released unchanged. Variances decrease, and correlations
change: with few columns they mostly increase.

Missing and infinite values. An infinite value is refused. A missing one is refused, unless rows are to be grouped with
others that have the same columns missing (`missing: pattern`): missing values then stay missing, and nothing is
imputed. Constant columns have no weight; a duplicated column counts once for every copy.

Strata. Rows of different strata are never in one group. A stratum of fewer than k rows is refused; or all such strata
are pooled, with the next smallest if they are still too few (`pool`); or each is one group of fewer than k rows
(`keep`), which is counted. In a pooled group, a column that is missing in one row is missing in all.

Cost. `mdav` rows squared over k; `search` in proportion to the rows; the others rows times log rows, and times k.

Reference. Domingo-Ferrer and Mateo-Sanz: Practical data-oriented microaggregation for statistical disclosure control,
TKDE 2002; Hansen and Mukherjee: A polynomial algorithm for optimal univariate microaggregation, TKDE 2003.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from anonymize.algorithms.clustering.run import grouped_by_squares
from anonymize.classes import Floats, Ints, run_starts
from anonymize.errors import Caution, DataError, Problem, counted
from anonymize.records import dataclass
from anonymize.spec.treatments import Microaggregation
from anonymize.table.kept import KeptColumn
from anonymize.treatments import Change, InputColumn, Step, grouping

ID = "microaggregation"
NORMAL = 1.4826
"""The standard deviation of normal values over their median absolute deviation."""


@dataclass(frozen=True)
class Strata:
    """Which rows may share a group. `labels` (rows,) the stratum of each, from 0; `small`, `small_rows`: how many
    strata had fewer than k rows, and how many rows these have together."""

    labels: Ints
    small: int = 0
    small_rows: int = 0


def strata_of(
    values: Floats,
    k: int,
    by: Ints | None = None,
    *,
    missing: str = "refuse",
    small: str = "refuse",
    names: Sequence[str] = (),
) -> Strata:
    """The strata of rows (rows, columns), by a code of each row and by what it misses.

    `names`: of the columns, for messages. Raises DataError where a value is infinite, or missing where that is refused;
    where strata have fewer than k rows and that is refused; and where all rows are fewer than k.
    """
    refused = _unfit(values, missing, names)
    if len(values) < k:
        refused.append(Problem(f"{counted(len(values), 'row')} cannot be in groups of {k}", hint="lower k"))
    if refused:
        raise DataError(refused)
    own = np.zeros(len(values), np.int64) if by is None else by
    labels = np.unique(np.column_stack((own, np.isnan(values))), axis=0, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(labels)
    short = sizes < k
    few = int(sizes[short].sum())
    if few and small == "refuse":
        count, what = int(short.sum()), "" if by is not None else " of rows that miss the same"
        hint = "`small: pool` takes such strata together, `small: keep` makes smaller groups of them"
        fewer = f"{counted(count, 'stratum', 'strata')}{what} {'has' if count == 1 else 'have'}"
        problem = f"{fewer} fewer than k = {k} rows, {few} in all"
        raise DataError(Problem(problem, hint=hint))
    if few and small == "pool":
        labels = _pooled(labels, sizes, k)
    return Strata(labels, int(short.sum()), few)


def _unfit(values: Floats, missing: str, names: Sequence[str]) -> list[Problem]:
    problems = []
    for index, column in enumerate(values.T):
        name = f'column "{names[index]}"' if names else f"column {index + 1}"
        infinite, gone = int(np.isinf(column).sum()), int(np.isnan(column).sum())
        if infinite:
            problems.append(Problem(f"{name} has {counted(infinite, 'infinite value')}: these have no mean"))
        if gone and missing == "refuse":
            hint = "`missing: pattern` groups rows that miss the same"
            problems.append(Problem(f"{name} has {counted(gone, 'missing value')}", hint=hint))
    return problems


def _pooled(labels: Ints, sizes: Ints, k: int) -> Ints:
    """Labels of which those of fewer than k rows are one, with the next smallest as long as it has too few."""
    by_size = np.argsort(sizes, kind="stable")
    count = max(int((sizes < k).sum()), int(np.searchsorted(np.cumsum(sizes[by_size]), k)) + 1)
    together = np.arange(len(sizes))
    together[by_size[:count]] = by_size[0]
    return np.unique(together[labels], return_inverse=True)[1]


def standardized(values: Floats, scale: str = "z-scores") -> Floats:
    """Values (rows, columns) that are comparable between columns, missing ones as the middle of their column.

    A column is 0 where it is constant; one whose median absolute deviation is 0 is taken by its standard deviation.
    """
    result = np.zeros(values.shape)
    for own, column in zip(result.T, values.T, strict=True):
        known = ~np.isnan(column)
        present = column[known]
        if scale == "none":
            own[known], own[~known] = present, present.mean() if len(present) else 0.0
        elif len(present) > 1 and present.min() < present.max():
            middle, unit = present.mean(), present.std(ddof=1)
            deviation = NORMAL * float(np.median(np.abs(present - np.median(present)))) if scale == "robust" else 0.0
            if deviation > 0:
                middle, unit = np.median(present), deviation
            own[known] = (present - middle) / unit
    return result


def groups(
    values: Floats,
    k: int,
    *,
    method: str = "search",
    scale: str = "z-scores",
    fixed: bool = False,
    strata: Ints | None = None,
    effort: float = 1.0,
) -> Ints:
    """(rows,) the group of each row, from 0, given the values (rows, columns); of `individual-ranking`, (rows,
    columns).

    Groups have k to 2k - 1 rows of one of the `strata` (rows,), or all rows of it where it has fewer than 2k. `fixed`:
    orders are cut after every k rows. `effort` (work in proportion to the usual one) is for `search` alone.
    `univariate` takes one column.
    """
    if method == "individual-ranking":
        each = partial(groups, k=k, method="univariate", scale=scale, fixed=fixed, strata=strata)
        return np.stack([each(values[:, [index]]) for index in range(values.shape[1])], 1)
    comparable = standardized(values, scale)
    result, count = np.empty(len(values), np.int64), 0
    labels = np.zeros(len(values), np.int64) if strata is None else strata
    order = np.argsort(labels, kind="stable")
    for number, rows in enumerate(np.split(order, run_starts(labels[order])[1:])):
        own = comparable[rows]
        if method == "search":
            from anonymize.treatments.grouping.search import searched  # with what it needs, which others do without

            result[rows] = searched(own, k, np.random.default_rng([0, number]), effort)
        elif method == "mdav":
            result[rows] = grouping.mdav(own, k)
        else:
            position = _first_component(own) if method == "pca" else own.sum(axis=1)
            result[rows] = _in_order(own, k, position, fixed)
        result[rows] += count
        count = int(result[rows].max()) + 1
    return result


def _in_order(values: Floats, k: int, position: Floats, fixed: bool) -> Ints:
    """(rows,) the group of each row, of those that follow each other by position (rows,); equal ones by row."""
    if not fixed:
        return grouped_by_squares(position, k, values).class_of(len(values)).astype(np.int64)
    group = np.empty(len(values), np.int64)
    group[np.argsort(position, kind="stable")] = np.minimum(np.arange(len(values)) // k, max(len(values) // k - 1, 0))
    return group


def _first_component(values: Floats) -> Floats:
    """(rows,) where rows lie on the axis along which they spread most; the column that has most part in it ascends."""
    centred = values - values.mean(axis=0)
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    return np.asarray(centred @ (axis * np.sign(axis[np.abs(axis).argmax()])))


def aggregated(values: Floats, group: Ints, *, shown_as: str = "mean", weights: Floats | None = None) -> Floats:
    """(rows, columns) what is released of values, given the group of each row, (rows,) or of each cell, (rows,
    columns).

    `weights` (rows,): how many people a row stands for, which count so often. Of a group of an even number the median
    is the mean of the middle two, and the lower one with weights; of values that are equally often there, the mode is
    the least. A column that some row of a group misses is missing in all of it."""
    of_cell = np.broadcast_to(group.reshape(len(values), -1), values.shape)
    released = np.empty(values.shape)
    for index in range(values.shape[1]):
        value, of = values[:, index], of_cell[:, index]
        missing = np.bincount(of, np.isnan(value)) > 0
        by_group = _AGGREGATES[shown_as](np.nan_to_num(value), of, weights)
        released[:, index] = np.where(missing, np.nan, by_group)[of]
    return released


def _means(value: Floats, group: Ints, weights: Floats | None) -> Floats:
    """(groups,); the mean is taken of what values are above the least of their group, so that equal ones stay."""
    least = np.full(int(group.max()) + 1, np.inf)
    np.minimum.at(least, group, value)
    above = value - least[group]
    parts = np.bincount(group, above if weights is None else above * weights)
    return np.asarray(least + parts / np.bincount(group, weights))


def _medians(value: Floats, group: Ints, weights: Floats | None) -> Floats:
    order = np.lexsort((value, group))
    arranged, begins = value[order], run_starts(group[order])
    sizes = np.diff(begins, append=len(order))
    if weights is None:
        middle = (arranged[begins + (sizes - 1) // 2] + arranged[begins + sizes // 2]) / 2
    else:
        total = np.add.reduceat(weights[order], begins)
        before = np.cumsum(weights[order]) - weights[order]
        reached = before + weights[order] - np.repeat(before[begins], sizes) >= np.repeat(total, sizes) / 2
        middle = arranged[np.minimum.reduceat(np.where(reached, np.arange(len(order)), len(order) - 1), begins)]
    return np.asarray(middle)


def _modes(value: Floats, group: Ints, weights: Floats | None) -> Floats:
    order = np.lexsort((value, group))
    arranged, of = value[order], group[order]
    runs = np.flatnonzero(np.append(True, (of[1:] != of[:-1]) | (arranged[1:] != arranged[:-1])))
    often = np.add.reduceat(np.ones(len(order)) if weights is None else weights[order], runs)
    best = np.lexsort((arranged[runs], -often, of[runs]))
    first = best[run_starts(of[runs][best])]
    return np.asarray(arranged[runs[first]])


_AGGREGATES = {"mean": _means, "median": _medians, "mode": _modes}


def information_lost(values: Floats, released: Floats) -> float:
    """The share of the sum of squares of the values, as z-scores, that their differences from what is shown have (0 to
    1 where means are shown); cells that are missing on either side do not count. 0 where all columns are constant."""
    lost = whole = 0.0
    for column, own in zip(values.T, released.T, strict=True):
        known = ~(np.isnan(column) | np.isnan(own))
        present = column[known]
        if len(present) > 1 and present.min() < present.max():
            lost += float(np.square((present - own[known]) / present.std(ddof=1)).sum())
            whole += len(present) - 1
    return lost / whole if whole else 0.0


# --- the step ---------------------------------------------------------------------------------------------------------


def run(entry: Microaggregation, step: Step) -> Change:
    """The columns with what each group shows. Raises DataError as `strata_of` does."""
    columns = [step.columns[name] for name in entry.columns]
    values = np.column_stack([each.numbers for each in columns])
    by = step.parts(entry.by) if entry.by else None
    strata = strata_of(values, entry.k, by, missing=entry.missing, small=entry.small, names=entry.columns)
    group = groups(
        values,
        entry.k,
        method=entry.grouping,
        scale=entry.scale,
        fixed=entry.fixed,
        strata=strata.labels,
        effort=entry.effort,
    )
    weights = step.weights if entry.weighted else None
    released = aggregated(values, group, shown_as=entry.show, weights=weights)
    for own, column in zip(released.T, columns, strict=True):
        digits = _digits(entry, column)
        own[:] = own if digits is None else np.round(own, digits)
    return Change(
        {each.name: _renumbered(each, own) for each, own in zip(columns, released.T, strict=True)},
        declared={"k": entry.k, "aggregate": entry.show},
        private={
            "groups": int(group.max()) + 1,
            "information_lost": information_lost(values, released),
            "small_parts": strata.small,
        },
        warnings=tuple(_warnings(entry, strata)),
    )


def _digits(entry: Microaggregation, column: InputColumn) -> int | None:
    """How many decimals are shown; None for all."""
    if entry.digits is not None or entry.show == "mode":
        return entry.digits
    return None if column.decimals is None else column.decimals + 1


def _renumbered(column: InputColumn, values: Floats) -> KeptColumn:
    """A column with what its groups show, in whole numbers where all are."""
    present = values[~np.isnan(values)]
    return column.renumbered(values, whole=column.whole and bool((present % 1 == 0).all()))


def _warnings(entry: Microaggregation, strata: Strata) -> Iterator[Caution]:
    if strata.small:
        rows = counted(strata.small_rows, "row")
        said = f"strata of fewer than k = {entry.k} rows: {strata.small}, with {rows} in all"
        done = "they were pooled" if entry.small == "pool" else "they are groups of fewer rows"
        yield Caution.of(f"microaggregation: {said}; {done}", "strata of fewer columns: `by`")
