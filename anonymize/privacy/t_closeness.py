"""t-closeness: the sensitive values of every class are distributed almost as in the whole table.

Guarantees: learning a person's class, and nothing else, moves an attacker's belief about the sensitive value away from
the distribution in the released table by at most t in the earth mover's distance.

Does not bound: how sure a guess is: if 99 of 100 people in the table have the same value, they may in every class, as
the distribution in the whole table counts as known. With the equal distance the probability of a rare value may rise
from nearly 0 to t (see beta-likeness); with the ordered and hierarchical distances that of a value may rise by much
more than t at the cost of values close to it. Knowledge about others in the class, columns that pass through and
several releases of the same people may move beliefs further, and so may asking what else the method could have released
(minimality).

Formula: EMD(P, Q) <= t in every class, P the distribution of the values in the class, Q that of all released rows. Work
is share times distance, and distances lie in [0, 1]:

- `equal`: 1 between any two values. EMD = sum over s of max(0, P(s) - Q(s)).
- `ordered`: |rank - rank'| / (m - 1), with ranks among the m values that the released table has, numbers by size,
  others as the leaves of their hierarchy. EMD = sum over i of |P(s <= i) - Q(s <= i)| / (m - 1).
- `hierarchical`: level of the lowest common ancestor / height of the hierarchy. EMD = sum over the levels below the
  root, leaves included, of sum over the nodes of max(0, P(node) - Q(node)), over the height.

Parameters: `t` (a number from 0 to 1), `distance` (equal, ordered or hierarchical; equal if left out). `ordered` needs
a numeric attribute or a hierarchy, `hierarchical` a hierarchy. `values` (the sensitive values that are protected, with
the equal distance alone; all if left out): P and Q are then of these values and of one more, any other value. Of a
single protected value s the distance is |P(s) - Q(s)|, up or down.

Example: with t: 0.25, in the table (flu, flu, flu, flu, cold, cold, cold, cold), the class (flu, flu, flu, cold) passes
and the class (flu, flu, flu, flu) fails.

Example: with t: 0.25, values: [HIV], in the table (HIV, HIV, flu, flu, cold, cold, angina, angina), the class (HIV,
HIV, flu, flu) passes and the class (HIV, HIV, flu) fails.

Monotone: yes. The distribution of a merged class is a mixture of those of its parts, and the distance to Q is convex:
at most the mean of theirs.

Missing values: do not count, neither in the class nor in the whole; a class with no present value is infinitely far.

Reference: N. Li, T. Li, S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007,
section 4.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from anonymize.privacy import base, histogram
from anonymize.privacy.groups import Groups, Histogram
from anonymize.spec.base import Means


class Parameters(base.Parameters):
    t: Annotated[float, Means.DISTANCE] = Field(
        ge=0, le=1, description="distance that every class has at most from the whole table"
    )
    distance: Literal["equal", "ordered", "hierarchical"] = Field(
        default="equal", description="how far apart two sensitive values are"
    )
    values: histogram.Values = None

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if self.values is not None and self.distance != "equal":
            raise ValueError(
                "`values` are for the equal distance: the others have no place for all other values as one"
            )
        return self


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    if parameters.values is not None:
        return np.where(histogram.distinct() > 0, protected_equal(histogram, parameters.values), np.inf)
    distance = {"equal": equal, "ordered": ordered, "hierarchical": hierarchical}[parameters.distance]
    return np.where(histogram.distinct() > 0, distance(histogram), np.inf)


def equal(histogram: Histogram) -> base.Measured:
    """(C,) half the sum of absolute differences; values that a class lacks are in it by those that it has too much."""
    excess = histogram.shares() - histogram.whole.shares[histogram.codes]
    return histogram.sum(np.maximum(excess, 0))


def protected_equal(histogram: Histogram, values: tuple[str, ...]) -> base.Measured:
    """(C,) the equal distance where all values that are not protected are one."""
    is_protected, overall = histogram.protected(values), histogram.whole.shares
    excess = np.maximum(histogram.shares() - overall[histogram.codes], 0)
    others = overall[histogram.whole.protected(values)].sum() - histogram.sum(
        np.where(is_protected, histogram.shares(), 0)
    )
    return np.asarray(histogram.sum(np.where(is_protected, excess, 0)) + np.maximum(others, 0))


def ordered(histogram: Histogram) -> base.Measured:
    """(C,) area between the cumulative shares of the class and of the whole, over ranks.

    The share of a class is level between its own values, and there the area is known from the sums of the whole's.
    """
    occurs = histogram.whole.counts > 0
    ranks = int(np.count_nonzero(occurs))
    cumulative = np.cumsum(histogram.whole.shares[occurs])
    sums = np.append(0.0, np.cumsum(cumulative))
    rank = (np.cumsum(occurs) - 1)[histogram.codes]
    level = _cumulative(histogram)
    stop = np.append(rank[1:], ranks)
    stop[histogram.starts[1:][histogram.distinct() > 0] - 1] = ranks
    crossing = np.clip(np.searchsorted(cumulative, level), rank, stop)
    below = level * (crossing - rank) - (sums[crossing] - sums[rank])
    above = (sums[stop] - sums[crossing]) - level * (stop - crossing)
    before = np.zeros(histogram.starts.size - 1)
    filled = histogram.distinct() > 0
    before[filled] = sums[rank[histogram.starts[:-1][filled]]]
    return (histogram.sum(below + above) + before) / max(ranks - 1, 1)


def _cumulative(histogram: Histogram) -> base.Measured:
    """(R,) of its class, the share that each entry and those before it have."""
    present = histogram.present()
    before = np.cumsum(present) - present
    return (np.cumsum(histogram.counts) - before[histogram.classes]) / present[histogram.classes]


def hierarchical(histogram: Histogram) -> base.Measured:
    """(C,) level by level, what moves between nodes of the level."""
    levels = histogram.whole.levels
    if levels is None:
        return equal(histogram)
    distance = np.zeros(histogram.starts.size - 1)
    for nodes in levels[:-1]:
        distance += equal(histogram.gathered(nodes))
    return distance / (len(levels) - 1)


class Closeness(base.Model):
    """Some distances need an attribute whose values are in order, or in a hierarchy."""

    def needs(self, parameters: Parameters) -> base.Needed:
        needed: dict[str, base.Needed] = {"ordered": "order", "hierarchical": "hierarchy"}
        return needed.get(parameters.distance, "any")


MODEL = Closeness(
    id="t-closeness",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("t", "at most"),),
    given=("distance", "values"),
    compares=True,
)
