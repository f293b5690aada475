"""Entropy l-diversity: the sensitive values of every class are as uncertain as l equally frequent ones.

Guarantees: the perplexity of the sensitive values in every class is at least l. Stronger than distinct l-diversity with
the same l (perplexity <= number of values). Demanding when one value is frequent in the whole table: the table itself
has to meet it.

Does not bound: the share of one value by 1/l: a class of eight rows, four with the same value and four with others that
are all different, has perplexity 4, and a guess is right for half of them (see frequency l-diversity). Similar values
count as different ones, and values that are rare in the table may be frequent in a class. The perplexity is that for an
attacker who knows only the class; knowledge about others in it, columns that pass through, several releases of the same
people, and asking what else the method could have released (minimality) may all reduce it.

Formula: exp(H) >= l in every class, H = -sum over s of p(s) ln p(s) = ln n - (sum over s of n(s) ln n(s)) / n, n(s)
the rows of the class with the sensitive value s, n their sum, p(s) = n(s) / n.

With `estimator: grassberger` the class is taken as a sample, and H is Grassberger's estimate of the entropy of what it
was drawn from: ln n - (sum over s of n(s) G(n(s))) / n, G(2 m) = G(2 m + 1) = -gamma - ln 2 + 2 (1 + 1/3 + ... + 1 / (2
m - 1)). It is higher than the entropy of the class itself, in small classes much higher (a single row counts as 3.56
values), so it is a weaker requirement: it does not bound what the class itself discloses, and should be combined with
k-anonymity. With `estimator: stammler` G(n) also replaces ln n, and a class has at most as many values as it shows:
this is what ARX calls Grassberger's estimator. A single row then counts as one value; a class with an odd number of
rows has somewhat fewer values than with the other estimator.

Parameters: `l`, equally frequent values (a number, at least 1, not necessarily whole), `estimator` (grassberger or
stammler; the class itself if left out).

Example: with l: 1.8, the class (flu, flu, cold) passes and the class (flu, flu, flu, cold) fails.

Monotone: yes. Entropy is concave: a mixture's is at least the mean of the parts', hence at least the smaller one.
Estimates are not: only full-domain methods that rely on no monotonicity accept them.

Missing values: do not count, not in n either; a class with no present value measures 0.

Reference: A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity",
ICDE 2006 and TKDD 1(1), 2007; P. Grassberger, "Entropy estimates from insufficient samplings", arXiv:physics/0307138,
2003; S. Stammler, S. Katzenbeisser, K. Hamacher, "Correcting finite sampling issues in entropy l-diversity", PSD 2016.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from anonymize.classes import Ints
from anonymize.privacy import base
from anonymize.privacy.groups import Groups


class Parameters(base.Parameters):
    l: float = Field(ge=1, description="equally frequent values that every class is as uncertain as")  # noqa: E741

    estimator: Literal["grassberger", "stammler"] | None = Field(
        default=None, description="how the entropy is estimated where the class is taken as a sample"
    )


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    counts, present = histogram.counts, histogram.present()
    size = np.maximum(present, 1).astype(np.float64)
    substitute: base.Measured = np.log(counts) if parameters.estimator is None else _grassberger(counts)
    logs = histogram.sum(counts * substitute) / size
    if parameters.estimator == "stammler":
        perplexity = np.minimum(np.exp(_grassberger(present) - logs), histogram.sum(np.ones(len(counts))))
    else:
        perplexity = np.exp(np.log(size) - logs)
    return np.where(present > 0, perplexity, 0.0)


def _grassberger(counts: Ints) -> base.Measured:
    """(R,) G of each number."""
    odd = 1 / np.arange(1.0, int(counts.max(initial=0)) + 1, 2)
    sums = np.append(0.0, np.cumsum(odd))
    return np.asarray(2 * sums[counts // 2] - np.euler_gamma - np.log(2))


class EntropyDiversity(base.DiversityModel):
    """An estimate may be higher than any number of rows, and lower in a merged class than in its parts."""

    def merges(self, parameters: Parameters) -> bool:
        return parameters.estimator is None

    def minimum_rows(self, parameters: Parameters) -> int:
        return 1 if parameters.estimator == "grassberger" else super().minimum_rows(parameters)


MODEL = EntropyDiversity(
    id="entropy-l-diversity",
    parameters=Parameters,
    measure=measure,
    given=("estimator",),
)
