"""What subsets of columns give away: distinction, separation and minimal sample uniques of the quasi-identifiers,
and the smallest sets of columns that pass through that single rows out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Bools, Floats, Ints
from anonymize.records import dataclass
from anonymize.risk.frequency import TextFrequencySet, refined
from anonymize.table.named import column as named

# --- subsets ----------------------------------------------------------------------------------------------------------
# Distinction is the share of distinct combinations among the rows, separation the share of pairs of rows that differ
# (R. Motwani, Y. Xu, "Efficient algorithms for masking and finding quasi-identifiers", SDM 2008). A row is unique on a
# subset when no other row has its combination there; the subset is minimal for it when it is unique on no smaller one
# inside. The score of a row sums over its minimal subsets, the smaller ones counting more, as SUDA does (M. Elliot, A.
# Manning, R. Ford, "A computational algorithm for handling the special uniques problem", IJUFKS 10(5), 2002; A.
# Manning, D. Haglin, J. Keane, "A recursive search algorithm for statistical disclosure assessment", DMKD 16, 2008).
# DIS is the score as a chance: how likely a match with the row in the population is a correct one, by the data
# intrusion simulation (M. Elliot, "DIS: a new approach to the measurement of statistical disclosure risk", Risk
# Management 2, 2000; scaled over the rows as `dis` says, which is what sdcMicro computes).
#
# The subsets are walked so that each comes after all of its own: what is unique on a subset stays unique on all that
# contain it, and is left out there. A step parts the groups of the rows that are left by one more attribute.
#
# Cost: one renumbering of the rows that are left for every subset. Memory: one bit for each combination and subset
# below the largest size.

ALL_UP_TO = 10
"""With at most this many attributes, every subset is walked by default;"""
SIZE_BEYOND = 3
"""with more, only the subsets of at most this many."""
SUBSETS_WALKED = 1 << 17
"""The most subsets that one walk may have."""


def feasible_size(attributes: int) -> int:
    """The largest size of a subset that is walked by default."""
    if attributes <= ALL_UP_TO:
        return attributes
    return next((size for size in range(SIZE_BEYOND, 1, -1) if _subsets_of(attributes, size) <= SUBSETS_WALKED), 1)


def _subsets_of(attributes: int, size: int) -> int:
    """How many subsets of at most a size there are."""
    return sum(math.comb(attributes, each) for each in range(1, size + 1))


@dataclass(frozen=True)
class Subset:
    """A subset of the quasi-identifiers. `distinct`, `separation`: shares, None without a pair of rows. `uniques`: rows
    that are unique on it; `minimal_uniques`: on nothing smaller inside it. `risky_cells`: combinations of few rows, if
    asked for."""

    attributes: tuple[str, ...]
    distinct: float
    separation: float | None
    uniques: int
    minimal_uniques: int
    risky_cells: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The subset in a report."""
        figures = {name: value for name, value in self.__dict__.items() if value is not None or name == "separation"}
        return {**figures, "attributes": list(self.attributes)}


@dataclass(frozen=True)
class Analysis:
    """All subsets up to a size, by size, then in the order of the attributes; and the scores that follow.

    `rows`: of the table; `uniques`: those that are unique on some subset. `score_max`, `score_mean`: of all rows.
    `contributions`: the share of all scores that comes from minimal subsets with the attribute; they overlap.
    `scores` (C,): of each combination. `cells` (attributes, C): the part of them that comes from minimal subsets with
    the attribute, None unless that was wanted.
    """

    max_size: int
    subsets: tuple[Subset, ...]
    rows: int
    uniques: int
    score_max: int
    score_mean: float
    contributions: dict[str, float]
    scores: Ints
    cells: Ints | None = None

    def as_dict(self) -> dict[str, Any]:
        """The keys that a report's risk block gets."""
        scores = {"max": self.score_max, "mean": self.score_mean, "contributions": self.contributions}
        special = {"max_size": self.max_size, "uniques": self.uniques, "score": scores}
        return {"subsets": [subset.as_dict() for subset in self.subsets], "special_uniques": special}


