"""Twin of date shifting: all dates of a person have moved by the same number of days, which is not 0."""

from __future__ import annotations

import polars as pl

from anonymize.verify.both import BothColumns, MeasuredTreatment, Settings, numbered

_ISO = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f")
"""How dates of a typed table read."""


def date_shift(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """Missing dates stay; the others have moved by whole days, the same for all dates of a person, at most `days` and
    never none."""
    wrong, moves = [], []
    people = {f"p{place}": columns.before[name] for place, name in enumerate(settings["by"])}
    for name in settings["columns"]:
        if columns.missing_moved(name):
            wrong.append(f"{name}: missing dates are not where they were")
            continue
        frame = pl.DataFrame({**people, "before": columns.before[name], "after": columns.after[name]})
        present = frame.drop_nulls(["before", "after"])
        dated = present.with_columns(
            _moment(present[side], settings["format"]).alias(side) for side in ("before", "after")
        )
        unread = dated.filter(pl.col("before").is_null() | pl.col("after").is_null()).height
        if unread:
            wrong.append(f"{name}: {unread} cells are no dates")
        moved = dated.select(*people, move=(pl.col("after") - pl.col("before")).dt.total_microseconds())
        moves.append(moved.drop_nulls("move"))
    every = pl.concat(moves) if moves else pl.DataFrame(schema={**dict.fromkeys(people, pl.String), "move": pl.Int64})
    day = 86_400_000_000
    limits = {
        "have not moved by whole days": pl.col("move") % day != 0,
        "have not moved": pl.col("move") == 0,
        "have moved by more than `days`": pl.col("move").abs() > settings["days"] * day,
    }
    for text, rule in limits.items():
        count = every.filter(rule).height
        if count:
            wrong.append(f"{count} dates {text}")
    by_person = every.group_by(numbered("p", len(people))).agg(pl.col("move").n_unique())
    parted = by_person.filter(pl.col("move") > 1).height
    if parted:
        wrong.append(f"the dates of {parted} persons have not all moved alike")
    return MeasuredTreatment({"persons": by_person.height, "dates": every.height}, wrong)


def _moment(cells: pl.Series, form: str) -> pl.Series:
    """The cells as moments; null for one that is none in the format, nor a date of a typed table."""
    text = cells.cast(pl.String)
    readings = [text.str.strptime(pl.Datetime("us"), each, strict=False) for each in (form, *_ISO)]
    own = pl.DataFrame({f"m{place}": each for place, each in enumerate(readings)})
    return own.select(pl.coalesce(own.columns)).to_series()
