"""Twins of the steps that change values: what each of them promises, measured again from the input and the release.

A twin is a function from the settings of a step, what its manifest declares, and the columns before and after, row by
row, to figures, and to sentences about what is wrong. Numbers come as Float64, everything else as text, null where a
value is missing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl

from anonymize.claims import Result
from anonymize.errors import counted
from anonymize.verify import drawn, moved
from anonymize.verify.verdict import Verdict

# --- microaggregation -------------------------------------------------------------------------------------------------
CLOSE = 1e-9
"""How far, relative to the largest number, sums may be from each other that are the same."""


def microaggregation(
    settings: moved.Settings, declared: moved.Settings, columns: moved.BothColumns
) -> moved.MeasuredTreatment:
    """Rows that read the same are at least k; means are those of the rows that show them.

    Groups are found by what they show, so that two that show the same are one. Of columns that are grouped each by
    itself, each is looked at by itself.
    """
    names, wrong = list(columns.after), []
    figures: dict[str, Any] = {}
    after = pl.DataFrame({**columns.after, **{f"by {n}": columns.before[n] for n in settings["by"]}})
    pooled = settings["small"] == "pool"
    parts = [] if pooled else [f"by {name}" for name in settings["by"]]
    sets = [[name] for name in names] if settings["grouping"] == "individual-ranking" else [names]
    for own in sets:
        sizes = after.group_by([*own, *parts]).len()["len"]
        figures[", ".join(own)] = {"groups": len(sizes), "smallest": sizes.min(), "largest": sizes.max()}
        fewest = min(sizes.to_list(), default=0)
        if settings["small"] != "keep" and fewest < settings["k"]:
            wrong.append(f"{', '.join(own)}: a group has {counted(fewest, 'row')}")
        wrong += [each for name in own for each in _not_means(name, [*own, *parts], after, settings, columns)]
    figures["total_kept"] = {
        name: _same_total(columns, name, _half_step(settings, columns.before[name])) for name in names
    }
    return moved.MeasuredTreatment(figures, wrong)


def _not_means(
    name: str, groups: list[str], after: pl.DataFrame, settings: moved.Settings, columns: moved.BothColumns
) -> list[str]:
    """Where a column does not show the means of its groups, as far as the settings say that it does."""
    if settings["missing"] == "refuse" and (misplaced := columns.misplaced([name])):
        return misplaced
    if settings["show"] != "mean" or settings["weighted"]:
        return []
    both = after.with_columns(before=columns.before[name]).filter(pl.col(name).is_not_null())
    means = both.group_by(groups).agg(mean=pl.col("before").mean(), value=pl.col(name).first())
    scale = both.select(pl.col("before").abs().max()).item() or 1.0
    allowed = CLOSE * scale + _half_step(settings, columns.before[name])
    off = means.select(((pl.col("mean") - pl.col("value")).abs() > allowed).sum()).item()
    return [f"{name}: {off} groups do not show their mean"] if off else []


def _half_step(settings: moved.Settings, before: pl.Series) -> float:
    """By how much rounding may change a mean: one decimal more is shown than the column has, unless the step says how
    many."""
    decimals = moved.decimals_of(before)
    digits = settings["digits"] if settings["digits"] is not None else None if decimals is None else decimals + 1
    return 0.0 if digits is None else 0.5 * 10.0**-digits


def _same_total(columns: moved.BothColumns, name: str, rounding: float) -> bool:
    """Whether a column adds up to what it did, but for what rounding each row may change."""
    before, after = float(columns.before[name].sum()), float(columns.after[name].sum())
    slack = rounding * len(columns.before[name])
    return abs(before - after) <= CLOSE * max(abs(before), abs(after), 1.0) + slack


# --- local suppression ------------------------------------------------------------------------------------------------


def suppress(settings: moved.Settings, declared: moved.Settings, columns: moved.BothColumns) -> moved.MeasuredTreatment:
    """Cells that have changed are suppressed; ghosts are where their columns are; in every stratum, all that read the
    same in the columns of what is required, suppressed cells being a value of their own, have the rows or the risk that
    is required. Strata that are kept although they are too small show nothing."""
    mark, own = declared["suppressed"], [name for name in columns.after if name not in settings["never"]]
    hidden = {name: _is_suppressed(columns, name, mark) for name in own}
    wrong = [f"{name}: a cell shows another value" for name in own if _shows_another(columns, name, hidden[name])]
    for name, ghosts in settings["ghosts"].items():
        wrong += [f"{each}: is not suppressed with {name}" for each in ghosts if (hidden[name] & ~hidden[each]).any()]
    before, after, groups = (*_both_grouped(settings, columns, hidden), [])
    strata = moved.numbered("p", len(settings["by"]))
    for rule in declared["required"]:
        names = [f"c{settings['columns'].index(name)}" for name in rule["columns"]]
        own_groups = _groups_of(after, names if settings["small"] == "pool" else [*names, *strata], rule)
        if failing := own_groups.filter("short").height:
            wrong.append(f"{', '.join(rule['columns'])}: {counted(failing, 'group')} smaller than required")
        short = int(_groups_of(before, [*names, *strata], rule).filter("short")["rows"].sum())
        sizes = {"groups": own_groups.height, "smallest": own_groups["rows"].min(), "rows_below_before": short}
        groups.append({**rule, **sizes})
    cells = {name: {"suppressed": int(each.sum()), "share": each.mean()} for name, each in hidden.items()}
    total = sum(int(each.sum()) for each in hidden.values())
    return moved.MeasuredTreatment({"suppressed": total, "cells": cells, "groups": groups}, wrong)


def _is_suppressed(columns: moved.BothColumns, name: str, mark: str | None) -> pl.Series:
    """(rows,) whether cells are suppressed: they read so, or are empty where there was something."""
    before, after = columns.before[name], columns.after[name]
    return after.is_null() & before.is_not_null() if mark is None else after.eq_missing(mark)


def _shows_another(columns: moved.BothColumns, name: str, hidden: pl.Series) -> bool:
    """Whether some cell is neither suppressed nor what it was."""
    return bool((columns.before[name].ne_missing(columns.after[name]) & ~hidden).any())


def _both_grouped(
    settings: moved.Settings, columns: moved.BothColumns, hidden: Mapping[str, pl.Series]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What rows had and what they show: `c0`, ... of the step's columns, `p0`, ... of its strata, their `weight`, and
    whether they are of a stratum that was given up (`lost`): all of its cells are suppressed, and such are kept."""
    strata = {f"p{place}": columns.before[name] for place, name in enumerate(settings["by"])}
    rows = len(next(iter(columns.before.values())))
    weight = pl.repeat(1.0, rows, eager=True) if columns.weights is None else columns.weights
    sides = [
        pl.DataFrame({**{f"c{place}": side[name] for place, name in enumerate(settings["columns"])}, **strata})
        for side in (columns.before, columns.after)
    ]
    blank = pl.Series([True]).new_from_index(0, rows)
    for name, each in hidden.items():
        blank &= each if name in settings["columns"] else True
    kept = bool(strata) and settings["small"] == "keep"
    lost = pl.col("blank").all().over(list(strata)) if kept else pl.lit(value=False)
    after = sides[1].with_columns(weight=weight, blank=blank).with_columns(lost=lost)
    return sides[0].with_columns(weight=weight, lost=pl.lit(value=False)), after


