"""One reading of a table: what has to be exact is counted over all rows, what need not be comes from a sample.

Values are counted by 64-bit hashes: two values of a million share one with a probability of 3 in 100 million. A table
too large for the hashes of all its columns at once is read once for each group of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.errors import DataError, Problem
from anonymize.profiling.words import MISSING_WORDS
from anonymize.spec.missing import UNKNOWN, Missing
from anonymize.table.encode import Field, NumberColumn, is_text
from anonymize.table.named import column, unnamed
from anonymize.table.source import Source
from anonymize.table.texts import tidy

Hashes = NDArray[np.uint64]

SAMPLE = 10_000
"""So many rows, or up to twice as many, are in a sample; a smaller table is its own."""
HEAD = 2_000
TEXTS = 400
"""So many distinct texts of the sample say what form a column's values have."""
BATCH = 200_000
MEMORY = 1 << 30
_TYPED = (pl.Date, pl.Datetime, pl.Time)


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column, every value of which is one: whether all are whole, the largest absolute value, and
    quantiles of the sample (5 %, 95 %)."""

    whole: bool
    largest: float
    low: float
    high: float


@dataclass(frozen=True)
class ColumnFacts:
    """A column, measured.

    `missing`: rows without a value. `distinct`, `singles`: its values, and the rows that are alone with theirs; exact.
    `counts` ascending, the rows of each value. `texts`: distinct values of the sample, in no particular order. `bad`:
    values that are no numbers, in a column of numbers otherwise. `typed`: the type says that it is a date or a time.
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

    @property
    def present(self) -> int:
        """Rows with a value."""
        return self.rows - self.missing


@dataclass(frozen=True)
class TableFacts:
    """A table, measured. `hashes`: those of each column's rows, where they are few enough to be kept. `sample`: rows at
    equal distances, as text. `unknown`: texts of the sample that read as missing."""

    rows: int
    columns: Mapping[str, ColumnFacts]
    hashes: Mapping[str, Hashes]
    sample: pl.DataFrame
    unknown: tuple[str, ...]


class Thinned:
    """Rows of a stream at equal distances, at most twice `SAMPLE`, whatever its length."""

    def __init__(self) -> None:
        self._step, self._next, self._pieces = 1, 0, list[pl.DataFrame]()

    def add(self, batch: pl.DataFrame) -> None:
        """Takes the next rows."""
        rows = np.arange(self._next, batch.height, self._step)
        self._next = int(rows[-1]) + self._step - batch.height if len(rows) else self._next - batch.height
        self._pieces.append(batch[rows])
        while sum(piece.height for piece in self._pieces) > 2 * SAMPLE:
            kept = pl.concat(self._pieces)
            self._pieces = [kept.gather_every(2)]
            self._next += self._step * (kept.height % 2)
            self._step *= 2

    def frame(self) -> pl.DataFrame:
        """The rows."""
        return pl.concat(self._pieces) if self._pieces else pl.DataFrame()


def measure(source: Source) -> TableFacts:
    """Reads a table. Raises DataError for one that is not sound, has no rows or a column of a type that cannot be used."""
    for name, dtype in source.schema.items():
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration):
            raise DataError(Problem(f"column {name!r} is of a type that is not supported", source.name))
    numeric = _likely_numbers(source)
    thinned, names = Thinned(), list(source.columns)
    counted: dict[str, _Counting] = {}
    first = _first_group(source, names)
    groups = [names[start : start + first] for start in range(0, len(names), first)]
    for group in groups:
        counting = {name: _Counting(source, name, name in numeric) for name in group}
        for batch in _batches(source, names if group is groups[0] else group, checked=group is groups[0]):
            if group is groups[0]:
                thinned.add(batch)
            for name, each in counting.items():
                each.add(batch[name])
        for name, each in counting.items():
            each.finish(keep=len(groups) == 1)
        counted |= counting
    if not source.rows:
        raise DataError(Problem("no rows: a header alone", file=source.name))
    sample = thinned.frame().select(column(name).cast(pl.String) for name in names)
    columns = {name: each.facts(source.rows, sample[name]) for name, each in counted.items()}
    kept = {name: each.hashes for name, each in counted.items() if each.hashes is not None}
    return TableFacts(source.rows, columns, kept, sample, _unknown(counted, columns))


