"""The joint table that a recipient estimates from a release, and the original's: the same terms for all kinds of
release.

The axes are the leaves of quasi-identifiers and the values of one sensitive attribute. What a recipient estimates:

- of a generalized release: every class spread evenly over the leaves of its region (`OfClasses`, in `evidence`);
- of a bucketized release: the sensitive values of each group spread evenly over its rows (`ValueBuckets`);
- of a release through channels: P^-1 lambda, by the parameters that come with it; a category of several leaves
  (`level`, `bins`) spread evenly over them (`of_channels`).

Each works on the released text and the original's encoded table. Rows need not stand in the original's order.

Source: Guo, Ying, Wu, section V.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
import polars as pl

from anonymize.channels.estimate import Method, estimate
from anonymize.classes import Floats, Integers, Ints, mixed_radix
from anonymize.domain.cells import numbers
from anonymize.domain.grid import texts as grid_texts
from anonymize.domain.levels import Categories
from anonymize.domain.numeric import Numeric
from anonymize.errors import DataError
from anonymize.meaning import Channel, Manifest
from anonymize.metrics import distributions
from anonymize.records import dataclass
from anonymize.table import Attribute, SensitiveColumn
from anonymize.table.named import unnamed

MOST_CELLS = 20_000_000
"""Cells of the largest joint table that is compared."""


class Joint(Protocol):
    """A joint table, in the original and as a recipient estimates it, over all axes or some."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the axes: quasi-identifiers, then the other attribute, if there is one."""

    @property
    def rows(self) -> int:
        """Rows of the original."""

    def cells(self, chosen: Sequence[int]) -> float:
        """Cells of the largest table that is made for some axes."""

    def tables(self, chosen: Sequence[int]) -> tuple[Floats, Floats]:
        """Counts of the original, and those estimated; with the chosen axes, in ascending order."""


@dataclass(frozen=True)
class Axes:
    """The axes of a joint table: the quasi-identifiers of an encoded table, and one of its sensitive attributes.

    `missing`: the texts that mean missing; a null does, too.
    """

    attributes: tuple[Attribute, ...]
    sensitive: SensitiveColumn
    missing: Collection[str] = ("",)

    @property
    def names(self) -> list[str]:
        """The names of the attributes, the sensitive one last."""
        return [*(attribute.name for attribute in self.attributes), self.sensitive.name]

    @property
    def shape(self) -> tuple[int, ...]:
        """Leaves of each quasi-identifier, values of the sensitive attribute."""
        return (*(attribute.domain.size for attribute in self.attributes), self.sensitive.size)

    @cached_property
    def original(self) -> Floats:
        """(*shape) the rows of each cell, of the encoded table."""
        return _counts([*(attribute.codes for attribute in self.attributes), self.sensitive.codes], self.shape)

    # --- texts ---

    def leaves(self, attribute: Attribute, texts: pl.Series) -> Ints:
        """(rows,) the leaf that each text is the value of. Raises DataError for texts that are not values."""
        domain = attribute.domain
        if isinstance(domain, Numeric):
            if domain.lowest_open or domain.highest_open:
                codes = dict(zip(domain.leaf_text(), grid_texts(domain.values), strict=False))
                texts = texts.cast(pl.String).replace(codes)
            return self._numbers(texts, domain.values.astype(np.float64), domain.missing)
        return self._labels(texts, domain.leaf_text(), domain.missing)

    def values(self, texts: pl.Series) -> Ints:
        """(rows,) the sensitive value of each text. Raises DataError for texts that are not values."""
        column = self.sensitive
        if column.values is None:
            return self._labels(texts, column.texts, column.missing)
        return self._numbers(texts, column.values[: column.size - (column.missing is not None)], column.missing)

    def _labels(self, texts: pl.Series, labels: Sequence[str], missing: int | None) -> Ints:
        return self._known(texts, _places(unnamed(texts).cast(pl.String), labels), missing)

    def _numbers(self, texts: pl.Series, values: Floats, missing: int | None) -> Ints:
        released = numbers(unnamed(texts)).fill_null(np.nan).to_numpy()
        codes = np.minimum(np.searchsorted(values, released), max(len(values) - 1, 0))
        occurs = values[codes] == released if len(values) else np.zeros(len(released), np.bool_)
        return self._known(texts, pl.Series(np.where(occurs, codes, -1)).replace(-1, None), missing)

    def _known(self, texts: pl.Series, codes: pl.Series, missing: int | None) -> Ints:
        """The codes, with that of missing for the texts that mean it."""
        if missing is not None:
            plain = unnamed(texts)
            absent = plain.is_null() | plain.cast(pl.String).is_in(list(self.missing))
            codes = pl.select(pl.when(absent).then(missing).otherwise(codes).cast(pl.Int64)).to_series()
        unknown = codes.null_count()
        if unknown:
            raise DataError(f"{texts.name}: {unknown} cells of the release are not values of the original")
        return codes.to_numpy().astype(np.int64)


