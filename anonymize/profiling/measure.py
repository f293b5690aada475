"""One reading of a table: what has to be exact is counted over all rows, what need not be comes from a sample.

Values are counted by 64-bit hashes: two values of a million share one with a probability of 3 in 100 million. A table
too large for the hashes of all its columns at once is read once for each group of columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.errors import DataError, Problem
from anonymize.profiling.words import MISSING_WORDS
from anonymize.records import dataclass
from anonymize.spec.notation import UNKNOWN, Notation
from anonymize.table.columns import tidy
from anonymize.table.encode import is_text
from anonymize.table.named import column, unnamed
from anonymize.table.source import Source

Hashes = NDArray[np.uint64]
Pieces = Sequence[Hashes]
"""The hashes of a column's rows, batch by batch."""

SAMPLE = 10_000
"""So many rows, or up to twice as many, are in a sample; a smaller table is its own."""
HEAD = 2_000
TEXTS = 400
"""So many distinct texts of the sample say what form a column's values have."""
BATCH = 200_000
MEMORY = 1 << 30
FEW_VALUES = 1 << 14
"""Up to so many values of a column are counted piece by piece."""
_TYPED = (pl.Date, pl.Datetime, pl.Time)


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column, every value of which is one: whether all are whole, the largest absolute value, the
    least value, and quantiles of the sample (5 %, 95 %)."""

    whole: bool
    largest: float
    least: float
    low: float
    high: float


@dataclass(frozen=True)
class ColumnFacts:
    """A column, measured.

    `missing`: rows without a value. `distinct`, `singles`: its values, and the rows that are alone with theirs; exact.
    `counts` ascending, the rows of each value. `texts`: distinct values of the sample, in no particular order. `bad`:
    values that are not numbers, in a column of numbers otherwise. `typed`: the type says that it is a date or a time.
    `ascending`: the numbers of the sample never fall from row to row. `values`: hashes of all values, ascending.
    `sampled`: all distinct texts of the sample.
    """

    name: str
    rows: int
    missing: int
    distinct: int
    singles: int
    counts: NDArray[np.int64]
    texts: tuple[str, ...]
    numbers: Numbers | None = None
    bad: int = 0
    typed: bool = False
    ascending: bool = False
    values: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64), repr=False)
    sampled: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.String), repr=False, compare=False)

    def holds(self, text: str) -> bool:
        """Whether a column of texts has a value that is the same text."""
        return among(int(pl.Series([text]).hash()[0]), self.values)

    @property
    def present(self) -> int:
        """Rows with a value."""
        return self.rows - self.missing

    @property
    def share_of_values(self) -> float:
        """How many values there are to each row that has one: 1 where no two are alike."""
        return self.distinct / max(self.present, 1)


@dataclass(frozen=True)
class TableFacts:
    """A table, measured. `hashes`: those of each column's rows, where they are few enough to be kept. `sample`: rows at
    equal distances, as text. `unknown`: texts of the sample that read as missing. `texts_alone`: every column is one
    of texts, as in a CSV, and no number has a type of its own."""

    rows: int
    columns: Mapping[str, ColumnFacts]
    hashes: Mapping[str, Pieces]
    sample: pl.DataFrame
    unknown: tuple[str, ...]
    texts_alone: bool = True


class Thinned:
    """Rows of a stream at equal distances, at most twice `SAMPLE`, whatever its length."""

    def __init__(self) -> None:
        self._step, self._rows, self._pieces = 1, 0, list[pl.DataFrame]()

    def add(self, batch: pl.DataFrame) -> None:
        """Takes the next rows: those at multiples of the distance, which doubles whenever they become too many."""
        start, self._rows = self._rows, self._rows + batch.height
        while -(-self._rows // self._step) > 2 * SAMPLE:
            self._step *= 2
            self._pieces = [pl.concat(self._pieces).gather_every(2)] if self._pieces else []
        first = -start % self._step
        self._pieces.append(batch.gather_every(self._step, first) if first < batch.height else batch.clear())

    def frame(self) -> pl.DataFrame:
        """The rows."""
        return pl.concat(self._pieces) if self._pieces else pl.DataFrame()


def measure(source: Source, memory: int = MEMORY) -> TableFacts:
    """Reads a table, as often as the hashes of all columns take so many bytes of memory.

    Raises DataError for one that is not sound, has no rows, or a column of a type that cannot be used.
    """
    source.check_types(source.columns)
    thinned, names = Thinned(), list(source.columns)
    counted: dict[str, _RowCount] = {}
    first = _first_group(source, names, memory)
    groups = [names[start : start + first] for start in range(0, len(names), first)]
    for group in groups:
        counting = {name: _RowCount(source, name) for name in group}
        batches = source.batches(group, BATCH)
        if group is groups[0]:
            batches = source.examine([column(name) for name in names], BATCH, hashing=False)
        for batch in batches:
            if group is groups[0]:
                thinned.add(batch)
            for name, each in counting.items():
                each.add(batch[name])
        for each in counting.values():
            each.finish(keep=len(groups) == 1)
        counted |= counting
    if not source.rows:
        raise DataError(Problem("no rows: there is only a header", file=source.name))
    sample = thinned.frame().select(column(name).cast(pl.String) for name in names)
    seen = frozenset().union(*(each.unknown for each in counted.values()))
    unknown = tuple(word for word in MISSING_WORDS if word in seen)
    columns = {name: each.facts(source.rows, sample[name], unknown) for name, each in counted.items()}
    hashes = {name: each.hashes for name, each in counted.items() if each.hashes is not None}
    texts_alone = all(is_text(source.schema[name]) for name in names)
    return TableFacts(source.rows, columns, hashes, sample, unknown, texts_alone)


def _first_group(source: Source, names: Sequence[str], memory: int) -> int:
    """How many columns are counted in one reading: as many as there is room for hashes, of 8 bytes a row."""
    size = source.path.stat().st_size
    with open(source.path, "rb") as file:
        head = file.read(1 << 16)
    lines = head.count(b"\n") if source.format == "csv" else len(names) and len(head) // (2 * len(names))
    rows = size * max(lines, 1) // max(len(head), 1) + 1
    return len(names) if len(names) * rows * 8 <= memory else max(memory // (8 * rows), 1)


def _reads_as_numbers(values: pl.Series) -> bool:
    """Whether the first values are numbers; whether all are is measured."""
    if not is_text(values.dtype):
        return values.dtype.is_numeric()
    texts = tidy(unnamed(values).cast(pl.String).drop_nulls())
    texts = texts.filter(~texts.str.to_lowercase().is_in([*UNKNOWN, ""]))
    wrong = texts.cast(pl.Float64, strict=False).is_null().sum()
    return len(texts) > 0 and wrong <= 0.05 * len(texts)


class _RowCount:
    """A column on its way: hashes of all rows, how often each comes, and whether the values are numbers."""

    def __init__(self, source: Source, name: str) -> None:
        self.name, self._numeric = name, False
        self._dtype = source.schema[name]
        self._text = is_text(self._dtype)
        self._range, self._tally = _Range(), _Tally()
        self.hashes: Pieces | None = None
        self.unknown: frozenset[str] = frozenset()

    def add(self, values: pl.Series) -> None:
        """Takes the next rows."""
        plain = unnamed(values).cast(pl.String) if self._text else unnamed(values)
        if not self._tally.pieces:
            self._numeric = _reads_as_numbers(plain.head(HEAD))
        hashes = plain.hash().to_numpy()
        fresh = self._tally.add(hashes)
        if self.is_numeric and (fresh is None or len(fresh)):
            self._range.add(plain if fresh is None else plain.filter(pl.Series(np.isin(hashes, fresh))))

    def finish(self, *, keep: bool) -> None:
        """Counts; `keep`: the hashes are kept."""
        values, counts = self._tally.counted()
        words = _hashed_words()
        strong = {word for word in words if self._text and (self.is_numeric or word.lower() in STRONG)}
        self.unknown = frozenset(word for word in strong if among(words[word], values))
        nothing = pl.Series([None, *([""] if self._text else [])], dtype=pl.String() if self._text else self._dtype)
        absent = [*nothing.hash().to_list(), *(words[word] for word in self.unknown)]
        present = ~np.isin(values, np.array(absent, np.uint64))
        self._missing = int(counts[~present].sum())
        self._counts, self._values = np.sort(counts[present]), values
        self.hashes = self._tally.pieces if keep else None
        del self._tally

    @property
    def is_numeric(self) -> bool:
        """Whether every value is a number."""
        return self._numeric and not self._range.wrong

    def facts(self, rows: int, sample: pl.Series, unknown: Sequence[str]) -> ColumnFacts:
        """What has been measured, with the forms of the sample; `unknown`: texts that mean missing."""
        present = tidy(unnamed(sample).drop_nulls())
        present = present.filter(~present.is_in(["", *unknown]))
        numbers, ascending = None, False
        if self.is_numeric and len(self._counts):
            values = present.cast(pl.Float64, strict=False).drop_nulls()
            numbers = Numbers(self._range.whole, self._range.largest, self._range.least, *_spread(values))
            ascending = values.is_sorted()
        distinct = present.unique(maintain_order=True)
        return ColumnFacts(
            self.name,
            rows,
            self._missing,
            len(self._counts),
            int((self._counts == 1).sum()),
            self._counts,
            tuple(distinct.gather_every(max(len(distinct) // TEXTS, 1)).to_list()),
            numbers,
            self._range.wrong,
            self._dtype in _TYPED,
            ascending,
            self._values,
            distinct,
        )


@cache
def _hashed_words() -> Mapping[str, int]:
    """The hashes of the texts that read as missing."""
    return dict(zip(MISSING_WORDS, pl.Series(MISSING_WORDS).hash().to_list(), strict=True))


def among(value: int, ordered: Hashes) -> bool:
    """Whether a hash is among others, in ascending order."""
    place = int(np.searchsorted(ordered, np.uint64(value)))
    return place < len(ordered) and int(ordered[place]) == value


class _Tally:
    """How often each hash comes, counted piece by piece as long as there are few different ones.

    Then a piece that is sorted by itself fits into a processor's cache, and hardly any value of a later piece is new,
    so that nothing of it has to be looked at. Of many different ones, all pieces are sorted together at the end.
    """

    def __init__(self) -> None:
        self.pieces: list[Hashes] = []
        self._few = True
        self._values, self._counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)

    def add(self, hashes: Hashes) -> Hashes | None:
        """Takes the next piece; returns those hashes of it that are new, None where it may be all of them."""
        first = not self.pieces
        self.pieces.append(hashes)
        if not self._few:
            return None
        values, counts = _counted(hashes)
        places = np.searchsorted(self._values, values)
        seen = np.zeros(len(values), np.bool_)
        inside = places < len(self._values)
        seen[inside] = self._values[places[inside]] == values[inside]
        self._counts[places[seen]] += counts[seen]
        self._values = np.insert(self._values, places[~seen], values[~seen])
        self._counts = np.insert(self._counts, places[~seen], counts[~seen])
        self._few = len(self._values) <= FEW_VALUES
        return None if first or not self._few else values[~seen]

    def counted(self) -> tuple[Hashes, NDArray[np.int64]]:
        """The different hashes, ascending, and the rows of each."""
        if self._few:
            return self._values, self._counts
        return _counted(np.concatenate(self.pieces))


def _counted(hashes: Hashes) -> tuple[Hashes, NDArray[np.int64]]:
    """The different ones, ascending, and how often each comes."""
    ordered = np.sort(hashes)
    last = np.flatnonzero(ordered[1:] != ordered[:-1])  # where a run of equal ones ends, but for that of the end
    last = np.concatenate((last, [len(ordered) - 1] if len(ordered) else []), dtype=np.int64, casting="unsafe")
    return ordered[last], np.diff(last, prepend=-1)


class _Range:
    """Whether values are numbers as a spec's `type: numeric` has them, and how large.

    `wrong`: values that are none, counted up to the first batch that has any; a column whose numbers no 64 bits hold
    exactly has some as well.
    """

    def __init__(self) -> None:
        self.wrong, self.largest, self.least, self.whole = 0, 0.0, math.inf, True
        self._integers = True

    def add(self, values: pl.Series) -> None:
        """Takes the next rows. Reading integers takes half the time of reading numbers, and is tried until it fails."""
        if self._integers and values.dtype == pl.String:
            integers = values.cast(pl.Int64, strict=False)
            self._integers = integers.null_count() == values.null_count()
            if self._integers:
                return self._take(integers)
        numbers = values.cast(pl.Float64, strict=False)
        if numbers.null_count() > values.null_count():
            rest = tidy(values.filter(numbers.is_null() & values.is_not_null()).cast(pl.String)).str.strip_chars()
            rest = rest.filter(~rest.is_in(["", *MISSING_WORDS]))
            more = rest.cast(pl.Float64, strict=False)
            self.wrong += more.null_count()
            self._take(more)
        self._take(numbers)

    def _take(self, numbers: pl.Series) -> None:
        low: Any = numbers.min()
        high: Any = numbers.max()
        if low is None:
            return
        if wrong := 0 if numbers.dtype.is_integer() else int((~numbers.is_finite()).sum()):
            self.wrong += wrong
            return
        self.largest, self.least = max(self.largest, float(high), -float(low)), min(self.least, float(low))
        self.whole = self.whole and (numbers.dtype.is_integer() or bool((numbers == numbers.floor()).all()))
        if self.largest >= (_LARGEST_WHOLE if self.whole else _EXACT):
            self.wrong += 1


_EXACT, _LARGEST_WHOLE = 2.0**53, 2.0**63


def _spread(values: Any) -> tuple[float, float]:
    return (float(values.quantile(0.05)), float(values.quantile(0.95))) if len(values) else (0.0, 0.0)


def with_notation(facts: ColumnFacts, notation: Notation | None) -> ColumnFacts:
    """A column of numbers that are written in some notation, as the numbers of its sample; the same facts where any
    text of that is none."""
    if notation is None or facts.numbers is not None:
        return facts
    values = pl.select(notation.with_point(pl.lit(facts.sampled))).to_series().cast(pl.Float64, strict=False)
    seen = _Range()
    seen.add(values)
    if values.null_count() or seen.wrong:
        return facts
    return replace(facts, bad=0, numbers=Numbers(seen.whole, seen.largest, seen.least, *_spread(values)))


STRONG = frozenset({"na", "n/a", "n.a.", "nan", "null", "nil", "missing", "?", "-", "--", "."})
"""Words that mean missing among categories as well, where others, such as none, may be a value."""
