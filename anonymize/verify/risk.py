"""How many rows each may be confused with: the sizes of classes, also where a cell that is missing or suppressed
matches anything, and the risk that somebody is re-identified in them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import polars as pl

from anonymize.records import dataclass
from anonymize.verify.numbering import whole
from anonymize.verify.table import TextRows, entries_of, values_of
from anonymize.verify.verdict import Figures, Subject

# --- classes ----------------------------------------------------------------------------------------------------------

WORSE: dict[str, Literal["higher", "lower"]] = {
    "prosecutor_max": "higher",
    "prosecutor_mean": "higher",
    "journalist_max": "higher",
    "marketer": "higher",
    "records_at_risk": "higher",
    "uniques": "higher",
}
"""The figures of a risk, and the direction in which each gets worse."""
GIVEN = "threshold"
"""The parameter that is reported with them: the risk above which a record counts as at risk."""


SIZES = (1, 2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Where the ranges of class sizes begin; the last one has no end."""

SizeRange: TypeAlias = dict[str, int | None]
"""`from` and `to` (None: no end), and the `classes` and `rows` that are of such sizes."""


def class_sizes(sizes: pl.Series) -> Figures:
    """How many classes there are, and how large they are."""
    if sizes.is_empty():
        return {"count": 0, "min_size": None, "mean_size": None, "max_size": None}
    mean = int(sizes.sum()) / len(sizes)
    return {"count": len(sizes), "min_size": whole(sizes.min()), "mean_size": mean, "max_size": whole(sizes.max())}


def size_ranges(sizes: pl.Series) -> list[SizeRange]:
    """The ranges from that of the smallest class to that of the largest; none of no classes."""
    if sizes.is_empty():
        return []
    ends = [*(begin - 1 for begin in SIZES[1:]), None]
    within = [sizes.filter(sizes.is_between(low, high or sizes.max())) for low, high in zip(SIZES, ends, strict=True)]
    filled = [index for index, some in enumerate(within) if len(some)]
    return [
        {"from": SIZES[index], "to": ends[index], "classes": len(within[index]), "rows": int(within[index].sum())}
        for index in range(filled[0], filled[-1] + 1)
    ]


def classes_block(sizes: pl.Series) -> dict[str, Any]:
    """Number and sizes of the classes, and how many there are of each range of sizes, if there are any."""
    ranges = size_ranges(sizes)
    return {**class_sizes(sizes), **({"sizes": ranges} if ranges else {})}


def risk(sizes: pl.Series, threshold: float, own: pl.Series | None = None) -> Figures:
    """The risk of the rows, suppressed ones included. The prosecutor knows that the person is in the table: 1 / class
    size. `own`: where a missing cell matches anything, a class's rows; `sizes` are those compatible with them.

    Without a population the journalist, who does not know it, is assumed to be as well off. The marketer's is the share
    of rows that are expected to be linked correctly, which is the mean of the prosecutor's: classes / rows, or with
    `own` the mean of 1 / `sizes` over the rows.
    """
    linked, own = (float(len(sizes)), sizes) if own is None else (math.fsum(own / sizes), own)
    rows = int(own.sum())
    if not rows:
        return dict.fromkeys(WORSE, 0) | {GIVEN: threshold}
    highest, mean = 1 / whole(sizes.min()), linked / rows
    return {
        "prosecutor_max": highest,
        "prosecutor_mean": mean,
        "journalist_max": highest,
        "marketer": mean,
        "records_at_risk": int(own.filter(1 / sizes > threshold).sum()) / rows,
        "uniques": int(own.filter(sizes == 1).sum()),
        GIVEN: threshold,
    }


# --- missing as a wildcard --------------------------------------------------------------------------------------------
# A cell that is missing or suppressed matches anything.
#
# Two rows are compatible when no column has two different present values in them. That is not an equivalence relation,
# so there are no classes: each row is measured by the rows that are compatible with it, itself included. Rows that read
# the same have the same compatible rows; so classes are compared, not rows.
#
# The classes that have the same columns present share a pattern. A class of one pattern and a class of another are
# compatible where they agree on the columns that both have, which is one `group_by` and one join for each pattern and
# each set of columns that it shares with others. Patterns are few next to classes.
#
# That is the convention of sdcMicro (`freqCalc`), but for one thing: here a row with nothing present is compatible with
# all, there not with rows that have everything present.

ENTRIES = 20_000_000
"""The approximate number of entries of a histogram that are made at once."""


# --- which classes meet ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meeting:
    """Classes of one pattern, and all classes that share exactly these of its columns."""

    own: pl.DataFrame
    others: pl.DataFrame
    shared: list[str]


def meetings(keys: pl.DataFrame, columns: Sequence[str]) -> Iterator[list[Meeting]]:
    """For each pattern, its meetings with all patterns; the classes on the other side are every class, once.

    `keys`: one row a class, in `columns` its values, null where anything matches.
    """
    bits = [pl.col(name).is_not_null().cast(pl.UInt8).cast(pl.String) for name in reversed(columns)]
    marked = keys.with_columns(pattern=pl.concat_str(bits)).sort("pattern", maintain_order=True)
    parts = marked.partition_by("pattern", as_dict=True, include_key=False)
    frames = {int(bits, 2): frame for (bits,), frame in parts.items()} or {0: keys}
    for mask, own in frames.items():
        by_shared: dict[int, list[pl.DataFrame]] = {}
        for other, frame in frames.items():
            by_shared.setdefault(mask & other, []).append(frame)
        yield [
            Meeting(own, pl.concat(frames_of), [name for bit, name in enumerate(columns) if common >> bit & 1])
            for common, frames_of in by_shared.items()
        ]


