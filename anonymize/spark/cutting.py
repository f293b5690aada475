"""The upper cuts of a DataFrame: its rows are counted where they are, and the driver decides.

Each level is one aggregation: how many rows of each class that is still too large have each code of each
quasi-identifier, and, where a model looks at sensitive values, one more: how often each occurs on the sides of the cuts
that were chosen. No row is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import polars as pl

from anonymize.algorithms.cuts import RULES, CutRule
from anonymize.algorithms.feasibility import minimum_size
from anonymize.algorithms.splitting.histograms import UpperStep
from anonymize.algorithms.splitting.parts import CodedRows
from anonymize.classes import Bools, Ints, Runs
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, Whole, check
from anonymize.spark.engine import DataFrame, Frames, collected, mapped
from anonymize.spark.learned import Learned


@dataclass(frozen=True)
class Demands:
    """What classes have to meet. `cut`: the rule by which they are cut."""

    requirements: tuple[Requirement, ...]
    cut: str

    @property
    def beyond_size(self) -> tuple[Requirement, ...]:
        """The requirements that having enough rows does not meet."""
        return tuple(each for each in self.requirements if not MODELS[each.model].by_size)

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

    def wholes(self, learned: Learned) -> dict[str, Whole]:
        """These attributes in all rows: what classes are compared with."""
        columns = [learned.everywhere[place] for place in self.protected(learned)]
        return {column.name: Whole.of(column) for column in columns}


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
        """See `CountSource`."""
        self.steps.append(step)

    def counts(self, classes: Ints) -> tuple[Runs, ...]:
        """See `CountSource`."""
        return self._counted(classes, range(len(self.learned.attributes)), self.steps)

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
        return Groups(sizes, self._histograms(len(classes), places, counted))

    @cached_property
    def _wholes(self) -> dict[str, Whole]:
        return self.demands.wholes(self.learned)

    def _histograms(self, count: int, places: Sequence[int], counted: Sequence[Runs]) -> dict[str, Histogram]:
        histograms = {}
        for place, runs in zip(places, counted, strict=True):
            own = self.learned.sensitive[place]
            histograms[own.name] = Histogram.from_rows(
                runs.classes, runs.codes, count, own.size, own.missing, own.values, runs.counts, self._wholes[own.name]
            )
        return histograms

    def _counted(self, classes: Ints, columns: Sequence[int], steps: Sequence[UpperStep]) -> tuple[Runs, ...]:
        """Of some columns, how many rows of each class have each code."""
        work = partial(_count, self.learned.without_codes(), tuple(steps), classes, tuple(columns))
        rows = self.df.select(*self.learned.columns)
        kinds = {"c": "int", "class": "long", "code": "long", "n": "long"}
        counts = collected(mapped(rows, work, kinds).groupBy("c", "class", "code").agg({"n": "sum"}))
        counts = counts.rename({"sum(n)": "n"}).sort("c", "class", "code")
        runs = []
        for column in columns:
            own = counts.filter(pl.col("c") == column)
            runs.append(Runs(*(own[name].to_numpy().astype(np.int64) for name in ("class", "code", "n"))))
        return tuple(runs)


def labels_of(learned: Learned, steps: Iterable[UpperStep], frame: pl.DataFrame) -> CodedRows:
    """Some rows by their codes, with the class that cuts put each into."""
    codes = tuple(book.codes(frame) for book in learned.books)
    source = CodedRows(codes, learned.sizes)
    for step in steps:
        source.apply(step)
    return source


def _count(
    learned: Learned, steps: Sequence[UpperStep], classes: Ints, columns: Sequence[int], frames: Frames
) -> Iterator[pl.DataFrame]:
    """The counts of one partition of the rows: `c` the column, `class` the place of the class, `code`, `n`."""
    counted = []
    for frame in frames:
        source = labels_of(learned, steps, frame)
        for column, runs in zip(columns, source.counts(classes, columns), strict=True):
            counted.append(
                pl.DataFrame({"class": runs.classes, "code": runs.codes, "n": runs.counts}).select(
                    pl.lit(column, pl.Int32).alias("c"), pl.all()
                )
            )
    if counted:
        yield pl.concat(counted).group_by("c", "class", "code").agg(pl.col("n").sum())
