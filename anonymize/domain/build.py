"""Taxonomies of columns: read from a file, or made from the values by one of the builders of the spec.

- `intervals`: intervals of given widths, nested in each other and starting at 0, over a numeric attribute.
- `mask`: characters replaced by `*` one after the other. `right` turns 02138 into 0213*, 021**, 02*** and 0****;
  masking the last one is the root. Shorter values are padded with `_` on the other side, so that they line up at the
  masked end: 138 and 12 become 13* and _1*.
- `prefix`: the first characters, fewer at each level, followed by `*`: for lengths 3 and 1, 02138 becomes 021* and 0*.
  A value that is shorter is its own prefix; an empty value stays as it is below the root.
- `bands`: bands of a numeric attribute, by where each begins; the first and the last are open.
- `codes`, `zip3`: levels of published systems of codes; see `anonymize.domain.text_levels`.
- `dates`, `times`: parts of dates and of times of day; see `anonymize.domain.text_levels`.
- `rare`: values that few rows have under one label; see `anonymize.domain.taxonomy`.
- `flat`: the root alone above the values.

The root of a built taxonomy reads as a suppressed value does. Values are taken in sorted order, so a taxonomy depends
on what values there are, and not on where they stand.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain import cells, files
from anonymize.domain.cells import CellFormat
from anonymize.domain.generalization import Generalization
from anonymize.domain.grid import Grid, Numbers, texts
from anonymize.domain.numeric import Numeric, included, template
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.text_levels import DateCodes, Fits, Moments, Step, code_steps, zip_steps
from anonymize.domain.tree import NUMBERS, Level, Tree
from anonymize.errors import DataError, Problem, SpecError, ValuesError
from anonymize.spec.codes import SYSTEMS, large_areas
from anonymize.spec.columns import Definition
from anonymize.spec.hierarchy import MOST_WIDTH, Codes, Mask, NumberBands, Parts, Prefix, Rare, Zip3
from anonymize.spec.hierarchy import Intervals as IntervalsSource

_CHARACTERS = 1 << 30  # the labels of a masked column have fewer


def build(
    name: str,
    definition: Definition,
    values: Sequence[str],
    missing: str | None,
    suppressed: str,
    *,
    normalize: bool = True,
    frequent: Collection[str] = (),
    codes: DateCodes = DateCodes(),  # noqa: B008 (frozen)
) -> Taxonomy:
    """The taxonomy of a categorical column.

    Args:
        name: the column's name.
        definition: what the spec says about it; without a hierarchy it is flat.
        values: the column's distinct texts without the missing ones, in any order.
        missing: text of missing values, None where the column has none.
        suppressed: text of the root of a built taxonomy.
        normalize: the texts of a file are compared normalized, as `values` are.
        frequent: for `rare`, the values that are not pooled.
        codes: for `dates`, where they are cut off; the values have been.

    Raises:
        SpecError: the hierarchy file is wrong, or the builder is one for numbers.
        ValuesError: values without a leaf in the file, values that are not dates or times, a pool that is called what
            a value is; says how many, not which.
        DataError: values too long and too many to be masked.
    """
    source = definition.hierarchy
    if isinstance(source, Path):
        return file(name, source, values, missing, normalize=normalize)
    if isinstance(source, IntervalsSource | NumberBands):
        raise SpecError(Problem(f"column {name!r}: intervals need numbers", hint="add 'type: numeric'"))
    if not values and missing is None:
        raise DataError(f"column {name!r} has no values")
    steps: Sequence[Step] = ()
    if isinstance(source, Mask):
        steps = mask(source.mask, _width(name, values))
    elif isinstance(source, Prefix):
        steps = prefix(source.prefix)
    elif isinstance(source, Codes):
        steps = _checked(name, values, *code_steps(source.codes), SYSTEMS[source.codes].noun)
    elif isinstance(source, Zip3):
        steps = _checked(name, values, *zip_steps(large_areas(source.zip3)), "ZIP codes")
    elif isinstance(source, Parts):
        moments = moments_of(source, codes)
        hint = f'{{{moments.noun}: {{format: "...", levels: [...]}}}} says how they are written; '
        steps = _checked(name, values, moments.fits, moments.steps, moments.expected, hint)
    elif isinstance(source, Rare):
        label = source.rare.label
        if label in values:
            problem = Problem(
                f"column {name!r}: the label of `rare` is a value of the column", hint="choose another label"
            )
            raise ValuesError(problem, [values.index(label)])
        steps = [lambda value: value if value in frequent else label]
    return Taxonomy.of(name, Tree.from_steps(sorted(values), steps, suppressed), missing)


def file(name: str, path: Path, values: Sequence[str], missing: str | None, *, normalize: bool = True) -> Taxonomy:
    """The taxonomy of a hierarchy file, with all its leaves, whether or not they occur; see `build`."""
    tree = files.read(path, name, normalize=normalize)
    leaves = set(tree.leaves)
    if uncovered := [place for place, value in enumerate(values) if value not in leaves]:
        message = f"column {name!r}: {len(uncovered)} of {len(values)} distinct values are not leaves of the hierarchy"
        hint = "add a line for each of them, or list the text under 'missing' if it stands for a missing value"
        raise ValuesError(Problem(message, file=str(path), hint=hint), uncovered)
    return Taxonomy.of(name, tree, missing)


def numeric_hierarchy(
    definition: Definition, numeric: Numeric, interval: str, suppressed: str, *, normalize: bool = True
) -> Generalization:
    """The hierarchy of a numeric column: intervals, a file whose leaves are numbers, or a root alone.

    Args:
        definition: what the spec says about the column.
        numeric: its numbers.
        interval: the template of labels of intervals, with `{low}` and `{high}`.
        suppressed: label of the root, unless a file has one.
        normalize: the texts of a file are normalized.

    Raises:
        SpecError: the file is wrong, or intervals are too small; see `intervals`.
        ValuesError: numbers without a leaf in the file; says how many, not which.
    """
    source = definition.hierarchy
    if isinstance(source, Path):
        return _numbers_file(numeric, source, interval, normalize=normalize)
    if isinstance(source, IntervalsSource):
        taxonomy = intervals(numeric, source.intervals, interval, suppressed)
    elif isinstance(source, NumberBands):
        taxonomy = bands(numeric, source.bands, interval, suppressed)
    else:
        return Generalization.plain(numeric, suppressed)
    return Generalization.over(numeric, taxonomy, *_widths(taxonomy, interval))


def _widths(taxonomy: Taxonomy, interval: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(nodes,) the width of the interval that each label above the leaves reads as, nan where it is none; and how many
    of its ends that leaves out."""
    labels = pl.Series(taxonomy.labels[taxonomy.size :], dtype=pl.String)
    reading = cells.read_cells(labels, labels, CellFormat(interval, None, frozenset()), numeric=True)
    shows = reading.of_kind(*cells.INTERVALS.values())
    low, high = (cells.numbers(ends).fill_null(0.0).to_numpy() for ends in (reading.low, reading.high))
    with np.errstate(over="ignore"):
        width = np.where(shows, np.maximum(high - low, 0.0), np.nan)
    excluded = np.sum(reading.excluded, axis=0, dtype=np.int64)
    nothing = np.zeros(taxonomy.size, np.int64)
    return np.concatenate((np.full(taxonomy.size, np.nan), width)), np.concatenate((nothing, excluded))


