"""What is proposed for a column: the type of a quasi-identifier and a builder for its hierarchy, and the numbers and
dates that stand for a missing value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain.grid import Grid
from anonymize.domain.text_levels import Moments
from anonymize.profiling.measure import ColumnFacts, Numbers
from anonymize.profiling.roles import Guess, is_moment
from anonymize.profiling.shapes import TextShape
from anonymize.profiling.words import AGES, BIRTHS, COORDINATES, COUNTS, PLACES, YEARS, names_institution
from anonymize.records import dataclass
from anonymize.spec.hierarchy import MOST_WIDTH
from anonymize.table.named import column

# --- hierarchies ------------------------------------------------------------------------------------------------------

LABELS = ("Other", "Others", "All others", "Rest", "(pooled)")
LEAST_POOL, MOST_POOL = 5, 50
MANY_CODES = 15
"""Fewer different whole numbers are codes, if they are no counts or ages."""
FEW_NUMBERS = 5
"""So many different numbers or more are put into intervals."""
FIRST_LEVEL_INTERVALS = 10
"""Intervals of the first level, about, over the bulk of the values."""
WIDE_AGES = 15
"""Ages that lie so far apart are put into steps of 5, 10 and 20 years."""
DECADES = 20
"""Dates that lie so many years apart are put into decades."""
LISTED = 100
"""Up to so many numbers of institutions are names of these, and in no order."""
MASKED = 8
"""Up to so many characters a code is masked one by one."""


def settings(guess: Guess) -> dict[str, Any]:
    """What the spec says of a quasi-identifier: `type` and `hierarchy`, as far as they differ from the defaults."""
    facts, shape = guess.facts, guess.shape
    if not facts.distinct:
        return {}
    if is_moment(facts, shape):
        return _moments(shape, guess)
    if shape is not None and shape.system is not None:
        return {"hierarchy": {"codes": shape.system}}
    code = is_code(guess)
    listed = names_institution(guess.name) and facts.distinct <= LISTED
    if facts.numbers is not None and not code and not listed and is_numeric(guess):
        few = facts.distinct < FEW_NUMBERS
        return kind_of(guess) | ({} if few else _intervals(facts.numbers, guess.words))
    if shape is not None and (code or guess.words & PLACES) and _one_length(facts):
        return _prefixes(facts, shape)
    return _pool(facts)


def is_numeric(guess: Guess) -> bool:
    """Whether numbers are to be read as such: few different whole ones are codes of categories, unless they count
    something, or are ages or years."""
    facts = guess.facts
    if facts.numbers is None:
        return False
    return not facts.numbers.whole or facts.distinct >= MANY_CODES or bool(guess.words & (AGES | COUNTS | YEARS))


def kind_of(guess: Guess) -> dict[str, Any]:
    """The type of a column of numbers, and how they are written where a point alone does not say it; nothing of another
    column."""
    return {"type": "numeric", **notation_of(guess)} if is_numeric(guess) else {}


def notation_of(guess: Guess) -> dict[str, str]:
    """How numbers are written, where it is not with a point alone."""
    notation = None if guess.shape is None else guess.shape.notation
    written = {} if notation is None else notation.settings
    return {key: value for key, value in written.items() if (key, value) != ("decimal", ".")}


def is_code(guess: Guess) -> bool:
    """Whether texts are codes, of which the first characters mean something: by their form, or, of numbers of one
    length, where the column is called as places are, or as five digits of a column that says nothing else."""
    kind = None if guess.shape is None else guess.shape.kind
    called = guess.words & (PLACES - COORDINATES) or names_institution(guess.name)
    place = bool(called) or guess.mark == "postal"
    return kind == "code" or (kind == "digits" and place)


def _moments(shape: TextShape | None, guess: Guess) -> dict[str, Any]:
    if shape is None or shape.kind not in ("date", "time") or shape.odd:
        return {}
    kind = "dates" if shape.kind == "date" else "times"
    levels = ["hour", "six-hours", "half-day"]
    if kind == "dates":
        finer = {"minute": ["day", "month"], "day": ["month"], "month": [], "week": []}[shape.finest]
        quarters = [] if shape.finest == "week" else ["quarter"]
        levels = [*finer, *quarters, "year", *(["decade"] if guess.words & BIRTHS or shape.years >= DECADES else [])]
    return {"hierarchy": {kind: {"format": shape.format, "levels": levels} if shape.format else levels}}


HALF = 5
"""A width that is half of a power of ten."""


def _intervals(numbers: Numbers, words: frozenset[str]) -> dict[str, Any]:
    """Intervals of round widths: some ten over the bulk of the values, then coarser ones, of which a few cover it."""
    spread = numbers.high - numbers.low
    if words & AGES and spread >= WIDE_AGES:
        widths = [5.0, 10.0, 20.0]
    elif words & {"bmi", "imc"} or words >= {"mass", "index"}:
        widths = [2.5, 5.0, 10.0]
    elif words & YEARS or (numbers.whole and 1850 <= numbers.low <= numbers.high <= 2100):
        widths = [5.0, 10.0]
    elif words & COORDINATES:
        widths = [0.01, 0.1, 1.0]
    else:
        if not math.isfinite(spread) or spread <= 0 or not 1e-200 < spread < 1e200:
            return {}
        grid = Grid.near(spread / FIRST_LEVEL_INTERVALS, at_least=2.0 if numbers.whole else 0.0)
        # grows to round widths from 1 and 2 on, where the numbers spread so far
        multiples = (1, 2, 4) if grid.mantissa == HALF or 5 * grid.step > spread else (1, 5, 10)
        widths = [Grid(grid.mantissa * times, grid.exponent).step for times in multiples]
    widths = [width for width in widths if width <= spread] or widths[:1]
    if numbers.largest / widths[0] >= MOST_WIDTH / 4 or widths[-1] >= MOST_WIDTH:
        return {}
    return {"hierarchy": {"intervals": [int(width) if width == int(width) else width for width in widths]}}


def _one_length(facts: ColumnFacts) -> bool:
    """Whether texts are codes: of one length or nearly so, without spaces, with a digit somewhere."""
    lengths = {len(text) for text in facts.texts}
    digits = any(character.isdigit() for text in facts.texts for character in text)
    return digits and max(lengths) - min(lengths) <= 2 and max(lengths) > 2 and not any(" " in x for x in facts.texts)


def _prefixes(facts: ColumnFacts, shape: TextShape) -> dict[str, Any]:
    width = max(map(len, facts.texts))
    if shape.lengths:
        return {"hierarchy": {"prefix": list(shape.lengths)}}
    if width <= MASKED and len({len(text) for text in facts.texts}) == 1:
        return {"hierarchy": {"prefix": list(range(width - 1, 0, -1))}}
    return {"hierarchy": {"prefix": sorted({max(width - 2, 1), max(width // 2, 1), 1}, reverse=True)}}


def _pool(facts: ColumnFacts) -> dict[str, Any]:
    """Rare values under one label that is none of them, in any case, where some are rare and others are not."""
    below = min(max(facts.rows // 100, LEAST_POOL), MOST_POOL)
    rare = int(np.searchsorted(facts.counts, below))
    taken = {text.strip().lower() for text in facts.texts}
    label = next((label for label in LABELS if label.lower() not in taken and not facts.holds(label)), None)
    if facts.distinct < 4 or rare < 2 or rare == facts.distinct or label is None:
        return {}
    return {"hierarchy": {"rare": {"below": below, "label": label}}}


# --- numbers that stand for a missing value ---------------------------------------------------------------------------
# -9 among numbers of children, 999 among ages, 1900-01-01 among dates. They are of a fixed list, and lie where no other
# value of their column does. What the list does not have, such as an age of 300, is counted and not named. All of it is
# seen in a sample.

_REPEATED = (sign + digit * length for digit in "789" for length in range(1, 7) for sign in ("", "-"))
NUMBERS = frozenset((*_REPEATED, "-1", "98", "97", "998", "997", "9998", "9997", "9990"))
DATES = ("0001-01-01", "1000-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "2099-12-31", "9999-12-31")
OLDEST = 120
"""The largest age that anybody has."""
LEAST_GAP = 10
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
    if guess.facts.numbers is not None:
        return _among_numbers(guess, values)
    if guess.shape is None or guess.shape.kind != "date":
        return None
    moments = Moments("dates", ("day", "year"), guess.shape.format)
    day, year = moments.steps
    texts = [text for text in guess.facts.sampled.to_list() if moments.fits(text)]
    years = [year(text) for text in texts]
    alone = tuple(text for text, own in zip(texts, years, strict=True) if day(text) in DATES and years.count(own) == 1)
    return _said(alone, values)


def _among_numbers(guess: Guess, values: pl.Series) -> Sentinels | None:
    texts = guess.facts.sampled.str.strip_chars()
    numbers = _numbers(guess, texts)
    whole = numbers.is_finite() & (numbers % 1 == 0) & (numbers.abs() < 10**7)
    listed = (whole & numbers.cast(pl.Int64, strict=False).cast(pl.String).is_in(list(NUMBERS))).fill_null(False)
    pairs = zip(texts.filter(listed), numbers.filter(listed), strict=True)
    beyond = tuple(_beyond(pairs, numbers.filter(~listed).drop_nulls().to_numpy()))
    said = _said(beyond, values)
    if guess.words & AGES:
        old = _numbers(guess, values.filter(~values.is_in(list(beyond))))
        if count := int((old > OLDEST).sum()):
            return Sentinels(beyond, f"{_values(count, 'is', 'are')} above {OLDEST}, which no age is")
    return said


def _numbers(guess: Guess, texts: pl.Series) -> pl.Series:
    """Texts as numbers in the notation of their column; null where they are none."""
    notation = None if guess.shape is None else guess.shape.notation
    written = texts if notation is None else pl.select(notation.with_point(pl.lit(texts))).to_series()
    return written.cast(pl.Float64, strict=False)


def _beyond(listed: Iterable[tuple[str, float]], others: NDArray[np.float64]) -> Iterator[str]:
    """The texts of listed numbers that lie beyond all others by more than these lie apart, or are negative alone."""
    if len(others) < 2:
        return
    least, most = float(others.min()), float(others.max())
    for text, number in listed:
        if (number < 0 <= least) or number - most > max(most - least, LEAST_GAP):
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
