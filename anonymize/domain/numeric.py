"""Numeric attributes: the leaves are the sorted distinct values of the column, then the missing leaf if there is one.

A class is released as the interval between its lowest and its highest value. A class that mixes missing and present
values is released as an interval or missing: `[20-60] or ?`. Missing values alone are released as missing and cost
nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain import Codes, Domain
from anonymize.domain.grid import Coding, Numbers, RoundedEnds, texts, widening
from anonymize.records import dataclass

_HUGE = 4e307  # spans over this are measured in quarters


@dataclass(frozen=True)
class Bands:
    """Intervals that numbers have been coded to, in ascending order, of which nothing finer is left.

    `highs` (n,): where each ends, which belongs to it unless they are `half_open`. `texts` (n,): how each reads.
    `span`: of the numbers that were coded. `opens`: whether the first stands for others below it, and the last for
    others above.
    """

    highs: Numbers
    texts: tuple[str, ...]
    half_open: bool
    span: float
    opens: tuple[bool, bool]


class Numeric(Domain):
    """Numbers in ascending order.

    Attributes:
        values: (size - 1 or size,) sorted distinct numbers, int64 or float64, all finite; without the missing leaf.
        missing: `size - 1` where `missing_text` is given, else None.
        span: highest less lowest value; 0 for a constant or an empty column.
        taken: texts that mean missing. A number that would read like one of them gets another decimal.
        coding: where the values are cut off; they have been, already.
        lowest_open, highest_open: whether the lowest, the highest value stands for others beyond it.
        bands: where numbers have been coded to intervals, these; `values` are where they begin.
        fences: (values,) twice, what a rounded interval around each value neither begins before nor stops behind; None:
            anywhere.
        rounds: whether the ends of intervals are shown rounded.
    """

    kind: ClassVar[Literal["numeric", "categorical"]] = "numeric"

    def __init__(
        self,
        name: str,
        values: Numbers,
        missing_text: str | None = None,
        taken: Sequence[str] = (),
        coding: Coding = Coding(),  # noqa: B008 (frozen)
        bands: Bands | None = None,
        fences: tuple[Numbers, Numbers] | None = None,
        rounds: bool = False,
    ) -> None:
        self.name, self.fences, self.rounds = name, fences, rounds and bands is None
        self.coding, self.bands = coding, bands
        opens = (coding.lowest(values), coding.highest(values)) if bands is None else bands.opens
        self.lowest_open, self.highest_open = opens
        self.values = values
        self.missing_text = missing_text
        self.taken = frozenset(taken)
        self.size = len(values) + (missing_text is not None)
        self.missing = None if missing_text is None else self.size - 1
        self.span, self._position, self._end = self._positions()

    def _positions(self) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """The span, and (size,) distances of each value, and of its end, from the lowest value; missing lies a leaf's
        share of the span beyond the highest one."""
        begin, count = np.zeros(self.size), len(self.values)
        both = self.values if self.bands is None else np.concatenate((self.values, self.bands.highs))
        offsets = _offsets(both)
        begin[:count] = offsets[:count]
        end = begin.copy()
        end[:count] = offsets[-count:] if count else offsets
        last = float(end.max(initial=0.0))
        span = last if self.bands is None else self.bands.span
        if self.missing is not None:
            begin[self.missing] = end[self.missing] = last + (span or 1.0) / self.size
        return span, begin, end

    def cost(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """Width of each interval over the span of the column: 0 for one value.

        Where missing and present mix, `high` is the missing leaf, and the highest present value is not known: this is
        what an interval up to the highest of all costs, and 1/leaves more, at most 1. What is shown costs no more.
        """
        width = self._end[high] - self._position[low]
        width /= self.span or 1.0
        return np.minimum(width, 1.0, out=width)

    def loss(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """Iyengar's loss of intervals: of numbers the same as `cost`."""
        return self.cost(low, high)

    def leaf_text(self) -> list[str]:
        """Each number as the shortest text that reads back the same, then the missing text. A code that stands for what
        lies beyond it reads so: `90+`."""
        if self.bands is not None:
            return [*self.bands.texts, *([] if self.missing_text is None else [self.missing_text])]
        leaves = self.spelled(texts(self.values))
        if self.lowest_open:
            leaves[0] = self.coding.below(leaves[0])
        if self.highest_open:
            leaves[-1] = self.coding.above(leaves[-1])
        return leaves + ([] if self.missing_text is None else [self.missing_text])

    def spelled(self, numbers: list[str]) -> list[str]:
        """Texts of numbers, of which none means missing: 99 reads `99.0` where `99` does, or `99.00`."""
        if self.taken.isdisjoint(numbers):
            return list(numbers)
        return [_apart(number, self.taken) for number in numbers]

    def spelled_texts(self, numbers: pl.Series) -> pl.Series:
        """A column of texts of numbers, none of which means missing; see `spelled`."""
        if not self.taken or not numbers.is_in(sorted(self.taken)).any():
            return numbers
        return pl.Series(self.spelled(numbers.to_list()), dtype=pl.String)

    def ends(self, low: Codes, high: Codes) -> tuple[pl.Series, pl.Series]:
        """Texts of the two ends of intervals (C,) of present values; those of bands are their own."""
        return self._tight(low), self._tight(high) if self.bands is None else _column(self.bands.highs).gather(high)

    def rounded(self, low: Codes, high: Codes) -> RoundedEnds:
        """The ends of intervals (C,) of present values, rounded outward; two of them that are released may overlap."""
        nowhere = np.broadcast_to(np.inf, len(low))
        fences = (-nowhere, nowhere) if self.fences is None else (self.fences[0][low], self.fences[1][high])
        return RoundedEnds.of(self._present[low], self._present[high], self.coding, fences, whole=self.whole)

    def expected_cost(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """Where ends are shown rounded, the cost of intervals as wide as they are on average over where on the grid
        they lie: a function of the width alone, so that a search which counts it does not seek values that are
        multiples, which the ends would give away. 1 at most."""
        if not self.rounds or not len(self.values):
            return self.cost(low, high)
        begins, ends = (self.values[np.minimum(codes, len(self.values) - 1)] for codes in (low, high))
        wider = widening(begins, ends, self.coding, whole=self.whole)
        return np.minimum(self.cost(low, high) + wider / (self.span or 1.0), 1.0)

    def saved_by_halving(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """How much less the halves of each interval (C,) cost on average than all of it: half of it; where ends are
        shown rounded, by the expected costs of all and of the lower and the upper half of the numbers in it."""
        if not self.rounds or not len(self.values):
            return self.cost(low, high) / 2
        first, last = (np.minimum(codes, len(self.values) - 1).astype(np.int64) for codes in (low, high))
        middle = (first + last) // 2
        halves = self.expected_cost(first, middle) + self.expected_cost(np.minimum(middle + 1, last), last)
        return np.maximum(self.expected_cost(first, last) - halves / 2, 0.0)

    @cached_property
    def preferred_cuts(self) -> NDArray[np.bool_] | None:
        """Of whole numbers that are shown with rounded ends, those below even ones: narrow intervals begin and stop at
        multiples of 2, so that a cut elsewhere leaves both of its sides a number wider."""
        if not self.rounds or not self.whole:
            return None
        return np.append(self._present % 2 == 0, False)

    def share_of(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        """The width between two numbers (C,) over that of the column, 1 at most; quarters, so that none overflows."""
        span = float(self.values[-1]) / 4 - float(self.values[0]) / 4
        return np.minimum((high / 4 - low / 4) / (span or 0.25), 1.0)

    @cached_property
    def unit(self) -> float:
        """What two numbers of the column differ by at least: 1 where all are whole, else the least difference of two
        that occur, and 1 where there are no two."""
        steps = np.diff(self.values.astype(np.float64))
        return 1.0 if self.whole or not len(steps) else float(steps.min())

    @cached_property
    def whole(self) -> bool:
        """Whether every value is a whole number, of either type."""
        if self.bands is not None:
            return not self.bands.half_open
        return self.values.dtype.kind == "i" or bool(np.all(self.values == np.floor(self.values)))

    @property
    def ends_at(self) -> Numbers:
        """(values,) the highest number of each: itself, or that of its interval."""
        if self.bands is None:
            return self.values
        return np.nextafter(self.bands.highs, -np.inf) if self.bands.half_open else self.bands.highs

    @cached_property
    def _present(self) -> Numbers:
        """(size,) the values, and a 0 for the missing leaf."""
        present = np.zeros(self.size, self.values.dtype)
        present[: len(self.values)] = self.values
        return present

    def _tight(self, codes: Codes) -> pl.Series:
        """Text of each code's value; many codes are looked up among the leaves, so that no number is formatted
        twice."""
        if len(codes) < self.size:
            return _column(self._present[codes])
        return _column(self._present).gather(codes)


def _column(values: Numbers) -> pl.Series:
    """The numbers as `texts` has them."""
    return pl.Series(values).cast(pl.String) if values.dtype.kind == "i" else pl.Series(texts(values), dtype=pl.String)


def _apart(number: str, taken: frozenset[str]) -> str:
    """The number with zeros behind its decimal point, as few as make it none of the texts that are taken."""
    if number in taken and "e" not in number:
        number += "" if "." in number else "."
        while number in taken or number.endswith("."):
            number += "0"
    return number


def _offsets(values: Numbers) -> NDArray[np.float64]:
    """Distance of each value from the lowest; exact for whole numbers, a quarter where it would overflow."""
    if values.dtype.kind == "i":
        unsigned = values.astype(np.uint64)
        return (unsigned - unsigned[:1]).astype(np.float64)
    with np.errstate(over="ignore"):
        offsets = np.subtract(values, values[:1], dtype=np.float64)
    return offsets if offsets.max(initial=0.0) < _HUGE else np.asarray(values / 4 - values[:1] / 4)


_LOW, _HIGH = {"[": True, "(": False, "]": False}, {"]": True, ")": False, "[": False}
"""Whether a bracket before the lower end, and one behind the upper end, includes it."""
_EXCLUSIVE = re.compile(
    r"[<>≤≥=]|\b(?:excl\w*|under|below|less|before|until|over|above|more|after|unter|vor|ohne|moins|avant|sauf|menos|antes)\b",
    re.IGNORECASE,
)
"""Signs and words by which an end may be left out."""


def included(interval: str) -> tuple[bool, bool] | None:
    """Whether intervals of a template include their lower and their upper end, by the brackets around them; without any
    they include both. None: the template does not say, as by a bracket on one side, a sign (`<`) or a word (`under`).

    >>> included("[{low}, {high}["), included("({low}, {high}]"), included("{low} to {high}"), included("{low}-<{high}")
    ((True, False), (False, True), (True, True), None)
    """
    head, middle, tail = template_parts(interval)
    low, high = _LOW.get(head.rstrip()[-1:]), _HIGH.get(tail.lstrip()[:1])
    bracketed = low is not None and high is not None
    words = head.rstrip()[:-1] + middle + tail.lstrip()[1:] if bracketed else head + middle + tail
    if _EXCLUSIVE.search(words) or any(unicodedata.category(each) in ("Ps", "Pe", "Pi", "Pf") for each in words):
        return None
    return (bool(low), bool(high)) if bracketed else (True, True)


def readings(interval: str) -> list[tuple[str, tuple[bool, bool]]]:
    """The ways in which intervals of a template may read: itself, and with the other brackets, each with whether it
    includes its lower and its upper end. Of one that includes both, a last `]` may be `)`; one that does not say is
    read as if it included both.

    >>> readings("({low}, {high}]")[1:]
    [('({low}, {high})', (False, False)), ('[{low}, {high}]', (True, True)), ('[{low}, {high})', (True, False))]
    """
    low, high = included(interval) or (True, True)
    head, middle, tail = template_parts(interval)
    before, behind = head.rstrip(), tail.lstrip()
    if low and high:
        half_open = f"{interval[:-1]})"
        return [(interval, (True, True)), *([(half_open, (True, False))] if interval.endswith("]") else [])]
    if before[-1:] not in _LOW or behind[:1] not in _HIGH:
        return [(interval, (low, high))]
    heads = [(before[-1], low), *([] if low else [("[", True)])]
    tails = [(behind[0], high), (")", False) if high else ("]", True)]
    inner = f"{head[len(before) :]}{{low}}{middle}{{high}}{tail[: -len(behind)]}"
    return [
        (f"{before[:-1]}{left}{inner}{right}{behind[1:]}", (with_low, with_high))
        for left, with_low in heads
        for right, with_high in tails
    ]


def template(interval: str, *, half_open: bool = False) -> Callable[[str, str], str]:
    """A function that fills in a template with `{low}` and, after it, `{high}`.

    `half_open` ends a template that ends with `]` with `)` instead; any other stays as it is.

    >>> template("[{low}-{high}]", half_open=True)("30", "40")
    '[30-40)'
    """
    head, middle, tail = template_parts(interval, half_open=half_open)
    return lambda low, high: f"{head}{low}{middle}{high}{tail}"


def template_parts(interval: str, *, half_open: bool = False) -> tuple[str, str, str]:
    """The text of a template before, between and after `{low}` and `{high}`; see `template`."""
    head, _, rest = interval.partition("{low}")
    middle, _, tail = rest.partition("{high}")
    return head, middle, f"{tail[:-1]})" if half_open and tail.endswith("]") else tail
