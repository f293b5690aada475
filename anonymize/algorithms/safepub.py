"""SafePub: a random sample of rows, generalized, without classes of fewer than k; differentially private.

What it does. It publishes real rows under the spec's `privacy.differential` {epsilon, delta}, in two steps:

1. A part of epsilon (`--search`) is spent on choosing a node of the lattice of level vectors by the exponential
   mechanism of opendp. The score of a node is the number of rows beyond the first c of each of its classes, where c is
   the size that a class needs to have k rows in the sample, times the mean over the columns of 1 - level / height. One
   more row adds at most 1 to the size of one class of each node, and so between 0 and 1 to each score, as the second
   factor is at most 1 and does not depend on the rows: the sensitivity is 1, and all scores change in the same
   direction. In a lattice of more than 2,000 nodes, the candidates are the top and 2,000 nodes that are always drawn
   from the same seed.
2. With the rest of epsilon, each row is drawn with the probability beta = 1 - e^-epsilon and generalized to that node.
   Classes of at least k of these rows are published; all other rows are left out. k is the smallest number for which
   this is (epsilon, delta)-differentially private (Li, Qardaji and Su 2011, theorem 5): with gamma = (e^epsilon - 1 +
   beta) / e^epsilon, and over all n from k / gamma - 1, rounded up, the largest probability that more than gamma n of n
   rows are drawn is at most delta.

What it guarantees. (epsilon, delta)-differential privacy for each row, by both steps together: neighbouring tables
differ by one row that one of them has in addition. As a consequence, classes have at least k rows.

What is checked. k, beta and delta are computed again by formulas of the check's own, and the classes are counted in the
written file.

What it does not. It does not protect several rows of the same person together; a `unit` is refused. Every column that
is published is a quasi-identifier with a domain that the spec declares (`domains`, the file of a hierarchy, `domain`);
all others have to be identifiers, or are dropped, because a column that passed through unchanged would describe a
person as much as these do. Numbers are the whole numbers of a declared range, or are listed. What is shown follows from
declared values alone, and a value outside the domain is an error (3).

What else it discloses. Nothing beyond what the two steps account for. Only private reports describe the input, and say
how many rows were left out.

Recoding model. Full-domain generalization of a random sample, with suppression.

Cost. A pass over the distinct rows for each node.

Reference. Bild, Kuhn, Prasser: SafePub: a truthful data anonymization algorithm with strong privacy guarantees,
Proceedings on Privacy Enhancing Technologies 2018(1); Li, Qardaji, Su: On sampling, anonymization, and differential
privacy: or, k-anonymization meets differential privacy, ASIACCS 2012.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.base import Context, Family, Needs, Sampling, option
from anonymize.classes import Bools, Floats, Ints, mixed_radix
from anonymize.dp.mechanisms import ROW, Charge, exponential
from anonymize.dp.published import HierarchicalColumn, hierarchical_columns
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.privacy import Requirement
from anonymize.recoding import SearchResult
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.table import Table

ID = "safepub"
NODES = 2000
"""Nodes of the lattice that are candidates, in addition to the top."""
LONGEST = 5_000_000
"""Rows of a class, of which probabilities are computed."""
Vector = tuple[int, ...]


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    search: float = option(0.1, "Share of epsilon that the choice of levels spends.", above=0.0, maximum=0.9)


@dataclass(frozen=True)
class SampledColumn:
    """How a column reads at the `level` of a hierarchy. `texts`: of each node; `nodes` (rows of the input,)."""

    name: str
    texts: tuple[str, ...]
    nodes: NDArray[np.int64]
    level: int


@dataclass(frozen=True)
class SampledRows(SearchResult):
    """Rows of the input that were drawn with the probability `beta`, of classes of at least `k` of those that were.
    `search`: the epsilon that the choice of levels has spent; `delta`: what was left out."""

    KIND: ClassVar[str] = "sampled"

    columns: tuple[SampledColumn, ...]
    rows: NDArray[np.int64]
    k: int
    beta: float
    search: float
    delta: float

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        levels = {each.name: each.level for each in self.columns}
        return {"kind": self.KIND, "levels": levels, "k": self.k, "beta": self.beta, "epsilon_of_search": self.search}


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> SampledRows:
    """The rows that are published. Raises DataError for values outside the declared domains, InfeasibleError where no
    class has k rows in the sample."""
    assert context.spec is not None and context.spec.privacy.differential is not None
    bound = context.spec.privacy.differential
    sampling = drawing(context.spec, options, requirements)
    beta, k = sampling.beta, sampling.k
    columns = hierarchical_columns(context.spec, table)
    nodes = candidates([each.levels for each in columns])
    scores = _scores(columns, nodes, math.ceil(k / beta) - 1)
    context.before_draw(Charge.of_approximate(ID, ROW, bound.epsilon, bound.delta))
    chosen = nodes[exponential(scores, 1.0, sampling.search)]
    rows = _published(columns, chosen, _drawn(table.rows, beta), k)
    if not len(rows):
        message = f"no class has {k} rows in the sample, and nothing could be published; what was drawn stays charged"
        raise InfeasibleError(Problem(message, hint="fewer or coarser columns, or a larger epsilon"))
    pairs = zip(columns, chosen, strict=True)
    generalized = tuple(SampledColumn(each.name, each.texts, each.nodes(level), level) for each, level in pairs)
    return SampledRows(generalized, rows, k, beta, sampling.search, bound.delta)


def drawing(spec: Spec, options: Options, requirements: Sequence[Requirement]) -> Sampling:
    """How a release is drawn: by what the choice of levels leaves of epsilon, and with no k below one that is
    required."""
    assert spec.privacy.differential is not None
    bound, search = spec.privacy.differential, spec.privacy.differential.epsilon * options.search
    beta, k = parameters(bound.epsilon - search, bound.delta)
    required = [each.parameters.k for each in requirements if hasattr(each.parameters, "k")]
    return Sampling(search, beta, max([k, *required]))


NEEDS = Needs(
    Family("sampled", "sampled", compared=False, drawing=drawing),
    reusable=False,
    random=True,
    levels=True,
    populations=False,
    alone="the budget of differential privacy is spent, and the sample drawn, by one process",
)


def parameters(epsilon: float, delta: float) -> tuple[float, int]:
    """(beta, k) of sampling and suppression alone, see the module. Raises UsageError for an epsilon so large that k is
    beyond what can be computed.

    >>> parameters(1.0, 1e-5)
    (0.6321205588285577, 61)
    """
    beta = -math.expm1(-epsilon)
    gamma = 1 - (1 - beta) * math.exp(-epsilon)
    rate = gamma * math.log(gamma / beta) - (gamma - beta)
    longest = math.ceil(-math.log(delta) / rate) if rate > 0 else LONGEST + 1
    if longest > LONGEST:
        message = f"safepub: at epsilon {epsilon:g} nearly every row is drawn, and no k of a reasonable size is enough"
        raise UsageError(Problem(message, hint="require a smaller epsilon"))
    return beta, _smallest(beta, gamma, delta, longest)


def _smallest(beta: float, gamma: float, delta: float, longest: int) -> int:
    """The smallest k. Beyond `longest` rows no probability is above delta, by Chernoff's bound."""
    from scipy.stats import binom

    counts = np.arange(1, longest + 1)
    tails = binom.sf(np.floor(gamma * counts), counts, beta)
    above = np.flatnonzero(tails > delta)
    first = int(counts[above[-1]]) + 1 if len(above) else 1
    k = max(1, math.floor(gamma * first))
    while math.ceil(k / gamma - 1) < first:
        k += 1
    return k


