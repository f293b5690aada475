"""Columns become codes while they stream by: every encoder takes batches of a few expressions and keeps numbers only.

An encoder has `expressions`, which the reading adds to its one query; `add`, which takes each batch of their results in
the order of rows; and what the finished column is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.parallel import occurrences
from anonymize.records import dataclass
from anonymize.spec.notation import OTHERWISE, POINT, Missing, Notation, hint_of, trimmed
from anonymize.table.columns import Codes, compared, tidy
from anonymize.table.named import category_texts, column
from anonymize.table.scratch import Arrays

Numbers: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
_EXACT = 1 << 53  # up to here a float64 holds every integer
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


def code_type(size: int) -> np.dtype[Any]:
    """The smallest unsigned type that holds the codes `0 .. size - 1`."""
    return np.min_scalar_type(max(size - 1, 0))


def is_text(dtype: pl.DataType) -> bool:
    """Whether a column holds texts, among which there may be some that mean missing."""
    return isinstance(dtype, _TEXTS)


@dataclass(frozen=True)
class Field:
    """A column as it stands in the input, what means there that a value is missing, and how numbers are written."""

    name: str
    dtype: pl.DataType
    missing: Missing
    notation: Notation = POINT

    @property
    def text(self) -> pl.Expr:
        """The column as text; null only where that means missing."""
        return self.missing.filled(column(self.name).cast(pl.String))

    @property
    def text_compared(self) -> pl.Expr:
        """The text by which values are compared: a zero with a sign is zero."""
        if not self.dtype.is_float():
            return self.text
        number = column(self.name)
        return self.missing.filled(pl.when(number == 0).then(number.abs()).otherwise(number).cast(pl.String))

    @property
    def number(self) -> pl.Expr:
        """The column as it is, as text if it is one; null where the text is a number that means missing, as -9 may."""
        value = self.notation.with_point(self.text) if is_text(self.dtype) else column(self.name)
        numbers = [text for text in self.missing.texts if any(map(str.isdigit, text))]
        return pl.when(~self.text.is_in(numbers)).then(value) if numbers else value


class TextCodes:
    """Rows of texts, each as a code of the order in which texts first came, 0 for null, in as few bytes as that
    takes."""

    def __init__(self, text: pl.Expr, key: str, arrays: Arrays) -> None:
        self._key, self._arrays = key, arrays
        self._categories = pl.Categories.random()
        self._pieces: list[Codes] = []
        self.expressions = [(text.cast(pl.Categorical(self._categories)).to_physical() + 1).fill_null(0).alias(key)]

    def add(self, batch: pl.DataFrame) -> None:
        """Takes the next rows."""
        codes = batch[self._key].to_numpy()
        self._pieces.append(codes.astype(np.min_scalar_type(codes.max(initial=0))))


class TextColumn(TextCodes):
    """A categorical column: after the last batch, the distinct texts as they are compared, and a code for each row."""

    def __init__(self, field: Field, key: str, arrays: Arrays = np.empty) -> None:
        super().__init__(field.text_compared, key, arrays)
        self._missing = field.missing

    def distinct(self) -> tuple[list[str], bool]:
        """The distinct texts that are not missing, sorted, and whether any row is missing."""
        present = {text for text in self._texts if text is not None}
        nulls = any(not piece.all() for piece in self._pieces)
        return sorted(present), nulls or None in self._texts

    def counts(self) -> dict[str, int]:
        """The rows of each distinct text that is not missing."""
        rows = occurrences(self._pieces, len(self._texts) + 1)
        counts: dict[str, int] = {}
        for text, count in zip(self._texts, rows[1:].tolist(), strict=True):
            if text is not None:
                counts[text] = counts.get(text, 0) + count
        return counts

    def rows_of(self, texts: Collection[str]) -> Bad:
        """How many rows have one of the texts, and the first of them."""
        wanted = [code for code, text in enumerate(self._texts, 1) if text in texts]
        rows, start = Bad(), 0
        for piece in self._pieces:
            rows.add(start + np.flatnonzero(np.isin(piece, wanted)))
            start += len(piece)
        return rows

    def most_frequent(self) -> dict[str, str]:
        """Of each distinct text as it is compared, how most of its rows have it, and of several the first by code
        point; those alone that are compared as another text."""
        raw = self._as_read.to_list()
        if not self._missing.normalize or raw == self._texts:
            return {}
        rows = occurrences(self._pieces, len(raw) + 1)
        counts: dict[str, dict[str, int]] = {}
        for text, compared_as, count in zip(raw, self._texts, rows[1:].tolist(), strict=True):
            if compared_as is not None:
                texts = counts.setdefault(compared_as, {})
                texts[trimmed(text)] = texts.get(trimmed(text), 0) + count
        best = {text: min(texts, key=lambda each: (-texts[each], each)) for text, texts in counts.items()}
        return {text: texts for text, texts in best.items() if texts != text}

    def codes(self, code_of: dict[str, int], missing: int | None, size: int) -> Codes:
        """(rows,) codes below `size`: `code_of` each row's text, or `missing`. Can be called once: frees the rows."""
        absent = 0 if missing is None else missing
        coded = [absent if text is None else code_of[text] for text in self._texts]
        table = np.array([absent, *coded], dtype=code_type(size))
        return joined([table[piece] for piece in _drained(self._pieces)], table.dtype, self._arrays)

    @cached_property
    def _texts(self) -> list[str | None]:
        """What each text is compared as, in the order in which they first came; None: it means missing.

        Known after the last batch.
        """
        return compared(self._as_read, self._missing).to_list()

    @cached_property
    def _as_read(self) -> pl.Series:
        """The texts that are not null, in the order in which they first came."""
        return category_texts(self._categories, max((int(piece.max(initial=0)) for piece in self._pieces), default=0))


