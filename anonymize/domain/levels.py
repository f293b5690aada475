"""Values at a level of a hierarchy: those that a channel is over, and quasi-identifiers that are coded at a level
before any search, so that nothing finer is left of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain import Domain, build
from anonymize.domain.cells import CellFormat, CellKind, numbers, read_cells
from anonymize.domain.generalization import CodedGeneralization, Generalization
from anonymize.domain.grid import Grid, Numbers, texts
from anonymize.domain.numeric import Bands, Numeric, template
from anonymize.domain.taxonomy import CodedTaxonomy
from anonymize.errors import Problem, SpecError, UsageError
from anonymize.records import dataclass
from anonymize.spec.blocks import Output
from anonymize.spec.columns import QuasiIdentifier
from anonymize.spec.hierarchy import Intervals, NumberBands

# --- what a channel is over -------------------------------------------------------------------------------------------

Bounds = tuple[float | None, float | None]
"""Lowest and highest number of a category; None: without an end."""


@dataclass(frozen=True)
class Categories:
    """Different texts, and which of them each code of a domain is.

    `of_code` (domain.size,) int64. `bounds`: what each category of numbers spans, None for one that is neither a
    number nor an interval (missing, suppressed); None where the attribute is categorical. `half_open`: the upper ends
    do not belong to the categories.
    """

    texts: tuple[str, ...]
    of_code: NDArray[np.int64]
    bounds: tuple[Bounds | None, ...] | None = None
    half_open: bool = False

    @classmethod
    def of(cls, labels: Sequence[str]) -> Categories:
        """From a label of each code; codes of the same label are one category, in the order of codes."""
        number: dict[str, int] = {}
        of_code = np.array([number.setdefault(label, len(number)) for label in labels], np.int64)
        return cls(tuple(number), of_code)

    def occurring(self, present: NDArray[np.bool_]) -> Categories:
        """The categories of some codes (domain.size,) alone; codes of any other category are -1."""
        present_codes = np.unique(self.of_code[present])
        number = np.full(len(self.texts), -1)
        number[present_codes] = np.arange(len(present_codes))
        bounds = None if self.bounds is None else tuple(self.bounds[index] for index in present_codes.tolist())
        kept_texts = tuple(self.texts[index] for index in present_codes.tolist())
        return Categories(kept_texts, number[self.of_code], bounds, self.half_open)


def of_domain(domain: Domain) -> Categories:
    """One category for each leaf; the bounds of a number are the number itself, unless it is a code."""
    leaves = Categories.of(domain.leaf_text())
    if not isinstance(domain, Numeric):
        return leaves
    bounds: list[Bounds | None] = [(value, value) for value in domain.values.astype(np.float64).tolist()]
    if domain.lowest_open:
        bounds[0] = (None, float(domain.values[0]))
    if domain.highest_open:
        bounds[-1] = (float(domain.values[-1]), None)
    return Categories(leaves.texts, leaves.of_code, (*bounds, *[None] * (domain.size - len(bounds))))


def of_level(generalization: Generalization, level: int, interval: str) -> Categories:
    """The nodes at a level of the hierarchy. Raises SpecError for a level that it does not have.

    What an interval of numbers spans is read from its label, which is written with the template `interval`.
    """
    domain, hierarchy = generalization.domain, generalization.hierarchy
    if level > hierarchy.height:
        message = f"quasi_identifiers.{domain.name}.level: {level}, and the root of its hierarchy is {hierarchy.height}"
        raise SpecError(Problem(message, hint=f"choose one from 0 to {hierarchy.height - 1}"))
    codes = np.arange(domain.size)
    nodes = Categories.of(generalization.text_of(codes, hierarchy.levels[level][generalization.leaf_of(codes)]))
    if not isinstance(domain, Numeric):
        return nodes
    missing, coding = frozenset(filter(None, [domain.missing_text])), domain.coding
    column = pl.Series(nodes.texts, dtype=pl.String)
    written = CellFormat(interval, None, missing, coding.open_high, coding.open_low)
    cells = read_cells(column, column, written, numeric=True)
    pairs = zip(numbers(cells.low), numbers(cells.high), strict=True)
    bounds = tuple(None if pair == (None, None) else pair for pair in pairs)
    return Categories(nodes.texts, nodes.of_code, bounds, bool(cells.of_kind(CellKind.HALF_OPEN).any()))


def of_bins(domain: Numeric, edges: Sequence[float], interval: str) -> Categories:
    """Bins that begin at each edge, and one below the first: `<18`, `[18-29]`, `>=30`.

    On numbers that are not whole, and between edges that are not, intervals are half-open: `[18-30)`.
    """
    whole = domain.whole and all(edge == int(edge) for edge in edges)
    names = texts(np.array(edges, np.int64) if whole else np.array(edges, np.float64))
    build.check_half_open(domain.name, interval, whole=whole)
    fill = template(interval, half_open=not whole)
    labels = [f"<{names[0]}"]
    bounds: list[Bounds] = [(None, edges[0] - whole)]
    for low, high in pairwise(range(len(edges))):
        last = str(int(edges[high]) - 1) if whole else names[high]
        labels.append(names[low] if names[low] == last else fill(names[low], last))
        bounds.append((edges[low], edges[high] - whole))
    labels.append(f">={names[-1]}")
    bounds.append((edges[-1], None))
    of_code = np.searchsorted(np.array(edges, np.float64), domain.values.astype(np.float64), side="right")
    if domain.missing is None:
        return Categories(tuple(labels), of_code, tuple(bounds), not whole)
    of_code = np.append(of_code, len(labels))
    return Categories((*labels, domain.missing_text or ""), of_code, (*bounds, None), not whole)


# --- coded at a level -------------------------------------------------------------------------------------------------
# Categories become the nodes of the level. Numbers become intervals that end where these nodes do: of `intervals` and
# `bands` where these do, of a file at the lowest and the highest number under a node. At the root nothing is shown of
# them.

Ints = NDArray[np.int64]


def check_level(over: Generalization, definition: QuasiIdentifier) -> None:
    """Raises UsageError where the hierarchy has no such level as the spec asks for."""
    levels, height = definition.levels, over.hierarchy.height
    if levels is not None and max(levels.min, levels.max or 0) > height:
        name = over.domain.name
        raise UsageError(Problem(f"quasi_identifiers.{name}.levels: the hierarchy has the levels 0 to {height}"))


@dataclass(frozen=True)
class _Ends:
    """Where the intervals of the nodes of a level begin and end (n,)."""

    lows: Numbers
    highs: Numbers
    half_open: bool = False


def coded(over: Generalization, definition: QuasiIdentifier, output: Output) -> tuple[CodedGeneralization, Ints] | None:
    """A column coded at the least level that the spec declares, and (domain.size,) the code that each code has become;
    None where it declares none. Raises as `coded_numbers` does."""
    level = definition.least_level
    if not level:
        return None
    if isinstance(over.domain, Numeric):
        return coded_numbers(over, level, definition, output)
    taxonomy = CodedTaxonomy(over.hierarchy, level)
    return CodedGeneralization(taxonomy, taxonomy, declared=over), taxonomy.of_leaf


def coded_numbers(
    over: Generalization, level: int, definition: QuasiIdentifier, output: Output
) -> tuple[CodedGeneralization, Ints]:
    """Numbers coded at a level, and (domain.size,) the code that each code has become; missing stays a value of its
    own.

    Raises SpecError where numbers under one node of a file lie between those under another, and where the release could
    not show whether the ends of intervals belong to them.
    """
    numeric, hierarchy = over.domain, CodedTaxonomy(over.hierarchy, level)
    assert isinstance(numeric, Numeric)
    leaf, first = _runs(over, hierarchy)
    ends = _ends(over, hierarchy, first, definition)
    opens = (True, True) if level >= hierarchy.height else _opens(numeric, level, definition)
    _check_shown(numeric, ends, output)
    banded = _banded(numeric, ends, tuple(hierarchy.labels[node] for node in leaf[first].tolist()), opens)
    absent = [] if numeric.missing is None else hierarchy.of_leaf[over.leaf_of(np.array([numeric.missing]))].tolist()
    numbers = np.full(hierarchy.size, np.nan)
    numbers[leaf[first]] = banded.values
    leaves = np.array([*leaf[first].tolist(), *absent], np.int64)
    place = np.cumsum(np.diff(leaf, prepend=-1) != 0) - 1
    coded = CodedGeneralization(banded, hierarchy, leaves, numbers, declared=over)
    return coded, np.append(place, [len(first)] * len(absent)).astype(np.int64)


def _runs(over: Generalization, hierarchy: CodedTaxonomy) -> tuple[Ints, Ints]:
    """(values,) the coded leaf of each number, and the numbers at which another one begins."""
    assert isinstance(over.domain, Numeric)
    leaf = hierarchy.of_leaf[over.leaf_of(np.arange(len(over.domain.values)))]
    return leaf, np.flatnonzero(np.diff(leaf, prepend=-1))


def _opens(numeric: Numeric, level: int, definition: QuasiIdentifier) -> tuple[bool, bool]:
    """Whether the first interval of a level stands for others below it, and the last for others above."""
    source = definition.hierarchy
    if not isinstance(source, NumberBands) or not len(numeric.values):
        return numeric.lowest_open, numeric.highest_open
    bounds = source.bands[level - 1]
    return bool(numeric.values[0] < bounds[0]), bool(numeric.values[-1] >= bounds[-1])


def fenced(over: Generalization, definition: QuasiIdentifier) -> Numeric:
    """Numbers whose rounded ends stay within the nodes of the highest level that is declared."""
    numeric, levels = over.domain, definition.levels
    assert isinstance(numeric, Numeric)
    if numeric.bands is not None or levels is None or levels.max is None or levels.max >= over.hierarchy.height:
        return numeric
    hierarchy = CodedTaxonomy(over.hierarchy, levels.max)
    leaf, first = _runs(over, hierarchy)
    place = np.cumsum(np.diff(leaf, prepend=-1) != 0) - 1
    ends = _ends(over, hierarchy, first, definition)
    stops = ends.highs  # which are no part of the nodes
    if not ends.half_open and numeric.whole:
        stops = np.floor(ends.highs) + 1
    elif not ends.half_open:  # at the next number, of a file or of the column
        known = numeric.values if over.numbers is None else np.unique(over.numbers[~np.isnan(over.numbers)])
        stops = np.append(known, np.inf)[np.searchsorted(known, ends.highs, side="right")]
    fenced_by, taken = (ends.lows[place], stops[place]), tuple(numeric.taken)
    return Numeric(
        numeric.name, numeric.values, numeric.missing_text, taken, numeric.coding, None, fenced_by, numeric.rounds
    )


def _banded(numeric: Numeric, ends: _Ends, texts: tuple[str, ...], opens: tuple[bool, bool]) -> Numeric:
    """The domain of intervals; an open end is that of the column."""
    lows, highs = ends.lows.copy(), ends.highs.copy()
    if len(lows):
        lows[0] = numeric.values[0] if opens[0] else lows[0]
        highs[-1] = numeric.values[-1] if opens[1] else highs[-1]
    bands = Bands(highs, texts, ends.half_open, numeric.span, opens)
    return Numeric(numeric.name, lows, numeric.missing_text, tuple(numeric.taken), numeric.coding, bands)


def _ends(over: Generalization, hierarchy: CodedTaxonomy, first: Ints, definition: QuasiIdentifier) -> _Ends:
    """The ends of the nodes that occur, which begin at some values (by their codes, ascending)."""
    numeric, level, source = over.domain, hierarchy.coded, definition.hierarchy
    assert isinstance(numeric, Numeric)
    if level >= hierarchy.height:
        return _Ends(numeric.values[:1], numeric.values[-1:])
    if not level:
        return _Ends(numeric.values, numeric.values)
    if isinstance(source, Intervals):
        return _of_intervals(numeric, first, source.intervals[0], source.intervals[level - 1])
    if isinstance(source, NumberBands):
        return _of_bands(numeric, first, source.bands[level - 1])
    return _of_file(over, hierarchy, first)


def _of_intervals(numeric: Numeric, first: Ints, narrow: float, width: float) -> _Ends:
    """Each width is a multiple of the narrowest one, so that the intervals of every level are runs of the first's."""
    grid, ratio = Grid.of(narrow), round(width / narrow)
    index = grid.floor(numeric.values[first]) // ratio * ratio
    if not (numeric.whole and grid.whole):
        return _Ends(grid.points(index), grid.points(index + ratio), half_open=True)
    if not grid.exact(numeric.values):
        return _Ends(grid.points(index), grid.points(index + ratio) - 1)
    step = grid.mantissa * 10**grid.exponent
    return _Ends(index * step, (index + ratio) * step - 1)


