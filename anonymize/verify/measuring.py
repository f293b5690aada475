"""From the text of a table to a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from anonymize.verify.risk import class_sizes, risk
from anonymize.verify.table import Table, classes_of, entries_of, read
from anonymize.verify.twins import COUNT, TWINS, VALUE, Twin
from anonymize.verify.verdict import THRESHOLD, Check, Result, Verdict

_TOLERANCE = 1e-9
_NONE = 2**32 - 1
"""No class has this number."""


def measure(
    frame: pl.LazyFrame | pl.DataFrame,
    quasi_identifiers: Sequence[str],
    checks: Sequence[Check],
    missing: Sequence[str] = ("",),
    *,
    suppressed: str = "*",
    threshold: float = THRESHOLD,
    null_missing: bool = True,
    units: pl.Series | None = None,
) -> Verdict:
    """Measures a table from its text.

    `quasi_identifiers`: columns as released (both columns of a number that was released as bounds), at least one.
    `missing`: texts that mean missing. A null means missing too, unless `null_missing` is False: then it is the empty
    text (an empty field of a CSV for which "" is not declared missing). `suppressed`: text of a suppressed cell.
    `threshold`: a record is at risk when its risk is higher. `units`: whom each row is about, in the order of the rows;
    rows about one unit count as one in everything but numbers of rows. Raises DataError if a numeric attribute has
    other values.
    """
    fill = "" if not null_missing or "" in missing else None
    table = Table(frame.lazy(), tuple(quasi_identifiers), tuple(missing), fill, units)
    subjects = list(dict.fromkeys((check.attribute, check.numeric) for check in checks))
    rows = read(table, list(dict.fromkeys(name for name, _ in subjects if name)), suppressed)
    classes = classes_of(rows)
    results: dict[int, Result] = {}
    for subject in subjects:
        mine = [at for at, check in enumerate(checks) if (check.attribute, check.numeric) == subject]
        entries = None if subject[0] is None else entries_of(rows, subject, missing)
        results |= zip(mine, _judged(classes, entries, [checks[at] for at in mine]), strict=True)
    shown = classes.filter(~pl.col("suppressed"))["size"]
    return Verdict(
        rows=rows.count,
        suppressed_rows=int(classes.filter("suppressed")["rows"].sum()),
        results=tuple(results[at] for at in range(len(checks))),
        classes=class_sizes(shown),
        risk=risk(classes["size"], threshold),
    )


def _figures(entries: pl.DataFrame, figures: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """The figures of every class that has entries; TOTAL and MEAN are added to these only where a figure needs them."""
    query = entries.lazy()
    if {"total", "mean"} & {name for figure in figures.values() for name in figure.meta.root_names()}:
        mean = (VALUE.cast(pl.Float64) * COUNT).sum() / COUNT.sum()
        query = query.join(query.group_by("class").agg(total=COUNT.sum(), mean=mean), on="class")
    return query.group_by("class").agg(**figures).collect()


def _judged(classes: pl.DataFrame, entries: pl.DataFrame | None, checks: Sequence[Check]) -> list[Result]:
    """The checks that are about one attribute (or none), measured in one go."""
    figures = {f"f{at}": TWINS[check.model].figure(check.parameters) for at, check in enumerate(checks)}
    if entries is None:
        measured = classes.with_columns(pl.lit(1).alias("alike"), **figures)
    else:
        kinds, entries = _alike(classes, entries)
        measured = kinds.join(_figures(entries, figures), on="class", how="left")
    return [_result(check, measured, measured[name]) for check, name in zip(checks, figures, strict=True)]


def _alike(classes: pl.DataFrame, entries: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Classes that no model tells apart as one, with how many are `alike`: those that have one present value, of each
    size, number of rows, value and count; and the entries of what is left.

    In a table that nobody has generalized nearly every class is one of a few of these.
    """
    owner = pl.col("class")
    single = entries.select((owner != owner.shift(1, fill_value=_NONE)) & (owner != owner.shift(-1, fill_value=_NONE)))
    alone, rest = entries.filter(single.to_series()), entries.filter(~single.to_series())
    known = alone.with_columns(classes[name].gather(alone["class"]) for name in ("size", "rows"))
    few = known.group_by("size", "rows", "value", "count").agg(owner.min(), alike=pl.len())
    plain = classes.select("class", "size", "rows", alike=pl.lit(1, pl.UInt32))
    several = plain[rest["class"].rle().struct.unnest()["value"]]
    kinds = [few.select(plain.columns), several]
    if len(alone) + len(several) < len(classes):
        kinds.append(plain.join(entries, on="class", how="anti"))
    return pl.concat(kinds), pl.concat([rest, few.select(entries.columns)])


def _result(check: Check, classes: pl.DataFrame, figures: pl.Series) -> Result:
    """From the figure of every class, null for a class without a present value, to what the table achieves."""
    twin = TWINS[check.model]
    figures = figures.fill_null(float("inf") if twin.below else 0)
    required = check.parameters.get(twin.parameter)
    failing = classes.clear()
    if required is not None:
        bound = required * (1 - _TOLERANCE)
        failing = classes.filter(figures >= bound if twin.below else figures < bound)
    return Result(
        model=check.model,
        attribute=check.attribute,
        required=dict(check.parameters),
        achieved={**check.parameters, twin.parameter: _weakest(twin, figures)},
        satisfied=None if required is None else failing.is_empty(),
        failing_classes=int(failing["alike"].sum()),
        failing_rows=int((failing["rows"] * failing["alike"]).sum()),
    )


def _weakest(twin: Twin, figures: pl.Series) -> float | int | None:
    """What all classes meet: the worst figure; None of no classes, and where it is infinite."""
    worst = figures.max() if twin.below else figures.min()
    if not isinstance(worst, int | float) or worst == float("inf"):
        return None
    return int(worst) if twin.whole else float(worst)