def _numbers_file(numeric: Numeric, path: Path, interval: str, *, normalize: bool) -> Generalization:
    """The hierarchy of a file whose leaves are numbers; any other leaf stands for missing, or for nothing."""
    tree = files.read(path, numeric.name, normalize=normalize)
    taxonomy = Taxonomy.of(numeric.name, tree, numeric.missing_text)
    if (taxonomy.weights != 1).any():
        raise SpecError(Problem(f"hierarchy of {numeric.name!r}: {NUMBERS}", file=str(path), hint="leave them out"))
    numbers = [None if code == taxonomy.missing else _number(text) for code, text in enumerate(taxonomy.leaf_text())]
    leaf_of = {number: code for code, number in reversed(list(enumerate(numbers))) if number is not None}
    leaf_codes = [leaf_of.get(value, -1) for value in numeric.values.tolist()]
    if uncovered := [place for place, code in enumerate(leaf_codes) if code == -1]:
        message = f"column {numeric.name!r}: {len(uncovered)} of {len(leaf_codes)} distinct numbers are not leaves"
        problem = Problem(f"{message} of the hierarchy", file=str(path), hint="add a line for each of them")
        raise ValuesError(problem, uncovered)
    leaves = np.array([*leaf_codes, *([] if taxonomy.missing is None else [taxonomy.missing])], np.int64)
    values = np.array([np.nan if number is None else number for number in numbers], np.float64)
    return Generalization(numeric, taxonomy, leaves, values, *_widths(taxonomy, interval))


