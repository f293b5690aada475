"""What the `reconstruct` command does: from a randomized table and its parameters to what the original was like.

The table is read once; of its rows only the joint counts of the attributes that are asked for are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import mixed_radix
from anonymize.errors import DataError, Problem, UsageError
from anonymize.randomization import estimate, where
from anonymize.randomization.estimate import About, Count, Method
from anonymize.randomization.interval import interval
from anonymize.randomization.kronecker import Floats
from anonymize.randomization.parameters import DistortedAttribute, Parameters
from anonymize.randomization.where import Comparison
from anonymize.spec import make
from anonymize.table import Source
from anonymize.table.named import column
from anonymize.table.roles import columns_in

MOST_CELLS = 50_000_000
PIECE = 500_000
"""Cells of a piece of the written table."""
FIGURES = ("count", "standard_error")


@dataclass(frozen=True)
class Observed:
    """The joint distribution of some attributes in the randomized table: an axis for each, with its values."""

    attributes: tuple[DistortedAttribute, ...]
    values: tuple[tuple[str, ...], ...]
    shares: Floats
    rows: int

    @property
    def p(self) -> list[float]:
        """The parameter of each attribute."""
        return [each.p for each in self.attributes]


@dataclass(frozen=True)
class Answer:
    """How many rows of the original meet a condition, and the confidence interval of that."""

    where: str
    count: float
    standard_error: float
    low: float
    high: float


def observe(path: str, parameters: Parameters, names: Sequence[str], separator: str | None = None) -> Observed:
    """The joint distribution of some attributes ("-": of the table on standard input).

    Raises UsageError for attributes that there are not, or whose joint table is too large; DataError for a table that
    cannot be read, has other values than the parameters say, or another number of rows.
    """
    attributes = parameters.named(list(names))
    with Source.open(_spec(attributes, separator or parameters.separator), path) as source:
        _check_columns(source, attributes)
        source.check()
        if source.rows != parameters.rows or not source.rows:
            message = f"has {source.rows} rows, and its parameters are of {parameters.rows}"
            raise DataError(Problem(message, file=source.name))
        values = [_values(source, each) for each in attributes]
        cells = int(np.prod([len(each) for each in values], dtype=np.float64))
        if cells > MOST_CELLS:
            raise UsageError(
                f"the joint table has {cells:.3g} cells, at most {MOST_CELLS:.3g}: name fewer --attributes"
            )
        shares = _counted(source, attributes, values)
        shares /= source.rows
        source.unchanged()
    return Observed(tuple(attributes), tuple(values), shares, source.rows)


def _spec(attributes: Sequence[DistortedAttribute], separator: str) -> Any:
    """A spec that reads the table as text."""
    return make(
        {"version": 1, "input": {"separator": separator}, "quasi_identifiers": [a.name for a in attributes]}, {}
    )


def _check_columns(source: Source, attributes: Sequence[DistortedAttribute]) -> None:
    lacking = [each.name for each in attributes if each.name not in source.columns]
    if lacking:
        hint = columns_in(source.columns, [each.name for each in attributes])
        raise DataError([Problem(f"has no column {name}", file=source.name, hint=hint) for name in lacking])


def _text(attribute: DistortedAttribute) -> pl.Expr:
    """The column as text; missing is the empty text, as which it is written."""
    return column(attribute.name).cast(pl.String).fill_null("")


def _values(source: Source, attribute: DistortedAttribute) -> tuple[str, ...]:
    """The attribute's values; of one that was left alone those of the table, sorted."""
    if attribute.values is not None:
        return attribute.values
    distinct = source.scan().select(_text(attribute).unique().sort()).collect(engine="streaming")
    return tuple(distinct.to_series().to_list())


