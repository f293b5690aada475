"""Twin of noise: what may not change, what is exact, and whether the noise is as strong as it should be.

The squares of normal noise in units of its deviation have a sum of the chi-square distribution with as many degrees of
freedom as rows; a mean r of n of them is as far off by chance with a probability below exp(-n (r - 1 - ln r) / 2).
Where numbers were rounded, r is only known to lie between two bounds, and the one that speaks for the release counts.
Where noise below a limit was drawn again it has another distribution, and the limit is compared in its place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from anonymize.verify.both import SURPRISE, BothColumns, MeasuredTreatment, Settings, numbered

_CLOSE = 1e-8
_FENCE = 1.5
_ULP = 2.0**-52
"""What a float of 1 is rounded to a multiple of."""


@dataclass(frozen=True)
class Noised:
    """A step and its columns: `frame` as `BothColumns` has it, its parts `by`, and `steps`: to what multiples each
    column was rounded, 0 for none."""

    settings: Settings
    names: list[str]
    by: list[str]
    frame: pl.DataFrame
    steps: list[float]

    @classmethod
    def of(cls, settings: Settings, columns: BothColumns) -> Noised:
        """Those of a step."""
        names = list(settings["columns"])
        frame = columns.frame(settings["by"], names)
        steps = []
        for place in range(len(names)):
            written = frame.select((pl.col(f"b{place}") % 1 == 0).all()).item()
            whole = written if settings["whole"] is None else settings["whole"]
            steps.append(settings["round"] or (1.0 if whole else 0.0))
        return cls(settings, names, numbered("p", len(settings["by"])), frame, steps)

    def within(self, expression: pl.Expr) -> pl.Expr:
        """An aggregate of each part."""
        return expression.over(self.by) if self.by else expression


def noise(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """Missing values stay; what is exact, or bounded, is; and the noise is of the right strength."""
    figures: dict[str, Any] = {}
    wrong = []
    own = Noised.of(settings, columns)
    for name in own.names:
        if columns.missing_moved(name):
            wrong.append(f"{name}: missing values are not where they were")
        difference = columns.after[name] - columns.before[name]
        figures[name] = {
            "changed": columns.changed(name),
            "noise_mean": difference.mean(),
            "noise_deviation": difference.std(),
        }
    if wrong:
        return MeasuredTreatment(figures, wrong)
    if settings["kind"] == "romm":
        wrong += _moments(own)
    else:
        wrong += [f"{own.names[place]}: {each}" for place in range(len(own.names)) for each in _column(own, place)]
        if settings["kind"] == "correlated" and settings["least"] is None and settings["only"] == "all":
            wrong += _together(own)
    return MeasuredTreatment(figures, wrong)


def _column(own: Noised, place: int) -> Iterator[str]:
    """What is wrong with a column of independent or correlated noise."""
    settings, before, after = own.settings, pl.col(f"b{place}"), pl.col(f"a{place}")
    rows = own.frame.filter(before.is_not_null())
    if settings["keep_zero"]:
        count = rows.filter((before == 0) & (after != 0)).height
        if count:
            yield f"{count} zeros have changed"
        rows = rows.filter(before != 0)
    if settings["only"] == "outliers":
        count = own.frame.filter((before != after) & ~_outlying(own, place)).height
        if count:
            yield f"{count} numbers that are no outliers have changed"
        rows = rows.filter(before != after)
    step = own.steps[place]
    off = rows.filter((after - (after / step).round() * step).abs() > _CLOSE * after.abs().clip(step)) if step else None
    if off is not None and off.height:
        yield f"{off.height} numbers are not rounded as they should be"
    if settings["least"] is not None:
        count = rows.filter(after < settings["least"]).height
        if count:
            yield f"{count} numbers are below `least`"
    elif settings["only"] == "all":
        yield from _strength(own, place)


def _outlying(own: Noised, place: int) -> pl.Expr:
    """Whether a number may be an outlier of its part; with correlated noise, any number of its row."""
    every = range(len(own.names)) if own.settings["kind"] == "correlated" else [place]
    either = []
    for each in every:
        column = pl.col(f"b{each}")
        low, high = (own.within(column.quantile(share, interpolation="linear")) for share in (0.25, 0.75))
        reach = _FENCE * (high - low)
        slack = _CLOSE * (reach + column.abs())
        either.append(((column < low - reach + slack) | (column > high + reach - slack)).fill_null(False))
    return pl.any_horizontal(either)


def _strength(own: Noised, place: int) -> Iterator[str]:
    """Whether noise has not the deviation that it should have."""
    scale, before, after = own.settings["scale"], pl.col(f"b{place}"), pl.col(f"a{place}")
    step = own.steps[place]
    if own.settings["kind"] == "multiplicative":
        turned = own.frame.filter((before * after < 0) | ((before == 0) != (after == 0)))
        if turned.height and not step:
            yield f"{turned.height} numbers have another sign"
        if step or turned.height:
            return
        variance = math.log1p(scale**2)
        units = own.frame.filter(before != 0).select(
            unit=((after / before).log() + variance / 2) / math.sqrt(variance), slack=pl.lit(0.0)
        )
    else:
        units = _units(own, place).select("unit", "slack")
    surprise = _surprise(units)
    if surprise > SURPRISE + math.log(2 * len(own.names) ** 2):
        yield "the noise has not the strength that it should have"


def _units(own: Noised, place: int) -> pl.DataFrame:
    """The noise of each row in units of its deviation, `unit`, and how far that may be off by rounding, `slack`."""
    before, after = pl.col(f"b{place}"), pl.col(f"a{place}")
    spread = own.within(pl.when(own.within(before.max()) > own.within(before.min())).then(own.within(before.std())))
    rows = own.frame.with_row_index("row").with_columns(deviation=own.settings["scale"] * spread)
    if own.settings["keep_zero"]:
        rows = rows.filter(before != 0)
    unit = (after - before) / pl.col("deviation")
    slack = (own.steps[place] / 2 + _ULP * before.abs()) / pl.col("deviation")
    return rows.filter(before.is_not_null() & (pl.col("deviation") > 0)).select("row", unit=unit, slack=slack)


def _surprise(units: pl.DataFrame) -> float:
    """-log of a bound on the probability of noise at least as strong, or as weak, as that in `unit`."""
    if not units.height:
        return 0.0
    size, off = units.select((pl.col("unit") ** 2).mean().sqrt(), (pl.col("slack") ** 2).mean().sqrt()).row(0)
    low, high = max(size - off, 0.0) ** 2, (size + off) ** 2
    if low <= 1 <= high:
        return 0.0
    ratio = high if high < 1 else low
    return units.height / 2 * (ratio - 1 - math.log(ratio)) if ratio > 0 else math.inf


def _together(own: Noised) -> Iterator[str]:
    """Whether the noise of two columns is not correlated as the columns are: by the strength of the sum and of the
    difference of both, where that is not nearly always 0."""
    if own.settings["keep_zero"]:
        return
    allowed = SURPRISE + math.log(2 * len(own.names) ** 2)
    complete = own.frame.with_row_index("row").drop_nulls(numbered("b", len(own.names)))
    for one, other in itertools.combinations(range(len(own.names)), 2):
        correlation = own.within(pl.corr(f"b{one}", f"b{other}")).fill_nan(0.0).fill_null(0.0).alias("correlation")
        rows = complete.select("row", correlation)
        rows = rows.join(_units(own, one), on="row").join(_units(own, other), on="row", suffix="_other")
        for sign in (1, -1):
            deviation = (2 * (1 + sign * pl.col("correlation"))).sqrt()
            units = rows.filter(deviation > 1e-3).select(
                unit=(pl.col("unit") + sign * pl.col("unit_other")) / deviation,
                slack=(pl.col("slack") + pl.col("slack_other")) / deviation,
            )
            if _surprise(units) > allowed:
                yield f"{own.names[one]}, {own.names[other]}: the noise is not correlated as the columns are"
                break


def _moments(own: Noised) -> Iterator[str]:
    """Whether means or covariances of parts are others than before, but for rounding."""
    width = len(own.names)
    groups = own.frame.with_columns(part=pl.struct(own.by) if own.by else pl.lit(0)).partition_by("part")
    complete = max((group.drop_nulls() for group in groups), key=len)
    for place, name in enumerate(own.names):
        before, after = complete[f"b{place}"], complete[f"a{place}"]
        if not own.steps[place] and before.n_unique() > 2 and before.equals(after):
            yield f"{name}: nothing has changed"
    for one, other in itertools.combinations_with_replacement(range(width), 2):
        if any(_moment_differs(own, group, one, other) for group in groups):
            yield f"{own.names[one]}, {own.names[other]}: means or covariances are not as before"


def _moment_differs(own: Noised, group: pl.DataFrame, one: int, other: int) -> bool:
    """Whether the means or the covariance of two columns differ by more than rounding explains."""
    rows = group.drop_nulls([f"b{one}", f"b{other}"])
    if not rows.height:
        return False
    values = {}
    for side in ("b", "a"):
        first, second = pl.col(f"{side}{one}"), pl.col(f"{side}{other}")
        product = ((first - first.mean()) * (second - second.mean())).mean()
        values[side] = rows.select(a=first.mean(), b=second.mean(), c=product).row(0)
    columns = [pl.col(f"b{place}") for place in (one, other)]
    spreads = rows.select(a=columns[0].std(ddof=0), b=columns[1].std(ddof=0)).row(0)
    sizes = rows.select(a=columns[0].abs().max(), b=columns[1].abs().max()).row(0)
    half = own.steps[one] / 2, own.steps[other] / 2
    slack = (
        half[0] + _CLOSE * sizes[0],
        half[1] + _CLOSE * sizes[1],
        spreads[0] * half[1] + spreads[1] * half[0] + half[0] * half[1] + _CLOSE * sizes[0] * sizes[1],
    )
    return any(abs(b - a) > limit for b, a, limit in zip(values["b"], values["a"], slack, strict=True))
