"""From the text of a table to a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from anonymize.verify.risk import class_sizes, risk
from anonymize.verify.table import Table, changed, classes_of, entries_of, sensitive_values
from anonymize.verify.twins import COUNT, TWINS, VALUE, Twin
from anonymize.verify.verdict import THRESHOLD, Check, Result, Verdict

_TOLERANCE = 1e-9


def measure(
    frame: pl.LazyFrame | pl.DataFrame,
    quasi_identifiers: Sequence[str],
    checks: Sequence[Check],
    missing: Sequence[str] = ("",),
    *,
    suppressed: str = "*",
    threshold: float = THRESHOLD,
    null_missing: bool = True,
) -> Verdict:
    """Measures a table from its text.

    `quasi_identifiers`: columns as released (both columns of a number that was released as bounds), at least one.
    `missing`: texts that mean missing. A null means missing too, unless `null_missing` is False: then it is the empty
    text (an empty field of a CSV for which "" is not declared missing). `suppressed`: text of a suppressed cell.
    `threshold`: a record is at risk when its risk is higher. Raises DataError if a numeric attribute has other values.
    """
    fill = "" if not null_missing or "" in missing else None
    table = Table(frame.lazy(), tuple(quasi_identifiers), tuple(missing), fill)
    classes, seed = classes_of(table, suppressed)
    subjects = list(dict.fromkeys((check.attribute, check.numeric) for check in checks))
    rows = sensitive_values(table, seed, subjects, classes)
    results: dict[int, Result] = {}
    for subject in subjects:
        mine = [at for at, check in enumerate(checks) if (check.attribute, check.numeric) == subject]
        entries = None if subject[0] is None else entries_of(rows, f"v{subjects.index(subject)}")
        results |= zip(mine, _judged(classes, entries, [checks[at] for at in mine]), strict=True)
    shown = classes.filter(~pl.col("suppressed"))["size"]
    return Verdict(
        rows=int(classes["size"].sum()),
        suppressed_rows=int(classes["size"].sum()) - int(shown.sum()),
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
    return query.group_by("class").agg(**figures).collect(engine="streaming")


def _judged(classes: pl.DataFrame, entries: pl.DataFrame | None, checks: Sequence[Check]) -> list[Result]:
    """The checks that are about one attribute (or none), measured in one go."""
    figures = {f"f{at}": TWINS[check.model].figure(check.parameters) for at, check in enumerate(checks)}
    if entries is None:
        measured = classes.select("size", **figures)
    else:
        found = _figures(entries, figures)
        measured = classes.join(found, on="class", how="left")
        if measured["f0"].null_count() != classes.height - found.height:
            raise changed()
    return [_result(check, measured["size"], measured[name]) for check, name in zip(checks, figures, strict=True)]


def _result(check: Check, sizes: pl.Series, figures: pl.Series) -> Result:
    """From the figure of every class, null for a class without a present value, to what the table achieves."""
    twin = TWINS[check.model]
    figures = figures.fill_null(float("inf") if twin.below else 0)
    required = check.parameters.get(twin.parameter)
    failing = pl.Series([], dtype=pl.Int64)
    if required is not None:
        bound = required * (1 - _TOLERANCE)
        failing = sizes.filter(figures >= bound if twin.below else figures < bound)
    return Result(
        model=check.model,
        attribute=check.attribute,
        required=dict(check.parameters),
        achieved={**check.parameters, twin.parameter: _weakest(twin, figures)},
        satisfied=None if required is None else failing.is_empty(),
        failing_classes=len(failing),
        failing_rows=int(failing.sum()),
    )


def _weakest(twin: Twin, figures: pl.Series) -> float | int | None:
    """What all classes meet: the worst figure; None of no classes, and where it is infinite."""
    worst = figures.max() if twin.below else figures.min()
    if not isinstance(worst, int | float) or worst == float("inf"):
        return None
    return int(worst) if twin.whole else float(worst)
