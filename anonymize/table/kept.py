"""Columns that are read and kept beside those that a search sees: those that pass through and have few different
texts, the one that says whom each row is about, and sampling weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.errors import Caution, DataError, Problem
from anonymize.parallel import occurrences
from anonymize.records import dataclass
from anonymize.spec import columns, model, notation
from anonymize.table import roles, scratch
from anonymize.table.columns import Codes, look_alikes, tidy
from anonymize.table.encode import (
    LARGEST,
    Bad,
    DistinctValues,
    Field,
    TextCodes,
    TextColumn,
    is_text,
    joined,
)
from anonymize.table.named import column
from anonymize.table.source import Source

# --- columns that pass through ----------------------------------------------------------------------------------------
# Those of few different texts are kept as codes from the first reading, so that nothing of them has to be read again.
# The first rows say which these are; a column whose texts turn out to be more is kept all the same.

SAMPLE = 50_000
"""First rows by which columns are chosen;"""
MOST_TEXTS = 1000
"""in them, a column that is kept has at most so many different texts."""


@dataclass(frozen=True)
class KeptColumn:
    """A column that passes through: its distinct `cells`, under no name, the first of which is null, and `codes`
    (rows,): which of them each row has."""

    cells: pl.Series
    codes: Codes


class KeptTexts(TextCodes):
    """What takes the batches of a column that is kept."""

    def __init__(self, field: Field, key: str, arrays: scratch.Arrays = np.empty) -> None:
        super().__init__(column(field.name), key, arrays)
        self.name, self._missing = field.name, field.missing

    def exceeds(self, share: float, rows: int) -> bool:
        """Whether more than `share` of the values that are not missing differ, there being at least `rows` of them."""
        present = np.append(False, ~self._texts().is_in(list(self._missing.texts)).to_numpy())
        filled = int(occurrences(self._pieces, len(present))[present].sum())
        return filled >= rows and int(present.sum()) > share * filled

    def column(self) -> KeptColumn:
        """The column, once all rows have been taken."""
        cells = pl.Series([None], dtype=pl.String).append(self._texts())
        return KeptColumn(cells, joined(self._pieces, np.min_scalar_type(len(cells)), self._arrays))

    def _texts(self) -> pl.Series:
        """The different texts so far, in the order of their codes, from 1."""
        return self._categories.to_series().cast(pl.String).drop_nulls()


class UniquenessSample:
    """Whether the values of a column that passes through are nearly all different.

    Estimated from a sample of the distinct values, not of the rows: a row is kept if the last bits of its value's hash
    are zero, more and more bits as the sample grows. Equal values are kept or dropped together, so that the share of
    different ones in the sample estimates that of the column. Exact while there are no more than `LIMIT` rows.
    """

    LIMIT = 1 << 16

    def __init__(self, field: Field, key: str) -> None:
        self.name, self._key = field.name, key
        texts = field.missing.texts if is_text(field.dtype) else ()
        self._missing = np.array(
            [_hash_of(None, field.dtype), *(_hash_of(text, field.dtype) for text in texts)], dtype=np.uint64
        )
        self._mask = np.uint64(0)
        self._sample = np.zeros(0, dtype=np.uint64)
        self.expressions = [column(field.name).hash().alias(key)]

    def add(self, batch: pl.DataFrame) -> None:
        """Takes the next rows."""
        hashes = batch[self._key].to_numpy()
        sampled = hashes[(hashes & self._mask) == 0]
        self._sample = np.concatenate([self._sample, sampled[~np.isin(sampled, self._missing)]])
        while len(self._sample) > self.LIMIT and self._mask < 1 << 63:
            self._mask = self._mask * np.uint64(2) + np.uint64(1)
            self._sample = self._sample[(self._sample & self._mask) == 0]

    def exceeds(self, share: float, rows: int) -> bool:
        """Whether more than `share` of the values that are not missing differ, there being at least `rows` of them."""
        sampled = len(self._sample)
        return sampled * (int(self._mask) + 1) >= rows and len(np.unique(self._sample)) > share * sampled


def _hash_of(value: str | None, dtype: pl.DataType) -> int:
    return int(pl.select(pl.lit(pl.Series([value], dtype=pl.String)).cast(dtype, strict=False).hash()).item())


def with_few_texts(source: Source, names: Sequence[str]) -> frozenset[str]:
    """The columns of texts that have few different ones in the first rows; none of an input that cannot be read, which
    its reading will explain."""
    texts = [name for name in names if source.schema[name] == pl.String]
    if not texts:
        return frozenset()
    try:
        counted = source.scan().head(SAMPLE).select(column(name).n_unique() for name in texts)
        first = counted.collect(engine="in-memory")  # streaming has more to set up, and has to hold these texts as well
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return frozenset()
    return frozenset(name for name, count in zip(texts, first.row(0), strict=True) if count <= MOST_TEXTS)


# --- individuals ------------------------------------------------------------------------------------------------------


class UnitColumn(TextColumn):
    """The unit as text: after the last batch, a code for each row."""

    def __init__(self, field: Field, key: str) -> None:
        super().__init__(field, key)
        self.name = field.name
        self.warnings: list[Caution] = []

    def encode(self, source: Source) -> Codes:
        """(rows,) codes; the same for texts that look alike. Raises DataError where a row does not say whom it is
        about."""
        texts, missing = self.distinct()
        if missing:
            hint = "every row needs one; give each row about an unknown person one of its own"
            raise DataError(Problem(f"unit {self.name!r} is missing in some rows", source.name, hint=hint))
        stands = look_alikes(texts, known=False) if self._missing.normalize else None
        if stands is not None:
            people, whom = np.unique(stands, return_inverse=True)
            alike = len(texts) - len(people)
            look = "unit looks like another one, and is" if alike == 1 else "units look like others, and are"
            said = f"column {self.name!r}: {alike} {look} not counted apart"
            self.warnings.append(Caution.of(said, "`input: {normalize: exact}` counts them, if they are different"))
            return self.codes(dict(zip(texts, whom.tolist(), strict=True)), None, len(people))
        return self.codes({text: code for code, text in enumerate(texts)}, None, len(texts))


def units_of(table: pl.LazyFrame, name: str, missing: notation.Missing) -> pl.Series:
    """(rows,) the unit of every row, as text, null where there is none; normalized where texts are. Without the name of
    its column."""
    texts = table.select(column(name).cast(pl.String).alias("")).collect(engine="streaming").to_series()
    return tidy(texts).replace("", None) if missing.normalize else texts


# --- sampling weights -------------------------------------------------------------------------------------------------
# They say how many of the population each row stands for, and pass through untouched, rounded, or in bands that each
# show their mean.

WRONG = {1: "missing", 2: "not a number", 3: "negative", 4: "zero"}
"""What a weight may not be, by the code of it."""
LOW = 5
"""The code of a weight below one: a row that stands for less than itself."""


class WeightColumn:
    """An encoder that keeps nothing but how many weights are wrong, and where the first is."""

    def __init__(self, field: Field, key: str) -> None:
        self.name, self._key, self._rows = field.name, f"{key} weight", 0
        self._kinds = {code: Bad() for code in (*WRONG, LOW)}
        self.expressions = [_code(field).alias(self._key)]

    def add(self, batch: pl.DataFrame) -> None:
        """Takes the next rows."""
        codes = batch[self._key].to_numpy()
        for code, kind in self._kinds.items():
            kind.add(self._rows + np.flatnonzero(codes == code))
        self._rows += len(codes)

    def check(self, source: Source) -> None:
        """Raises DataError for weights that are missing, not numbers, zero or negative, with the line of the first."""
        if problems := [self._problem(code, source) for code in WRONG if self._kinds[code].count]:
            raise DataError(problems)

    def _problem(self, code: int, source: Source) -> Problem:
        count, row = self._kinds[code].count, self._kinds[code].row or 0
        line = source.line_of(row)
        message = f"1 value is {WRONG[code]}" if count == 1 else f"{count} values are {WRONG[code]}"
        first = f", the first in row {row + 1}" if line is None else ""
        hint = "a sampling weight is a number above 0"
        return Problem(f"sampling weight {self.name!r}: {message}{first}", source.name, line, hint=hint)

    @property
    def warnings(self) -> list[Caution]:
        """A warning of weights below one, where there are any."""
        count = self._kinds[LOW].count
        if not count:
            return []
        verb = "weight is" if count == 1 else "weights are"
        said = f"{count} sampling {verb} below one: a row represents at least itself"
        return [Caution.of(said, "give the number of people that each row represents, not shares")]


def _code(field: Field) -> pl.Expr:
    text = field.notation.with_point(field.text) if is_text(field.dtype) else field.text
    number = text.str.strip_chars().cast(pl.Float64, strict=False)
    return (
        pl.when(field.text.is_null() | field.text.is_in(field.missing.texts))
        .then(1)
        .when(number.is_null() | ~(number.abs() <= LARGEST))
        .then(2)
        .when(number < 0)
        .then(3)
        .when(number == 0)
        .then(4)
        .when(number < 1)
        .then(LOW)
        .otherwise(0)
        .cast(pl.UInt8)
    )


def check(spec: model.Spec, source: Source) -> list[Caution]:
    """Reads a source once, as `Source.check` does, and looks at its sampling weights; returns the warnings.

    Raises DataError for a spec's column of weights that is not there, and for weights that cannot be.
    """
    name = spec.weight_column
    if name is None:
        source.check()
        return []
    if name not in source.schema:
        hint = roles.columns_in(source.columns, spec.roles())
        raise DataError(Problem(f"has no column {name}", file=source.name, hint=hint))
    column = WeightColumn(Field(name, source.schema[name], spec.missing(source.format), spec.notation(name)), "0")
    for batch in source.examine(column.expressions):
        column.add(batch)
    column.check(source)
    return column.warnings


# --- rounding and bands ----------------------------------------------------------------------------------------------


def coded(
    spec: model.Spec, coding: columns.SamplingWeight, weights: DistinctValues
) -> tuple[KeptColumn, dict[str, float | int]]:
    """The weights as they are released, and what that does to their total and to single rows, as a report has it."""
    before = np.asarray(weights.values, np.float64)
    rows = np.bincount(weights.codes, minlength=len(before))
    if coding.round:  # to the nearest multiple, of two the larger; no weight becomes zero
        after = np.maximum(np.floor(before / coding.round + 0.5), 1) * coding.round
    else:
        after = _banded(before, rows, coding.bands or 1, spec.fewest)
    texts, places = np.unique([f"{weight:.10g}" for weight in after], return_inverse=True)
    decimal = spec.notation(coding.column).decimal
    cells = pl.Series([None, *(text.replace(".", decimal) for text in texts.tolist())], dtype=pl.String)
    codes: Codes = (places + 1).astype(np.min_scalar_type(len(texts) + 1))[weights.codes]
    coded = texts.astype(np.float64)[places]
    change = np.abs(coded / before - 1)
    figures = {
        **({"round": coding.round} if coding.round else {"bands": coding.bands or 1}),
        "values": len(texts),
        "total": float(before @ rows),
        "total_released": float(coded @ rows),
        "change_mean": float(change @ rows / rows.sum()),
        "change_max": float(change.max()),
    }
    return KeptColumn(cells, codes), figures


def _banded(weights: NDArray[np.float64], rows: NDArray[np.int64], bands: int, fewest: int) -> NDArray[np.float64]:
    """The mean of each weight's band. `weights` ascending, each of so many `rows`; a band ends where it has its share
    of the rows, and is none of fewer than `fewest`; equal weights are in one band."""
    size = max(-(-int(rows.sum()) // bands), fewest)
    band, number, count, left = np.zeros(len(weights), np.int64), 0, 0, int(rows.sum())
    for place, own in enumerate(rows.tolist()):
        if count >= size and left >= fewest:
            number, count = number + 1, 0
        band[place], count, left = number, count + own, left - own
    means: NDArray[np.float64] = np.bincount(band, weights * rows) / np.bincount(band, rows)
    return means[band]


def as_released(spec: model.Spec, frame: pl.LazyFrame) -> pl.LazyFrame:
    """An original table with its sampling weights as a release of it has them, where these are numbers."""
    coding = spec.weight_coding
    if coding is None or coding.column not in frame.collect_schema():
        return frame
    text = column(coding.column).cast(pl.String)
    if is_text(frame.collect_schema()[coding.column]):
        text = spec.notation(coding.column).with_point(text)
    number = text.str.strip_chars().cast(pl.Float64, strict=False)
    numbers = frame.select(number.alias("")).collect(engine="streaming").to_series()
    if not len(numbers) or numbers.null_count() or not (numbers > 0).all():
        return frame
    values, codes = np.unique(numbers.to_numpy(), return_inverse=True)
    coarse, _ = coded(spec, coding, DistinctValues(values, codes.astype(np.uint32), None))
    return frame.with_columns(coarse.cells.gather(coarse.codes).alias(coding.column))


NEARLY_UNIQUE = 0.95  # share of distinct values
FEWEST_ROWS = 100  # in fewer, it means nothing that all values differ


def unique_warnings(passing: Iterable[UniquenessSample | KeptTexts]) -> Iterator[Caution]:
    """What there is to say of columns that pass through with hardly a value twice."""
    for each in passing:
        if each.exceeds(NEARLY_UNIQUE, FEWEST_ROWS):
            yield Caution.of(
                f"column {each.name!r} passes through unchanged and may identify people: more than "
                f"{NEARLY_UNIQUE:.0%} of its values differ",
                f"leave it out: `identifiers: [{each.name}]`",
            )
