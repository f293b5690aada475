"""Release: the recommended algorithm, chosen by the requirements of the spec and a trial on a sample of the table.

What it does. It starts with `mondrian` and its default rule. That is the release if the spec's workload names targets
or selections, which its cuts then follow; with `--reusable`, so that its recoding can be saved and applied to other
rows; and if it loses nothing. Otherwise the same rows are released with less loss, by as much work as `--effort`
allows.

With `normal`, the default, the initial classes of `mondrian --refine` are refined as long as each further pass over the
table saves at least 0.4 % of the present loss. With models other than k-anonymity, or with a unit, a pass counts twice,
and more for larger classes; in small tables several passes count as one. If not even the first pass is worthwhile,
`top-down` and `bottom-up` are tried as well, on at most 3,000 rows. With `low` there is one pass. For a single numeric
column whose classes only need enough rows, both start with the optimal groups of consecutive numbers.

With `high`, or a number, much more work is done. Up to 100,000 rows, the initial classes of `mondrian`, `top-down` and
`bottom-up` are tried on the table itself, and the best ones are refined in as many passes as the other commands make;
up to 500 rows, the result of `mondrian --refine` is released if that loses less. For larger tables, and if `--effort`
leaves fewer than five passes, `mondrian --refine`, `top-down` and `bottom-up` (both within Mondrian's parts, and
refined) are tried on at most 3,000 rows, spread evenly over the table, and the one with the least weighted NCP makes
the release. In a large table, where one pass of refinement over all rows is too much work, the classes that lose most
are refined. Above 100,000 rows `normal` does this, too, until it is no longer worthwhile, and so does `low`, with a
fifth of the work.

What it guarantees. Every class meets every model of the spec, or nothing is released. The release's `gcp` is never
above that of `mondrian` with its default options: both are computed, and if the chosen one's is higher, which weights
of attributes may cause, Mondrian's is released. With targets or selections the release is Mondrian's, byte for byte. It
does not guarantee the least loss: each of the algorithms may lose less with its own budget, a sample may be misleading,
and more effort does not always lose less.

Budget. The budget is counted in work, not in seconds. `high` is 1.0: up to 100,000 rows, passes of refinement process a
million rows in total, at most thirty times the table. A table of 30,000 rows takes 30 to 90 seconds of CPU time, most
with models other than k-anonymity. Above 100,000 rows, they process 2,500,000 cells, or a sixth of those of the
quasi-identifiers if that is more. A number multiplies this budget. `normal` makes no more passes than `high`, and
mostly a fifth: a table of 10,000 or 30,000 rows takes 5 to 12 seconds of CPU time. Over public tables it loses 3 % more
than `high` in the median, at most 8 %; `low` loses 17 % more, and up to twice as much if classes are large. On a table
of 1,000,000 rows with 6 quasi-identifiers out of 11 columns a release takes about eleven times the CPU time of a copy
of the file, half of it for Mondrian, reading, checking and writing. The same table, spec, options and seed give the
same bytes at each effort. A `--time-limit` stops earlier, and reruns may then differ.

The choice and its reason are under `algorithm.recommended` in a private report.

Recoding model. Strict multidimensional if Mondrian's classes are released unchanged, otherwise local: equal rows may be
released differently, and the regions of classes may overlap.

Cost. That of Mondrian, and the budget.

Reference. Those of `mondrian`, `top-down` and `bottom-up`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms import mondrian, starts
from anonymize.algorithms.base import LOCAL, Context, Needs, option
from anonymize.algorithms.clustering import weighted_ncp
from anonymize.algorithms.clustering.run import Method, grouped, grouped_by_width
from anonymize.algorithms.deadline import BY_SECONDS, Deadline, Refinable
from anonymize.algorithms.feasibility import beyond_size, minimum_size
from anonymize.algorithms.refining import refine
from anonymize.algorithms.remaining import within_levels
from anonymize.algorithms.starts import BOTTOM_UP, TOP_DOWN, Trial, bottom_up_of, starts_by_name, top_down_of
from anonymize.domain.numeric import Numeric
from anonymize.privacy import Requirement
from anonymize.recoding import Regions, render
from anonymize.records import dataclass
from anonymize.table import Table

ID = "release"
NEEDS = Needs(LOCAL, uses=frozenset({"weights", "workload"}), units=True, parted=True)

LEAST_WORK = 2_500_000
"""Cells of quasi-identifiers that passes of refinement may go over, where all rows are too many for a trial."""
SHARE = 6
"""One in so many cells of the table, where that is more: to refine these takes as long as some five copies of it."""
LEAST_PASSES = 5
"""Passes for which there has to be work so that all rows are their own trial."""
LOW, NORMAL, HIGH = "low", "normal", "high"
MOST_WORK = {LOW: 1.0, NORMAL: np.inf}
"""Units of work at most of these efforts, each as much as a pass over all rows."""
MOST_WORK_AS_NUMBERS = {LOW: 0.2, NORMAL: 1.0, HIGH: 1.0}
"""The efforts as numbers, in tables of so many rows that a few passes are all there is."""
TRIAL_ROWS = 3_000
TRIAL_PASSES = 2
"""Passes of refinement in a trial on a sample."""
ORDERED = "its classes were cut again in the order of their numbers, where that loses least"


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    local: bool = option(
        True,
        "Whether equal rows may be released differently, which loses less; or only what --save-recoding can save.",
        off="reusable",
        local=frozenset({True}),
        random=frozenset({True}),
        alone="parts are searched by themselves, so that equal rows may part",
        workload=frozenset({True, False}),
    )
    effort: str | float = option(
        NORMAL,
        "How much work: low is one pass, normal goes on while it pays; high, or a number of times that; 0: mondrian.",
        (LOW, NORMAL, HIGH),
        minimum=0,
    )
    time_limit: float = option(
        0.0, "Seconds of search at most; reruns may then differ; 0: no limit.", minimum=0, alone=BY_SECONDS
    )


@dataclass(frozen=True)
class Candidate:
    """An algorithm that may be chosen. `start`: what it takes to find its first classes, in passes of refinement over
    as many rows. `options`: those that it is named with. `method`: how classes are found; None for Mondrian's."""

    name: str
    start: int
    options: dict[str, Any]
    method: Callable[[Context, bool], Method] | None = None


