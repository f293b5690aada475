"""Twin of microaggregation: rows that read the same are at least k, and show the means of what they had."""

from __future__ import annotations

from typing import Any

import polars as pl

from anonymize.verify.both import BothColumns, MeasuredTreatment, Settings

CLOSE = 1e-9
"""How far, relative to the largest number, sums may be from each other that are the same."""


def microaggregation(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
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
            wrong.append(f"{', '.join(own)}: a group has {fewest} rows")
        wrong += [each for name in own for each in _not_means(name, [*own, *parts], after, settings, columns)]
    figures["total_kept"] = {name: _same_total(columns, name) for name in names}
    return MeasuredTreatment(figures, wrong)


def _not_means(
    name: str, groups: list[str], after: pl.DataFrame, settings: Settings, columns: BothColumns
) -> list[str]:
    """Where a column does not show the means of its groups, as far as the settings say that it does."""
    if columns.missing_moved(name) and settings["missing"] == "refuse":
        return [f"{name}: missing values are not where they were"]
    if settings["show"] != "mean" or settings["weighted"] or settings["digits"] is not None:
        return []
    both = after.with_columns(before=columns.before[name]).filter(pl.col(name).is_not_null())
    means = both.group_by(groups).agg(mean=pl.col("before").mean(), value=pl.col(name).first())
    scale = both.select(pl.col("before").abs().max()).item() or 1.0
    off = means.select(((pl.col("mean") - pl.col("value")).abs() > CLOSE * scale).sum()).item()
    return [f"{name}: {off} groups do not show their mean"] if off else []


def _same_total(columns: BothColumns, name: str) -> bool:
    """Whether a column adds up to what it did."""
    before, after = float(columns.before[name].sum()), float(columns.after[name].sum())
    return abs(before - after) <= CLOSE * max(abs(before), abs(after), 1.0)
