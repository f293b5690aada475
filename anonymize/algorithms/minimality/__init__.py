"""Refinements that tell nobody more than their classes do: `--mask-minimality`.

Who knows the method asks why a class was not made finer: because its parts would not have been diverse, so the people
of a part share a value (Wong, Fu, Wang, Pei, VLDB 2007). Here a release is refined from all rows as one class, step by
step. What the next step is depends on quasi-identifiers alone, and the first step that is refused ends it, so that the
only thing an attacker learns in addition to the release is that this one step was refused. Steps are refused early
enough that this tells nobody's value: see `refusals`, and docs/security-model.md for the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from anonymize.algorithms.base import option
from anonymize.algorithms.feasibility import minimum_size
from anonymize.algorithms.splitting import Batch
from anonymize.classes import Bools, Codes, Floats, Ints, Runs, concatenated_ranges, starts_of
from anonymize.errors import Problem, UsageError
from anonymize.judging import Judge
from anonymize.privacy import MODELS, Requirement
from anonymize.privacy.base import TOLERANCE
from anonymize.privacy.histogram import protected_mask, values_of
from anonymize.records import dataclass
from anonymize.table import SensitiveColumn, Table

# --- what is refused --------------------------------------------------------------------------------------------------
# How many of a value's rows are in a part of a class, if it is known that they are many: a class has `whole` rows, of
# which `marked` have a value; a part of it has `drawn` rows. If every arrangement of the values in the class is equally
# likely, the part has X rows of the value, X hypergeometric. E[X | X >= t] is a sum of terms of which each follows from
# the one before by a quotient of small numbers.
#
# A step parts classes into finer ones. An attacker who sees that it was not taken knows that some part was refused, and
# nothing else: every arrangement of a class's values among its people is as likely as any other, but for that.
#
# Frequency l-diversity. A part of n people is refused where it has t or more rows of a value, t the largest number for
# which it has at most n / l of them on average, over all arrangements in which it has t or more. Whoever knows that the
# step was refused then gives each of them the value with probability at most 1 / l: where this part was refused for
# this value because of the average, where it was not because it has fewer than t rows of it, which is at most n / l. A
# step with a part that would be refused with any number of them is not tried.
#
# Distinct l-diversity. A step is tried only if, should it be refused for too few values, there would be l values that
# each person may have; or if it cannot be refused for that.
#
# What decides is counts of values in parts, which further steps leave as they are; whether a step is tried depends on
# the counts in the classes alone. That is what the proof in docs/security-model.md rests on.

NEGLIGIBLE = 1e-14
"""The share of the sum so far that is left out at its end."""


def unrevealing(whole: Ints, marked: Ints, drawn: Ints, present: Ints, most: Floats) -> Bools:
    """(n,) whether a part with `present` rows of a value may be shown, so that not showing one tells little.

    It may where the counts above, of which it could be any when it is not shown, are `most` on average, or where it
    has all there can be and these are no more than `most`. If a count may be shown, all smaller ones may. The average
    is taken from the most likely count on, where it is below that: it can only be larger.
    """
    highest = np.minimum(marked, drawn)
    mode = (drawn + 1) * (marked + 1) // (whole + 2)
    mean = highest.astype(np.float64)
    more = present < highest
    start = np.maximum(present + 1, mode)
    mean[more] = mean_from(start[more], whole[more], marked[more], drawn[more])
    return np.asarray(mean <= most * (1 + TOLERANCE))


def mean_from(start: Ints, whole: Ints, marked: Ints, drawn: Ints) -> Floats:
    """(n,) E[X | X >= start], where P(X >= start) > 0 and start is at least the most likely count.

    From there on every term is smaller than the one before, by a factor that falls, so the rest of the sums is below
    that of a geometric series, and the sums end where that is negligible.
    """
    mean = start.astype(np.float64)
    left = np.arange(len(start))
    term, total, above, count = np.ones(len(start)), np.ones(len(start)), np.zeros(len(start)), start.copy()
    steps = 0
    while len(left):
        m, n = marked[left], drawn[left]
        ratio = (m - count) * (n - count) / ((count + 1.0) * (whole[left] - m - n + count + 1))
        term, count, steps = term * ratio, count + 1, steps + 1
        total, above = total + term, above + steps * term
        falling = np.maximum(1 - ratio, NEGLIGIBLE)
        ended = term * (steps / falling + 1 / falling**2) <= NEGLIGIBLE * total
        mean[left[ended]] += above[ended] / total[ended]
        on = ~ended
        left, term, total, above, count = left[on], term[on], total[on], above[on], count[on]
    return mean


FREQUENCY, DISTINCT = "frequency-l-diversity", "distinct-l-diversity"


@dataclass(frozen=True)
class RefinedParts:
    """Classes (C,) that are parted. `part` (n,): of each row, `whole` (parts,): the class that each is of."""

    part: Ints
    whole: Ints

    @property
    def parts(self) -> int:
        """How many parts there are; some may be empty."""
        return len(self.whole)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.whole.max(initial=-1)) + 1

    def sizes(self) -> Ints:
        """(parts,) rows of each."""
        return np.bincount(self.part, minlength=self.parts)

    def of_class(self, figures: Ints) -> Ints:
        """(classes,) sums of figures (parts,)."""
        return np.bincount(self.whole, figures, self.classes).astype(np.int64)


@dataclass(frozen=True)
class MarkedParts:
    """Pairs of a part and a sensitive value, arrays (n,). `owner`: the part. `rows` of its class, `marked` of these
    with the value; `drawn` rows of the part, `present` of these with the value."""

    owner: Ints
    rows: Ints
    marked: Ints
    drawn: Ints
    present: Ints

    def unrevealing(self, present: Ints, diversity: float) -> Bools:
        """Whether so many rows of the value may be shown."""
        return unrevealing(self.rows, self.marked, self.drawn, present, self.drawn / diversity)

    def all_of(self, fine: Bools, parts: int) -> Bools:
        """(parts,) whether all pairs of a part are fine."""
        every = np.ones(parts, np.bool_)
        every[self.owner[~fine & (self.drawn > 0)]] = False
        return every


@dataclass(frozen=True)
class Diversity:
    """A requirement on a sensitive attribute. `index`: of the attribute among those whose codes are given. `counted`
    (codes,): the values that it speaks of."""

    model: str
    index: int
    diversity: float
    size: int
    counted: Bools

    def worth(self, step: RefinedParts, codes: Sequence[Codes]) -> Bools:
        """(parts,) whether the step may be tried, as far as each part goes: by the values of its class alone."""
        attribute_codes = codes[self.index]
        if self.model == DISTINCT:
            return self._open(step, attribute_codes)
        pairs = self._pairs(step, attribute_codes)
        return pairs.all_of(pairs.unrevealing(np.zeros_like(pairs.present), self.diversity), step.parts)

    def clear(self, step: RefinedParts, codes: Sequence[Codes]) -> Bools:
        """(parts,) whether each part may be shown, where the step may be tried."""
        if self.model == DISTINCT:
            return np.ones(step.parts, np.bool_)
        pairs = self._pairs(step, codes[self.index])
        return pairs.all_of(pairs.unrevealing(pairs.present, self.diversity), step.parts)

    def _runs(self, labels: Ints, codes: Codes, classes: int) -> Runs:
        runs = Runs.count_values(labels, codes, classes, self.size)
        return runs.subset(self.counted[runs.codes])

    def _pairs(self, step: RefinedParts, codes: Codes) -> MarkedParts:
        """All pairs of a part and a value of its class: a part without a value tells something, too."""
        sizes, inside = step.sizes(), self._runs(step.part, codes, step.parts)
        around = self._runs(step.whole[step.part], codes, step.classes)
        starts = np.searchsorted(around.classes, np.arange(step.classes + 1))
        lengths = np.diff(starts)[step.whole]
        entry, owner = concatenated_ranges(starts[step.whole], lengths), np.repeat(np.arange(step.parts), lengths)
        present = np.zeros(len(entry), np.int64)
        offsets = starts_of(lengths)[inside.classes]
        keys = around.classes * self.size + around.codes
        code_rank = np.searchsorted(keys, step.whole[inside.classes] * self.size + inside.codes)
        present[offsets + code_rank - starts[step.whole[inside.classes]]] = inside.counts
        rows = step.of_class(sizes)[step.whole[owner]]
        return MarkedParts(owner, rows, around.counts[entry], sizes[owner], present)

    def _open(self, step: RefinedParts, codes: Codes) -> Bools:
        """Whether somebody in any part is left with enough values, for all parts of a class alike.

        The fewest values that a part can have it has if it is filled with rows without a value and those of the most
        frequent ones. Somebody in a part that fails may have any value for which there are such fillings with it; all
        values are open to them where another part may fail.
        """
        sizes, least = step.sizes(), int(self.diversity)
        around = self._runs(step.whole[step.part], codes, step.classes)
        blank = step.of_class(sizes) - np.bincount(around.classes, around.counts, step.classes).astype(np.int64)
        top = _most_frequent(around, step.classes)
        filling = (blank + top(least - 1))[step.whole]
        others = (filling - 1 >= sizes).astype(np.int64)
        enough_of_one = (blank + top(max(least - 2, 0)) + top(least) - top(least - 1))[step.whole] >= sizes
        enough = enough_of_one | (step.of_class(others)[step.whole] > others)
        never = step.of_class((filling >= sizes).astype(np.int64)) == 0
        return np.asarray((never | (step.of_class((~enough).astype(np.int64)) == 0))[step.whole])


def _most_frequent(runs: Runs, classes: int) -> Callable[[int], Ints]:
    """Number of values -> (classes,) rows of each class with one of so many values, the most frequent ones of those in
    the runs, or of all that it has."""
    by_count = np.lexsort((-runs.counts, runs.classes))
    starts, sums = np.searchsorted(runs.classes, np.arange(classes + 1)), starts_of(runs.counts[by_count])
    first, last = starts[:-1], starts[1:]
    return lambda number: np.asarray(sums[np.minimum(first + number, last)] - sums[first])


@dataclass(frozen=True)
class Refusals:
    """The diversities that a release has to keep even from whoever knows how it was made."""

    diversities: Sequence[Diversity]

    @classmethod
    def of(cls, requirements: Iterable[Requirement], columns: Sequence[SensitiveColumn]) -> Refusals:
        """The refusals that requirements may lead to; `columns`: the attributes whose codes will be given."""
        names = [column.name for column in columns]
        frequency_requirements = [each for each in requirements if each.model in (FREQUENCY, DISTINCT)]
        return cls([_diversity(each, names.index(each.attribute or ""), columns) for each in frequency_requirements])

    def worth(self, step: RefinedParts, codes: Sequence[Codes]) -> Bools:
        """(parts,) whether the step may be tried, as far as each part goes; `codes`: (n,) of each sensitive attribute.
        Nobody learns anything from a step that is not tried."""
        verdicts = [np.ones(step.parts, np.bool_), *(each.worth(step, codes) for each in self.diversities)]
        return np.asarray(np.all(verdicts, axis=0))

    def clear(self, step: RefinedParts, codes: Sequence[Codes]) -> Bools:
        """(parts,) whether each part may be shown, where the step may be tried. A class is parted only if all its parts
        may be shown."""
        verdicts = [np.ones(step.parts, np.bool_), *(each.clear(step, codes) for each in self.diversities)]
        return np.asarray(np.all(verdicts, axis=0))


def _diversity(requirement: Requirement, index: int, columns: Sequence[SensitiveColumn]) -> Diversity:
    column, values = columns[index], values_of(requirement.parameters)
    counted = np.ones(column.size, np.bool_)
    if values is not None:
        counted = protected_mask(column.texts if column.values is None else column.values, values)
    if column.missing is not None:
        counted[column.missing] = False
    return Diversity(requirement.model, index, float(requirement.parameters.l), column.size, counted)  # type: ignore[attr-defined]


# --- the option -------------------------------------------------------------------------------------------------------
# The option `--mask-minimality`, and what it can be asked for.

FLAG = "--mask-minimality"


def mask_option() -> Any:
    """The field of an algorithm's options."""
    meaning = "Bound what is learnt by who knows the method, under distinct and frequency l; more is lost."
    return option(False, meaning, alone="every step that was refused is looked at again, row by row")


