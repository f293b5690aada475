"""Which classes of a release are suppressed, where whole classes are: those that fail, and no more than it takes.

Suppressed rows are published, as one class that shows nothing, or they are dropped. That makes a difference to models
that compare a class with all rows that are released (t-closeness and the like), and to models of the table as a whole
(`risk: marketer`, `sample-uniqueness`).

1. Published. The failing classes are those that fail compared with all rows. Where the table as a whole is not within a
   limit, the smallest classes are suppressed as well, as many as it takes. The class of all suppressed rows has to meet
   the models like any other.
2. Dropped: where the spec says so, where a population is asked about, where that class does not meet the models, or
   where fewer rows go that way. The classes that are left are compared with each other alone; those that fail then are
   dropped too, and so on until none fails.

No set of published classes that is legal lacks a class of the first kind: whatever is suppressed in addition, the whole
that it is compared with is the same. Other sets of dropped classes may be legal too, some with fewer rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from anonymize.classes import Bools, Ints
from anonymize.privacy import MODELS, Assessment, Groups, Requirement, check
from anonymize.records import dataclass

CLASSES_TRIED = 6
"""Classes of which every choice is tried, at most."""


@dataclass(frozen=True)
class Suppression:
    """`limit`: how many rows may be suppressed. `published`: they are, as one class, if that is safe."""

    requirements: Sequence[Requirement]
    limit: int
    published: bool = True

    @property
    def compares(self) -> bool:
        """Whether it matters to a class which rows are released along with it."""
        models = ((MODELS[each.model], each.parameters) for each in self.requirements)
        return any(model.compares or model.needs_everybody(given) for model, given in models)

    @property
    def of_table(self) -> tuple[Requirement, ...]:
        """The requirements that ask something of the table as a whole."""
        return tuple(each for each in self.requirements if MODELS[each.model].asks_table(each.parameters))

    def _within(self, groups: Groups) -> bool:
        """Whether the table as a whole meets what is asked of it."""
        return all(Assessment(groups, each).within for each in self.of_table)

    def failing(self, groups: Groups, rows: Ints) -> Bools:
        """(C,) which classes are suppressed; `rows` (C,) of each. More rows than the limit where no choice within it
        was found; then they are those that fail by themselves, and maybe others.

        Ties: classes of one size in their own order; published rather than dropped where as many rows go.
        """
        failing = ~check(groups, self.requirements, "necessary")
        if not self.of_table and not (self.compares and failing.any()):
            return failing
        choices = []
        if self.published:
            published = self._published(groups, failing)
            if published is not None:
                if self.compares or (published == failing).all():
                    return published
                choices.append(published)
        choices.append(self._withheld(groups, rows, failing))
        return min(choices, key=lambda choice: int(rows[choice].sum()))

    def certain(self, groups: Groups) -> Bools:
        """(C,) which classes are suppressed whatever else is: those that fail what is asked of each by itself."""
        alone = (each for each in self.requirements if not MODELS[each.model].compares)
        return ~check(groups, alone, "necessary")

    def legal(self, groups: Groups, rows: Ints) -> list[Bools] | None:
        """Every choice of classes (C,) that may be suppressed, those of fewest classes first; None where there are too
        many to be tried: where more than `CLASSES_TRIED` could be, in addition to those that certainly are."""
        certain = self.certain(groups)
        left = self.limit - int(rows[certain].sum())
        free = np.flatnonzero(~certain & (rows <= left))
        if left < 0 or len(free) > CLASSES_TRIED:
            return [] if left < 0 else None
        choices = []
        for more in (some for count in range(len(free) + 1) for some in combinations(free.tolist(), count)):
            suppressed = certain.copy()
            suppressed[list(more)] = True
            if rows[list(more)].sum() <= left and not suppressed.all() and self._is_legal(groups, suppressed):
                choices.append(suppressed)
        return choices

    def _is_legal(self, groups: Groups, suppressed: Bools) -> bool:
        """Whether a release without some classes is safe, be they published or dropped."""
        kept = groups.subset(~suppressed)
        return any(
            bool(check(classes, self.requirements, "necessary").all())
            and self._within(_released(groups, suppressed, published=published))
            and (not published or self._hides(groups, suppressed))
            for published, classes in (((True, kept),) if self.published else ()) + ((False, kept.by_itself()),)
        )

    def at_least(self, groups: Groups, rows: Ints, failing: Bools) -> int:
        """The fewest rows that are suppressed at this node, and at every node below it, where the classes of `failing`
        (C,) are: to suppress what is left costs the table's figures no less than nothing."""
        fewest, released_sizes = 0, groups.sizes[~failing]
        for each in self.of_table:
            fewest = max(fewest, MODELS[each.model].rows_over(released_sizes, int(groups.sizes.sum()), each.parameters))
        return fewest + int(rows[failing].sum())

    def _published(self, groups: Groups, failing: Bools) -> Bools | None:
        """The classes to be suppressed if they are published; None where these are not safe as one class."""
        if self.of_table:
            return self._extended(groups, failing, published=True)
        return failing if self._hides(groups, failing) else None

    def _hides(self, groups: Groups, suppressed: Bools) -> bool:
        """Whether suppressed classes, if there are any, are safe as the one class that they are published as."""
        if not suppressed.any():
            return True
        return bool(check(_together(groups, suppressed), self.requirements, "necessary").all())

    def _withheld(self, groups: Groups, rows: Ints, failing: Bools) -> Bools:
        """The classes to be suppressed if they are dropped."""
        suppressed = failing.copy()
        while int(rows[suppressed].sum()) <= self.limit and not suppressed.all():
            again = suppressed.copy()
            again[~suppressed] = ~check(groups.subset(~suppressed).by_itself(), self.requirements, "necessary")
            if (again == suppressed).all() and self.of_table:
                extended = self._extended(groups, suppressed, published=False)
                again = np.ones_like(suppressed) if extended is None else extended
            if (again == suppressed).all():
                break
            suppressed = again
        return suppressed

    def _extended(self, groups: Groups, failing: Bools, *, published: bool) -> Bools | None:
        """With the smallest classes that are left, as many as it takes for the table to be within its limits.

        Every class more brings each figure of the table down, or leaves it as it is (without the smallest classes, the
        mean class is larger), and a growing model that the class of the suppressed rows meets is met with more of them;
        so bisection finds the fewest. What it finds was measured: where this does not hold, more may be suppressed than
        it takes, and never less. None where not even all classes are enough.
        """
        left = np.flatnonzero(~failing)
        smallest = left[np.argsort(groups.sizes[left], kind="stable")]

        def taken(count: int) -> Bools:
            suppressed = failing.copy()
            suppressed[smallest[:count]] = True
            return suppressed

        def fine(count: int) -> bool:
            suppressed = taken(count)
            within = self._within(_released(groups, suppressed, published=published))
            return within and (not published or self._hides(groups, suppressed))

        low, high = 0, len(smallest) - (not published)  # of dropped classes, one has to stay
        if high < 0 or not fine(high):
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if fine(middle) else (middle + 1, high)
        return taken(high)


def _together(groups: Groups, suppressed: Bools) -> Groups:
    """The suppressed classes as the one class that they are published as."""
    some = groups.subset(suppressed)
    return some.merge(np.zeros(some.sizes.size, np.int64), 1)


def _released(groups: Groups, suppressed: Bools, *, published: bool) -> Groups:
    """All classes of a release as far as their sizes go."""
    shown_sizes = groups.sizes[~suppressed]
    hidden = _together(Groups(groups.sizes, members=groups.members), suppressed).sizes if published else shown_sizes[:0]
    return Groups(np.append(shown_sizes, hidden[hidden > 0]))