def matching(keys: pl.DataFrame, columns: Sequence[str], sums: Sequence[str]) -> pl.DataFrame:
    """The columns `sums` summed over all classes compatible with each class (column `class`), in the order of `class`.
    Floats are always added in the same order, whatever the number of threads.
    """
    parts = [
        _joined(meeting.own, _summed(meeting.others, [*meeting.shared], sums), meeting.shared)
        for row in meetings(keys.sort("class"), columns)
        for meeting in row
    ]
    totals = pl.concat([part.select("class", *sums) for part in parts]).group_by("class", maintain_order=True)
    return totals.agg(pl.col(sums).sum()).sort("class")


def _summed(frame: pl.DataFrame, by: Sequence[str], sums: Sequence[str]) -> pl.DataFrame:
    totals = [pl.col(name).sum() for name in sums]
    return frame.group_by(by, maintain_order=True).agg(totals) if by else frame.select(totals)


def _joined(own: pl.DataFrame, totals: pl.DataFrame, shared: Sequence[str]) -> pl.DataFrame:
    """A pattern's own classes, joined with the sums for their values in the shared columns."""
    classes = own.select("class", *shared)
    return classes.join(totals, on=list(shared)) if shared else classes.join(totals, how="cross")


# --- the rows of a table ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matched:
    """The classes of a table, each with what it is compatible with.

    `classes`: as those of the table, but `size` counts all compatible rows (or individuals); `rows` are the class's
    own, and so is `own`, what the size was. `keys`: the number of rows that are compatible with each (`reach`), and its
    values, null where anything matches.
    """

    rows: TextRows
    classes: pl.DataFrame
    keys: pl.DataFrame
    columns: list[str]

    @classmethod
    def of(cls, rows: TextRows, classes: pl.DataFrame, wild: Sequence[str]) -> Matched:
        """The classes of rows that were read with their columns. `wild`: texts that match anything, as a null does."""
        keys = _keys(rows, wild)
        columns = [name for name in keys.columns if name != "class"]
        reach = matching(keys.with_columns(classes["rows"]), columns, ["rows"])["rows"]
        keys = keys.with_columns(reach.alias("reach"))
        sizes = reach if rows.units is None else _units(rows, keys, columns)
        return cls(rows, classes.with_columns(sizes.alias("size"), own=pl.col("size")), keys, columns)

    def pieces(self, subject: Subject, missing: Sequence[str]) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """Some classes, numbered from 0, and how often each sensitive value occurs in the rows compatible with each:
        `class`, `value`, `count`, in the order of both. Every class is in one piece."""
        entries = _entries(self.rows, subject, missing)
        for some, spread in _spread(self.keys, self.columns, entries):
            classes = self.classes[some].with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("class"))
            local = pl.col("class").replace_strict(some, classes["class"], return_dtype=pl.UInt32)
            yield classes, spread.with_columns(local).sort("class", "value")


def _keys(rows: TextRows, wild: Sequence[str]) -> pl.DataFrame:
    """One row per class, in order: `class`, and a number for what each column shows, null if anything matches."""
    first = rows.classes.firsts
    known = pl.when(~pl.col("text").is_in(list(wild))).then(pl.int_range(pl.len(), dtype=pl.UInt32))
    values = {
        f"q{place}": each.by_number.to_frame().select(known).to_series().gather(each.numbers.of_row.gather(first))
        for place, each in enumerate(rows.columns)
    }
    return pl.DataFrame(values).with_row_index("class")


def _entries(rows: TextRows, subject: Subject, missing: Sequence[str]) -> pl.DataFrame:
    """The sensitive values in each class, with the number of rows that have each; or listed with every individual that
    does."""
    if rows.units is None:
        return entries_of(rows, subject, missing)
    owners = pl.DataFrame([rows.classes.dense.of_row.cast(pl.UInt32).alias("class"), values_of(rows, subject, missing)])
    return owners.with_columns(rows.units.of_row.alias("unit")).drop_nulls("value").unique()


def _units(rows: TextRows, keys: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """The number of individuals that each class is compatible with."""
    assert rows.units is not None
    owners = pl.DataFrame([rows.classes.dense.of_row.cast(pl.UInt32).alias("class"), rows.units.of_row.alias("unit")])
    entries = owners.unique().with_columns(value=pl.lit(0, pl.UInt32))
    return pl.concat([each for _, each in _spread(keys, columns, entries)]).sort("class")["count"]


def _spread(
    keys: pl.DataFrame, columns: Sequence[str], entries: pl.DataFrame
) -> Iterator[tuple[pl.Series, pl.DataFrame]]:
    """Some classes, and the entries of everything that each is compatible with, with counts, from those of each class
    (`class`, `value`, `count` or `unit`). An individual counts once for a value, however many of its rows have it."""
    each = [name for name in ("value", "unit") if name in entries.columns]
    sums = [name for name in ("count",) if name in entries.columns]
    for row in meetings(keys, columns):
        totals = []
        for meeting in row:
            others = entries.join(meeting.others.select("class", *meeting.shared), on="class")
            totals.append(_summed(others, [*meeting.shared, *each], sums))
        for own in _slices(row[0].own):
            parts = [
                _joined(own, total, meeting.shared).select("class", *each, *sums)
                for meeting, total in zip(row, totals, strict=True)
            ]
            joined = pl.concat(parts)
            joined = joined if sums else joined.unique().with_columns(count=pl.lit(1, pl.Int64))
            yield own["class"], _summed(joined, ["class", "value"], ["count"])


def _slices(own: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The classes in slices that are compatible with about `ENTRIES` rows each; at least one slice."""
    start = 0
    for length in (own["reach"].cum_sum() // ENTRIES).rle().struct.field("len").to_list() or [0]:
        yield own[start : start + length]
        start += length
