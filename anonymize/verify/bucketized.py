"""The second opinion of a bucketized release: groups and sensitive values read from the written text.

The groups are the classes: what a person's group shows is all that the quasi-identifiers tell of the sensitive value.
Where there are two files, the sensitive table is spread out, a row for each that it counts, and both have to have the
same groups with the same numbers of rows. The risk of re-identification is that of the quasi-identifiers, which are
published as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from anonymize.errors import DataError
from anonymize.verify.measuring import measure
from anonymize.verify.table import by_position
from anonymize.verify.verdict import THRESHOLD, Check, Verdict

COUNT = "count"


@dataclass(frozen=True)
class Reading:
    """How the text is read: the column of groups, what means missing, whether a null does, whether texts
    are normalized."""

    group: str
    missing: Sequence[str] = ("",)
    null_missing: bool = True
    threshold: float = THRESHOLD
    normalize: bool = False


def measure_bucketized(
    table: pl.LazyFrame,
    sensitive: pl.LazyFrame | None,
    quasi_identifiers: Sequence[str],
    checks: Sequence[Check],
    reading: Reading,
) -> Verdict:
    """Measures the groups of a table against models of sensitive values.

    `table`: the QIT, or all in one file. `sensitive`: the ST with the columns of groups, of a sensitive attribute, and
    `count`; None where the table has the sensitive values. Raises DataError where the files do not belong together, or
    counts are not whole numbers above 0.
    """
    values = table if sensitive is None else _spread(table, sensitive, reading.group)
    given = {
        "threshold": reading.threshold,
        "null_missing": reading.null_missing,
        "normalize": reading.normalize,
    }
    grouped = measure(values, [reading.group], checks, reading.missing, suppressed="\0", **given)  # type: ignore[arg-type]
    people = measure(table, quasi_identifiers, [], reading.missing, suppressed="\0", **given)  # type: ignore[arg-type]
    return replace(grouped, risk=people.risk)


def _spread(table: pl.LazyFrame, sensitive: pl.LazyFrame, group: str) -> pl.LazyFrame:
    """The sensitive table with a row for each that it counts, once its groups are those of the table."""
    columns = by_position(sensitive)
    count = columns.pop(COUNT).cast(pl.String).cast(pl.Int64, strict=False)
    names = {str(number): name for number, name in enumerate(columns)}
    texts = [column.cast(pl.String).alias(key) for key, column in zip(names, columns.values(), strict=True)]
    counted = sensitive.select(*texts, count=count).collect()
    wrong = int((counted[COUNT].fill_null(0) < 1).sum())
    if wrong:
        raise DataError(f"{wrong} counts of the sensitive table are not whole numbers above 0")
    groups = table.select(group=by_position(table)[group].cast(pl.String)).group_by("group").agg(pl.len())
    own = next(key for key, name in names.items() if name == group)
    check_together(groups.collect(engine="streaming"), counted.select(pl.col(own).alias("group"), COUNT))
    spread = counted.lazy().select(pl.col(list(names)).repeat_by(COUNT)).explode(list(names))
    return spread.rename(names)


def check_together(groups: pl.DataFrame, counts: pl.DataFrame) -> None:
    """Raises DataError unless the sensitive table has the groups of the QIT, with as many rows in each.

    `groups`: `group`, and `len`, the rows of each. `counts`: `group` and `count`, in any order.
    """
    totals = counts.group_by("group").agg(listed=pl.col(COUNT).sum())
    rows = groups.select("group", rows=pl.col("len").cast(pl.Int64))
    both = totals.join(rows, on="group", how="full", nulls_equal=True)
    off = both.filter(pl.col("listed").ne_missing(pl.col("rows"))).height
    if off:
        raise DataError(
            f"{off} groups have other numbers of rows in the sensitive table: the files do not belong together"
        )
