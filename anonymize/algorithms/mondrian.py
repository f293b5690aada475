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
from anonymize.algorithms.splitting.batch import Batch
from anonymize.algorithms.splitting.grow import Allowed, grow
from anonymize.classes import Bools, Ints, Partition, run_starts
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.privacy import MODELS, Crowd, Groups, Histogram, Requirement, Whole, assess, check, sizes_of
from anonymize.recoding import Regions
from anonymize.table import SensitiveColumn, Table

ID = "mondrian"
NEEDS = Needs(family="multidimensional", uses=frozenset({"weights"}), units=True)

CANDIDATES = ("rate", "widest")
"""Rules that `auto` tries under models beyond k-anonymity, where refused cuts upset what a rule expects."""
TRIAL_ROWS = 1 << 15


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    cut: str = option("auto", "How the next cut is chosen; auto tries rules where it matters.", ("auto", *RULES))
    relaxed: bool = option(False, "Rows of equal value may part at a median.")


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Regions:
    """The partition that the rule grows."""
    _refuse_gaps(requirements)
    suppressed = rows_to_suppress(table, requirements, context)
    rows = np.delete(np.arange(table.rows, dtype=np.uint32), suppressed)
    _check_region(table, requirements, rows)
    search = _Search(table, requirements, options.relaxed, context, rows)
    cut = _best_rule(search, rows) if options.cut == "auto" else options.cut
    return Regions(search.grow(rows, cut, context.progress), suppressed, cut)


@dataclass(frozen=True)
class _Search:
    table: Table
    requirements: tuple[Requirement, ...]
    relaxed: bool
    context: Context
    kept: NDArray[np.uint32]

    def grow(self, rows: NDArray[np.uint32], cut: str, progress: Callable[[int], None]) -> Partition:
        """The classes that a rule cuts some rows, ascending, into."""
        attributes = self.table.attributes
        asked = {requirement.attribute for requirement in self.requirements}
        looked_at = [column for column in self.table.sensitive if column.name in asked]
        whole = Batch.whole(rows, tuple(a.codes for a in attributes), tuple(c.codes for c in looked_at))
        wholes = [Whole.of(column, self.kept, self.table.units) for column in looked_at]
        allowed = _allowed(self.asked, looked_at, wholes, self.table)
        rule = RULES[cut](
            domains=[attribute.domain for attribute in attributes],
            weights=[attribute.weight for attribute in attributes],
            minimum=minimum_size(self.requirements),
            relaxed=self.relaxed,
        )
        return grow(whole, rule, allowed, self.context.threads, progress)

    @property
    def asked(self) -> list[Requirement]:
        """The requirements that rows enough do not meet by themselves: all, where rows are not what is counted."""
        if self.table.units is not None:
            return list(self.requirements)
        return [each for each in self.requirements if not MODELS[each.model].BY_SIZE or each.population is not None]

    def loss(self, partition: Partition) -> float:
        """Weighted NCP of the classes."""
        boxes = [(a, *partition.boxes(a.codes)) for a in self.table.attributes]
        return sum(a.weight * float(a.domain.cost(low, high) @ partition.sizes) for a, low, high in boxes)


def _best_rule(search: _Search, rows: NDArray[np.uint32]) -> str:
    """The rule that `auto` takes: the first of CANDIDATES to lose least on rows spread evenly over the table.

    Where rows enough are all that is asked for it is the first of them without a trial.
    """
    if not search.asked:
        return CANDIDATES[0]
    trial = rows[:: -(-len(rows) // TRIAL_ROWS)]
    lost = {cut: search.loss(search.grow(trial, cut, lambda done: None)) for cut in CANDIDATES}
    return min(CANDIDATES, key=lost.__getitem__)


def _allowed(
    asked: list[Requirement], columns: list[SensitiveColumn], wholes: list[Whole], table: Table
) -> Allowed | None:
    """The check of every part of a cut; None where the minimum size is all there is to check."""
    if not asked:
        return None

    def allowed(batch: Batch, part: Ints, parts: int) -> Bools:
        whom = None if table.units is None else table.units[batch.rows]
        histograms = {
            column.name: Histogram.of(column, part, parts, codes, whole, whom)
            for column, codes, whole in zip(columns, batch.sensitive, wholes, strict=True)
        }
        crowds = _crowds(table, batch, part, parts) if table.populations else {}
        return check(Groups(sizes_of(part, parts, whom), histograms, crowds), asked)

    return allowed


def _crowds(table: Table, batch: Batch, part: Ints, parts: int) -> dict[str, Crowd]:
    """How many people of each population are within the region of each part; nobody, of a part without rows."""
    order = np.argsort(part, kind="stable")
    found = run_starts(part[order])
    arranged = [codes[order] for codes in batch.columns]
    low = [np.minimum.reduceat(codes, found).astype(np.int64) for codes in arranged]
    high = [np.maximum.reduceat(codes, found).astype(np.int64) for codes in arranged]
    crowds = {}
    for path, population in table.populations.items():
        matched = np.zeros(parts, np.int64)
        matched[part[order][found]] = population.within(low, high)
        crowds[path] = Crowd(matched, 0)
    return crowds


def _check_region(table: Table, requirements: tuple[Requirement, ...], rows: NDArray[np.uint32]) -> None:
    """Raises InfeasibleError where the region around all rows has too few people of a population in it."""
    batch = Batch.whole(rows, tuple(attribute.codes for attribute in table.attributes), ())
    crowds = _crowds(table, batch, batch.labels, 1) if table.populations else {}
    groups = Groups(batch.sizes, {}, crowds)
    about = [requirement for requirement in requirements if requirement.population is not None]
    failing = [found for found in (assess(groups, requirement) for requirement in about) if not found.satisfied]
    if failing:
        hint = "full-domain generalization, such as incognito, may show everything, and meets it"
        told = ", ".join(f"{name}={value:.6g}" for name, value in failing[0].achieved.items() if value is not None)
        message = f"{failing[0].requirement} is not met by the region around all {len(rows)} rows, which reaches {told}"
        raise InfeasibleError(Problem(message, hint=hint))


def _refuse_gaps(requirements: tuple[Requirement, ...]) -> None:
    """Raises UsageError for a model that needs everybody of a population to be in some class."""
    if any(getattr(requirement.parameters, "min", 0) > 0 for requirement in requirements):
        hint = "set min to 0, or use full-domain generalization, such as incognito"
        raise UsageError(Problem("delta-presence with min above 0: regions leave people between them", hint=hint))