def _counts(columns: Sequence[Integers], shape: Sequence[int]) -> Floats:
    """(*shape) the rows of each combination of codes."""
    place, _ = mixed_radix(columns, shape)
    return np.bincount(place, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def _places(texts: pl.Series, labels: Sequence[str]) -> pl.Series:
    """(rows,) where each text is among the labels, null for one that is not."""
    return texts.replace_strict(list(labels), list(range(len(labels))), default=None, return_dtype=pl.Int64)


# --- estimates -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ValueBuckets:
    """A bucketized release, each of its columns turned into codes once, whatever tables are made of it.

    `axes`: of the original, all quasi-identifiers and the sensitive attribute. `rows`: quasi-identifiers as text, and
    the column `group`. `listed`: the sensitive table, as `listing` makes it.
    """

    axes: Axes
    rows: pl.DataFrame
    listed: pl.DataFrame
    group: str

    @cached_property
    def codes(self) -> dict[str, Ints]:
        """By quasi-identifier: (rows,) the leaf of each row. Raises DataError for texts that are not values."""
        return {each.name: self.axes.leaves(each, self.rows[each.name]) for each in self.axes.attributes}

    @cached_property
    def groups(self) -> tuple[Ints, tuple[Ints, Ints, Floats]]:
        """(rows,) the number of each row's group; of the sensitive table the group, the value and the count of each
        entry, sorted by group. Raises DataError for groups that are not listed, and for texts that are not values."""
        number = self.listed.select(pl.col("group").unique().sort()).with_row_index("owner")
        named = pl.DataFrame({"group": self.rows[self.group].cast(pl.String)})
        keys = named.join(number, on="group", how="left", maintain_order="left")["owner"]
        if keys.null_count():
            raise DataError(f"{keys.null_count()} rows belong to groups that the sensitive table does not have")
        values = pl.Series(self.axes.values(self.listed["value"].alias(self.axes.sensitive.name)))
        entries = self.listed.with_columns(value=values).join(number, on="group").sort("owner", "value")
        owner, value = (entries[name].to_numpy().astype(np.int64) for name in ("owner", "value"))
        return keys.to_numpy().astype(np.int64), (owner, value, entries["count"].cast(pl.Float64).to_numpy())

    def estimate(self, axes: Axes) -> Floats:
        """(*shape) rows of some of the axes, the sensitive one among them."""
        owners, entries = self.groups
        cells, size = mixed_radix([self.codes[each.name] for each in axes.attributes], axes.shape[:-1])
        table = distributions.spread_of_groups(cells, owners, entries, size, axes.sensitive.size)
        return table.reshape(axes.shape)

    def count(self, axes: Axes) -> Floats:
        """(*shape without the last) rows of some quasi-identifiers, which are released as they are."""
        return _counts([self.codes[each.name] for each in axes.attributes], axes.shape[:-1])


def listing(rows: pl.DataFrame, group: str, sensitive: str, count: str | None = None) -> pl.DataFrame:
    """A sensitive table: `group` as text, `value`, and `count`, which is that of the rows where no column has it."""
    plain = pl.DataFrame({"group": rows[group].cast(pl.String), "value": rows[sensitive]})
    if count is None:
        return plain.group_by("group", "value").agg(count=pl.len())
    return plain.with_columns(count=rows[count])


def of_channels(axes: Axes, rows: pl.DataFrame, manifest: Manifest, method: Method = "inverse") -> Floats:
    """(*shape) rows, by a method of `reconstruct`: the unbiased `inverse` may have negative cells.

    `rows`: every attribute as text.
    """
    channels = manifest.named(axes.names)
    every: list[Attribute | SensitiveColumn] = [*axes.attributes, axes.sensitive]
    codes: list[Ints] = []
    sizes: list[int] = []
    for each, subject in zip(channels, every, strict=True):
        codes.append(categories_shown(axes, each, subject, rows[each.name]))
        sizes.append(axes.shape[len(sizes)] if each.values is None else len(each.values))
    observed = _counts(codes, sizes) / max(rows.height, 1)
    table = estimate(observed, [each.p for each in channels], method) * rows.height
    for axis, (each, subject) in enumerate(zip(channels, every, strict=True)):
        if each.values is not None:
            table = _spread(table, axis, categories_of(each.values, subject))
    return table


def categories_shown(axes: Axes, channel: Channel, subject: Attribute | SensitiveColumn, texts: pl.Series) -> Ints:
    """(rows,) which of its categories each text is, or which leaf where the attribute was left alone."""
    if channel.values is None:
        return axes.leaves(subject, texts) if isinstance(subject, Attribute) else axes.values(texts)
    codes = _places(unnamed(texts).cast(pl.String).fill_null(""), channel.values)
    if unknown := codes.null_count():
        raise DataError(f"{channel.name}: {unknown} cells of the release are not among its parameters' values")
    return codes.to_numpy().astype(np.int64)


def categories_of(values: Sequence[str], subject: Attribute | SensitiveColumn) -> Ints:
    """(size,) which of the values each code of the original is in, -1 for none. Raises DataError for unknown values."""
    categories = subject.categories if isinstance(subject, Attribute) else Categories.of(subject.texts)
    unknown = len(set(values) - set(categories.texts))
    if unknown:
        raise DataError(f"{subject.name}: {unknown} values of the parameters are not categories of the original")
    number_of = {value: number for number, value in enumerate(values)}
    return np.array([number_of.get(text, -1) for text in categories.texts], np.int64)[categories.of_code]


def _spread(table: Floats, axis: int, category: Ints) -> Floats:
    """The table with an axis of categories turned into one of codes, each category spread evenly over its codes."""
    has_category = category >= 0
    codes = np.bincount(category[has_category], minlength=table.shape[axis])
    share = np.where(has_category, 1 / np.maximum(codes, 1)[category], 0.0)
    wide = [1] * table.ndim
    wide[axis] = len(category)
    return np.take(table, category, axis=axis) * share.reshape(wide)


@dataclass(frozen=True)
class Estimated:
    """The joint table of a release whose recipient estimates it by a function of the axes. A table of some axes is
    summed from that of all, of which negative cells have been set to 0. Where that is too large it is estimated by
    itself, with the sensitive attribute."""

    axes: Axes
    estimate: Callable[[Axes], Floats]
    count: Callable[[Axes], Floats] | None = None
    """The table of some axes without the sensitive attribute, where that is known without an estimate."""

    @property
    def names(self) -> list[str]:
        """The names of the axes, the sensitive attribute last."""
        return self.axes.names

    @property
    def rows(self) -> int:
        """Rows of the original."""
        return len(self.axes.sensitive.codes)

    def cells(self, chosen: Sequence[int]) -> float:
        """Cells of the table of some axes with the sensitive attribute."""
        return float(np.prod(self._some(chosen).shape, dtype=np.float64))

    def tables(self, chosen: Sequence[int]) -> tuple[Floats, Floats]:
        """Counts of the original, and those estimated."""
        every = range(len(self.names))
        if len(chosen) == len(every):
            return self.axes.original, self._whole
        some = self._some(chosen)
        if self.cells(every) <= MOST_CELLS:
            others = tuple(axis for axis in every if axis not in chosen)
            return self.axes.original.sum(axis=others), np.maximum(self._whole, 0.0).sum(axis=others)
        if every[-1] in chosen:
            return some.original, self.estimate(some)
        estimated = self.estimate(some).sum(axis=-1) if self.count is None else self.count(some)
        return some.original.sum(axis=-1), estimated

    @cached_property
    def _whole(self) -> Floats:
        return self.estimate(self.axes)

    def _some(self, chosen: Sequence[int]) -> Axes:
        every = self.axes.attributes
        return replace(self.axes, attributes=tuple(every[axis] for axis in chosen if axis < len(every)))