def check_maskable(table: Table, requirements: Iterable[Requirement]) -> None:
    """Raises UsageError for what the option does not bound: models of sensitive values beyond l-diversity, and
    individuals of several rows."""
    if table.units is not None:
        raise UsageError(Problem(f"{FLAG} counts rows, and the spec has a `unit`", hint="leave one of the two out"))
    others = {each.model for each in requirements if MODELS[each.model].sensitive != "none"} - {FREQUENCY, DISTINCT}
    if others:
        message = f"{FLAG} bounds {FREQUENCY} and {DISTINCT}, and not {', '.join(sorted(others))}"
        raise UsageError(Problem(message, hint="leave the model out, or the option"))


def by_rows(requirements: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    """What the requirements ask for whatever the sensitive values are: of all that look at these, enough rows."""
    plain = tuple(each for each in requirements if MODELS[each.model].sensitive == "none")
    parameters = MODELS["k-anonymity"].parameters.model_validate({"k": minimum_size(requirements)})
    return (*plain, Requirement("k-anonymity", None, parameters))


# --- cuts of classes --------------------------------------------------------------------------------------------------
# Cuts of classes under `--mask-minimality`: the first cut that is refused is the last that is tried.


@dataclass(frozen=True)
class LastCut:
    """The check of every part of a cut, by requirements and by what a refusal would tell. `refused`: how many classes
    it was that stayed as they were, batch by batch."""

    judge: Judge
    refusals: Refusals
    refused: list[int] = field(default_factory=list)

    def __call__(self, batch: Batch, part: Ints, parts: int) -> Bools:
        """(parts,) which may be. They come in pairs; where one of a pair is empty, the class was not cut."""
        step = RefinedParts(part, np.arange(parts) // 2)
        tried = (self.refusals.worth(step, batch.sensitive) & (step.sizes() > 0)).reshape(-1, 2).all(axis=1)
        fine = self.judge.meets(part, parts, batch) & self.refusals.clear(step, batch.sensitive)
        refused = tried & ~fine.reshape(-1, 2).all(axis=1)
        batch.closed[refused] = True
        self.refused.append(int(np.count_nonzero(refused)))
        return np.asarray(fine & np.repeat(tried, 2))


def last_cut(judge: Judge) -> LastCut:
    """The check of cuts by the requirements of a judge, and by what their refusal would tell."""
    return LastCut(judge, Refusals.of(judge.requirements, judge.columns))
