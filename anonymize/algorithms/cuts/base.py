"""What every cut rule has in common: score the attributes, take the best, fall back on a cut near the median."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import UserDict
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from anonymize.algorithms.splitting import Batch, nearest_cut, parting_cut
from anonymize.algorithms.splitting.grow import AGAIN, FINISHED, Cuts
from anonymize.classes import Bools, Floats, Ints
from anonymize.domain import Domain
from anonymize.records import dataclass

SHARES = np.array([(1, 2), (1, 4), (3, 4)])
"""Where along a class its cuts are tried, one after the other, while a privacy model refuses them."""


SCORE_DIGITS = 40
"""Binary digits of a score that count."""


@dataclass(frozen=True)
class Candidates:
    """What a rule thinks of one attribute in m classes: a score each (-inf: no cut), and the interval of codes to part
    from the rest; an empty interval (0, 0) asks for a cut near the median."""

    score: Floats
    start: Ints
    stop: Ints

    @classmethod
    def near_median(cls, score: Floats) -> Candidates:
        """Candidates that leave the place of the cut to the median."""
        start, stop = np.zeros((2, len(score)), np.int64)
        return cls(score, start, stop)


def rounded(scores: Floats) -> Floats:
    """Scores to 40 binary digits, 12 decimal ones: what two processors compute differently in its last digits is equal,
    so that all workers of an engine, and this machine, cut a class alike."""
    digits, exponent = np.frexp(scores)
    return np.asarray(np.ldexp(np.round(np.ldexp(digits, SCORE_DIGITS)), exponent - SCORE_DIGITS))


@dataclass(frozen=True)
class CutRule(ABC):
    """A rule by which the next cut of a class is chosen.

    `domains` and `weights`: one per quasi-identifier. `minimum`: rows that a class must have at least. `relaxed`: rows
    of equal value may part at a median. At equal scores the attribute that comes first in `preference` is cut.
    """

    domains: Sequence[Domain]
    weights: Sequence[float]
    minimum: int
    relaxed: bool = False

    ID: ClassVar[str]
    BY_COUNTS: ClassVar[bool] = False
    """Whether cuts follow from how many rows of a class have each code of each attribute by itself, so that the rule
    asks no more of a batch than `Histograms` has."""

    @abstractmethod
    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        """Scores of one attribute in some classes (m,), in each of which it has at least two values."""

    @property
    def fewest_rows(self) -> int:
        """Rows that a class must have at least to be cut: enough for two."""
        return 2 * self.minimum

    @property
    def preference(self) -> Sequence[int]:
        """The attributes in the order in which they are cut at equal scores: that of the spec."""
        return range(len(self.domains))

    def lower_rows(self, sizes: Ints, part: Ints, whole: Ints) -> Ints:
        """Rows of the lower side of a cut near the median, (m,); `part` / `whole` (m,) is the share asked for."""
        return np.asarray(np.maximum(sizes * part // whole, 1))

    def choose(self, batch: Batch) -> Cuts:
        """The cut of every class: the attribute of highest score, where its candidate says or near the median."""
        candidates, score = self._scored(batch)
        preference = np.array(self.preference)
        attribute = preference[np.argmax(rounded(score)[:, preference], axis=1)]
        attribute[np.isneginf(score[np.arange(batch.count), attribute])] = FINISHED
        start, stop, ties = np.zeros((3, batch.count), np.int64)
        for index, (classes, proposed) in enumerate(candidates):
            chosen = attribute[classes] == index
            start[classes[chosen]], stop[classes[chosen]] = proposed.start[chosen], proposed.stop[chosen]
            medians = classes[chosen & (proposed.stop == 0)]
            stop[medians], ties[medians], fits = self._near_median(batch, index, medians)
            attribute[medians[~fits]] = AGAIN
        return Cuts(attribute, start, stop, ties)

    def _scored(self, batch: Batch) -> tuple[list[tuple[Ints, Candidates]], Floats]:
        worth_it = (batch.sizes >= self.fewest_rows)[:, None] & (batch.low < batch.high)
        worth_it &= ~batch.closed & (batch.attempts < self.tries)
        score = np.full(worth_it.shape, -np.inf)
        candidates = []
        for attribute in range(len(self.domains)):
            classes = np.flatnonzero(worth_it[:, attribute])
            proposed = Candidates.near_median(np.empty(0))
            if len(classes):
                proposed = self.candidates(batch, attribute, classes)
                score[classes, attribute] = proposed.score
            candidates.append((classes, proposed))
        return candidates, score

    @property
    def tries(self) -> int:
        """Cuts of one class on one attribute that privacy models may refuse before another attribute is taken."""
        return len(SHARES)

    def _near_median(self, batch: Batch, index: int, classes: Ints) -> tuple[Ints, Ints, Bools]:
        """Where to cut some classes (m,) on one attribute, the ties of the cut, and whether it is allowed.

        Closes the attribute of a class where no cut of it, nor of any part of it, would be.
        """
        attempts = batch.attempts[classes, index] % len(SHARES)
        part, whole = SHARES[attempts].T
        rows = self.lower_rows(batch.sizes[classes], part, whole)
        about = batch, index, self.domains[index].size, classes, rows, self.minimum
        preferred = self.domains[index].preferred_cuts
        cut, ties, fits = parting_cut(*about) if self.relaxed else nearest_cut(*about, preferred)
        batch.closed[classes[~fits & (attempts == 0)], index] = True
        batch.attempts[classes[~fits], index] += 1
        return cut, ties, fits


# --- registry ---------------------------------------------------------------------------------------------------------
# Rules by their IDs, each imported when it is first taken: a search takes few of them.

Rule = TypeVar("Rule", bound=CutRule)


class CutRules(UserDict[str, Any], Generic[Rule]):
    """ID -> rule, in the order of the classes that are given: ID -> `Class` of this folder, or `module.Class` in it."""

    def __getitem__(self, name: str) -> type[Rule]:
        return cast("type[Rule]", resolve_name(f"{__package__}.{self.data[name]}"))
