"""Twins of the treatments that draw: noise, which may be no weaker than it should be, and PRAM, whose moves are held
against the matrices that the manifest declares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from anonymize.records import dataclass
from anonymize.verify.moved import SURPRISE, BothColumns, MeasuredTreatment, Settings, decimals_of, differs, numbered

# --- noise ------------------------------------------------------------------------------------------------------------
# The squares of normal noise in units of its deviation have a sum of the chi-square distribution with as many degrees
# of freedom as rows; a mean r of n of them is as far off by chance with a probability below exp(-n (r - 1 - ln r) / 2).
# Where numbers were rounded, r is only known to lie between two bounds, and the one that speaks for the release counts.
# Where noise below a limit was drawn again it has another distribution, and the limit is compared in its place.

_CLOSE = 1e-8
_FENCE = 1.5
_FINE = 0.01
"""The share of a number that the step is at most, to which it is rounded, where its factor is looked at."""
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
        names = list(settings["columns"])
        frame = columns.frame(settings["by"], names)
        steps = [settings["round"] or _step(settings, frame[f"b{place}"]) for place in range(len(names))]
        return cls(settings, names, numbered("p", len(settings["by"])), frame, steps)

    def within(self, expression: pl.Expr) -> pl.Expr:
        """An aggregate of each part."""
        return expression.over(self.by) if self.by else expression


def _step(settings: Settings, before: pl.Series) -> float:
    """To what multiples a column is rounded where no step is named: to its own decimals, whole numbers that need not
    stay whole to a tenth of the leading digit of the noise; 0 for not at all."""
    decimals = decimals_of(before)
    if settings["whole"] or (settings["whole"] is None and decimals == 0):
        return 1.0
    if decimals:
        return float(10.0**-decimals)
    size = before.abs().mean() if settings["kind"] == "multiplicative" else before.std(ddof=0)
    noise = settings["scale"] * (size or 0)
    return 0.0 if decimals is None or not noise else float(10.0 ** (math.floor(math.log10(noise) + _CLOSE) - 1))


def noise(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """Missing values stay; what is exact, or bounded, is; and the noise is of the right strength."""
    figures: dict[str, Any] = {}
    own = Noised.of(settings, columns)
    wrong = columns.misplaced(own.names)
    for name in own.names:
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
        vanished = (before != 0) & (after == 0) if not step else pl.lit(False)
        turned = own.frame.filter((before * after < 0) | ((before == 0) & (after != 0)) | vanished)
        if turned.height:
            yield f"{turned.height} numbers have another sign"
        large = own.frame.filter((before != 0) & (before.abs() >= step / _FINE))
        if turned.height or large.filter(after == 0).height:
            return
        variance = math.log1p(scale**2)
        deviation = math.sqrt(variance)
        units = large.select(
            unit=((after / before).log() + variance / 2) / deviation, slack=step / 2 / after.abs() / deviation
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
        visible = own.steps[place] < own.settings["scale"] * (before.std() or 0)
        if visible and before.n_unique() > 2 and before.equals(after):
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


# --- PRAM -------------------------------------------------------------------------------------------------------------
# How far a frequency may be off follows from the Chernoff bound, n KL(k / n, p), which holds for any number of rows;
# all of these together are broken by a sound release once in 10^8. A move with no probability is never one of chance.

_TRANSITIONS_CLOSE = 1e-9
_INVARIANT = 1e-12


def pram(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """Missing values stay, moves are as likely as declared, and the matrices are what the step is."""
    figures: dict[str, Any] = {}
    wrong = columns.misplaced(settings["columns"])
    variables = [list(settings["columns"])] if settings["joint"] else [[name] for name in settings["columns"]]
    parts = () if settings["matrix"] is not None else settings["by"]
    for names in variables:
        own = [each for each in declared["channels"] if each["columns"] == names]
        cells = _declared_cells(own, parts, len(names))
        moves, still = _moves(columns, parts, names)
        said = [*_matrix_faults(settings, cells, len(names)), *_faults(cells, moves, parts, len(names))]
        if settings["invariant"]:
            said += _variance(cells, moves, parts, len(names))
        if still:
            said.append(f"{still} rows that lack a value have changed")
        wrong += [f"{', '.join(names)}: {each}" for each in said]
        changed = {name: columns.changed(name) for name in names}
        figures[" and ".join(names)] = {"changed": changed, "matrices": len(own), "cells": cells.height}
    return MeasuredTreatment(figures, wrong)


def _declared_cells(channels: Sequence[Mapping[str, Any]], parts: Sequence[str], width: int) -> pl.DataFrame:
    """Each cell of the matrices: its part, the value before and after, and the probability `chance`."""
    frames = []
    for channel in channels:
        values = channel["values"]
        own: dict[str, Any] = {}
        for place in range(width):
            texts = [value[place] for value in values]
            own[f"b{place}"] = pl.Series([text for text in texts for _ in values], dtype=pl.String)
            own[f"a{place}"] = pl.Series(texts * len(values), dtype=pl.String)
        own["chance"] = pl.Series(list(itertools.chain.from_iterable(channel["matrix"])), dtype=pl.Float64)
        part = {f"p{place}": pl.lit(channel["part"][name], pl.String) for place, name in enumerate(parts)}
        frames.append(pl.DataFrame(own).with_columns(**part))
    schema = dict.fromkeys([*numbered("b", width), *numbered("a", width), *numbered("p", len(parts))], pl.String)
    return pl.concat(frames) if frames else pl.DataFrame(schema={**schema, "chance": pl.Float64})


def _moves(columns: BothColumns, parts: Sequence[str], names: Sequence[str]) -> tuple[pl.DataFrame, int]:
    """How many rows (`len`) of each part went from each value to each; and how many changed that lack a value."""
    before, after = numbered("b", len(names)), numbered("a", len(names))
    frame = columns.frame(parts, names)
    lacking = pl.any_horizontal(pl.col(name).is_null() for name in before)
    still = frame.filter(lacking & differs(len(names))).height
    return frame.filter(~lacking).group_by(*numbered("p", len(parts)), *before, *after).len(), still


def _faults(cells: pl.DataFrame, moves: pl.DataFrame, parts: Sequence[str], width: int) -> Iterator[str]:
    """Moves that are none of the matrix, or not as frequent as it says."""
    own, before = numbered("p", len(parts)), numbered("b", width)
    keys = [*own, *before, *numbered("a", width)]
    unknown = moves.join(cells, on=keys, how="anti", nulls_equal=True)
    if unknown.height:
        yield f"{int(unknown['len'].sum())} rows moved to or from values that the matrix does not have"
    rows = moves.group_by(*own, *before).agg(rows=pl.col("len").sum())
    tests = cells.join(rows, on=[*own, *before], nulls_equal=True)
    tests = tests.join(moves, on=keys, how="left", nulls_equal=True).with_columns(pl.col("len").fill_null(0))
    forbidden = tests.filter((pl.col("chance") <= 0) & (pl.col("len") > 0))
    if forbidden.height:
        yield f"{int(forbidden['len'].sum())} rows made moves that have no probability"
    share = pl.col("len") / pl.col("rows")
    divergence = _part(share, pl.col("chance")) + _part(1 - share, 1 - pl.col("chance"))
    allowed = SURPRISE + math.log(2 * max(tests.height, 1))
    off = tests.filter((pl.col("chance") > 0) & (divergence * pl.col("rows") > allowed)).height
    if off:
        yield f"{off} of {tests.height} frequencies of moves are not those of the matrix"


def _part(share: pl.Expr, chance: pl.Expr) -> pl.Expr:
    """One of the two terms of the divergence between shares."""
    term = share * (share / pl.when(chance > 1e-15).then(chance)).log()
    of_no_chance = pl.when(share > 1e-12).then(math.inf).otherwise(0.0)
    return pl.when(share <= 0).then(0.0).otherwise(term.fill_null(of_no_chance))


def _matrix_faults(settings: Settings, cells: pl.DataFrame, width: int) -> Iterator[str]:
    """How the matrices are not what the step says."""
    before, after = numbered("b", width), numbered("a", width)
    parts = [name for name in cells.columns if name.startswith("p")]
    sums = cells.group_by(*parts, *before).agg(pl.col("chance").sum(), values=pl.len())
    beyond = sums.filter((pl.col("chance") - 1).abs() > _TRANSITIONS_CLOSE).height
    if beyond or cells.filter(pl.col("chance") < -_TRANSITIONS_CLOSE).height:
        yield "rows of the matrix are no probabilities"
    pairs = [(pl.col(b), pl.col(a)) for b, a in zip(before, after, strict=True)]
    for one, other in settings["forbidden"]:
        barred = pl.any_horizontal((b == one) & (a == other) for b, a in pairs)
        if cells.filter(barred & (pl.col("chance") > 0)).height:
            yield "a forbidden move has a probability in the matrix"
    stay = pl.all_horizontal(b == a for b, a in pairs)
    if settings["keep"] is not None and not settings["invariant"]:
        kept = (pl.col("chance") - settings["keep"]).abs() <= _TRANSITIONS_CLOSE
        if cells.filter(stay & ~kept & (pl.col("chance") < 1)).height:
            yield "values stay with another probability than `keep`"
    if settings["matrix"] is not None:
        given = settings["matrix"]
        if any(
            abs(given[b].get(a, 0) - chance) > _TRANSITIONS_CLOSE
            for b, a, chance in cells.select("b0", "a0", "chance").iter_rows()
        ):
            yield "the matrix is not the one of the spec"


def _variance(cells: pl.DataFrame, moves: pl.DataFrame, parts: Sequence[str], width: int) -> Iterator[str]:
    """Where the shares of values would not stay as they are, p R = p."""
    own, before, after = numbered("p", len(parts)), numbered("b", width), numbered("a", width)
    rows = moves.group_by(*own, *before).agg(rows=pl.col("len").sum())
    reached = cells.join(rows, on=[*own, *before], nulls_equal=True)
    expected = reached.group_by(*own, *after).agg(expected=(pl.col("chance") * pl.col("rows")).sum())
    expected = expected.rename(dict(zip(after, before, strict=True)))
    both, total = rows.join(expected, on=[*own, *before], how="left", nulls_equal=True), pl.col("rows").sum()
    error = (pl.col("expected").fill_null(0.0) - pl.col("rows")).abs() / (total.over(own) if own else total)
    if both.select((error > _INVARIANT).any()).item():
        yield "the matrix is not invariant: expected counts are others than those before"