def candidates(ranges: Sequence[range]) -> list[Vector]:
    """The nodes that may be chosen, the top last: all of them, or as many as `NODES` from a fixed seed. `ranges`: the
    levels of each column."""
    top = tuple(each[-1] for each in ranges)
    if math.prod(map(len, ranges)) <= NODES:
        return [*(node for node in product(*ranges) if node != top), top]
    random = np.random.default_rng(0)
    drawn = {tuple(int(random.integers(each[0], each[-1] + 1)) for each in ranges) for _ in range(NODES)}
    return [*sorted(drawn - {top}), top]


def _scores(columns: Sequence[HierarchicalColumn], nodes: Sequence[Vector], least: int) -> Floats:
    """(nodes,) the rows beyond the first `least` of each class, times what is left of the levels."""
    keys, _ = mixed_radix([each.codes for each in columns], [each.size for each in columns])
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    scores = []
    for node in nodes:
        kept = [1 - level / each.height if each.height else 1.0 for each, level in zip(columns, node, strict=True)]
        groups = _groups(columns, node, first)
        sizes = np.bincount(groups, weights=counts)
        scores.append(float(np.maximum(sizes - least, 0).sum()) * float(np.mean(kept)))
    return np.array(scores)


def _groups(columns: Sequence[HierarchicalColumn], node: Vector, rows: Ints) -> Ints:
    """(rows,) the class of each of some rows, numbered from 0."""
    nodes = [each.nodes(level)[rows] for each, level in zip(columns, node, strict=True)]
    keys, _ = mixed_radix(nodes, [int(each.max(initial=0)) + 1 for each in nodes])
    groups: Ints = np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return groups


def _drawn(rows: int, beta: float) -> Bools:
    """(rows,) whether each is drawn, with at most the probability beta; by the system's entropy."""
    numbers = np.frombuffer(os.urandom(8 * rows), np.uint64)
    drawn: Bools = numbers < np.uint64(math.floor(beta * 2**53) * 2**11)
    return drawn


def _published(columns: Sequence[HierarchicalColumn], node: Vector, drawn: Bools, k: int) -> Ints:
    """The rows of the input that are published, in order."""
    rows = np.flatnonzero(drawn)
    groups = _groups(columns, node, rows)
    published: Ints = rows[np.bincount(groups)[groups] >= k] if len(rows) else rows
    return published
