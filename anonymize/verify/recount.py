"""The input of tables, counted again from its text, and the tables as they were written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count, pairwise
from math import floor, log10
from pathlib import Path
from typing import TypeAlias

import polars as pl

from anonymize.claims import Result
from anonymize.records import dataclass
from anonymize.spec import Spec, model, tabulation
from anonymize.verify.cells import with_point
from anonymize.verify.table import by_position, plain, text_of

Group: TypeAlias = frozenset[tuple[str, str]]
"""A group of any table: columns with what they read, without those that read as the total."""
Paths: TypeAlias = Mapping[str, Mapping[str | None, tuple[str, ...]]]
"""By column and value, the labels that it is counted under, the total last."""


# --- the input, counted again -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recount:
    """The input of tables. `frame`: its text; `form`: its format; `paths`: see `Paths`; `total`: how a total reads;
    `fewest`: the individuals of a group that is not small, where the rules do not say; `units`: (rows,) whom each row
    is about; None: somebody else each. `secret`: that record keys are made with; `differential`: the bound
    that is required."""

    frame: pl.LazyFrame
    form: str
    spec: Spec
    paths: Paths
    total: str
    fewest: int
    units: pl.Series | None = None
    secret: bytes | None = None
    differential: model.EpsilonDelta | None = None

    @property
    def tabulate(self) -> tabulation.Tabulation:
        assert self.spec.tabulate is not None
        return self.spec.tabulate

    def groups(
        self, by: Sequence[str], column: str | None, several: int = 0, *, having: bool = False
    ) -> dict[Group, Counted]:
        """What every group of a table comes to. `column`: whose numbers are summed, None for rows, or individuals if
        these are what counts; `having`: the rows that have a number in it are counted. `several`: how many of the
        largest contributions are wanted."""
        rows, names = self._rows(by, column, having=having), [str(place) for place in range(len(by))]
        owned = rows.group_by([*names, "who"]).agg(pl.col("amount").sum()) if self.units is not None else rows
        if column is None and self.units is not None and self.tabulate.counted == "individuals":
            owned = owned.with_columns(pl.lit(1.0).alias("amount"))
        counted = (
            owned.group_by(names)
            .agg(
                pl.col("amount").sum().alias("value"),
                pl.len().alias("individuals"),
                pl.col("amount").abs().sum().alias("whole"),
                pl.col("amount").abs().top_k(several).sort(descending=True).alias("largest"),
                pl.col("amount").min().alias("least"),
                pl.col("who").first().cast(pl.String).alias("sole"),
            )
            .collect()
        )
        return {
            self.group(by, labels): Counted(
                value, individuals, whole, tuple(largest), least < 0, sole if self.units is not None else None
            )
            for *labels, value, individuals, whole, largest, least, sole in counted.iter_rows()
        }

    def group(self, by: Sequence[str], labels: Iterable[str]) -> Group:
        """The group that some labels name."""
        return frozenset((name, label) for name, label in zip(by, labels, strict=True) if label != self.total)

    def key_sums(self, by: Sequence[str], keys: pl.Series) -> dict[Group, int]:
        """By group the sum of the record keys of the individuals in it, each once. `keys`: (rows,) of each row."""
        rows, names = self._rows(by, None, having=False, keys=keys), [str(place) for place in range(len(by))]
        owned = rows.group_by([*names, "who"]).agg(pl.col("key").first()) if self.units is not None else rows
        summed = owned.group_by(names).agg(pl.col("key").sum()).collect()
        return {self.group(by, labels): total for *labels, total in summed.iter_rows()}

    def column(self, name: str) -> pl.Series:
        return self.frame.select(by_position(self.frame)[name].cast(pl.String)).collect().to_series().str.strip_chars()

    def identities(self) -> list[tuple[str | None, ...]]:
        """By row, whom it is about: the unit, or all that it says, and which of its like it is."""
        if self.spec.unit is not None:
            texts = self.frame.select(self._text(self.spec.unit)).collect().to_series()
            return [(text,) for text in texts]
        places, seen = by_position(self.frame), defaultdict[tuple[str | None, ...], Iterator[int]](count)
        rows = self.frame.select(self._raw(name).alias(str(place)) for place, name in enumerate(places)).collect()
        return [(*row, str(next(seen[row]))) for row in rows.iter_rows()]

    def of_units(self, keys: pl.Series) -> pl.Series:
        """(rows,) the keys of rows, of one individual the least."""
        if self.units is None:
            return keys
        frame = pl.DataFrame({"key": keys, "who": self.units})
        return frame.select(pl.col("key").min().over("who")).to_series()

    def last_digit(self, column: str) -> float:
        """The value of the last digit that numbers of a column have; 1 where they have more than six decimals."""
        numbers = self.frame.select(self._amount(column).unique()).collect().to_series().drop_nulls().to_list()
        for digits in range(7):
            power = 10.0**digits
            if all(abs(each * power - round(each * power)) <= 1e-9 + 1e-12 * abs(each * power) for each in numbers):
                return 1 / power
        return 1.0

    def _rows(
        self, by: Sequence[str], column: str | None, *, having: bool, keys: pl.Series | None = None
    ) -> pl.LazyFrame:
        """Of each row that counts, once for each group that it is in: the labels of the columns in `by` (`0`, `1`,
        ...), an `amount`, `who` it is about, and where they are wanted its `key`."""
        texts = [self._text(name).alias(str(place)) for place, name in enumerate(by)]
        more = [] if keys is None else [pl.lit(keys).alias("key")]
        frame = self.frame.select(*texts, self._amount(column), self._who(), *more)
        frame = frame.filter(pl.col("amount").is_not_null())
        for place, name in enumerate(by):
            labels = self._labels_of(name, str(place))
            frame = frame.join(labels, on=str(place), how="left", nulls_equal=True).drop(str(place))
            frame = frame.rename({"labels": str(place)})
        for place in range(len(by)):
            frame = frame.explode(str(place))
        return frame.with_columns(pl.lit(1.0).alias("amount")) if having else frame

    def _labels_of(self, name: str, key: str) -> pl.LazyFrame:
        """The labels that each different text of a column is counted under."""
        texts = self.frame.select(self._text(name)).unique().collect().to_series().to_list()
        numeric = self.spec.quasi_identifiers[name].type == "numeric"  # looked up by their shortest texts
        values = [repr(float(each) + 0.0) if numeric and each is not None else each for each in texts]
        labels = [list(self.paths[name][each]) for each in values]
        kinds = {key: pl.String(), "labels": pl.List(pl.String())}
        return pl.LazyFrame({key: texts, "labels": labels}, schema=kinds)

    def _text(self, name: str) -> pl.Expr:
        """A column as it is compared, null where it is missing."""
        missing, text = self.spec.missing(self.form, name), self._raw(name)
        text = plain(text) if self.spec.normalizes(name) else text
        return with_point(pl.when(~text.is_in(list(missing.texts))).then(text), self.spec.notation(name))

    def _raw(self, name: str) -> pl.Expr:
        """A column as its texts stand; a null is the empty text where it does not mean that a value is missing."""
        column = by_position(self.frame)[name]
        if self.frame.collect_schema()[name].is_float():  # -0 is 0
            column = pl.when(column == 0).then(column.abs()).otherwise(column)
        text = column.cast(pl.String)
        return text if self.spec.missing(self.form, name).null else text.fill_null("")

    def _amount(self, column: str | None) -> pl.Expr:
        if column is None:
            return pl.lit(1.0).alias("amount")
        return self._text(column).str.strip_chars().cast(pl.Float64).alias("amount")

    def _who(self) -> pl.Expr:
        return pl.lit(0 if self.units is None else self.units).alias("who")


@dataclass(frozen=True)
class Counted:
    """What a group comes to: its value, the individuals in it, their contributions without signs, the largest of these
    in falling order, whether one is below 0, and of an input with units who one of them is."""

    value: float
    individuals: int
    whole: float
    largest: tuple[float, ...]
    signed: bool
    one: str | None = None


NOBODY = Counted(0.0, 0, 0.0, (), False)


# --- the tables as they were written ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class WrittenTable:
    """A table in a file. `measured`: what the spec says of it; `decimal`: the sign before fractions."""

    path: Path
    separator: str
    measured: tabulation.TabulatedMeasure
    decimal: str = "."

    @cached_property
    def _frame(self) -> pl.DataFrame:
        """The file as text: the labels, the value, the status, and a margin where there is one."""
        return text_of(self.path, "csv", self.separator).collect()

    def margins(self) -> list[float | None]:
        """By row, the half of an interval of each figure; none in a file without such a column."""
        margined = self._frame.width > len(self.measured.by) + 2
        return self._numbers(2) if margined else []

    def rows(self, recount: Recount) -> dict[Group, float | None]:
        """The value of every group, None where it is blank."""
        return dict(zip(self._groups(recount), self._numbers(0), strict=True))

    def half_digit(self, recount: Recount) -> float:
        """By how much rounding has moved a share or a mean, at most, without noise: to the decimals of the spec, else
        to so many that the largest mean has four digits that count, and the smallest share above 0 two."""
        digits, sizes = recount.tabulate.digits, [abs(each) for each in self._numbers(0) if each]
        if digits is None and self.measured.measure == "share":
            digits = max(3, 1 - floor(log10(min(sizes, default=1.0))))
        return half_of(max(0, 3 - floor(log10(max(sizes, default=1.0)))) if digits is None else digits)

    def empty(self, recount: Recount) -> set[Group]:
        """The groups that are said to have nobody."""
        statuses = self._column(1).to_list()
        return {group for group, each in zip(self._groups(recount), statuses, strict=True) if each == "empty"}

    def _groups(self, recount: Recount) -> list[Group]:
        labels = [self._column(place).fill_null("").to_list() for place in range(-len(self.measured.by), 0)]
        return [recount.group(self.measured.by, each) for each in zip(*labels, strict=True)]

    def _numbers(self, place: int) -> list[float | None]:
        return self._column(place).str.replace(self.decimal, ".", literal=True).cast(pl.Float64).to_list()

    def _column(self, place: int) -> pl.Series:
        """A column of the file, by its place behind the labels."""
        return self._frame.to_series(len(self.measured.by) + place)


@dataclass(frozen=True)
class TableAudit:
    """What the tables tell. `results`: whether every unsafe group is as uncertain as was asked; `figures`: by measure
    how many groups are blank, how many of these are unsafe, and the narrowest of their intervals as a share of what was
    asked."""

    results: tuple[Result, ...]
    figures: Mapping[str, Mapping[str, float | int | None]]


def half_of(digits: int | None) -> float:
    """By how much rounding to so many decimals may move a figure; 0 where nothing is rounded."""
    return 0.0 if digits is None else 0.5 * 10.0**-digits


def children(paths: Iterable[tuple[str, ...]]) -> dict[str, list[str]]:
    """By label those right below it, of the labels from each value to the total."""
    below: dict[str, dict[str, None]] = defaultdict(dict)
    for path in paths:
        for lower, upper in pairwise(path):
            below[upper][lower] = None
    return {label: list(each) for label, each in below.items()}
