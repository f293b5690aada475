"""Mondrian: cuts the table into ever smaller regions, as long as each still meets every privacy model.

What it does. All rows start as one class. Each class is cut in two along one quasi-identifier, where both parts meet
every requirement, until none of the cuts that are tried is allowed. A class is released as the smallest region around
its rows: an interval of numbers, the lowest common node of a hierarchy.

What it guarantees. Every class meets every model of the spec, at every cut, or nothing is released. Where the table as
one class does not, the rows of the most frequent sensitive values are suppressed within the spec's limit, if that mends
it. Under k-anonymity alone no class is left that any boundary between two leaves would part into two of at least k
rows. Other models may refuse a cut at one place and allow it at another: at most three places of each quasi-identifier
are tried, so a class may be left that could have been cut. It does not guarantee the least loss: cuts are greedy, and
never taken back.

What `--cut auto` does. Under k-anonymity alone it is `rate`. Under other models, which may refuse the cuts that a rule
counts on, `rate` and `widest` are both tried on at most 32,768 rows, spread evenly over the table, and the one that
loses less weighted NCP there cuts the table; the report's `recoding` block says which.

Recoding model. Strict multidimensional: equal rows stay together, and classes that were parted on an attribute have no
value of it in common. The label of one may still cover values of another: of three siblings, the first and the last are
released as their parent when the middle one is parted from them. With `--relaxed` rows of equal value may part at a
median.

With `--refine` the classes are refined once they are cut (see below), and the recoding is local: equal rows may be
released differently.

Refinement. For as many `--passes` as it pays, rows go to classes that they cost less in, alone or together, and classes
that lie near each other are grouped anew. What is lost never rises, and every class still meets every model. What is
random follows `--seed`; without one the seed is 0. A `--time-limit` ends it earlier, with what was found by then.

Cost. O(n log n) comparisons; a handful of array operations for all classes of a level.

Reference. LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006; Workload-aware
anonymization, KDD 2006, figure 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.base import Context, Needs, option
from anonymize.algorithms.cuts import RULES
from anonymize.algorithms.feasibility import minimum_size, rows_to_suppress
from anonymize.algorithms.refining.refine import Refinable, refined
from anonymize.algorithms.splitting.batch import Batch
from anonymize.algorithms.splitting.grow import Allowed, grow
from anonymize.classes import Bools, Ints, Partition
from anonymize.privacy import Groups, Histogram, Requirement, check
from anonymize.recoding import Regions
from anonymize.table import SensitiveColumn, Table

ID = "mondrian"
NEEDS = Needs(family="multidimensional", uses=frozenset({"weights"}))

CANDIDATES = ("rate", "widest")
"""Rules that `auto` tries under models beyond k-anonymity, where refused cuts upset what a rule expects."""
TRIAL_ROWS = 1 << 15


@dataclass(frozen=True)
class Options(Refinable):
    """Options of the subcommand."""

    cut: str = option("auto", "How the next cut is chosen; auto tries rules where it matters.", ("auto", *RULES))
    relaxed: bool = option(False, "Rows of equal value may part at a median.")
    refine: bool = option(False, "Refine the classes: less is lost, regions may overlap, and it takes longer.")


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Regions:
    """The partition that the rule grows."""
    suppressed = rows_to_suppress(table, requirements, context)
    rows = np.delete(np.arange(table.rows, dtype=np.uint32), suppressed)
    search = _Search(table, requirements, options.relaxed, context)
    cut = _best_rule(search, rows) if options.cut == "auto" else options.cut
    found = Regions(search.grow(rows, cut, context.progress), suppressed, cut)
    return refined(table, requirements, found, options, context) if options.refine else found


@dataclass(frozen=True)
class _Search:
    table: Table
    requirements: tuple[Requirement, ...]
    relaxed: bool
    context: Context

    def grow(self, rows: NDArray[np.uint32], cut: str, progress: Callable[[int], None]) -> Partition:
        """The classes that a rule cuts some rows, ascending, into."""
        attributes = self.table.attributes
        asked = {requirement.attribute for requirement in self.requirements}
        looked_at = [column for column in self.table.sensitive if column.name in asked]
        whole = Batch.whole(rows, tuple(a.codes for a in attributes), tuple(c.codes for c in looked_at))
        rule = RULES[cut](
            domains=[attribute.domain for attribute in attributes],
            weights=[attribute.weight for attribute in attributes],
            minimum=minimum_size(self.requirements),
            relaxed=self.relaxed,
        )
        return grow(whole, rule, _allowed(self.requirements, looked_at), self.context.threads, progress)

    def loss(self, partition: Partition) -> float:
        """Weighted NCP of the classes."""
        boxes = [(a, *partition.boxes(a.codes)) for a in self.table.attributes]
        return sum(a.weight * float(a.domain.cost(low, high) @ partition.sizes) for a, low, high in boxes)


def _best_rule(search: _Search, rows: NDArray[np.uint32]) -> str:
    """The rule that `auto` takes: the first of CANDIDATES to lose least on rows spread evenly over the table.

    Under k-anonymity alone it is the first of them without a trial.
    """
    if all(requirement.model == "k-anonymity" for requirement in search.requirements):
        return CANDIDATES[0]
    trial = rows[:: -(-len(rows) // TRIAL_ROWS)]
    lost = {cut: search.loss(search.grow(trial, cut, lambda done: None)) for cut in CANDIDATES}
    return min(CANDIDATES, key=lost.__getitem__)


def _allowed(requirements: tuple[Requirement, ...], columns: list[SensitiveColumn]) -> Allowed | None:
    """The check of every part of a cut; None where the minimum size is all there is to check."""
    beyond_size = [requirement for requirement in requirements if requirement.model != "k-anonymity"]
    if not beyond_size:
        return None

    def allowed(batch: Batch, part: Ints, parts: int) -> Bools:
        histograms = {
            column.name: Histogram.from_rows(part, codes, parts, column.size, column.missing, column.values)
            for column, codes in zip(columns, batch.sensitive, strict=True)
        }
        return check(Groups(np.bincount(part, minlength=parts), histograms), requirements)

    return allowed