def _groups_of(frame: pl.DataFrame, names: list[str], rule: moved.Settings) -> pl.DataFrame:
    """Groups that are the same in some columns, with how many `rows` each has, and whether that is too `short`."""
    groups = frame.group_by(names).agg(rows=pl.len(), weight=pl.col("weight").sum(), lost=pl.col("lost").all())
    if "k" in rule:
        return groups.with_columns(short=(pl.col("rows") < rule["k"]) & ~pl.col("lost"))
    least = groups.filter(~pl.col("lost")).group_by("rows").agg(pl.col("weight").min())
    # of groups of so many rows the risk falls as the weight rises: it is worked out for the least, and is a bound
    lowest = {rows: _least_weight(rows, rule["risk"]) for rows in least["rows"].to_list()}
    needed = groups["rows"].replace_strict(lowest, default=0.0, return_dtype=pl.Float64)
    return groups.with_columns(short=(pl.col("weight") < needed) & ~pl.col("lost"))


@cache
def _least_weight(rows: int, risk: float) -> float:
    """The least sum of weights by which so many rows have no more than this risk, by halves; a thousandth less, as the
    integral is that exact."""
    low, high = 0.0, math.log(1e15)
    for _ in range(35):
        middle = (low + high) / 2
        low, high = (low, middle) if individual_risk(rows, rows * math.exp(middle)) <= risk else (middle, high)
    return rows * math.exp(high) * (1 - 1e-3) if high > 1e-9 else 0.0