def _counted(source: Source, attributes: Sequence[DistortedAttribute], values: Sequence[tuple[str, ...]]) -> Floats:
    """The joint counts, an axis for each attribute."""
    shape = [len(each) for each in values]
    counts = np.zeros(int(np.prod(shape)))
    codes = [
        _text(attribute).cast(pl.Enum(each), strict=False).to_physical().cast(pl.Int64).alias(str(axis))
        for axis, (attribute, each) in enumerate(zip(attributes, values, strict=True))
    ]
    for batch in source.scan().select(codes).collect_batches(chunk_size=PIECE):
        unknown = [attributes[axis].name for axis, series in enumerate(batch.get_columns()) if series.null_count()]
        if unknown:
            message = f"{', '.join(unknown)}: has values that are not among those of its parameters"
            raise DataError(Problem(message, file=source.name))
        place, _ = mixed_radix([series.to_numpy() for series in batch.get_columns()], shape)
        if counts.size > PIECE:
            np.add.at(counts, place, 1.0)
        else:
            counts += np.bincount(place, minlength=counts.size)
    return counts.reshape(shape)


# --- the original distribution ---------------------------------------------------------------------------------------


def tables(observed: Observed, method: Method, about: About) -> Iterator[pl.DataFrame]:
    """The reconstructed joint table in pieces: the attributes, the estimated count of each cell, its standard error.

    Cells stand in the order of values, the last attribute's changing fastest. The standard error is that of the
    unbiased estimate, whatever the method.
    """
    names = [each.name for each in observed.attributes]
    clash = [name for name in FIGURES if name in names]
    if clash:
        raise UsageError(f"an attribute is called {clash[0]}, as a column of the result is: leave it out")
    estimated = estimate.estimate(observed.shares, observed.p, method)
    known = estimated if method == "inverse" else None
    variances = estimate.variances(observed.shares, observed.p, observed.rows, about, known).ravel()
    shares = estimated.ravel()
    texts = [pl.Series(each, dtype=pl.String) for each in observed.values]
    for start in range(0, max(shares.size, 1), PIECE):
        cells = slice(start, min(start + PIECE, shares.size))
        places = _places(cells, observed.shares.shape)
        columns = [text.gather(place).alias(name) for text, place, name in zip(texts, places, names, strict=True)]
        counts, errors = shares[cells] * observed.rows, np.sqrt(variances[cells]) * observed.rows
        yield pl.DataFrame([*columns, pl.Series("count", counts), pl.Series("standard_error", errors)])


def _places(cells: slice, shape: Sequence[int]) -> list[pl.Series]:
    """The place along each axis of some cells of the flattened table, which is small enough for 32 bits."""
    left, places = np.arange(cells.start, cells.stop, dtype=np.uint32), []
    for size in reversed(shape):
        above = left // np.uint32(size)
        places.append(pl.Series(left - above * np.uint32(size)))
        left = above
    return places[::-1]


# --- counts ----------------------------------------------------------------------------------------------------------


def conditions(texts: Sequence[str]) -> list[tuple[Comparison, ...]]:
    """The conditions, parsed. Raises UsageError for the first that makes no sense."""
    return [where.parse(text) for text in texts]


def answer(
    path: str,
    parameters: Parameters,
    text: str,
    *,
    method: Method = "inverse",
    about: About = "table",
    confidence: float = 0.95,
    separator: str | None = None,
) -> Answer:
    """How many rows of the original meet a condition.

    The interval holds the counts that the table does not refute, whatever the method: see `randomization.interval`.
    """
    comparisons = where.parse(text)
    names = list(dict.fromkeys(comparison.name for comparison in comparisons))
    observed = observe(path, parameters, names, separator)
    chosen = [np.ones(len(values)) for values in observed.values]
    for comparison in comparisons:
        axis = names.index(comparison.name)
        chosen[axis] *= observed.attributes[axis].chosen(comparison, observed.values[axis])
    unbiased = estimate.count(observed.shares, observed.p, chosen, observed.rows, about)
    low, high = interval(observed.shares, observed.p, chosen, observed.rows, about, confidence)
    return Answer(text, _counted_by(method, observed, chosen, unbiased), unbiased.standard_error, low, high)


def _counted_by(method: Method, observed: Observed, chosen: list[Floats], unbiased: Count) -> float:
    """The count by a method."""
    if method == "inverse":
        return unbiased.estimate
    table = estimate.estimate(observed.shares, observed.p, method)
    for weights in reversed(chosen):
        table = table @ weights
    return float(table) * observed.rows