@dataclass
class Bad:
    """Rows of a column whose values are not what they should be, such as numbers: how many, the first (from 0), and
    what may be said of how they are written."""

    count: int = 0
    row: int | None = None
    hint: str | None = None
    infinite: int = 0
    """How many of them are infinite numbers."""

    def add(self, rows: NDArray[np.int64]) -> None:
        """Counts further rows, which come after those before."""
        if len(rows):
            self.count += len(rows)
            self.row = int(rows[0]) if self.row is None else self.row


LARGEST = 1e150
"""Numbers up to here are calculated with: differences, and sums of squares over all rows, are numbers as well then."""


class NumberColumn:
    """A numeric column: after the last batch, the distinct numbers, and a code for each row.

    Numbers are whole (int64) when every value is written as a whole number, else float64. White space around a number,
    leading zeros and a plus sign do not matter; nan, what is beyond `LARGEST` and whole numbers of more than 64 bits do
    not count as numbers.
    """

    def __init__(self, field: Field, key: str, arrays: Arrays = np.empty) -> None:
        self._key, self._rest, self._arrays = key, f"{key}?", arrays
        self._missing, self._notation = field.missing, field.notation
        self._otherwise = dict.fromkeys(OTHERWISE, 0)
        self._pieces: list[NDArray[Any]] = []  # whole numbers in few bytes, or float64
        self._absent: list[NDArray[np.bool_] | None] = []
        self._lengths: list[int] = []
        self._largest = 0  # of the whole numbers in pieces with fractions
        self.bad = Bad()
        self.expressions = self._queries(field)

    def _queries(self, field: Field) -> list[pl.Expr]:
        """Whole numbers, or those of a typed column; and the text of any other value, null where it is missing."""
        wanted = pl.Int64 if is_text(field.dtype) or field.dtype.is_integer() else pl.Float64
        number = field.number.cast(wanted, strict=False)
        rest = pl.when(number.is_null()).then(field.number.cast(pl.String))
        return [number.alias(self._key), rest.alias(self._rest)]

    def add(self, batch: pl.DataFrame) -> None:
        """Takes the next rows; `bad` counts what is not a number."""
        numbers, rest = batch[self._key], batch[self._rest]
        absent = numbers.is_null().to_numpy() if numbers.null_count() else None
        values = numbers.fill_null(0).to_numpy()
        if absent is not None and rest.null_count() < len(rest):
            values, absent = self._mended(values, absent, rest)
        if values.dtype == np.float64:
            self.bad.add(self._rows + np.flatnonzero(~(np.abs(values) <= LARGEST)))
            self.bad.infinite += int(np.isinf(values).sum())
        self._pieces.append(_narrow(values))
        self._absent.append(absent)
        self._lengths.append(len(batch))

    def _mended(
        self, values: NDArray[Any], absent: NDArray[np.bool_], rest: pl.Series
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Rows that did not parse as whole numbers: missing texts, fractions, spaces around a number.

        They are few in most columns, so that the slow reading is of them alone.
        """
        texts = rest.str.strip_chars() if self._missing.normalize else rest
        left = rest.is_not_null() & ~texts.is_in(self._missing.texts)
        rows = np.flatnonzero(left.to_numpy())
        texts = rest.filter(left).str.strip_chars()
        whole, broken = texts.cast(pl.Int64, strict=False), texts.cast(pl.Float64, strict=False)
        strange = broken.is_null()
        if self._missing.normalize and strange.any():
            plain = tidy(texts.filter(strange))
            if not plain.equals(texts.filter(strange)):
                return self._mended(values, absent, rest.clone().scatter(rows[strange.to_numpy()], plain))
        wrong = ~(broken.abs() <= LARGEST).fill_null(False) | (whole.is_null() & texts.str.contains(r"^[+-]?\d+$"))
        self.bad.add(self._rows + rows[wrong.to_numpy()])
        self.bad.infinite += int(broken.is_infinite().sum() or 0)
        if wrong.any():
            for name, pattern in OTHERWISE.items():
                self._otherwise[name] += int(texts.filter(wrong).str.contains(pattern).sum())
        fractions = bool(whole.null_count())
        if fractions:
            self._largest = max(self._largest, _magnitude(values))
        values = values.astype(np.float64 if fractions else np.int64)
        values[rows] = (broken.set(wrong, 0.0) if fractions else whole).to_numpy()
        absent = absent.copy()
        absent[rows] = False
        return values, absent

    @property
    def inexact(self) -> bool:
        """Whether there are fractions beside whole numbers too large for a float64 to hold exactly."""
        whole = (_magnitude(piece) for piece in self._pieces if piece.dtype != np.float64)
        return self._fractions and max([self._largest, *whole]) > _EXACT

    @property
    def wrong(self) -> Bad:
        """What is not a number, with what may be said of how it is written."""
        rows = self._rows - sum(int(absent.sum()) for absent in self._absent if absent is not None)
        return replace(self.bad, hint=hint_of(self._notation, self._otherwise, rows))

    @property
    def _rows(self) -> int:
        return sum(self._lengths)

    @property
    def _fractions(self) -> bool:
        return any(piece.dtype == np.float64 for piece in self._pieces)

    def encode(self) -> tuple[Numbers, Codes, int | None]:
        """The sorted distinct numbers, (rows,) codes, and the code of missing values: one past the numbers', or None.

        Can be called once: it frees the rows.
        """
        bounds = [(piece.min(), piece.max()) for piece in self._present() if len(piece)]
        if not bounds:
            self._pieces, bounds = [np.zeros(len(piece), np.int8) for piece in self._pieces], [(0, -1)]
        low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
        if not self._fractions and int(high) - int(low) < 4 * self._rows + 65536:
            return self._with_missing(*self._by_table(int(low), int(high)))
        return self._with_missing(*self._by_rank(low))

    def _by_table(self, low: int, high: int) -> tuple[Numbers, list[Codes]]:
        """For whole numbers that lie close together: a table with a place for each number from lowest to highest gives
        both the distinct values and every row's code without sorting the rows."""
        seen = np.zeros(high - low + 1, dtype=np.bool_)
        for piece in self._present():
            seen[piece - np.int64(low)] = True
        values = np.flatnonzero(seen) + np.int64(low)
        code_of = np.zeros(max(len(seen), 1), dtype=code_type(len(values) + 1))
        code_of[: len(seen)][seen] = np.arange(len(values))
        return values, [code_of[piece - np.int64(low)] for piece in self._filled(low)]

    def _by_rank(self, low: float) -> tuple[Numbers, list[Codes]]:
        """For fractions, and for whole numbers that lie far apart: the dense rank of a number is its code. A negative
        zero is zero."""
        numbers = np.concatenate(list(self._filled(low))) + 0
        ranks = pl.Series(numbers).rank("dense") - 1
        values = np.unique(numbers)
        return values, [ranks.to_numpy().astype(code_type(len(values) + 1))]

    def _present(self) -> Iterator[NDArray[Any]]:
        for piece, absent in zip(self._pieces, self._absent, strict=True):
            yield piece if absent is None else piece[~absent]

    def _filled(self, number: float) -> Iterator[NDArray[Any]]:
        """The rows, with `number` where they are missing; frees them one by one."""
        for piece, absent in zip(_drained(self._pieces), self._absent, strict=True):
            yield piece if absent is None else np.where(absent, np.asarray(number), piece)

    def _with_missing(self, values: Numbers, pieces: list[Codes]) -> tuple[Numbers, Codes, int | None]:
        missing = len(values) if any(absent is not None and absent.any() for absent in self._absent) else None
        codes = joined(pieces, code_type(len(values) + (missing is not None)), self._arrays)
        start = 0
        for absent, length in zip(self._absent, self._lengths, strict=True):
            if absent is not None and missing is not None:
                codes[start : start + length][absent] = missing
            start += length
        return values, codes, missing


@dataclass(frozen=True)
class DistinctValues:
    """A finished column: its distinct `values` without the missing ones, sorted; `codes` (rows,) says which each row
    has, `missing` being the code of the missing ones, one past the values', or None."""

    values: Numbers | list[str]
    codes: Codes
    missing: int | None

    @classmethod
    def of(cls, encoder: NumberColumn | TextColumn) -> DistinctValues:
        """The column of an encoder that has taken all rows. Can be called once: frees the rows."""
        if isinstance(encoder, NumberColumn):
            return cls(*encoder.encode())
        texts, any_missing = encoder.distinct()
        missing = len(texts) if any_missing else None
        codes = encoder.codes({text: code for code, text in enumerate(texts)}, missing, len(texts) + any_missing)
        return cls(texts, codes, missing)


def _magnitude(values: NDArray[Any]) -> int:
    """The largest absolute value of whole numbers."""
    return max(-int(values.min()), int(values.max())) if len(values) else 0


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the smallest signed type that holds them; fractions as they are."""
    if values.dtype != np.int64 or not len(values):
        return values
    wanted = np.result_type(np.min_scalar_type(int(values.min())), np.min_scalar_type(int(values.max())), np.int8)
    return values.astype(wanted if wanted.kind == "i" else np.int64)


def _drained(pieces: list[Any]) -> Iterator[Any]:
    """The pieces in order; each is dropped from the list when the next is asked for."""
    pieces.reverse()
    while pieces:
        yield pieces.pop()


def joined(pieces: list[Codes], dtype: np.dtype[Any], arrays: Arrays) -> Codes:
    """One array of all pieces, which are freed on the way."""
    whole = arrays(sum(map(len, pieces)), dtype)
    start = 0
    for piece in _drained(pieces):
        whole[start : start + len(piece)] = piece
        start += len(piece)
    return whole
