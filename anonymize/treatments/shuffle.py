"""Data shuffling: the values of a column are dealt out anew, such that ranks go together with other columns as before.

What it does. Ranks of all columns are turned into normal scores. From those of the columns under `given` the scores of
the shuffled columns are predicted linearly, and normal numbers are added with the covariances that the prediction
leaves over: a random draw of the shuffled columns from a normal copula, given the others. The row with the i-th lowest
drawn score then shows the cell with the i-th lowest number, column by column. With `by`, each part by itself. Missing
cells stay; a row that lacks a given number is taken to have the median of that column, and is counted in a warning.

What it guarantees. Each column has the same cells as before, as often, in every part: this is measured in the written
file. Given the columns under `given`, a row's new value has nothing to do with its old one: an attacker who knows these
learns nothing from it that the columns under `given` and the copula do not tell. Rank correlations, with the given
columns and among the shuffled ones, are kept but for chance, and to the degree to which relations are those of a normal
copula; the report has them before and after.

What it does not. Relations to columns that are not under `given` are lost but for what goes through these. Relations
that rise and fall again are not seen by ranks. Where the given columns determine the ranks of a shuffled one, what is
drawn is what was there, which is an error.

What it tells besides. The manifest names the columns under `given`.

Cost. Two sorts of every shuffled column and one of every given one.

Reference. Muralidhar, Sarathy: Data shuffling: a new masking approach for numerical data, Management Science 52(5),
2006. They have normal correlations from Spearman's, 2 sin(pi r / 6); scores have them directly, and fit each other.
"""

from __future__ import annotations

import numpy as np

from anonymize.classes import Bools, Floats, Ints
from anonymize.errors import Caution, DataError, Problem
from anonymize.spec.treatments import Shuffle
from anonymize.treatments.base import Change, InputColumn, Random, Step
from anonymize.treatments.parts import members, unchanged

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
        drawn, left = _drawn(_scores(shuffled[rows]), _scores(known[rows]), step.random)
        alike = np.nanmax(shuffled[rows], axis=0, initial=-np.inf) <= np.nanmin(shuffled[rows], axis=0, initial=np.inf)
        still += np.where(alike, present.sum(axis=0), 0)
        determined += np.where(~alike & (left < DETERMINED), present.sum(axis=0), 0)
        for place in range(len(columns)):
            own = rows[present[:, place]]
            ranked = own[np.argsort(shuffled[own, place], kind="stable")]
            donors[own[np.argsort(drawn[present[:, place], place])], place] = ranked
    _check_determined(columns, determined)
    warnings = [
        unchanged(ID, column.name, count, "are alone, or all the same, within their part")
        for column, count in zip(columns, still.tolist(), strict=True)
        if count
    ]
    changed = {column.name: column.moved(donors[:, place]) for place, column in enumerate(columns)}
    return Change(changed, {"given": list(entry.given), "by": list(entry.by)}, warnings=(*warnings, *_lacking(given)))


def _scores(numbers: Floats) -> Floats:
    """(rows, columns) normal scores of the ranks of each column, equal numbers having the mean of their ranks; 0 for
    missing ones."""
    from scipy.special import ndtri

    scores = np.zeros(numbers.shape)
    for place, column in enumerate(numbers.T):
        present: Bools = ~np.isnan(column)
        values = column[present]
        order = np.argsort(values, kind="stable")
        starts = np.flatnonzero(np.append(True, np.diff(values[order]) != 0)) if len(values) else np.zeros(0, np.int64)
        sizes = np.diff(np.append(starts, len(values)))
        ranks = np.empty(len(values))
        ranks[order] = np.repeat(starts + (sizes + 1) / 2, sizes)
        scores[present, place] = ndtri(ranks / (len(values) + 1))
    return scores


def _drawn(scores: Floats, given: Floats, random: Random) -> tuple[Floats, Floats]:
    """(rows, columns) random scores, distributed as the scores given others are; and (columns,) the share of variance
    that these leave over.

    Scores are regressed on the given ones, of which collinear ones count once; the noise has the covariances of what
    the regression leaves over, by the axes of these.
    """
    centred, explaining = scores - scores.mean(axis=0), given - given.mean(axis=0)
    slopes = np.linalg.pinv(explaining.T @ explaining, rcond=1e-10, hermitian=True) @ (explaining.T @ centred)
    predicted = explaining @ slopes
    rest = (centred - predicted).T @ (centred - predicted) / max(len(scores), 1)
    values, axes = np.linalg.eigh(rest)
    noise = random.standard_normal(scores.shape) @ (np.sqrt(np.clip(values, 0, None))[:, None] * axes.T)
    total = np.square(centred).mean(axis=0)
    left = np.divide(np.diag(rest), total, out=np.zeros(len(total)), where=total > 0)
    return predicted + noise, left


def _check_determined(columns: list[InputColumn], rows: Ints) -> None:
    problems = [
        Problem(
            f"shuffle of {column.name!r}: the columns under `given` determine the ranks of {count:,} rows, which would "
            "stay as they are",
            column.source.name,
            hint="fewer columns under `given`, or coarser parts (`by`)",
        )
        for column, count in zip(columns, rows.tolist(), strict=True)
        if count
    ]
    if problems:
        raise DataError(problems)


def _lacking(given: list[InputColumn]) -> list[Caution]:
    """Rows that lack a number by which others are shuffled."""
    counts = {column.name: int(column.missing.sum()) for column in given}
    return [
        Caution.of(
            f"shuffle: {count:,} rows lack `{name}`, and are shuffled as if they had its median",
            "leave the column out of `given`, or such rows out before",
        )
        for name, count in counts.items()
        if count
    ]
