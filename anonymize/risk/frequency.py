"""The frequency set of a table, its distinct combinations of quasi-identifiers with what stands behind each; and the
risk of the input, with which that of the release is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Floats, Ints, first_of_each, mixed_radix, run_starts
from anonymize.parallel import occurrences
from anonymize.records import dataclass
from anonymize.table import Table
from anonymize.table.columns import tidy
from anonymize.table.named import column

DENSE_PER_ROW = 4
DENSE = 1 << 16
"""Keys are renumbered by a table if it has at most this many cells per row, or this many in all; else by a sort."""


@dataclass(frozen=True)
class TextFrequencySet:
    """C distinct combinations, in the order in which they first occur.

    `codes` (attributes, C) uint32, equal where the texts are; `spans` (attributes,) one more than the largest code;
    `counts` (C,) rows of each combination, at least one; `weights` (C,) the sum of the rows' sampling weights, None
    without them. `of_row` (rows of the table,): the combination of each row, None unless that was wanted.
    """

    codes: NDArray[np.uint32]
    spans: tuple[int, ...]
    counts: Ints
    weights: Floats | None = None
    of_row: Ints | None = None

    @property
    def rows(self) -> int:
        """Rows of the table; of one with units, individuals with each combination."""
        return int(self.counts.sum())

    @classmethod
    def of(
        cls,
        frame: pl.LazyFrame | pl.DataFrame,
        attributes: Sequence[Sequence[str]],
        *,
        fill: str | None = None,
        wild: Sequence[str] = (),
        weight: pl.Expr | None = None,
        units: pl.Series | None = None,
        normalize: bool = False,
        by_row: bool = False,
    ) -> TextFrequencySet:
        """The frequency set of a table's text, read in one streaming pass.

        `attributes`: the columns of each quasi-identifier, which is more than one where a number is shown as bounds.
        `fill`: the text that a null is the same as; None: a null is a separate value. `wild`: texts that are the same
        as a null, whose code is 0. `weight`: the sampling weights, all of which are texts of numbers. `units` (rows,):
        the individual that each row is about; among the rows of one individual with the same combination only the first
        counts. `normalize`: texts are compared normalized. `by_row`: which combination each row has is kept.
        """
        names = [(name, pl.Categories.random()) for columns in attributes for name in columns]
        query = [_code(*each, fill, wild).alias(f"c{number}") for number, each in enumerate(names)]
        if weight is not None:
            query.append(weight.str.strip_chars().cast(pl.Float64).alias("weight"))
        rows = frame.lazy().select(query).collect(engine="streaming")
        codes = [rows[f"c{number}"].to_numpy() for number in range(len(names))]
        if normalize:
            codes = [_tidy(own, categories, wild) for own, (_, categories) in zip(codes, names, strict=True)]
        columns = _by_attribute(codes, [len(columns) for columns in attributes])
        weights = None if weight is None else rows["weight"].to_numpy()
        once: slice | Ints = slice(None)
        if units is not None:
            people = units.cast(pl.String).cast(pl.Categorical(pl.Categories.random())).to_physical().to_numpy()
            once = np.sort(_firsts(*_combined([*columns, people])))
        counted = _counted([each[once] for each in columns], None if weights is None else weights[once])
        return replace(counted, of_row=_in_order(*_combined(columns))) if by_row else counted


def _firsts(labels: Ints, count: int) -> Ints:
    """(count,) the first row that has each label: rows are written in descending order, the first one last."""
    first = np.empty(count, np.int64)
    first[labels[::-1]] = np.arange(len(labels) - 1, -1, -1)
    return first


def _in_order(labels: Ints, count: int) -> Ints:
    """The labels, numbered in the order in which they first occur."""
    place = np.empty(count, np.int64)
    place[np.argsort(_firsts(labels, count))] = np.arange(count)
    return place[labels]


def _tidy(codes: NDArray[np.uint32], categories: pl.Categories, wild: Sequence[str]) -> NDArray[np.uint32]:
    """The codes of a column with one for all texts that are compared as the same one."""
    plain = categories.to_series().cast(pl.String)
    texts = tidy(plain)
    if texts.equals(plain):
        return codes
    number = {text: code for code, text in reversed(list(enumerate(texts.to_list(), 1)))} | dict.fromkeys(wild, 0)
    return np.array([0, *(number[text] for text in texts.to_list())], np.uint32)[codes]


def _code(name: str, categories: pl.Categories, fill: str | None, wild: Sequence[str]) -> pl.Expr:
    text = column(name).cast(pl.String)
    text = text if fill is None else text.fill_null(fill)
    text = pl.when(~text.is_in(list(wild))).then(text) if wild else text
    return (text.cast(pl.Categorical(categories)).to_physical().cast(pl.UInt32) + 1).fill_null(0)


def _by_attribute(codes: list[NDArray[np.uint32]], columns: list[int]) -> list[NDArray[Any]]:
    """The codes of each attribute; several columns become a number for each combination."""
    by_attribute: list[NDArray[Any]] = []
    for count in columns:
        mine, codes = codes[:count], codes[count:]
        by_attribute.append(mine[0] if count == 1 else _combined(mine)[0].astype(np.uint32))
    return by_attribute


def _counted(columns: list[NDArray[Any]], weights: Floats | None) -> TextFrequencySet:
    labels, count = _combined(columns)
    first = _firsts(labels, count)
    order = np.argsort(first)
    return TextFrequencySet(
        codes=np.array([column[first[order]] for column in columns], np.uint32).reshape(len(columns), count),
        spans=tuple(int(column.max(initial=0)) + 1 for column in columns),
        counts=np.bincount(labels, minlength=count)[order],
        weights=None if weights is None else np.bincount(labels, weights, minlength=count).astype(np.float64)[order],
    )


def _combined(columns: list[NDArray[Any]]) -> tuple[Ints, int]:
    """(rows,) a number for each combination of the columns' codes, and how many there are."""
    labels, count = np.zeros(len(columns[0]), np.int64), min(len(columns[0]), 1)
    for codes in columns:
        labels, count = refined(labels, count, codes, int(codes.max(initial=0)) + 1)
    return labels, count


