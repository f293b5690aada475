"""Numbers of a table of which nothing says how they are written, such as a release: by what its cells show.

A column has a decimal point or a decimal comma, and no sign between thousands. Where that is in doubt nothing is read:
`1,234` beside `999` may be thousands, and so may `1.234`; a comma that is not followed by exactly three digits, in some
cell of the column, is a decimal one. A text without a digit is a missing value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import polars as pl

from anonymize.errors import DataError, Problem
from anonymize.spec.notation import Notation
from anonymize.table.named import unnamed

GROUPED = "^[+\u2212-]?[1-9]\\d{{0,2}}{sign}\\d{{3}}$"
"""A number with one sign that may part its thousands, as a template of a pattern."""
SHORT = "^[+\u2212-]?\\d{1,3}$"
"""A whole number too small for a sign between thousands."""
REMEDY = "write all of its numbers with one decimal sign, with the same number of decimals, and none between thousands"

Counts = Mapping[str, int]


def read_numbers(cells: pl.DataFrame, ungrouped: Collection[str], file: str) -> pl.DataFrame:
    """The columns as floats, null where a value is missing. `ungrouped`: columns that are known to have no sign between
    thousands. Raises DataError, with a count and no value, for columns that mix decimal signs, may have signs between
    thousands, or have cells with digits that are no numbers."""
    texts = {each.name: _stripped(each) for each in cells if not each.dtype.is_numeric()}
    counts = {name: _counted(each) for name, each in texts.items()}
    commas = any(each["comma"] > (0 if name in ungrouped else each["comma_grouped"]) for name, each in counts.items())
    doubts = {name: _doubt(each, commas=commas, grouped=name not in ungrouped) for name, each in counts.items()}
    numbers = [_numbers(texts[each.name], counts[each.name]) if each.name in texts else _floats(each) for each in cells]
    for name, own in zip(cells.columns, numbers, strict=True):
        if not doubts.get(name) and (wrong := int(own.is_infinite().sum())):
            doubts[name] = f"{wrong:,} of {len(own):,} cells cannot be read as a number"
    problems = [Problem(f"{name}: {doubt}", file=file, hint=REMEDY) for name, doubt in doubts.items() if doubt]
    if problems:
        raise DataError(problems)
    return pl.DataFrame([own.alias(name) for name, own in zip(cells.columns, numbers, strict=True)])


def _stripped(cells: pl.Series) -> pl.DataFrame:
    """The texts of a column that have a digit, null in place of others, as a frame without a name."""
    text = pl.col("").cast(pl.String).str.strip_chars()
    return unnamed(cells).to_frame().select(pl.when(text.str.contains(r"\d")).then(text))


def _counted(texts: pl.DataFrame) -> Counts:
    """How many numbers there are, have a sign, have it several times, and may have it between thousands."""
    text = pl.col("")
    counts = {"numbers": text.is_not_null(), "short": text.str.contains(SHORT)}
    for sign, mark in (("comma", ","), ("point", ".")):
        signs = text.str.count_matches(mark, literal=True)
        grouped = text.str.contains(GROUPED.format(sign=f"[{mark}]"))
        counts |= {sign: signs > 0, f"{sign}_several": signs > 1, f"{sign}_grouped": grouped}
    return texts.select(each.sum().alias(key) for key, each in counts.items()).row(0, named=True)


def _doubt(counts: Counts, *, commas: bool, grouped: bool) -> str | None:
    """Why it is not known what the signs of a column mean; None where it is. `commas`: whether some column has decimal
    commas; `grouped`: whether there may be signs between thousands."""
    numbers = f"of {counts['numbers']:,} numbers"
    if counts["comma"] and counts["point"]:
        return f"{counts['comma']:,} {numbers} have a comma, and {counts['point']:,} a point"
    for sign in ("comma", "point"):
        if counts[f"{sign}_several"]:
            return f"{counts[f'{sign}_several']:,} {numbers} have several {sign}s"
        doubtful = sign == "comma" or commas or counts["short"] > 0
        if grouped and doubtful and 0 < counts[sign] == counts[f"{sign}_grouped"]:
            return f"{counts[sign]:,} {numbers} have a {sign} before three digits, which may part thousands or decimals"
    return None


def _numbers(texts: pl.DataFrame, counts: Counts) -> pl.Series:
    """Texts as numbers, infinite where one cannot be read."""
    bare = Notation(decimal="," if counts["comma"] else ".").with_point(pl.col(""))
    read = bare.cast(pl.Float64, strict=False).fill_nan(None).fill_null(float("inf"))
    return texts.select(pl.when(pl.col("").is_not_null()).then(read)).to_series()


def _floats(cells: pl.Series) -> pl.Series:
    """Numbers of a typed column."""
    return cells.cast(pl.Float64).fill_nan(None)