def analyse(
    frequency: TextFrequencySet,
    names: Sequence[str],
    max_size: int | None = None,
    *,
    cells: bool = False,
    thresholds: Sequence[int] = (),
) -> Analysis:
    """Walks every subset of at most `max_size` attributes (None: as many as are feasible). `cells`: what each cell adds
    to the score of its row is kept. `thresholds`: a combination of at most so many rows is risky, in subsets of one
    attribute, two, and so on, the last one in all larger ones.

    `names` are those of the frequency set's attributes. ValueError for a size below 1, or with too many subsets.
    """
    count = len(names)
    size = min(feasible_size(count) if max_size is None else max_size, count)
    if size < 1:
        raise ValueError("a subset has at least one attribute")
    if _subsets_of(count, size) > SUBSETS_WALKED:
        raise ValueError(f"{count} attributes have more than {SUBSETS_WALKED} subsets of at most {size}")
    combinations = len(frequency.counts)
    scores, cell_scores = np.zeros(combinations, np.int64), np.zeros((count, combinations), np.int64) if cells else None
    walk = _Walk(frequency, names, size, thresholds, scores, cell_scores, [0] * count)
    walk.start()
    masks = sorted(walk.subsets, key=lambda mask: (mask.bit_count(), _members(mask)))
    return Analysis(
        max_size=size,
        subsets=tuple(walk.subsets[mask] for mask in masks),
        rows=frequency.rows,
        uniques=int(np.count_nonzero(scores)),
        score_max=int(scores.max(initial=0)),
        score_mean=float(scores.sum() / max(frequency.rows, 1)),
        contributions={name: share / max(walk.total, 1) for name, share in zip(names, walk.by_attribute, strict=True)},
        scores=scores,
        cells=cell_scores,
    )


def score(size: int, attributes: int, max_size: int) -> int:
    """What a minimal subset of a size adds to a row's score: the product of `attributes - i` for i from `size` to
    `max_size`, which is to be below `attributes`: that is the number of ways to grow the subset, one by one."""
    return math.prod(attributes - smaller for smaller in range(size, min(max_size, attributes - 1) + 1))


DIS_FRACTION = 0.01
"""The share of its population that a table is, where nothing else is known, as sdcMicro has it."""


def dis(scores: Ints, counts: Ints, attributes: int, fraction: float = DIS_FRACTION) -> Floats:
    """(C,) DIS of each combination, from 0 to 1, by its score and its `counts` of rows; `fraction`: of the population.

    With U unique rows and P rows in pairs, d = U f / (U f + P (1 - f)) is the chance that a match with a unique row is
    correct. It is spread over the rows by their scores to the power 1 + (8 - attributes) / 20, so that the mean of
    1 / DIS of the rows with a score is 1 / d where all unique rows have one. A score of 0 gives 0.
    """
    risks, scored = np.zeros(len(scores)), scores > 0
    paired = 2 * int(np.count_nonzero(counts == 2))
    if scored.any():
        scaled = scores[scored].astype(np.float64) ** (1 + (8 - attributes) / 20)
        against = paired * (1 - fraction) / fraction  # U / d - U, d the chance of a correct match
        risks[scored] = 1 / (1 + against / (scaled * (1 / scaled).sum()))
    return risks


