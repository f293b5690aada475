"""The upper cuts of a table, from counts: down to parts that are small enough to be grown by themselves.

A part is a class as the whole search makes it. So whoever grows each part as if it had never been parted has the
classes of the whole search, row for row: a class is cut by its own rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.splitting.batch import Batch
from anonymize.algorithms.splitting.cuts import AGAIN, FINISHED, Cuts
from anonymize.algorithms.splitting.grow import SplitRule
from anonymize.algorithms.splitting.histograms import CountSource, Histograms, UpperStep
from anonymize.classes import Bools, Ints


@dataclass(frozen=True)
class UpperClasses:
    """Classes (C,) by their numbers, with what is known of each: see `Batch`."""

    numbers: Ints
    sizes: Ints
    closed: Bools
    attempts: NDArray[np.uint8]

    def taken(self, classes: Bools | Ints) -> UpperClasses:
        """Some of them."""
        sizes, closed = self.sizes[classes], self.closed[classes]
        return UpperClasses(self.numbers[classes], sizes, closed, self.attempts[classes])

    def joined(self, other: UpperClasses) -> UpperClasses:
        """These, then the others."""
        return UpperClasses(
            np.concatenate((self.numbers, other.numbers)),
            np.concatenate((self.sizes, other.sizes)),
            np.concatenate((self.closed, other.closed)),
            np.concatenate((self.attempts, other.attempts)),
        )


Refused: TypeAlias = Callable[[UpperStep], Bools]
"""Cuts that are tried -> (m,) whether a privacy model does not hold on a side of each."""


def upper_parts(
    source: CountSource, rule: SplitRule, attributes: int, limit: int, refused: Refused | None = None
) -> UpperClasses:
    """Cuts the source's rows until every class has at most `limit` rows, or is cut no further; one pass over the counts
    for each level. The source has applied all cuts. `rule` is one that cuts by counts; `refused` None: nothing is
    required but its minimum size."""
    open_shape = (1, attributes)
    open_classes = UpperClasses(
        np.zeros(1, np.int64), np.array([source.rows]), np.zeros(open_shape, np.bool_), np.zeros(open_shape, np.uint8)
    )
    parts, class_count = open_classes.taken(np.zeros(0, np.int64)), 1
    while True:
        small = open_classes.sizes <= limit
        parts, open_classes = parts.joined(open_classes.taken(small)), open_classes.taken(~small)
        if not len(open_classes.numbers):
            return parts
        histograms = Histograms(
            source.counts(open_classes.numbers), open_classes.sizes, open_classes.closed, open_classes.attempts
        )
        cuts = rule.choose(cast(Batch, histograms))  # which asks no more than counts: see `CutRule.BY_COUNTS`
        if refused is not None:
            _withdraw(open_classes, histograms, cuts, class_count, refused)
        step, open_classes, finished = _step(open_classes, histograms, cuts, class_count)
        parts, class_count = parts.joined(finished), class_count + 2 * len(step.whole)
        if len(step.whole):
            source.apply(step)


def _withdraw(classes: UpperClasses, histograms: Histograms, cuts: Cuts, class_count: int, refused: Refused) -> None:
    """Takes back the cuts that are refused, in place, and counts them as attempts, as `grow` does."""
    tried, places, _ = _tried(classes, histograms, cuts, class_count)
    if not len(places):
        return
    back = places[refused(tried)]
    histograms.attempts[back, cuts.attribute[back]] += 1
    cuts.attribute[back] = AGAIN


def _tried(classes: UpperClasses, histograms: Histograms, cuts: Cuts, class_count: int) -> tuple[UpperStep, Ints, Ints]:
    """The cuts that part a class, which classes (m,) these are, and (C,) rows of the first side of each class."""
    first_sizes = _first_sizes(histograms, cuts)
    places = np.flatnonzero((cuts.attribute >= 0) & (first_sizes > 0) & (first_sizes < classes.sizes))
    first = class_count + 2 * np.arange(len(places))
    step = UpperStep(
        classes.numbers[places], cuts.attribute[places], cuts.start[places], cuts.stop[places], first, first + 1
    )
    return step, places, first_sizes


def _step(
    classes: UpperClasses, histograms: Histograms, cuts: Cuts, class_count: int
) -> tuple[UpperStep, UpperClasses, UpperClasses]:
    """What a choice does to the classes: the cuts, the classes that go on, those that are finished.
    `class_count`: how many classes there have been."""
    step, places, first_sizes = _tried(classes, histograms, cuts, class_count)
    parted = np.isin(np.arange(len(classes.numbers)), places)
    fresh = np.zeros((len(places), classes.closed.shape[1]), np.uint8)
    sides = [
        UpperClasses(numbers, sizes, classes.closed[places], fresh)
        for numbers, sizes in (
            (step.first, first_sizes[places]),
            (step.second, classes.sizes[places] - first_sizes[places]),
        )
    ]
    again = classes.taken(~parted & (cuts.attribute != FINISHED))
    return step, again.joined(sides[0]).joined(sides[1]), classes.taken(cuts.attribute == FINISHED)


def _first_sizes(histograms: Histograms, cuts: Cuts) -> Ints:
    """(C,) rows on the first side of each class; 0 where it is not cut."""
    sizes = np.zeros(histograms.count, np.int64)
    for attribute, runs in enumerate(histograms.runs):
        code, owner = runs.codes, runs.classes
        inside = (cuts.attribute[owner] == attribute) & (code >= cuts.start[owner]) & (code < cuts.stop[owner])
        np.add.at(sizes, owner[inside], runs.counts[inside])
    return sizes
