"""The rows of a synthetic table, drawn once more from the model and seed of its manifest as its sampler is specified.

Random numbers are hashes of counters on unsigned whole numbers of 64 bits, which wrap, as here (G is the golden ratio
in 64 bits, `mix` the finalizer of SplitMix64):

    draw(stream, i)    = mix(mix(seed + G (stream + 1)) + G (i + 1))
    uniform(stream, i) = (draw(stream, i) >> 11) / 2^53

The new columns of clique t are drawn together. Rows are ordered by separator, which is what has been drawn of the
clique's columns, then by all that has been drawn, in the order of drawing, then by their number; those of a separator
are ordered by draw(2 t, 0) + G p, p being their place in that order. The r-th of m gets the first cell of the separator
at which the running sum of the weights, in millionths of a count, is above floor((r + uniform(2 t + 1, separator)) / m
C), C the sum of all; a separator without weight has those of all together. A number in a bin of column c is uniform(2 T
+ c, row) of the way from the bin's first place to its last, T being the number of cliques.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl

from anonymize.records import dataclass

CLOSE = 1e-6
"""How far, relative to the total, figures may be from each other that are the same."""
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = (1 << 64) - 1
_MILLION = 10**6


# --- marginals --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Marginal:
    """Counts over the cells of some columns, the last of which runs fastest. `sizes`: how many values each has."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    values: pl.Series

    @cached_property
    def cells(self) -> pl.DataFrame:
        """The code of each column and the `value`, cell by cell."""
        place, stride = pl.int_range(len(self.values), dtype=pl.Int64), len(self.values)
        codes = []
        for number, size in enumerate(self.sizes):
            stride //= size
            codes.append((place // stride % size).alias(str(number)))
        return pl.select(*codes, value=self.values)

    @property
    def size(self) -> int:
        return math.prod(self.sizes)

    @property
    def is_whole(self) -> bool:
        """Whether it has a finite value for each of them."""
        return len(self.values) == self.size and bool(self.values.is_finite().fill_null(False).all())

    def onto(self, columns: Sequence[str]) -> Marginal:
        """Summed over the others."""
        kept = [self.columns.index(name) for name in columns]
        keys = [str(number) for number in kept]
        if keys:
            values = self.cells.group_by(keys).agg(pl.col("value").sum()).sort(keys)["value"]
        else:
            values = pl.Series([self.values.sum()])
        return Marginal(tuple(columns), tuple(self.sizes[number] for number in kept), values)

    def distance(self, other: Marginal) -> float:
        """The largest difference of a cell."""
        return float((self.values - other.values).abs().max() or 0.0)  # type: ignore[arg-type]


# --- the public domain ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeclaredDomain:
    """The leaves of a column, known without looking at the table: `texts`; or `places`, of each bin of numbers the
    first and last multiple of 10 ** -digits in it. `missing`: a missing value is a leaf, the last one."""

    texts: tuple[str, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    digits: int = 0
    missing: bool = False

    @classmethod
    def of(cls, entry: Any) -> DeclaredDomain:
        """That of an entry of a manifest. Raises an error of these kinds for what is none: lookup, type, value."""
        if isinstance(entry, Mapping):
            places = tuple((int(first), int(last)) for first, last in entry["places"])
            ends = [end for pair in places for end in pair]
            if not places or ends != sorted(ends) or len({first for first, _ in places}) < len(places):
                raise ValueError
            return cls((), places, int(entry["digits"]), bool(entry["missing"]))
        *texts, last = entry
        own = (*texts, *([] if last is None else [last]))
        if not own or len(set(own)) < len(own) or not all(isinstance(text, str) for text in own):
            raise ValueError
        return cls(own, missing=last is None)

    @property
    def size(self) -> int:
        return len(self.texts) + len(self.places) + self.missing

    def covers(self, text: pl.Expr, absent: Sequence[str]) -> pl.Expr:
        """Whether a cell is a value of it. `absent`: how missing values are written."""
        lacks = text.is_null() | text.is_in(list(absent))
        if not self.places:
            own = text.is_in(list(self.texts))
        else:
            place = text.cast(pl.Float64, strict=False) * 10**self.digits
            whole = (place - place.round()).abs() < CLOSE
            own = whole & place.round().is_between(self.places[0][0], self.places[-1][1])
        return pl.when(lacks).then(pl.lit(self.missing)).otherwise(own.fill_null(False))


# --- the sampler ------------------------------------------------------------------------------------------------------


def resampled(
    model: Sequence[Marginal], domain: Mapping[str, DeclaredDomain], rows: int, seed: int, *, ordered: bool
) -> pl.DataFrame:
    """The table as text, null where a value is missing. `ordered`: rows stand in the order of their leaves and numbers,
    column by column; else by their numbers."""
    frame = pl.select(row=pl.int_range(rows, dtype=pl.UInt64))
    drawn: list[str] = []
    for number, clique in enumerate(model):
        frame = _step(frame, clique, number, drawn, seed)
        drawn += [name for name in clique.columns if name not in drawn]
    frame = frame.select("row", **{str(place): pl.col(f"c{drawn.index(name)}") for place, name in enumerate(domain)})
    keys: list[str] = []
    for place, own in enumerate(domain.values()):
        keys.append(str(place))
        if own.places:
            keys.append(f"{place} place")
            frame = frame.with_columns(_places(own, str(place), seed, 2 * len(model) + place).alias(keys[-1]))
    frame = frame.sort([*keys, "row"] if ordered else "row")
    texts = [_texts(own, str(place)).alias(name) for place, (name, own) in enumerate(domain.items())]
    return frame.select(texts)


def _mixed(word: int) -> int:
    word = ((word ^ (word >> 30)) * _FIRST) & _WORD
    word = ((word ^ (word >> 27)) * _SECOND) & _WORD
    return word ^ (word >> 31)


def _words(number: int) -> pl.Expr:
    return pl.lit(number, pl.UInt64)


def _draws(seed: int, stream: int, place: pl.Expr) -> pl.Expr:
    """The hashes of the counters of a stream at some places."""
    start = _mixed((seed + _GOLDEN * (stream + 1)) & _WORD)
    word = _words(start) + _words(_GOLDEN) * (place.cast(pl.UInt64) + _words(1))
    word = (word ^ (word // _words(1 << 30))) * _words(_FIRST)
    word = (word ^ (word // _words(1 << 27))) * _words(_SECOND)
    return word ^ (word // _words(1 << 31))


def _uniforms(seed: int, stream: int, place: pl.Expr) -> pl.Expr:
    """Numbers from 0 to below 1."""
    return (_draws(seed, stream, place) // _words(1 << 11)).cast(pl.Float64) * 2.0**-53


def _step(frame: pl.DataFrame, clique: Marginal, number: int, drawn: Sequence[str], seed: int) -> pl.DataFrame:
    """The rows with the new columns of a clique, each called c and its number."""
    before = [place for place, name in enumerate(clique.columns) if name in drawn]
    new = [place for place in range(len(clique.columns)) if place not in before]
    separator = pl.lit(0, pl.Int64)
    for place in before:
        separator = separator * clique.sizes[place] + pl.col(f"c{drawn.index(clique.columns[place])}")
    rows = frame.with_columns(separator=separator)
    rows = rows.sort("separator", *(f"c{place}" for place in range(len(drawn))), "row")
    start = _draws(seed, 2 * number, pl.lit(0, pl.UInt64))
    rows = rows.with_columns(spread=start + _words(_GOLDEN) * pl.int_range(pl.len(), dtype=pl.UInt64))
    rows = rows.sort("separator", "spread").with_columns(
        place=pl.int_range(pl.len()).over("separator"), size=pl.len().over("separator")
    )
    cells = _weights(clique, before, new, rows["separator"].unique().sort())
    totals = cells.group_by("separator", maintain_order=True).agg(total=pl.col("weight").sum())
    totals = totals.with_columns(begin=pl.col("total").cum_sum() - pl.col("total"))
    rows = rows.join(totals, on="separator", how="left", maintain_order="left")
    share = (pl.col("place") + _uniforms(seed, 2 * number + 1, pl.col("separator"))) / pl.col("size")
    wanted = (share * pl.col("total")).floor().cast(pl.Int64)
    rows = rows.with_columns(wanted=pl.min_horizontal(wanted, pl.col("total") - 1) + pl.col("begin"))
    which = cells["weight"].cum_sum().search_sorted(rows["wanted"], side="right")
    left, code = cells["cell"].gather(which), {}
    for place, name in zip(reversed(new), range(len(drawn) + len(new) - 1, len(drawn) - 1, -1), strict=True):
        code[f"c{name}"] = left % clique.sizes[place]
        left = left // clique.sizes[place]
    return rows.select(frame.columns).with_columns(**code)


def _weights(clique: Marginal, before: Sequence[int], new: Sequence[int], separators: pl.Series) -> pl.DataFrame:
    """`separator`, `cell` of the new columns and `weight`, in this order, of the separators that there are, without
    cells that have none."""

    def code(places: Sequence[int]) -> pl.Expr:
        total = pl.lit(0, pl.Int64)
        for place in places:
            total = total * clique.sizes[place] + pl.col(str(place))
        return total

    weight = (pl.col("value") * _MILLION).round().cast(pl.Int64)
    cells = clique.cells.select(separator=code(before), cell=code(new), weight=weight).filter(pl.col("weight") > 0)
    empty = separators.filter(~separators.is_in(cells["separator"].implode()))
    everywhere = cells.group_by("cell").agg(pl.col("weight").sum())
    others = empty.alias("separator").to_frame().join(everywhere, how="cross").select(cells.columns)
    own = cells.filter(pl.col("separator").is_in(separators.implode()))
    return pl.concat([own, others]).sort("separator", "cell")


def _places(domain: DeclaredDomain, code: str, seed: int, stream: int) -> pl.Expr:
    """The number of each row in multiples of the domain's step; 0 where it is missing."""
    ends = [*domain.places, *([(0, 0)] if domain.missing else [])]
    first, last = (pl.lit(pl.Series([pair[side] for pair in ends], dtype=pl.Int64)) for side in (0, 1))
    low, width = first.gather(pl.col(code)), (last - first + 1).gather(pl.col(code))
    steps = (_uniforms(seed, stream, pl.col("row")) * width).floor().cast(pl.Int64)
    return low + pl.min_horizontal(steps, width - 1)


def _texts(domain: DeclaredDomain, code: str) -> pl.Expr:
    """How the values read."""
    if not domain.places:
        texts = pl.Series([*domain.texts, *([None] if domain.missing else [])], dtype=pl.String)
        return pl.lit(texts).gather(pl.col(code))
    number, step = pl.col(f"{code} place"), 10**domain.digits
    sign = pl.when(number < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    whole = (number.abs() // step).cast(pl.String)
    decimals = pl.lit(".") + (number.abs() % step).cast(pl.String).str.zfill(domain.digits)
    text = sign + whole + (decimals if domain.digits else pl.lit(""))
    return pl.when(pl.col(code) < len(domain.places)).then(text)