def _number(text: str) -> int | float | None:
    """A leaf of a file as a number; None where it is not one."""
    if "_" in text:
        return None
    for kind in (int, float):
        with suppress(ValueError):
            number = kind(text)
            return number if abs(number) < float("inf") else None
    return None


def intervals(numeric: Numeric, widths: Sequence[float], interval: str, suppressed: str) -> Taxonomy:
    """The taxonomy of a numeric attribute by intervals of these widths; its leaf codes are the attribute's.

    Whole numbers in intervals of whole width read `[5-9]`, one value as itself; others are half-open, `[5-10)` (a
    template that does not end with `]` stays as it is). A missing value is a leaf directly under the root.

    Args:
        numeric: the attribute.
        widths: ascending, each a multiple of the one before.
        interval: the template of labels, with `{low}` and `{high}`.
        suppressed: label of the root.

    Raises:
        SpecError: a width so small that the intervals up to the largest value cannot be counted; what
            `check_half_open` raises.
    """
    largest = float(np.abs(numeric.values.astype(np.float64)).max(initial=0.0))
    if largest / widths[0] >= MOST_WIDTH:
        message = f"column {numeric.name!r}: its values are too large for intervals of the smallest width"
        raise SpecError(Problem(message, hint="use larger widths"))
    grid = Grid.of(widths[0])
    whole = numeric.whole and grid.whole
    check_half_open(numeric.name, interval, whole=whole)
    fine, levels = grid.floor(numeric.values), []
    for ratio in (round(width / widths[0]) for width in widths):
        number, group = np.unique(fine // ratio, return_inverse=True)
        labels = _interval_labels(grid, number * ratio, ratio, interval, whole=whole)
        _open_ends(numeric, labels, grid, number * ratio, ratio, suppressed)
        levels.append(Level(group, labels))
    return _over_numbers(numeric, levels, suppressed)


def _over_numbers(numeric: Numeric, levels: Sequence[Level], suppressed: str) -> Taxonomy:
    """The taxonomy of levels above numbers; a missing value is a leaf directly under the root."""
    count = len(numeric.values)
    leaves = Level(np.arange(count), numeric.leaf_text()[:count])
    tree = Tree((leaves, *levels, Level(np.zeros(count, dtype=np.intp), [suppressed])))
    numbered = (tree if numeric.missing_text is None else tree.with_leaf(numeric.missing_text)).numbered()
    return Taxonomy(numeric.name, numbered.levels, numbered.labels, numeric.missing)


def bands(numeric: Numeric, levels: Sequence[Sequence[float]], interval: str, suppressed: str) -> Taxonomy:
    """The taxonomy of a numeric attribute by bands; its leaf codes are the attribute's.

    Whole numbers in bands that begin at whole ones read `17-`, `[18-64]`, `65+`; others `18-`, `[18-65)`, `65+`.

    Args:
        numeric: the attribute.
        levels: where the bands of each level begin, but for the first, each level with some of the one before.
        interval: the template of labels, with `{low}` and `{high}`.
        suppressed: label of the root.

    Raises:
        SpecError: what `check_half_open` raises.
    """
    whole = numeric.whole and all(bound == int(bound) for bound in levels[0])
    check_half_open(numeric.name, interval, whole=whole)
    made = []
    for bounds in levels:
        number, group = np.unique(np.searchsorted(bounds, numeric.values, side="right"), return_inverse=True)
        labels = _band_labels(numeric, bounds, interval, whole=whole)
        made.append(Level(group, [labels[place] for place in number.tolist()]))
    return _over_numbers(numeric, made, suppressed)


def _band_labels(numeric: Numeric, bounds: Sequence[float], interval: str, *, whole: bool) -> list[str]:
    """(bounds + 1,) how each band reads; one whole number alone reads as itself."""
    with_low, with_high = included(interval) or (True, True)
    fill = template(interval, half_open=not whole)
    ends: Numbers = np.array(bounds, np.int64 if whole else np.float64)
    lows, highs = (texts(ends - int(less)) for less in (whole and not with_low, whole and with_high))
    begins, lasts = texts(ends), texts(ends - int(whole))
    inner = [
        begins[place] if whole and begins[place] == lasts[place + 1] else fill(lows[place], highs[place + 1])
        for place in range(len(bounds) - 1)
    ]
    return [numeric.coding.below(lasts[0]), *inner, numeric.coding.above(begins[-1])]


def check_half_open(name: str, interval: str, *, whole: bool, otherwise: str = "") -> None:
    """Raises SpecError where intervals of numbers that are not whole leave out their upper end, and include the lower
    one, and the template cannot say so. `otherwise`: what would do as well, for the hint."""
    if whole or (interval.endswith("]") and included(interval) == (True, True)) or included(interval) == (True, False):
        return
    message = f"column {name!r}: intervals of numbers that are not whole leave out their upper end, and this template"
    hint = 'write output.interval as "[{low}-{high}]", whose last ] becomes ) there'
    raise SpecError(Problem(f"{message} of output.interval cannot show that", hint=hint + otherwise))


def _interval_labels(grid: Grid, start: NDArray[np.int64], steps: int, interval: str, *, whole: bool) -> list[str]:
    """Labels of the intervals of so many steps from each start; one whole number alone reads as itself."""
    with_low, with_high = included(interval) or (True, True)
    fill = template(interval, half_open=not whole)
    firsts, lows = (grid.texts(start, exact=whole, less=int(less)) for less in (False, whole and not with_low))
    lasts, highs = (grid.texts(start + steps, exact=whole, less=int(less)) for less in (whole, whole and with_high))
    texts = zip(firsts, lasts, map(fill, lows, highs), strict=True)
    return [first if first == last else text for first, last, text in texts]


def _open_ends(
    numeric: Numeric, labels: list[str], grid: Grid, start: NDArray[np.int64], steps: int, suppressed: str
) -> None:
    """Writes the labels of the first and the last interval anew, where values beyond them are coded as theirs."""
    whole = numeric.whole and grid.whole
    if numeric.highest_open:
        labels[-1] = numeric.coding.above(grid.texts(start[-1:], exact=whole)[0])
    if numeric.lowest_open:
        high = grid.texts(start[:1] + steps, exact=whole, less=int(whole))[0]
        labels[0] = suppressed if numeric.highest_open and len(labels) == 1 else numeric.coding.below(high)


def _width(name: str, values: Sequence[str]) -> int:
    """Characters of the longest value. Raises DataError where the labels of all levels would fill the memory."""
    width = max(map(len, values), default=0)
    if len(values) * width**2 >= _CHARACTERS:
        message = f"column {name!r}: {len(values)} distinct values of up to {width} characters are too many to mask"
        raise DataError(Problem(message, hint="mask is for codes; {prefix: [3, 1]} makes a few levels of any text"))
    return width


def mask(side: str, width: int) -> list[Step]:
    """One step per masked character but the last, for values of up to `width` characters."""

    def masked(count: int, value: str) -> str:
        if side == "right":
            return value.rjust(width, "_")[: width - count] + "*" * count
        return "*" * count + value.ljust(width, "_")[count:]

    return [partial(masked, count) for count in range(1, width)]


def prefix(lengths: Sequence[int]) -> list[Step]:
    """One step per length."""

    def cut(length: int, value: str) -> str:
        return f"{value[:length]}*" if value else value

    return [partial(cut, length) for length in lengths]


def moments_of(source: Parts, codes: DateCodes = DateCodes()) -> Moments:  # noqa: B008 (frozen)
    """How dates or times of day are read, and cut off."""
    return Moments(source.KEY, source.levels, source.format, utc=source.utc, codes=codes)


def _checked(
    name: str, values: Sequence[str], fits: Fits, steps: Sequence[Step], expected: str, hint: str = ""
) -> Sequence[Step]:
    """The steps of a builder that takes some texts alone. Raises ValuesError for values that it does not take."""
    if wrong := [place for place, value in enumerate(values) if not fits(value)]:
        message = f"column {name!r}: {len(wrong)} of {len(values)} distinct values are not {expected}"
        raise ValuesError(Problem(message, hint=f"{hint}texts that mean missing belong in input.missing"), wrong)
    return steps
