"""Data shuffling: the values of a column are reassigned such that its rank correlations are preserved.

What it does. A normal copula of all columns is fitted: that of normal columns with the same rank correlations (2 sin(pi
r / 6) of Spearman's r). Given a row's ranks in the columns under `given`, scores of the shuffled columns are drawn from
it. Column by column, the row with the i-th lowest drawn score then shows the cell with the i-th lowest number. With
`by`, each part is shuffled separately. Missing cells stay; a row that lacks a given number is treated as if it had the
median of that column, and is counted in a warning.

What it guarantees. Each column has the same cells as before, equally often, in every part: this is measured in the
written file. Given the columns under `given`, a row's new value is independent of its old one: an attacker who knows
these columns learns from the value no more than they and the copula reveal. Rank correlations, with the given columns
and among the shuffled ones, are kept up to chance, as far as a normal copula can have all of them and few rows share a
rank; the report has them before and after.

What it does not. Relations to columns that are not under `given` are lost, except those that go through the given
columns. Rank correlations do not see relations that rise and fall again. Where the given columns determine the ranks of
a shuffled one, each row would get back its own value: this is an error, or a warning with the number of rows if it is
so in some parts only.

What else it discloses. The manifest names the columns under `given`.

Cost. Two sorts of every shuffled column and one of every given one.

Reference. Muralidhar, Sarathy: Data shuffling: a new masking approach for numerical data, Management Science 52(5),
2006.
"""

from __future__ import annotations

import numpy as np

from anonymize.classes import Bools, Floats, Ints
from anonymize.errors import Caution, DataError, Problem, counted
from anonymize.spec.treatments import Shuffle
from anonymize.treatments import Change, InputColumn, Random, Step, members, unchanged

ID = "shuffle"
DETERMINED = 1e-9
"""Share of the variance of a column's scores that the given columns leave over: below this they determine its ranks."""


def run(entry: Shuffle, step: Step) -> Change:
    """The columns with their cells dealt out anew. Raises DataError for one that the given columns determine."""
    columns = [step.columns[name] for name in entry.columns]
    given = [step.columns[name] for name in entry.given]
    parts = step.parts(entry.by)
    donors = np.tile(np.arange(len(parts))[:, None], len(columns))
    still, determined = np.zeros(len(columns), np.int64), np.zeros(len(columns), np.int64)
    shuffled = np.column_stack([column.numbers for column in columns])
    known = np.column_stack([column.numbers for column in given])
    for rows in members(parts):
        present = ~np.isnan(shuffled[rows])
        drawn, left = _drawn(shuffled[rows], known[rows], step.random)
        alike = np.nanmax(shuffled[rows], axis=0, initial=-np.inf) <= np.nanmin(shuffled[rows], axis=0, initial=np.inf)
        still += np.where(alike, present.sum(axis=0), 0)
        determined += np.where(~alike & (left < DETERMINED), present.sum(axis=0), 0)
        for place in range(len(columns)):
            own = rows[present[:, place]]
            ranked = own[np.argsort(shuffled[own, place], kind="stable")]
            donors[own[np.argsort(drawn[present[:, place], place])], place] = ranked
    _check_determined(columns, determined)
    reasons = {
        "there is no other value within the part": still,
        "`given` determines the value within the part": determined,
    }
    warnings = [
        unchanged(ID, column.name, int(counts[place]), reason)
        for reason, counts in reasons.items()
        for place, column in enumerate(columns)
        if counts[place]
    ]
    changed = {column.name: column.moved(donors[:, place]) for place, column in enumerate(columns)}
    return Change(changed, {"given": list(entry.given), "by": list(entry.by)}, warnings=(*warnings, *_lacking(given)))


def _ranks(numbers: Floats) -> Floats:
    """(rows, columns) how far the rank of each number is from the middle of its column, as a share of the numbers and
    one; equal numbers have the mean of their ranks, and missing ones 0."""
    ranks = np.zeros(numbers.shape)
    for place, column in enumerate(numbers.T):
        present: Bools = ~np.isnan(column)
        values = column[present]
        order = np.argsort(values, kind="stable")
        starts = np.flatnonzero(np.append(True, np.diff(values[order]) != 0)) if len(values) else np.zeros(0, np.int64)
        sizes = np.diff(np.append(starts, len(values)))
        own = np.empty(len(values))
        own[order] = np.repeat(starts + (sizes + 1) / 2, sizes)
        ranks[present, place] = own / (len(values) + 1) - 0.5
    return ranks


def _drawn(numbers: Floats, given: Floats, random: Random) -> tuple[Floats, Floats]:
    """(rows, columns) random scores, distributed as those of the numbers given others are; and (columns,) the share of
    variance that these leave over.

    Given columns that are collinear count once; the noise has the covariances of what they leave over, by its axes.
    """
    from scipy.special import ndtri

    width, ranks = given.shape[1], _ranks(np.column_stack([given, numbers]))
    correlations = _correlations(ranks, ~np.isnan(np.column_stack([given, numbers])))
    slopes = np.linalg.pinv(correlations[:width, :width], rcond=1e-10, hermitian=True) @ correlations[:width, width:]
    rest = correlations[width:, width:] - correlations[width:, :width] @ slopes
    values, axes = np.linalg.eigh(rest)
    scores = ndtri(ranks[:, :width] + 0.5)
    scores /= np.maximum(scores.std(axis=0), 1e-9)
    noise = random.standard_normal(numbers.shape) @ (np.sqrt(np.clip(values, 0, None))[:, None] * axes.T)
    return scores @ slopes + noise, np.diag(rest)


def _correlations(ranks: Floats, present: Bools) -> Floats:
    """(columns, columns) the correlations that normal columns have whose rank correlations are those of the ranks, as
    near as there are any. Each is of the rows in which both numbers are present."""
    squares, counted = ranks**2, present.astype(float)
    shared = np.sqrt((squares.T @ counted) * (counted.T @ squares))
    spearman = np.divide(ranks.T @ ranks, shared, out=np.zeros_like(shared), where=shared > 0)
    np.fill_diagonal(spearman, 1)
    values, axes = np.linalg.eigh(2 * np.sin(np.pi / 6 * np.clip(spearman, -1, 1)))
    made = (axes * np.clip(values, 0, None)) @ axes.T
    scale = np.sqrt(np.diag(made))
    return np.asarray(made / np.outer(scale, scale))


def _check_determined(columns: list[InputColumn], rows: Ints) -> None:
    problems = [
        Problem(
            f"shuffle of {column.name!r}: the columns under `given` determine the ranks of "
            f"{counted(count, 'row')}, which would not change",
            column.source.name,
            hint="fewer columns under `given`, or fewer strata (`by`)",
        )
        for column, count in zip(columns, rows.tolist(), strict=True)
        if count and count == (~column.missing).sum()
    ]
    if problems:
        raise DataError(problems)


def _lacking(given: list[InputColumn]) -> list[Caution]:
    """Rows that lack a number by which others are shuffled."""
    counts = {column.name: int(column.missing.sum()) for column in given}
    return [
        Caution.of(
            f"shuffle: {counted(count, 'row')} without `{name}`, shuffled as if with its median",
            "leave the column out of `given`, or such rows out before",
        )
        for name, count in counts.items()
        if count
    ]