def individual_risk(rows: int, weight: float) -> float:
    """The mean of 1 / F where F, the people of a group in the population, is negative binomial given that `rows` of
    them are in the sample, each with the probability p = rows / weight (Benedetti and Franconi).

    That is p times the integral of u^(rows - 1) / (p + (1 - p) u) from 0 to 1, taken by midpoints in p + (1 - p) u on a
    scale of logarithms for few rows, and in u^rows for many.
    """
    p = min(rows / weight, 1.0)
    if p >= 1:
        return 1 / rows
    middles = [(step + 0.5) / _STEPS for step in range(_STEPS)]
    if rows < _MANY_ROWS:
        total = sum(float(((p ** (1 - each) - p) / (1 - p)) ** (rows - 1)) for each in middles)
        return p / (1 - p) * -math.log(p) * total / _STEPS
    return p / rows * sum(1 / (p + (1 - p) * float(each ** (1 / rows))) for each in middles) / _STEPS


_STEPS, _MANY_ROWS = 2_000, 20
"""Midpoints of the integral, and rows from which it is taken in another variable."""


# --- the registry -----------------------------------------------------------------------------------------------------


def with_changed(verdict: Verdict, quasi_identifiers: Collection[str], changed: Mapping[str, str]) -> Verdict:
    """A verdict on a table some columns of which have other values than before: `changed`, by name the method.

    What is required of a sensitive attribute that was changed is not shown by the table, and nothing that is required
    of classes where a quasi-identifier was changed by what leaves no rows alike.
    """
    strange = [name for name in quasi_identifiers if name in changed and changed[name] not in ALIKE]

    def judged(result: Result) -> Result:
        name = strange[0] if strange else result.attribute
        if name is None or name not in changed:
            return result
        return result.unshown(f"{name} was changed by {changed[name]}, and the table does not show what it was")

    return replace(verdict, results=tuple(map(judged, verdict.results))) if changed else verdict


ALIKE = ("microaggregation", "suppress")
"""Methods whose rows read the same: they count for k as those of any class do."""

TREATMENT_TWINS: dict[str, moved.Twin] = {
    "microaggregation": microaggregation,
    "pram": drawn.pram,
    "rank-swap": moved.rank_swap,
    "random-swap": moved.random_swap,
    "record-swap": moved.record_swap,
    "noise": drawn.noise,
    "shuffle": moved.shuffle,
    "suppress": suppress,
    "date-shift": moved.date_shift,
}
"""By the name of the method."""


def measure_treatment(
    method: str,
    settings: moved.Settings,
    declared: moved.Settings,
    before: Mapping[str, pl.Series],
    after: Mapping[str, pl.Series],
    weights: pl.Series | None = None,
) -> moved.MeasuredTreatment:
    """What a step comes to in the release. `before`: its columns in the input, also those that it only looks at;
    `after`: those that it changed, and those that it counts as they are released, row by row; `weights`: sampling
    weights. Raises KeyError for a method without a twin."""
    return TREATMENT_TWINS[method](settings, declared, moved.BothColumns(before, after, weights))