@within_levels
def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Regions:
    """The classes of the algorithm that is recommended; `recommended` of the recoding says which and why."""
    deadline = Deadline(options.time_limit)
    first = mondrian.run(table, requirements, mondrian.Options(), context)
    settled = _settled(table, requirements, first, options)
    if settled:
        return replace(first, recommended={"algorithm": mondrian.ID, "options": {}, "reason": settled})
    return Recommendation(table, requirements, first, options, context, deadline).made()


def _settled(table: Table, requirements: tuple[Requirement, ...], first: Regions, options: Options) -> str | None:
    """Why Mondrian's classes are released as they are; None where there is something to choose."""
    if table.targets or table.selections:
        named = " and ".join(name for name in ("targets", "selections") if getattr(table, name))
        return f"the workload names {named}, which its cuts follow"
    if not options.local:
        return "a recoding that can be saved was requested"
    if options.effort == 0:
        return "there is no budget for more"
    if not weighted_ncp(table.attributes, first.partition):
        return "no quasi-identifier is generalized"
    fewest = 2 * minimum_size(requirements)
    return "there is one class at most" if len(first.partition.order) < fewest else None


@dataclass(frozen=True)
class Recommendation:
    """What a choice is made from. `first`: Mondrian's classes."""

    table: Table
    requirements: tuple[Requirement, ...]
    first: Regions
    options: Options
    context: Context
    deadline: Deadline

    @cached_property
    def rows(self) -> NDArray[np.uint32]:
        """Numbers of the rows that are released, ascending."""
        return np.sort(self.first.partition.order)

    @cached_property
    def sample(self) -> NDArray[np.uint32]:
        """The rows of a trial, spread evenly."""
        return self.rows[:: -(-len(self.rows) // TRIAL_ROWS)]

    @property
    def effort(self) -> float:
        """The effort as a number."""
        given = self.options.effort
        return MOST_WORK_AS_NUMBERS[given] if isinstance(given, str) else given

    @property
    def paying(self) -> bool:
        """Whether it ends where it does not pay."""
        return self.options.effort in MOST_WORK

    @property
    def work(self) -> float:
        """Cells that passes of refinement may go over."""
        return self.effort * max(LEAST_WORK, self._cells(self.rows) / SHARE)

    def made(self) -> Regions:
        """The recommended classes, whose gcp is never above Mondrian's."""
        if self.paying and len(self.rows) <= starts.TRIAL_ROWS and not self.deadline.passed:
            return self._while_it_pays()
        refinable = self._own
        if len(self.rows) <= starts.TRIAL_ROWS and refinable.passes >= LEAST_PASSES and not self.deadline.passed:
            return self._of_all_rows(refinable)
        return self._never_worse(*self._of_sample())

    def _while_it_pays(self) -> Regions:
        """Mondrian's classes, refined for as long as that pays; where it does not pay from the first, they lie where
        refinement does not lead out of, and other starts are tried. Groups that are the best of one column of numbers
        are not left for any of them."""
        cut = mondrian.classes_to_refine(self.table, self.requirements, self.context, self.first)
        began, ordered = cut, self._ordered()
        reason = "its classes were refined as long as that paid off"
        if ordered is not None and self._loss(ordered) < self._loss(cut):
            began, reason = ordered, ORDERED
        classes = self._refined(began, self.rows, refine.passes_of(*self._shape(self.rows)), self.context)
        account: dict[str, Any] = {"algorithm": mondrian.ID, "options": {"refine": True}, "reason": reason}
        stuck = began is cut and self._loss(classes) > (1 - refine.PAYS) * self._loss(cut)
        if stuck and self.options.effort == NORMAL and not self.deadline.passed:
            other, reasons = self._of_sample()
            if self._loss(other) < self._loss(classes):
                classes, account = other, reasons
        return self._never_worse(classes, account)

    def _ordered(self) -> Regions | None:
        """Of one column of numbers, of which a class only has to have enough, the groups that follow each other and
        lose least; None elsewhere."""
        attribute, *others = self.table.attributes
        if others or not isinstance(attribute.domain, Numeric) or beyond_size(self.table, self.requirements):
            return None
        codes = attribute.codes[self.rows].astype(np.int64)
        if (codes == attribute.domain.missing).any():
            return None
        position = attribute.domain.cost(np.zeros(len(codes), np.int64), codes)
        groups = grouped_by_width(position, minimum_size(self.requirements))
        return replace(self.first, partition=groups.renumbered(self.rows), cut=None, tree=None)

    def _of_sample(self) -> tuple[Regions, dict[str, Any]]:
        """The classes of the start that does best on a sample, or on the table where that is no larger, and why."""
        candidates = self._affordable()
        trial = {each.name: self._tried(each, candidates) for each in candidates} if len(candidates) > 1 else {}
        losses = {name: self._loss(classes) for name, classes in trial.items()}
        chosen = min(candidates, key=lambda each: losses.get(each.name, 0.0))
        if trial and self._whole:
            classes = trial[chosen.name]
        else:
            unspent = self.work - sum(self._trial_work(each) for each in candidates if each.name in trial)
            classes = self._classes(chosen, self.rows, unspent / self._cells(self.rows) - chosen.start, self.context)
        account: dict[str, Any] = {"algorithm": chosen.name, "options": chosen.options}
        account["reason"] = _reason(len(trial), len(self.sample), self._whole)
        if trial:
            account["trial"] = {"rows": len(self.sample), "loss": losses}
        return replace(classes, suppressed=self.first.suppressed), account

    @property
    def _own(self) -> Refinable:
        """Refinement as the algorithms do it by themselves, times `--effort`."""
        shape = self._shape(self.rows)
        sweeps = max(int(self.effort * refine.sweeps_of(*shape)), 1)
        return Refinable(
            passes=int(self.effort * refine.passes_of(*shape)), sweeps=sweeps, time_limit=self.deadline.left
        )

    def _of_all_rows(self, options: Refinable) -> Regions:
        """Where there is work enough: every start tried on all rows, the best of them refined to the end."""
        begun = starts_by_name(self.table, self.requirements, self.rows, self.first.suppressed)
        best = Trial(self.table, self.requirements, options, self.context).best(begun)
        named = {each.name: each.options for each in CANDIDATES}[best.name]
        account: dict[str, Any] = {"algorithm": best.name, "options": named if best.name == mondrian.ID else {}}
        account["reason"] = _reason(len(best.losses), len(self.rows), True)
        most = len(self.rows) * sum(attribute.weight for attribute in self.table.attributes) or 1.0
        losses = {name: loss / most for name, loss in best.losses.items()}
        account["trial"] = {"rows": len(self.rows), "loss": losses}
        ordered = self._ordered()
        if ordered is not None and self._loss(ordered) < self._loss(best.regions):
            return self._never_worse(ordered, account | {"reason": ORDERED})
        return self._never_worse(best.regions, account)

    @property
    def _whole(self) -> bool:
        return len(self.sample) == len(self.rows)

    def _shape(self, rows: NDArray[np.uint32]) -> tuple[int, int]:
        return len(rows), len(self.table.attributes)

    def _cells(self, rows: NDArray[np.uint32]) -> int:
        return len(rows) * len(self.table.attributes)

    def _affordable(self) -> list[Candidate]:
        """The candidates that leave work for a pass at least, trials included; Mondrian's refinement always."""
        trials = sum(self._trial_work(each) for each in CANDIDATES)
        left = self.work - (0 if self._whole else trials)
        shared = left / len(CANDIDATES) if self._whole else left
        enough = len(self.sample) >= 2 * minimum_size(self.requirements) and not self.deadline.passed
        return [
            each
            for each in CANDIDATES
            if not each.start or (enough and shared >= self._cells(self.rows) * (each.start + 1))
        ]

    def _trial_work(self, candidate: Candidate) -> int:
        return self._cells(self.sample) * (candidate.start + TRIAL_PASSES)

    def _tried(self, candidate: Candidate, candidates: list[Candidate]) -> Regions:
        """The classes of the sample; all of them that there will be, where it is the table."""
        shared = self._whole and not self.paying
        passes = self.work / len(candidates) / self._cells(self.rows) - candidate.start if shared else TRIAL_PASSES
        silent = replace(self.context, progress=lambda rows: None, refining=lambda count, total: None, save=False)
        return self._classes(candidate, self.sample, passes, silent)

    def _classes(self, candidate: Candidate, rows: NDArray[np.uint32], passes: float, context: Context) -> Regions:
        """The classes that a candidate makes of some rows, refined in as many passes; of less than one, in part."""
        start = self._started(candidate, rows, context)
        return start if self.deadline.passed else self._refined(start, rows, passes, context)

    def _refined(self, start: Regions, rows: NDArray[np.uint32], passes: float, context: Context) -> Regions:
        """Classes of some rows, refined in as many passes, or in fewer, for as long as it pays; of less than one, in
        part."""
        if self.paying and passes >= 1:
            units = min(passes, refine.passes_of(*self._shape(rows)), MOST_WORK[str(self.options.effort)])
            limit = Refinable(time_limit=self.deadline.left)
            return refine.refined(self.table, self.requirements, start, limit, context, units=units)
        whole = min(max(int(passes * 2 / 3), 1), refine.MOST_PASSES)
        sweeps = min(max(int(passes * refine.A_PASS), 1), refine.sweeps_of(*self._shape(rows)))
        refinable = Refinable(passes=whole, sweeps=sweeps, time_limit=self.deadline.left)
        if passes < 1:
            return refine.refined_partly(self.table, self.requirements, start, refinable, context, max(passes, 0.0))
        return refine.refined(self.table, self.requirements, start, refinable, context)

    def _started(self, candidate: Candidate, rows: NDArray[np.uint32], context: Context) -> Regions:
        """A candidate's classes before refinement. One that begins when the time is up is Mondrian's."""
        if candidate.method is not None and not self.deadline.passed:
            partition = grouped(self.table, self.requirements, rows, candidate.method(context, True))
            return Regions(partition, self.first.suppressed)
        if len(rows) == len(self.rows):
            return self.first
        search = mondrian.RuleSearch(self.table, self.requirements, False, context, rows)
        cut = mondrian.best_rule(search)
        return Regions(search.grow(rows, cut, context.progress), self.first.suppressed, cut)

    def _loss(self, regions: Regions) -> float:
        """Weighted NCP of a row and a unit of weight, in [0, 1]."""
        attributes, rows = self.table.attributes, np.sort(regions.partition.order)
        most = len(rows) * sum(attribute.weight for attribute in attributes)
        return weighted_ncp(attributes, regions.partition) / most if most else 0.0

    def _never_worse(self, classes: Regions, account: dict[str, Any]) -> Regions:
        """The classes, or Mondrian's where these read as more loss, or more rows read as suppressed than may be."""
        before, _ = self._rendered(self.first)
        after, hidden = self._rendered(classes)
        account |= {"gcp_of_mondrian": before}
        if after <= before and hidden <= max(self.context.suppression_limit, len(self.first.suppressed)):
            return replace(classes, recommended=account)
        account |= {"algorithm": mondrian.ID, "options": {}}
        account["reason"] = "what was tried loses more on the whole table, or suppresses more rows than may be"
        return replace(self.first, recommended=account)

    def _rendered(self, regions: Regions) -> tuple[float, int]:
        """gcp as it will read, before rows are left out, and how many rows read as suppressed."""
        released = render(regions, self.table, self.context.output, drop=False)
        cells, hidden = self._cells(np.arange(self.table.rows, dtype=np.uint32)), released.suppressed_rows
        loss = sum(float(each @ released.sizes) for each in released.ncp)
        return (loss + hidden * len(self.table.attributes)) / cells, hidden


def _reason(tried: int, rows: int, whole: bool) -> str:
    if not tried:
        return "the table leaves no budget, or no time, for another"
    return f"it loses least of {tried} tried on {'the table' if whole else f'{rows:,} rows'}"


CANDIDATES = (
    Candidate(mondrian.ID, 0, {"refine": True}),
    Candidate(TOP_DOWN, 2, {"start": "mondrian"}, top_down_of),
    Candidate(BOTTOM_UP, 4, {"start": "mondrian"}, bottom_up_of),
)
"""In the order in which they are taken where they lose the same."""
