"""Recursive (c,l)-diversity: the most frequent sensitive value is not too frequent, even when others are excluded.

Guarantees: in every class the most frequent value occurs less than c times as often as the values from the l-th most
frequent on together. An attacker who can exclude l - 2 of the values, and knows nothing else, still faces a class that
is (c,2)-diverse.

Does not bound: a guess by 1/l: with l = 2 the most frequent value may have any share below c / (c + 1), which is three
quarters for c = 3; and an attacker who can exclude l - 1 values may be left with a single one. Neither the similarity
of values nor how rare they are in the table counts. People of the class whose values are known, columns that pass
through, and other releases of the same people may exclude more values than l allows for, and so may asking what else
the method could have released (minimality).

Formula: r(1) < c (r(l) + r(l + 1) + ... + r(m)) in every class, r(i) the rows with the i-th most frequent sensitive
value, m the number of values. Equality is not enough. Measured: r(1) / (r(l) + ... + r(m)), the number that c has to
exceed; infinite in a class with fewer than l values, which no c makes diverse.

Parameters: `c` (a number above 0), `l` (a whole number, at least 1), `values` (the sensitive values that are protected;
all if left out). With `values`, r(1) is the rows of the most frequent protected value, and the sum is over all other
values but the l - 2 most frequent of these: the positive disclosure-recursive (c,l)-diversity of the reference. A class
without a protected value measures 0.

Example: with c: 2, l: 2, the class (flu, flu, cold, angina) passes and the class (flu, flu, cold) fails.

Example: with c: 1, l: 3, values: [HIV], the class (HIV, flu, flu, flu, cold, angina) passes and the class (HIV, flu,
flu, flu, cold) fails.

Monotone: yes. The l - 1 most frequent values of a merged class have at most as many rows as those of its parts
together, so the rest has at least as many as theirs; and its r(1) is at most the sum of theirs.

Missing values: do not count.

Reference: A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity",
ICDE 2006 and TKDD 1(1), 2007.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.classes import Ints
from anonymize.privacy import base, histogram
from anonymize.privacy.groups import Groups, Histogram


class Parameters(base.Parameters):
    c: float = Field(gt=0, description="times the rarer values that the most frequent one stays below")
    l: int = Field(ge=1, description="rank from which on values are the rarer ones")  # noqa: E741
    values: histogram.Values = None


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    counts = _descending(histogram)
    rank = np.arange(counts.size) - histogram.starts[histogram.classes]
    rest = histogram.sum(np.where(rank >= parameters.l - 1, counts, 0))
    most = histogram.max(np.where(histogram.protected(parameters.values), histogram.counts, 0))
    if parameters.values is not None and parameters.l > 1:
        place = histogram.sum((counts > most[histogram.classes]).astype(np.int64)) + 1
        others = histogram.sum(np.where(rank >= parameters.l - 2, counts, 0)) - most
        rest = np.where(place < parameters.l, rest, others)
    unmet = np.where((most == 0) & (histogram.present() > 0), 0.0, np.inf)
    return np.asarray(np.divide(most, rest, out=unmet, where=rest > 0))


def _descending(histogram: Histogram) -> Ints:
    """(R,) the counts, largest first within each class: the class leads the sort key, so that classes stay in place."""
    top = int(histogram.counts.max(initial=0))
    blocks = histogram.classes * (top + 1)
    keys = np.sort(blocks + (top - histogram.counts))
    return top - (keys - blocks)


class Recursive(base.Model):
    """The rank bounds the rows of a class, though it is not compared."""

    def minimum_rows(self, parameters: Parameters) -> int:
        return parameters.l if parameters.values is None else 1

    def least_values(self, parameters: Parameters) -> int:
        return parameters.l - 1 + base.more_than(1 / parameters.c)  # 1 < c (m - l + 1)


MODEL = Recursive(
    id="recursive-cl-diversity",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("c", "below"),),
    given=("l", "values"),
    diverse=True,
    rank="l",
    alike=True,
)
