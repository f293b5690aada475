"""Noise: random numbers are added to numbers, or numbers are multiplied by them.

What it does. There are four kinds. `additive` adds a normal random number to each number of a column, independently of
all else; its standard deviation is `scale` times that of the column. `correlated` does the same, but the noise of a row
has `scale` squared times the covariances of the columns: correlations stay as they are up to chance, and collinear
columns stay collinear. `romm` (random orthogonal matrix masking) replaces the rows X by A X, where A is a random
orthogonal matrix that keeps constants: columns keep their exact means and covariances, up to rounding. A itself, which
would have as many rows and columns as the table has rows, is never computed: noise of `scale` is added to X in its own
principal axes, and the sum is brought back to the covariances of X by the QR decompositions of both. `multiplicative`
multiplies each number by a log-normal factor of mean 1 and standard deviation `scale`; signs and zeros stay.

With `by` all of this is done separately in each part. Missing cells stay missing. The covariances of `correlated` are
those of the rows in which nothing is missing; `romm` masks rows in groups with the same columns missing. A number that
falls below `least` is drawn again, together with the noise of its row, up to 100 times. `keep_zero` leaves zeros alone.
`only: outliers` changes only numbers outside the quartiles by more than 1.5 times the distance between these, and
thereby reveals which numbers are outliers.

Decimals. Numbers come out with as many decimals as the column has, whole ones whole. `round` names another step;
`whole: false` shows whole numbers with as many decimals as leave two digits of the noise. Where numbers have more than
nine decimals, they are not rounded.

What it guarantees. The strength of the noise, by a known distribution. `romm` keeps means, variances and covariances of
the columns of the step; covariances with all other columns shrink, by about one over the root of 1 + `scale` squared.
It does not bound what an attacker learns: an attacker who knows a number roughly learns more from it, a value far from
all others stays recognizable, and several noisy releases of the same table average out the noise. It is not a mechanism
of differential privacy, since the noise follows the spread of the data. `least` and rounding introduce bias: truncated
noise does not have mean zero.

What else it discloses. The manifest contains kind and scale, relative to the column's own standard deviation, and which
columns have correlated noise or were masked together. With these, recipients can correct variances, covariances and
figures that follow from them (`reconstruct`). They cannot with `by`, `only`, `least` or `keep_zero`, which leave the
noise of a whole column unknown, nor for covariances of `romm` with columns outside the step. The manifest does not
contain the column's mean or standard deviation.

What it does not do. A column that is constant within a part gets no noise: its rows are counted, and the report warns
of them, as it does of a part of a single row. Numbers that cannot reach `least` are an error.

Cost. Linear in the rows, and sorting each column once to write it.

Reference. Kim: A method for limiting disclosure in microdata based on random noise and transformation, 1986; Brand:
Microdata protection through noise addition, 2002; Ting, Fienberg, Trottini: Random orthogonal matrix masking
methodology for microdata release, 2008.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain.grid import Grid
from anonymize.errors import Caution, DataError, Problem, counted
from anonymize.spec.treatments import Noise
from anonymize.treatments import Change, InputColumn, Random, Step, members, unchanged

ID = "noise"
DRAWS = 100
"""How often numbers below `least` are drawn, at most."""
FENCE = 1.5
"""How many distances between its quartiles a number lies outside of these, at least, to be an outlier."""
EXACT = float(1 << 53)
"""Up to here floats hold all whole numbers."""


def run(entry: Noise, step: Step) -> Change:
    """The numbers with noise."""
    columns = [step.columns[name] for name in entry.columns]
    numbers = np.array([column.numbers for column in columns]).T
    parts = step.parts(entry.by)
    movable = _movable(entry, numbers, parts)
    redrawn = 0
    if entry.kind == "romm":
        changed, still = _masked(entry.scale, numbers, parts, step.random)
        changed = _rounded(entry, columns, changed)
    else:
        draw, still = _drawing(entry, numbers, parts, step.random)
        changed, redrawn = _settled(entry, columns, numbers, movable, draw)
    _check_finite(columns, changed)
    return Change(
        {
            column.name: column.renumbered(changed[:, place], whole=_is_whole(entry, column, movable[:, place]))
            for place, column in enumerate(columns)
        },
        declared=_declared(entry),
        private={"drawn_again": redrawn} if entry.least is not None else {},
        warnings=(
            *_warnings(entry, columns, movable, still),
            *_rounded_back(columns, changed == numbers, movable & ~still),
        ),
    )


def _movable(entry: Noise, numbers: Floats, parts: Ints) -> Bools:
    """(rows, columns) which numbers get noise."""
    movable: Bools = ~np.isnan(numbers)
    if entry.keep_zero:
        movable &= numbers != 0
    if entry.only == "outliers":
        for rows in members(parts):
            movable[rows] &= _outlying(numbers[rows])
        if entry.kind == "correlated":
            movable = ~np.isnan(numbers) & movable.any(axis=1, keepdims=True)
    return movable


def _outlying(numbers: Floats) -> Bools:
    """(rows, columns) whether a number lies outside of its column's fences."""
    outlying = np.zeros(numbers.shape, bool)
    for place, column in enumerate(numbers.T):
        present = column[~np.isnan(column)]
        if len(present):
            low, high = np.quantile(present, [0.25, 0.75])
            reach = FENCE * (high - low)
            outlying[:, place] = (column < low - reach) | (column > high + reach)
    return outlying