def refined(labels: Ints, count: int, codes: NDArray[Any], span: int) -> tuple[Ints, int]:
    """Groups parted by one more attribute: (rows,) the group of each row, from 0, and how many there are. `labels`
    (rows,) are below `count`, `codes` (rows,) below `span`."""
    keys = labels * span + codes
    if count * span > max(DENSE_PER_ROW * len(keys), DENSE):
        distinct, numbers = np.unique(keys, return_inverse=True)
        return numbers.astype(np.int64), len(distinct)
    seen = np.zeros(count * span, np.bool_)
    seen[keys] = True
    number = np.cumsum(seen) - 1
    return number[keys], int(number[-1]) + 1 if len(number) else 0


# --- before -----------------------------------------------------------------------------------------------------------
# The risk of the input, with which that of the release is compared.
#
# A class is everybody with the same values of all quasi-identifiers, missing being a separate value. The figures are
# defined as those of the release are (`docs/report.md`). They are counts of the input and belong in a private report.

TOGETHER = 1 << 20
"""Rows that are counted at once, about; more where they have the same code in the attribute of most codes."""

Sizes: TypeAlias = Counter[int]
"""How many classes there are of each size."""


def sizes_before(table: Table, together: int = TOGETHER) -> Sizes:
    """How many classes there are of each size, in rows or individuals, counting `together` rows at once."""
    sizes: Sizes = Counter()
    for rows in _parts(table, together):
        sizes += _sizes(table, rows)
    return sizes


def risk_before(sizes: Sizes, threshold: float) -> dict[str, Any]:
    """Figures of the input from the sizes of its classes; a record is at risk above the `threshold`."""
    individuals = sum(size * count for size, count in sizes.items())
    if not individuals:
        return {"classes": 0, "prosecutor_max": 0.0, "prosecutor_mean": 0.0, "records_at_risk": 0.0, "uniques": 0}
    at_risk = sum(size * count for size, count in sizes.items() if 1 / size > threshold)
    return {
        "classes": sizes.total(),
        "prosecutor_max": 1 / min(sizes),
        "prosecutor_mean": sizes.total() / individuals,
        "records_at_risk": at_risk / individuals,
        "uniques": sizes[1],
    }


def _parts(table: Table, together: int) -> Iterator[slice | NDArray[np.int64]]:
    """The rows by ranges of the codes of the attribute that has most of them: rows of one class are in one part."""
    leader = max(table.attributes, key=lambda each: each.domain.size)
    if table.rows <= together:
        yield slice(None)
        return
    pieces = (leader.codes[start : start + together] for start in range(0, table.rows, together))
    counts = occurrences(pieces, leader.domain.size)
    part_of = (np.cumsum(counts) - counts) // together
    starts = run_starts(part_of)
    for start, stop in zip(starts.tolist(), np.append(starts[1:], len(counts)).tolist(), strict=True):
        rows = np.flatnonzero((leader.codes >= start) & (leader.codes < stop))
        if len(rows):
            yield rows


def _sizes(table: Table, rows: slice | NDArray[np.int64]) -> Sizes:
    """The sizes of the classes of some rows: codes in mixed radix are equal if and only if the rows read the same."""
    sizes_of_domains = [each.domain.size for each in table.attributes]
    keys, _ = mixed_radix([each.codes[rows] for each in table.attributes], sizes_of_domains)
    if table.units is not None:
        keys = keys[first_of_each(keys, table.units[rows])]
    keys.sort()
    sizes, counts = np.unique(np.diff(run_starts(keys), append=len(keys)), return_counts=True)
    return Counter(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))