def _members(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


@dataclass
class _Group:
    """The rows that a subset leaves not unique: their numbers in the frequency set, and the group of each."""

    rows: Ints
    labels: Ints
    count: int


@dataclass
class _Walk:
    """Subsets as bit masks; a mask's children add an attribute below its lowest, so that masks come in order. `unique`:
    a bit a combination, packed. `by_attribute`: the part of the `total` of all scores that each attribute adds."""

    frequency: TextFrequencySet
    names: Sequence[str]
    size: int
    thresholds: Sequence[int]
    scores: Ints
    cells: Ints | None
    by_attribute: list[int]
    total: int = 0
    subsets: dict[int, Subset] = field(default_factory=dict)
    unique: dict[int, NDArray[np.uint8]] = field(default_factory=dict)

    def start(self) -> None:
        everything = np.arange(len(self.scores))
        whole = _Group(everything, np.zeros_like(everything), min(len(everything), 1))
        self._grow(0, len(self.names), whole, np.zeros(len(everything), np.bool_))

    def _grow(self, mask: int, below: int, group: _Group, unique: Bools) -> None:
        for attribute in range(below):
            self._visit(mask, attribute, group, unique)

    def _visit(self, parent: int, attribute: int, group: _Group, before: Bools) -> None:
        """One subset: the parent's rows that are not unique yet, parted by an attribute below all of the parent's."""
        mask = parent | 1 << attribute
        codes = self.frequency.codes[attribute][group.rows]
        labels, count = refined(group.labels, group.count, codes, self.frequency.spans[attribute])
        sizes = np.bincount(labels, self.frequency.counts[group.rows], minlength=count).astype(np.int64)
        alone = sizes[labels] == 1
        uniques = group.rows[alone]
        minimal = self._minimal(mask, parent, uniques)
        unique_before, rows = int(np.count_nonzero(before)), self.frequency.rows
        pairs, alike = rows * (rows - 1) // 2, int((sizes * (sizes - 1) // 2).sum())
        self.subsets[mask] = Subset(
            attributes=tuple(self.names[member] for member in _members(mask)),
            distinct=(unique_before + count) / max(rows, 1),
            separation=(pairs - alike) / pairs if pairs else None,
            uniques=unique_before + len(uniques),
            minimal_uniques=len(minimal),
            risky_cells=self._risky(mask, sizes, unique_before),
        )
        self._credit(mask, minimal)
        if mask.bit_count() < self.size:
            unique = before.copy()
            unique[uniques] = True
            self.unique[mask] = np.packbits(unique)
            self._grow(mask, attribute, _Group(group.rows[~alone], labels[~alone], count), unique)

    def _risky(self, mask: int, sizes: Ints, unique: int) -> int | None:
        """Combinations of few rows: of those of these sizes, and of the ones that were unique before."""
        if not self.thresholds:
            return None
        most = self.thresholds[min(mask.bit_count(), len(self.thresholds)) - 1]
        return int(np.count_nonzero(sizes <= most)) + unique

    def _minimal(self, mask: int, parent: int, rows: Ints) -> Ints:
        """The rows, of those unique on the mask and not on the parent, unique on no other subset inside it."""
        for attribute in _members(parent):
            bits = self.unique.get(mask ^ 1 << attribute)
            if bits is not None and len(rows):
                rows = rows[(bits[rows >> 3] >> (7 - (rows & 7)).astype(np.uint8) & 1) == 0]
        return rows

    def _credit(self, mask: int, rows: Ints) -> None:
        worth = score(mask.bit_count(), len(self.names), self.size)
        self.scores[rows] += worth
        self.total += worth * len(rows)
        for attribute in _members(mask):
            self.by_attribute[attribute] += worth * len(rows)
            if self.cells is not None:
                self.cells[attribute, rows] += worth


# --- passing ----------------------------------------------------------------------------------------------------------
# Which columns of a table together name a person is seldom seen by looking at them one by one. The sets are walked as
# those of the quasi-identifiers are: a row that is unique on a set is unique on all that contain it, and counts for the
# smallest one. A walk costs rows times sets, so it has a budget, and what it leaves out is reported.

LARGEST_SET = 3
"""Columns of a set at most;"""
COLUMNS = 50
"""of so many columns at most, those first that are unique in most rows."""
MOST_WORK = 2_000_000
"""Rows times sets that are looked at."""
LISTED = 10
"""Sets that a report lists at most."""


def singling_out(frame: pl.LazyFrame, columns: Sequence[str], *, units: pl.Series | None = None) -> dict[str, Any]:
    """The sets that single out most rows, as a report lists them: of each, the rows that are unique on it and on
    nothing smaller inside it. Smaller sets come first, then those with more such rows, then in the order of columns.

    `frame`: texts, or numbers that are equal where texts are compared as equal. `max_size`: columns of a set;
    `left_out`: the columns that were not looked at together with others. `units`: see `TextFrequencySet.of`; without a
    unit for each row, every row is about somebody else.
    """
    alone = dict.fromkeys(columns, 0)
    if units is None:
        query = [named(name).is_unique().sum().alias(str(place)) for place, name in enumerate(columns)]
        alone = dict(zip(columns, frame.select(query).collect().row(0), strict=True))
    order = sorted(columns, key=lambda name: -alone[name])
    rows = int(frame.select(pl.len()).collect().item())
    number, size = _within(rows, len(columns))
    if number:
        frequency = TextFrequencySet.of(frame, [[name] for name in order[:number]], units=units)
        walked = analyse(frequency, order[:number], size).subsets
        sets = [(list(each.attributes), each.minimal_uniques) for each in walked if each.minimal_uniques]
    else:
        sets = [([name], count) for name, count in alone.items() if count]
    sets.sort(key=lambda pair: (len(pair[0]), -pair[1]))
    smallest = [{"columns": names, "uniques": count} for names, count in sets[:LISTED]]
    return {"smallest": smallest, "max_size": size, "left_out": sorted(order[number:])}


def _within(rows: int, columns: int) -> tuple[int, int]:
    """How many columns the budget allows to look at together, and in sets of which size: the largest sets that leave
    room for more columns than one set has, else smaller ones; (0, 1) where each column is looked at separately."""
    for size in range(min(LARGEST_SET, columns), 1, -1):
        number = min(columns, COLUMNS)
        while number > size and rows * _subsets_of(number, size) > MOST_WORK:
            number -= 1
        if rows * _subsets_of(number, size) <= MOST_WORK and number > min(size, columns - 1):
            return number, size
    return 0, 1