# --- independent and correlated noise --------------------------------------------------------------------------------


def _drawing(
    entry: Noise, numbers: Floats, parts: Ints, random: Random
) -> tuple[Callable[[Ints | slice], Floats], Bools]:
    """What draws some rows with noise, and (rows, columns) which numbers no noise can change."""
    if entry.kind == "multiplicative":
        spread = np.sqrt(np.log1p(entry.scale**2))

        def multiplied(rows: Ints | slice) -> Floats:
            own = numbers[rows]
            return np.asarray(own * np.exp(random.normal(-(spread**2) / 2, spread, own.shape)))

        return multiplied, numbers == 0
    deviations = _deviations(numbers, parts)
    roots = entry.scale * (_correlations(numbers, parts) if entry.kind == "correlated" else np.eye(numbers.shape[1]))

    def added(rows: Ints | slice) -> Floats:
        own = numbers[rows]
        drawn = random.standard_normal(own.shape)
        if len(deviations) == 1:
            return np.asarray(own + drawn @ (roots.reshape(roots.shape[-2:]) * deviations[0]))
        of_row = parts[rows]
        mixed = np.einsum("ri,rij->rj", drawn, roots[of_row]) if roots.ndim == 3 else drawn @ roots
        return np.asarray(own + mixed * deviations[of_row])

    return added, (deviations == 0)[parts] & ~np.isnan(numbers)


def _deviations(numbers: Floats, parts: Ints) -> Floats:
    """(parts, columns) the standard deviation of each part's numbers, 0 of fewer than two or of equal ones."""
    count = int(parts.max(initial=-1)) + 1
    deviations = np.zeros((count, numbers.shape[1]))
    for place, column in enumerate(numbers.T):
        present = ~np.isnan(column)
        own, values = parts[present], column[present]
        if count == 1:
            differ = len(values) > 1 and values.min() < values.max()
            deviations[0, place] = values.std(ddof=1) if differ else 0.0
            continue
        rows = np.bincount(own, minlength=count)
        mean = np.bincount(own, values, count) / np.maximum(rows, 1)
        squares = np.bincount(own, (values - mean[own]) ** 2, count)
        most, least = np.full(count, -np.inf), np.full(count, np.inf)
        np.maximum.at(most, own, values)
        np.minimum.at(least, own, values)
        deviations[:, place] = np.where(most > least, np.sqrt(squares / np.maximum(rows - 1, 1)), 0.0)
    return deviations