def _first_group(source: Source, names: Sequence[str]) -> int:
    """How many columns are counted in one reading: their hashes have room, at 8 bytes a row and some 16 a line."""
    rows = max(source.path.stat().st_size // 16, 1)
    return max(min(len(names), MEMORY // (8 * rows)), 1) if len(names) * rows * 8 > MEMORY else len(names)


def _batches(source: Source, names: Sequence[str], *, checked: bool) -> Iterator[pl.DataFrame]:
    wanted = [column(name) for name in names]
    return source.examine(wanted, BATCH, hashing=False) if checked else source.batches(names, BATCH)


def _likely_numbers(source: Source) -> set[str]:
    """Columns whose first values are numbers; whether all are is measured."""
    try:
        head = source.scan().head(HEAD).collect()
    except (pl.exceptions.PolarsError, OSError):
        source.check()
        raise
    return {name for name in source.columns if _reads_as_numbers(head[name])}


def _reads_as_numbers(values: pl.Series) -> bool:
    if not is_text(values.dtype):
        return values.dtype.is_numeric()
    texts = tidy(unnamed(values).cast(pl.String).drop_nulls())
    texts = texts.filter(~texts.str.to_lowercase().is_in([*UNKNOWN, ""]))
    wrong = texts.cast(pl.Float64, strict=False).is_null().sum()
    return len(texts) > 0 and wrong <= 0.05 * len(texts)


class _Counting:
    """A column on its way: hashes of all rows, and whether they are numbers."""

    def __init__(self, source: Source, name: str, numeric: bool) -> None:
        self.name, self.bad, self.is_numeric = name, 0, False
        self._dtype = source.schema[name]
        self._text = is_text(self._dtype)
        self._pieces: list[Hashes] = []
        missing = Missing.in_format(("", *MISSING_WORDS), source.format)
        self._numbers = NumberColumn(Field(name, self._dtype, missing), "value") if numeric else None
        words = ["", *MISSING_WORDS] if self._text else []
        own = pl.Series([None, *words], dtype=pl.String).cast(
            self._dtype if not self._text else pl.String, strict=False
        )
        self._absent = np.unique(own.hash().to_numpy())
        self._empty = own[:2].hash().to_numpy()
        self._largest, self._whole = 0.0, True
        self.hashes: Hashes | None = None

    def add(self, values: pl.Series) -> None:
        """Takes the next rows."""
        plain = unnamed(values).cast(pl.String) if self._text else unnamed(values)
        self._pieces.append(plain.hash().to_numpy())
        if self._numbers is not None:
            self._numbers.add(values.to_frame().select(self._numbers.expressions))

    def finish(self, *, keep: bool) -> None:
        """Counts; `keep`: the hashes are kept."""
        hashes = np.concatenate(self._pieces) if self._pieces else np.zeros(0, np.uint64)
        self._pieces = []
        ordered = np.sort(hashes)
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(ordered) else ordered
        counts = np.diff(np.append(starts, len(ordered))).astype(np.int64)
        absent = self._absent if self._numbers is not None else self._empty
        present = ~np.isin(ordered[starts.astype(np.int64)], absent)
        self._missing = int(counts[~present].sum())
        self._counts = np.sort(counts[present])
        if self._numbers is not None:
            self.bad = self._numbers.bad.count or int(self._numbers.inexact)
            self._largest, self._whole = self._numbers.largest, self._numbers.whole
            self._numbers = None
            self.is_numeric = not self.bad
        self.hashes = hashes if keep else None

    def facts(self, rows: int, sample: pl.Series) -> ColumnFacts:
        """What has been measured, with the forms of the sample."""
        present = tidy(unnamed(sample).drop_nulls())
        present = present.filter(present != "")
        if self.is_numeric:
            present = present.filter(~present.is_in(list(MISSING_WORDS)))
        numbers = None
        if self.is_numeric and len(self._counts):
            low, high = _spread(present)
            numbers = Numbers(self._whole, self._largest, low, high)
        distinct = present.unique(maintain_order=True)
        step = max(len(distinct) // TEXTS, 1)
        return ColumnFacts(
            self.name,
            rows,
            self._missing,
            len(self._counts),
            int((self._counts == 1).sum()),
            self._counts,
            tuple(distinct.gather_every(step).to_list()),
            numbers,
            self.bad,
            self._dtype in _TYPED,
        )


def _spread(texts: pl.Series) -> tuple[float, float]:
    values: Any = texts.cast(pl.Float64, strict=False).drop_nulls()
    if not len(values):
        return 0.0, 0.0
    return float(values.quantile(0.05)), float(values.quantile(0.95))


def _unknown(counted: Mapping[str, _Counting], columns: Mapping[str, ColumnFacts]) -> tuple[str, ...]:
    """Texts that mean missing, in the order of the list: only words of the list, and only those that occur."""
    words = dict.fromkeys(MISSING_WORDS)
    hashed = dict(zip(words, pl.Series(list(words)).hash().to_list(), strict=True))
    seen = set[str]()
    for name, each in counted.items():
        strong = [word for word in words if word.lower() in STRONG or each.is_numeric]
        if each.hashes is not None:
            present = np.isin(np.array([hashed[word] for word in strong], np.uint64), each.hashes)
            seen |= {word for word, there in zip(strong, present.tolist(), strict=True) if there}
        else:
            seen |= {word for word in strong if word in columns[name].texts or each.is_numeric}
    return tuple(word for word in words if word in seen)


STRONG = frozenset({"na", "n/a", "n.a.", "nan", "null", "nil", "missing", "?", "-", "--", "."})
"""Words that mean missing among categories as well, where others, such as none, may be a value."""
