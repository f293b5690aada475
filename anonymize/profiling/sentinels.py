"""Numbers and dates that stand for a missing value: -9 among numbers of children, 999 among ages, 1900-01-01.

They are of a fixed list, and lie where no other value of their column does. What the list does not have, such as an age
of 300, is counted and not named. All of it is seen in a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain.moments import Moments
from anonymize.profiling.measure import ColumnFacts
from anonymize.profiling.roles import Guess
from anonymize.profiling.words import AGES
from anonymize.table.named import column

NUMBERS = frozenset(sign + digit * length for digit in "789" for length in (1, 2, 3, 4, 5, 6) for sign in ("", "-")) | {
    "-1",
    "98",
    "97",
    "998",
    "997",
    "9998",
    "9997",
    "9990",
}
DATES = ("0001-01-01", "1000-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "2099-12-31", "9999-12-31")
OLDEST = 120
"""The largest age that anybody has."""
APART = 10
"""How far a number lies at least beyond the others to stand for something else."""


@dataclass(frozen=True)
class Sentinels:
    """What of a column seems to stand for a missing value: `texts` of the list; `remark`: what is to be said of it."""

    texts: tuple[str, ...]
    remark: str


def sentinels_of(guess: Guess, sample: pl.DataFrame) -> Sentinels | None:
    """What stands for a missing value in a column, or cannot be one; None where nothing does."""
    values = sample.select(column(guess.name).drop_nulls().alias("value"))["value"].str.strip_chars()
    if guess.role in ("identifier", "sampling-weight"):
        return None
    if guess.shape is not None and guess.shape.kind == "date" and guess.facts.numbers is None:
        return _among_dates(guess, values)
    return _among_numbers(guess, values) if guess.facts.numbers is not None else None


def _among_dates(guess: Guess, values: pl.Series) -> Sentinels | None:
    assert guess.shape is not None
    moments = Moments("dates", ("day", "year"), guess.shape.format)
    day, year = moments.steps
    texts = [text for text in guess.facts.sampled.to_list() if moments.fits(text)]
    years = [year(text) for text in texts]
    alone = tuple(text for text, own in zip(texts, years, strict=True) if day(text) in DATES and years.count(own) == 1)
    return _said(alone, values)


def _among_numbers(guess: Guess, values: pl.Series) -> Sentinels | None:
    texts = guess.facts.sampled.str.strip_chars()
    listed = texts.filter(texts.is_in(list(NUMBERS))).to_list()
    others = texts.filter(~texts.is_in(list(NUMBERS))).cast(pl.Float64, strict=False).drop_nulls().to_numpy()
    beyond = tuple(_beyond(listed, others))
    said = _said(beyond, values)
    if guess.words & AGES:
        old = values.filter(~values.is_in(list(beyond))).cast(pl.Float64, strict=False)
        if count := int((old > OLDEST).sum()):
            return Sentinels(beyond, f"{_values(count, 'is', 'are')} above {OLDEST}, which no age is")
    return said


def _beyond(listed: Sequence[str], others: NDArray[np.float64]) -> Iterator[str]:
    """The listed numbers that lie beyond all others by more than these lie apart, or are negative alone."""
    if len(others) < 2:
        return
    least, most = float(others.min()), float(others.max())
    for text in listed:
        number = float(text)
        if (number < 0 <= least) or number - most > max(most - least, APART):
            yield text


def _said(texts: tuple[str, ...], values: pl.Series) -> Sentinels | None:
    count = int(values.is_in(list(texts)).sum())
    return Sentinels(texts, f"{_values(count, 'seems', 'seem')} to mean missing") if texts else None


def _values(count: int, one: str, several: str) -> str:
    return f"1 value {one}" if count == 1 else f"{count:,} values {several}"


def unambiguous(sentinels: Sequence[tuple[Guess, Sentinels]], columns: Sequence[ColumnFacts]) -> list[str]:
    """The texts that mean missing wherever they are: no column has one as a value, but for those where it stands for
    that."""
    where: dict[str, set[str]] = {}
    for guess, each in sentinels:
        for text in each.texts:
            where.setdefault(text, set()).add(guess.name)
    return [
        text
        for text, names in where.items()
        if not any(facts.holds(text) for facts in columns if facts.name not in names)
    ]