def _correlations(numbers: Floats, parts: Ints) -> Floats:
    """(parts, columns, columns) what independent normal numbers are multiplied with to be correlated as each part's
    columns are, in the rows in which nothing is missing. A column without spread there is independent of the others."""
    complete = ~np.isnan(numbers).any(axis=1)
    count, width = int(parts.max(initial=-1)) + 1, numbers.shape[1]
    own, values = parts[complete], numbers.T[:, complete]

    def totals(each: Floats) -> Floats:
        return np.asarray(np.bincount(own, each, count) if count > 1 else [each.sum()], np.float64)

    rows = np.maximum(np.bincount(own, minlength=count), 1)
    centred = [each - (totals(each) / rows)[own if count > 1 else slice(None)] for each in values]
    products = np.empty((count, width, width))
    for one in range(width):
        for other in range(one + 1):
            products[:, one, other] = products[:, other, one] = totals(centred[one] * centred[other])
    spread = np.sqrt(np.einsum("pii->pi", products))
    scales = spread[:, :, None] * spread[:, None, :]
    correlations = np.divide(products, scales, out=np.zeros_like(products), where=scales > 0)
    correlations[:, np.arange(width), np.arange(width)] = 1
    values, axes = np.linalg.eigh(correlations)
    return np.asarray(np.sqrt(np.clip(values, 0, None))[:, :, None] * axes.transpose(0, 2, 1))


def _settled(
    entry: Noise,
    columns: list[InputColumn],
    numbers: Floats,
    movable: Bools,
    draw: Callable[[Ints | slice], Floats],
) -> tuple[Floats, int]:
    """The numbers once nothing is below `least` that was drawn, and how many were drawn again for that."""
    changed = np.where(movable, _rounded(entry, columns, draw(slice(None))), numbers)
    if entry.least is None:
        return changed, 0
    redrawn = 0
    rows = np.flatnonzero(((changed < entry.least) & movable).any(axis=1))
    for _ in range(DRAWS):
        if not len(rows):
            return changed, redrawn
        redrawn += len(rows)
        changed[rows] = np.where(movable[rows], _rounded(entry, columns, draw(rows)), numbers[rows])
        rows = rows[((changed[rows] < entry.least) & movable[rows]).any(axis=1)]
    below = ((changed < entry.least) & movable).sum(axis=0)
    if below.any():
        raise DataError(
            Problem(
                f"noise of {column.name!r}: {count} of its numbers are below {entry.least:g} each of {DRAWS} times",
                column.source.name,
                hint="a smaller `scale`, or another `least`",
            )
            for column, count in zip(columns, below.tolist(), strict=True)
            if count
        )
    return changed, redrawn


# --- random orthogonal matrices --------------------------------------------------------------------------------------


def _masked(scale: float, numbers: Floats, parts: Ints, random: Random) -> tuple[Floats, Bools]:
    """The numbers under a random orthogonal matrix, and (rows, columns) which of them none can change."""
    absent = np.isnan(numbers)
    patterns = np.unique(absent, axis=0, return_inverse=True)[1].reshape(-1) if absent.any() else np.zeros_like(parts)
    masked, still = numbers.copy(), np.zeros(numbers.shape, bool)
    for rows in members(np.unique(parts * (patterns.max(initial=0) + 1) + patterns, return_inverse=True)[1]):
        present = np.flatnonzero(~absent[rows[0]])
        block = np.ix_(rows, present)
        own = numbers[block]
        constant = own.max(axis=0, initial=-np.inf) == own.min(axis=0, initial=np.inf)
        still[np.ix_(rows, present[constant])] = True
        if not constant.all():
            masked[block] = _orthogonal(scale, own, random)
            masked[np.ix_(rows, present[constant])] = own[:, constant]
    return masked, still


def _orthogonal(scale: float, numbers: Floats, random: Random) -> Floats:
    """Numbers (rows, columns) of the same means and covariances.

    With X = Q R of the centred numbers in units of their deviations, noise is added to X, which makes it Y = Q' R', and
    the result is Q' R: its covariances are R^T R, those of X. Axes in which X has no extent are left out before.
    """
    mean = numbers.mean(axis=0)
    centred = numbers - mean
    deviations = centred.std(axis=0)
    deviations[deviations == 0] = 1
    values, axes = np.linalg.eigh((centred / deviations).T @ (centred / deviations) / len(numbers))
    axes = axes[:, values > values[-1] * 1e-12]
    rotated = (centred / deviations) @ axes
    noise = random.standard_normal(rotated.shape) * (scale * rotated.std(axis=0))
    upper = np.linalg.qr(rotated, mode="r")
    moved, own = np.linalg.qr(rotated + noise - noise.mean(axis=0))
    signs = np.sign(np.diag(upper)) * np.sign(np.diag(own))
    result: Floats = ((moved * signs) @ upper) @ axes.T * deviations + mean
    return result