def _of_bands(numeric: Numeric, first: Ints, bounds: Sequence[float]) -> _Ends:
    """An open band ends with the column: nobody is told where."""
    values = numeric.values
    whole = values.dtype.kind == "i" and all(bound == int(bound) for bound in bounds)
    ends = np.array(bounds, values.dtype if whole else np.float64)
    place = np.searchsorted(ends, values[first], side="right")
    lows = np.append(values[:1], ends)[place]
    if whole:
        return _Ends(lows, np.append(ends - 1, values[-1:])[place])
    return _Ends(lows, np.append(ends, np.nextafter(values[-1:].astype(np.float64), np.inf))[place], half_open=True)


def _of_file(over: Generalization, hierarchy: CodedTaxonomy, first: Ints) -> _Ends:
    """The lowest and the highest number under each node, whether or not it occurs."""
    assert over.numbers is not None and isinstance(over.domain, Numeric)
    numbers = np.flatnonzero(~np.isnan(over.numbers))
    numbers = numbers[np.argsort(over.numbers[numbers], kind="stable")]
    leaf, values = hierarchy.of_leaf[numbers], over.numbers[numbers]
    starts = np.flatnonzero(np.diff(leaf, prepend=-1))
    if len(np.unique(leaf)) < len(starts):
        message = f"quasi_identifiers.{over.domain.name}.levels: at level {hierarchy.coded} of the hierarchy, numbers"
        hint = "put neighbouring numbers under one label, or declare the column categorical"
        raise SpecError(Problem(f"{message} of one label lie between those of another", hint=hint))
    place = np.searchsorted(starts, np.searchsorted(values, over.domain.values[first]), side="right") - 1
    lows, highs = values[starts][place], values[np.append(starts[1:], len(values)) - 1][place]
    if over.domain.values.dtype.kind == "i" and (lows % 1 == 0).all() and (highs % 1 == 0).all():
        return _Ends(lows.astype(np.int64), highs.astype(np.int64))
    return _Ends(lows, highs)


def _check_shown(numeric: Numeric, ends: _Ends, output: Output) -> None:
    """Raises SpecError for numbers that are not whole where two columns of bounds could not show whether upper ends
    belong to the intervals."""
    if output.numeric != "bounds" or (not ends.half_open and (numeric.whole or output.edges != "rounded")):
        return
    says, hint = "leave their upper end out", "choose output.numeric: interval"
    if not ends.half_open:
        says, hint = "have both ends, as those of this hierarchy file do", f"{hint}, or output.edges: open"
    message = f"two columns of bounds do not show that intervals of numbers which are not whole {says}"
    raise SpecError(Problem(f"quasi_identifiers.{numeric.name}.levels: {message}", hint=hint))
