"""The upper cuts of a DataFrame: its rows are counted where they are, and the driver decides.

Each level is one aggregation: how many rows of each class that is still too large have each code of each
quasi-identifier, and, where a model looks at sensitive values, one more: how often each occurs on the sides of the cuts
that were chosen. No row is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial

import numpy as np
import polars as pl

from anonymize.algorithms.cuts import RULES, CutRule
from anonymize.algorithms.feasibility import minimum_size
from anonymize.algorithms.splitting.parts import CodedRows, UpperStep
from anonymize.classes import Bools, Ints, Runs, summed_by_key
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, Whole, check
from anonymize.records import dataclass
from anonymize.spark.engine import DataFrame, Tables, collected, mapped
from anonymize.spark.learned import CodeBook, Learned


@dataclass(frozen=True)
class Demands:
    """What classes have to meet. `cut`: the rule by which they are cut."""

    requirements: tuple[Requirement, ...]
    cut: str

    @property
    def beyond_size(self) -> tuple[Requirement, ...]:
        """The requirements that having enough rows does not meet."""
        return tuple(each for each in self.requirements if not MODELS[each.model].sized(each.parameters))

    def rule(self, learned: Learned) -> CutRule:
        """The rule, for the quasi-identifiers of a DataFrame."""
        return RULES[self.cut](
            domains=[attribute.domain for attribute in learned.attributes],
            weights=[attribute.weight for attribute in learned.attributes],
            minimum=minimum_size(self.requirements),
        )

    def protected(self, learned: Learned) -> list[int]:
        """The places of the sensitive attributes that the requirements are about."""
        names = {each.attribute for each in self.beyond_size}
        return [place for place, column in enumerate(learned.sensitive) if column.name in names]


@dataclass
class EngineRows:
    """The rows of a DataFrame as a source of counts. `steps`: the cuts that have been made."""

    df: DataFrame
    learned: Learned
    demands: Demands
    steps: list[UpperStep] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.learned.rows

    def apply(self, step: UpperStep) -> None:
        self.steps.append(step)

    def counts(self, classes: Ints) -> tuple[Runs, ...]:
        """How many rows of some classes have each code; of all rows as one class that is known."""
        attributes = range(len(self.learned.attributes))
        if not self.steps:
            return tuple(Runs.of_one(self.learned.counts[place]) for place in attributes)
        return self._counted(classes, attributes, self.steps)

    def refused(self, tried: UpperStep) -> Bools:
        """(m,) whether a requirement is not met on a side of each cut."""
        sides = np.concatenate((tried.first, tried.second))
        passed = check(self.groups(sides, [*self.steps, tried]), self.demands.beyond_size)
        return np.asarray(~passed.reshape(2, -1).all(axis=0))

    def groups(self, classes: Ints, steps: Sequence[UpperStep]) -> Groups:
        """Some classes that cuts make as the privacy models see them."""
        learned, first = self.learned, len(self.learned.attributes)
        places = self.demands.protected(learned)
        counted = self._counted(classes, [first + place for place in places], steps)
        sizes = np.bincount(counted[0].classes, counted[0].counts, minlength=len(classes)).astype(np.int64)
        columns = zip([learned.sensitive[place] for place in places], counted, strict=True)
        histograms = {
            column.name: Histogram.of(column, runs, len(classes), self._wholes[column.name]) for column, runs in columns
        }
        return Groups(sizes, histograms)

    @cached_property
    def _wholes(self) -> dict[str, Whole]:
        """The protected attributes in all rows: what classes are compared with."""
        learned = self.learned
        columns = [learned.everywhere[place] for place in self.demands.protected(learned)]
        return {column.name: Whole.of(column) for column in columns}

    def _counted(self, classes: Ints, columns: Sequence[int], steps: Sequence[UpperStep]) -> tuple[Runs, ...]:
        """How many rows of each class have each code, for some columns."""
        cells = CountedCells.of(columns, len(classes), self.learned.sizes)
        work = partial(_count, self.learned.without_codes(), tuple(steps), classes, cells)
        own = mapped(self.learned.keyed(self.df), work, {"cell": "long", "n": "long"})
        counts = collected(own.groupBy("cell").agg({"n": "sum"}))
        counts = counts.sort("cell")
        return cells.runs(counts["cell"].to_numpy(), counts["sum(n)"].to_numpy().astype(np.int64))


@dataclass(frozen=True)
class CountedCells:
    """Numbers for every class and code of some columns, column by column: one number moves in half the bytes of three.
    `sizes`: what the codes of each are below; `first` (columns + 1,): the number at which each begins."""

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    first: Ints

    @classmethod
    def of(cls, columns: Iterable[int], classes: int, sizes: Sequence[int]) -> CountedCells:
        """The cells that count so many classes; `sizes`: of all columns."""
        chosen = tuple(columns)
        own = tuple(sizes[column] for column in chosen)
        return cls(chosen, own, np.cumsum([0, *(classes * size for size in own)]))

    def numbers(self, place: int, runs: Runs) -> Ints:
        """The cells of what was counted of the column at a place."""
        return np.asarray(self.first[place] + runs.classes * self.sizes[place] + runs.codes)

    def runs(self, cells: Ints, counts: Ints) -> tuple[Runs, ...]:
        """What was counted of each column. `cells`: ascending."""
        ends = np.searchsorted(cells, self.first)
        runs = []
        for begin, end, first, size in zip(ends[:-1], ends[1:], self.first[:-1], self.sizes, strict=True):
            classes, codes = np.divmod(cells[begin:end] - first, size)
            runs.append(Runs(classes, codes, counts[begin:end]))
        return tuple(runs)


def labels_of(learned: Learned, steps: Iterable[UpperStep], keys: Sequence[Ints]) -> CodedRows:
    """Some rows by their codes, with the class that cuts put each into. `keys`: see `Learned.codes`."""
    source = CodedRows(learned.codes(keys), learned.sizes)
    for step in steps:
        source.apply(step)
    return source


def _count(
    learned: Learned, steps: Sequence[UpperStep], classes: Ints, cells: CountedCells, tables: Tables
) -> Iterator[pl.DataFrame]:
    """The counts of one partition of the rows: `cell`, `n`. Summed by a sort, as the cells of a chunk ascend: to group
    them takes several times as long."""
    numbers, counts = [], []
    for rows in tables:
        keys = [rows[name].to_numpy() for name in learned.keys]
        for place, runs in enumerate(labels_of(learned, steps, keys).counts(classes, cells.columns)):
            numbers.append(cells.numbers(place, runs))
            counts.append(runs.counts)
    if numbers:
        own, sums = summed_by_key(np.concatenate(numbers), np.concatenate(counts))
        yield pl.DataFrame({"cell": own, "n": sums})


# --- cuts as an expression --------------------------------------------------------------------------------------------
# Where cuts are few they are an expression of the engine, and no row has to go through a worker to get its class.

MOST_CUTS = 64
"""Cuts in an expression, which an engine compiles."""
MOST_LISTED = 64
"""Keys that an expression lists one by one."""


def label_expression(books: Sequence[CodeBook], steps: Sequence[UpperStep]) -> str | None:
    """The class that cuts put a row into, by its keys; as `labels_of` has it, for keys that are known. None where cuts,
    or the keys on one side of a cut, are too many."""
    cuts = {int(step.whole[place]): (step, place) for step in steps for place in range(len(step.whole))}
    if len(cuts) > MOST_CUTS:
        return None
    conditions = {number: _condition(books, step, place) for number, (step, place) in cuts.items()}
    if None in conditions.values():
        return None
    sides = {number: (int(step.first[place]), int(step.second[place])) for number, (step, place) in cuts.items()}
    return _below(0, conditions, sides)


def _below(number: int, conditions: Mapping[int, str | None], sides: Mapping[int, tuple[int, int]]) -> str:
    """The expression for the rows of one class."""
    if number not in sides:
        return str(number)
    inside, outside = (_below(side, conditions, sides) for side in sides[number])
    return f"case when {conditions[number]} then {inside} else {outside} end"


def _condition(books: Sequence[CodeBook], step: UpperStep, place: int) -> str | None:
    """Whether a row is on the first side of a cut."""
    book = books[int(step.attribute[place])]
    inside = (book.own >= step.start[place]) & (book.own < step.stop[place])
    condition = _among(book.name, book.keys, inside)
    if condition is not None:
        return condition
    outside = _among(book.name, book.keys, ~inside)
    return None if outside is None else f"not ({outside})"


def _among(name: str, keys: Ints, chosen: Bools) -> str | None:
    """Whether a key is among those that are chosen: in a row of neighbours, or few."""
    places = np.flatnonzero(chosen)
    if not len(places):
        return "false"
    if places[-1] - places[0] + 1 == len(places):
        return f"{name} between {_literal(keys[places[0]])} and {_literal(keys[places[-1]])}"
    if len(places) > MOST_LISTED:
        return None
    return f"{name} in ({', '.join(map(_literal, keys[places]))})"


def _literal(key: np.integer) -> str:
    """A number of 64 bits: the least has no literal of its own."""
    return f"cast('{int(key)}' as bigint)"