# --- what it comes out as --------------------------------------------------------------------------------------------


def _grid(entry: Noise, column: InputColumn) -> Grid | None:
    """Of what numbers are multiples, if of anything."""
    whole = column.whole if entry.whole is None else entry.whole
    if entry.round is not None:
        return Grid.of(entry.round)
    if whole:
        return Grid.of(1)
    if column.decimals:
        return Grid.of(float(f"1e-{column.decimals}"))
    present = column.numbers[~column.missing]
    if column.decimals is None or not len(present):
        return None
    noise = entry.scale * (np.abs(present).mean() if entry.kind == "multiplicative" else present.std())
    return None if not noise else Grid(1, math.floor(math.log10(noise) + 1e-8) - 1)


def _rounded(entry: Noise, columns: list[InputColumn], numbers: Floats) -> Floats:
    """Each column rounded to the multiples that it shows; halves to even ones."""
    for place, column in enumerate(columns):
        grid = _grid(entry, column)
        if grid is not None:
            multiples = np.rint(numbers[:, place] / grid.step)
            near = np.abs(multiples) < EXACT
            numbers[near, place] = grid.points(multiples[near].astype(np.int64))
    return numbers


def _is_whole(entry: Noise, column: InputColumn, movable: Bools) -> bool:
    """Whether the column has nothing but whole numbers afterwards, of a size that allows it."""
    grid = _grid(entry, column)
    others = bool((movable | column.missing).all()) or column.whole
    return grid is not None and grid.whole and others and float(np.nanmax(np.abs(column.numbers), initial=0)) < EXACT


def _check_finite(columns: list[InputColumn], numbers: Floats) -> None:
    beyond = np.isinf(numbers).sum(axis=0).tolist()
    problems = [
        Problem(f"noise of {column.name!r}: {counted(count, 'number')} beyond what can be written", column.source.name)
        for column, count in zip(columns, beyond, strict=True)
        if count
    ]
    if problems:
        raise DataError(problems)


def _declared(entry: Noise) -> dict[str, Any]:
    """What a recipient may know: by what noise relates to the columns, and not what these are like."""
    shape = {
        "additive": "normal, independent",
        "correlated": "normal, correlated as the columns are",
        "romm": "random orthogonal matrix",
        "multiplicative": "log-normal factor of mean 1",
    }
    declared: dict[str, Any] = {"kind": entry.kind, "distribution": shape[entry.kind], "scale": entry.scale}
    whole = entry.only == "all" and entry.least is None and not entry.keep_zero
    if entry.kind in ("additive", "correlated") and whole:
        declared["variance_factor"] = 1 + entry.scale**2
    if entry.kind in ("correlated", "romm"):
        declared["columns"] = list(entry.columns)
    given = {"by": list(entry.by), "round": entry.round, "least": entry.least, "keep_zero": entry.keep_zero}
    only = {"only": entry.only} if entry.only != "all" else {}
    return declared | {key: value for key, value in given.items() if value} | only


def _rounded_back(columns: list[InputColumn], same: Bools, movable: Bools) -> Iterator[Caution]:
    """Columns of which most numbers are as they were, because what was added to them was rounded away."""
    for column, count, every in zip(columns, (same & movable).sum(axis=0), movable.sum(axis=0), strict=True):
        if count > every / 2:
            text = f"{count:,} of {every:,} numbers are as they were: what was added is rounded away"
            remedy = "a larger `scale`, a smaller `round`, or `whole: false`"
            yield Caution.of(f"noise of {column.name}: {text}", remedy)


def _warnings(entry: Noise, columns: list[InputColumn], movable: Bools, still: Bools) -> Iterator[Caution]:
    for place, column in enumerate(columns):
        count = int((still[:, place] & movable[:, place]).sum())
        if count:
            multiplied = entry.kind == "multiplicative"
            why = "a multiple of 0 is 0" if multiplied else "there is no other value within the part"
            yield unchanged(ID, column.name, count, why)
        if entry.only == "outliers" and not movable[:, place].any():
            yield unchanged(ID, column.name, int((~column.missing).sum()), "only outliers are changed")
