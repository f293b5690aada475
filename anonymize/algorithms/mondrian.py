"""Mondrian: recursively splits the table into smaller regions, as long as each still meets every privacy model.

What it does. All rows start as one class. Each class is cut in two along one quasi-identifier such that both parts meet
every requirement, until none of the cuts tried is allowed. A class is released as the smallest region around its rows:
an interval of numbers, or the lowest common node of a hierarchy.

What it guarantees. Every class meets every model of the spec, or nothing is released. If the table as one class does
not, rows with the most frequent sensitive values are suppressed within the spec's limit, if that helps. Under
k-anonymity alone, no remaining class can be split at any boundary between two leaves into two of at least k rows. Other
models may refuse a cut at one position and allow it at another; since at most three positions of each quasi-identifier
are tried, a class may remain that could have been cut. It does not guarantee the least loss: cuts are greedy and never
undone.

What `--cut auto` does. It follows the spec's workload: `infogain` for categorical targets, `lsd` for numeric ones,
`mixed` for both, preceded by `selection` if there are selections. Without targets it uses `rate` under k-anonymity
alone. Under other models, which may refuse the cuts that a rule prefers, `rate`, `widest`, `entropy` and `ncp` are
tried on at most 32,768 rows, spread evenly over the table, and the one with the least weighted NCP is used; the
report's `recoding` block names it. For tables up to this size it is the best of the four; for larger ones this is
likely, but not certain.

Recoding model. Strict multidimensional: equal rows stay together, and classes that were separated on an attribute have
no value of it in common. The label of one may still cover values of another: of three siblings, the first and the last
are released as their parent if the middle one is separated from them. With `--relaxed`, rows of equal value may be
separated at a median, by their other values (attributes with the fewest values first). If whole numbers are shown with
rounded ends (`edges: rounded`), of the two cuts next to a median the one below an even number is preferred if both are
allowed: narrow intervals begin and end at multiples of 2.

With `--refine` the classes are refined after cutting (see below), and the recoding is local: equal rows may be released
differently. With `--cut auto` and no workload, the table is cut with and without `--relaxed`, and, under k-anonymity
alone, into parts of four to seven classes, each of which is then cut by the best of many sequences of cuts; the classes
with the least loss are refined.

Refinement. For up to `--passes` passes, as long as it is worthwhile, rows move, alone or together, to classes where
they cost less, and neighbouring classes are regrouped. The loss never increases, and every class still meets every
model. Random choices depend on `--seed`, by default 0. A `--time-limit` stops earlier, with the best result so far.

`--mask-minimality`. Cuts depend on quasi-identifiers alone (`--cut auto` is `rate`, after selections), and a class
stays whole after the first cut that is refused because of its sensitive values. An attacker who knows the method then
infers nobody's value with probability above 1/l under frequency l-diversity, and is left with at least l values for
everybody under distinct l-diversity; other models about sensitive values cannot be combined with it. No row is
suppressed.

Cost. O(n log n) comparisons, in a few array operations for all classes of a level.

Reference. LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006; Workload-aware
anonymization, KDD 2006, figure 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms import clustering, deadline, minimality, remaining, splitting
from anonymize.algorithms.base import MULTIDIMENSIONAL, Context, Needs, option
from anonymize.algorithms.cuts import BY_TARGET, RULES, CutRule, Selecting
from anonymize.algorithms.feasibility import beyond_size, minimum_size
from anonymize.algorithms.splitting.grow import Allowed, History, grow
from anonymize.algorithms.splitting.parts import grow_by_parts
from anonymize.classes import Bools, Ints, Partition
from anonymize.errors import Problem, UsageError
from anonymize.judging import Judge
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.records import dataclass
from anonymize.table import Table, TargetColumn

ID = "mondrian"
NEEDS = Needs(MULTIDIMENSIONAL, uses=frozenset({"weights", "workload"}), units=True, parted=True)

CANDIDATES = ("rate", "widest", "entropy", "ncp")
"""Rules that `auto` tries under models beyond k-anonymity, where refused cuts upset what a rule expects."""
TRIAL_ROWS = 1 << 15
AHEAD = 4
"""Classes at least in a part whose cuts look ahead."""
MASKED = "rate"
"""The rule that `auto` takes with `--mask-minimality`, whatever the sensitive values are."""


@dataclass(frozen=True)
class Options(deadline.Refinable):
    """Options of the subcommand."""

    cut: str = option(
        "auto",
        "How the next cut is chosen; auto follows the workload.",
        ("auto", *RULES),
        workload=frozenset({"auto", *BY_TARGET, Selecting.ID}),
        alone=dict.fromkeys((*BY_TARGET, Selecting.ID), "it takes more than the counts of each column by itself"),
    )
    ties: str = option(
        "leaves",
        "Which of several equally wide attributes is cut: the one with fewest leaves, or the first.",
        ("leaves", "listed"),
        only_with={"cut": ("widest",)},
        alone="upper cuts go by the number of leaves",
    )
    relaxed: bool = option(False, "Rows of equal value may be separated at a median.", local=frozenset({True}))
    refine: bool = option(
        False,
        "Refine the classes: this loses less, takes longer, and regions may overlap.",
        local=frozenset({True}),
        random=frozenset({True}),
    )
    exact: bool = option(
        True,
        "For targets, evaluate every cut on all rows; or, slightly faster, some cuts on a sample of large classes.",
        alone="cuts follow from the counts of all rows there",
        off="sampled",
        only_with={"cut": ("auto", *BY_TARGET, Selecting.ID)},
    )
    mask_minimality: bool = minimality.mask_option()


@remaining.within_levels
def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Regions:
    """The partition that the rule grows. Raises UsageError where the workload lacks what the rule is for."""
    _check_workload(table, options.cut)
    if options.mask_minimality:
        return _masked(table, requirements, options, context)
    rows = remaining.remaining_in_region(table, requirements, context)
    search = RuleSearch(table, requirements, options.relaxed, context, rows.rows, options.exact, ties=options.ties)
    selecting = options.cut == Selecting.ID or (options.cut == "auto" and bool(table.selections))
    cut = best_rule(search) if options.cut in ("auto", Selecting.ID) else options.cut
    history = History() if context.save else None
    partition = search.grow(rows.rows, cut, context.progress, history, selecting=selecting)
    tree = history.tree(partition) if history else None
    regions = Regions(partition, rows.suppressed, f"{Selecting.ID}, {cut}" if selecting else cut, tree)
    if not options.refine:
        return regions
    from anonymize.algorithms.refining.refine import refined

    if options.cut == "auto" and not (options.relaxed or table.targets or table.selections):
        regions = _or_relaxed(search, regions, cut)
    return refined(table, requirements, regions, options, context)


def classes_to_refine(
    table: Table, requirements: tuple[Requirement, ...], context: Context, first: Regions | None = None
) -> Regions:
    """The classes that `--cut auto` finds with or without parting rows of equal value, or looking ahead, whichever lose
    least. `first`: those without, where they are known and time matters: then none looks ahead, which takes as long as
    some passes of refinement, and gains less."""
    silent = replace(context, progress=lambda rows: None, save=False)
    regions = run(table, requirements, Options(), silent) if first is None else first
    search = RuleSearch(table, requirements, False, silent, np.sort(regions.partition.order))
    return _or_relaxed(search, regions, regions.cut, ahead=first is None) if regions.cut in CANDIDATES else regions


def _or_relaxed(search: RuleSearch, regions: Regions, cut: str, *, ahead: bool = True) -> Regions:
    """The classes, or those of the same rule where rows of equal value may part, or, under k-anonymity alone, where the
    last cuts look `ahead`, if these lose less."""
    rows = np.sort(regions.partition.order)
    relaxed = replace(search, relaxed=True)
    tried = [regions.partition, relaxed.grow(rows, cut, lambda rows: None)]
    if ahead and not search.beyond_size:
        tried.append(_looking_ahead(replace(relaxed, several=AHEAD), rows, cut))
    return replace(regions, partition=min(tried, key=search.loss))


def _looking_ahead(search: RuleSearch, rows: NDArray[np.uint32], cut: str) -> Partition:
    """The parts of several classes that a rule cuts some rows, ascending, into, each cut by the best of many sequences
    of cuts."""
    from anonymize.algorithms.refining import BoxMeasure
    from anonymize.algorithms.refining.block import cut_best
    from anonymize.algorithms.refining.rows import axes_of

    attributes = search.table.attributes
    arranged = splitting.parting_order(rows, [attribute.codes for attribute in attributes])
    parts = search.grow(rows, cut, lambda rows: None).class_of(search.table.rows)[arranged]
    measure = BoxMeasure(axes_of(attributes, clustering.codes_of(attributes, arranged)))
    ahead = cut_best(measure, Partition.of_labels(parts), minimum_size(search.requirements), search.context.threads)
    labels = np.empty(search.table.rows, np.int64)
    labels[arranged] = ahead.class_of(len(arranged))
    return Partition.of_labels(labels[rows]).renumbered(rows)


def _masked(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Regions:
    """The partition under `--mask-minimality`, with what that cost by the metric `ncp`. Raises UsageError for options
    whose classes follow from more than quasi-identifiers, and InfeasibleError where rows would have to be suppressed
    for their sensitive values."""
    minimality.check_maskable(table, requirements)
    seeing = {
        "--relaxed": options.relaxed,
        "--refine": options.refine,
        f"--cut {options.cut}": options.cut in BY_TARGET,
    }
    if wrong := next((name for name, given in seeing.items() if given), None):
        raise UsageError(
            f"{minimality.FLAG} and {wrong} exclude each other: classes then follow from more than quasi-identifiers"
        )
    rows = remaining.remaining_in_region(table, requirements, replace(context, suppression_limit=0)).rows
    search = RuleSearch(table, requirements, False, context, rows, ties=options.ties)
    selecting = options.cut == Selecting.ID or (options.cut == "auto" and bool(table.selections))
    cut = MASKED if options.cut in ("auto", Selecting.ID) else options.cut
    check, history = minimality.last_cut(Judge(table, requirements, rows)), History() if context.save else None
    partition = search.grow(rows, cut, context.progress, history, selecting=selecting, allowed=check)
    free = search.grow(rows, best_rule(search), lambda rows: None)
    most = len(rows) * sum(attribute.weight for attribute in table.attributes) or 1.0
    losses = {"gcp": search.loss(partition) / most, "gcp_without": search.loss(free) / most}
    tree = history.tree(partition) if history else None
    name = f"{Selecting.ID}, {cut}" if selecting else cut
    none = np.empty(0, np.uint32)
    return Regions(partition, none, name, tree, minimality={"refused": sum(check.refused), **losses})


def _check_workload(table: Table, cut: str) -> None:
    if cut == Selecting.ID and not table.selections:
        problem = Problem(f"--cut {cut} needs selections, and the spec has none", hint="list them under `workload:`")
        raise UsageError(problem)
    if cut in BY_TARGET and not any(map(BY_TARGET[cut].weighs, table.targets)):
        hint = "list it under `workload: {targets: [...]}`; one of numbers as {NAME: {type: numeric}}"
        raise UsageError(Problem(f"--cut {cut} needs {_WANTED[cut]}, and the spec names none", hint=hint))


_WANTED = {"infogain": "a categorical target", "lsd": "a numeric target", "mixed": "a target"}


@dataclass(frozen=True)
class RuleSearch:
    """What growing classes needs, whatever the rule. `rows`: those that are released. `exact`: whether rules that
    look at targets weigh every cut by all rows. `several`: times the fewest rows of a class that those of a part
    are. `ties`: which of equally wide attributes is cut."""

    table: Table
    requirements: tuple[Requirement, ...]
    relaxed: bool
    context: Context
    rows: NDArray[np.uint32]
    exact: bool = True
    several: int = 1
    ties: str = "leaves"

    def grow(
        self,
        rows: NDArray[np.uint32],
        cut: str,
        progress: Callable[[int], None],
        history: History | None = None,
        *,
        selecting: bool = False,
        allowed: minimality.LastCut | None = None,
    ) -> Partition:
        """The classes that a rule cuts some rows, ascending, into; `selecting`: by the selections first. `allowed`: the
        check of cuts in place of the requirements'."""
        judge = allowed.judge if allowed else Judge(self.table, self.beyond_size, self.rows)
        rule, targets = self._rule(cut)
        if selecting:
            rule = Selecting(**self._common, selections=self.table.selections, then=rule)
        columns = tuple(attribute.codes for attribute in self.table.attributes)
        whole = splitting.Batch.whole(
            splitting.parting_order(rows, columns) if self.relaxed else rows,
            columns,
            tuple(column.codes for column in judge.columns),
            tuple(column.codes for column in targets),
        )
        check = allowed or allowed_by(judge)
        if self.context.by_parts and check is None and history is None and rule.BY_COUNTS and not self.relaxed:
            return grow_by_parts(whole, [each.size for each in rule.domains], rule, self.context.threads, progress)
        partition = grow(whole, rule, check, self.context.threads, progress, history)
        if self.relaxed:  # rows of a class ascend again
            partition = Partition.of_labels(partition.class_of(self.table.rows)[rows]).renumbered(rows)
        return partition

    @cached_property
    def beyond_size(self) -> list[Requirement]:
        """The requirements that having enough rows does not meet; all of them where something other than rows is
        counted."""
        return beyond_size(self.table, self.requirements)

    def _rule(self, cut: str) -> tuple[CutRule, Sequence[TargetColumn]]:
        """A rule, and the targets whose codes it looks at."""
        if cut not in BY_TARGET:
            return RULES[cut](**self._common, **ties_of(cut, self.ties)), ()
        rule = BY_TARGET[cut]
        weighed = [(column, rule.weighs(column)) for column in self.table.targets]
        targets = {column.name: target for column, target in weighed if target is not None}
        columns = [column for column in self.table.targets if column.name in targets]
        return rule(**self._common, targets=list(targets.values()), exact=self.exact), columns

    @property
    def _common(self) -> dict[str, Any]:
        return {
            "domains": [attribute.domain for attribute in self.table.attributes],
            "weights": [attribute.weight for attribute in self.table.attributes],
            "minimum": minimum_size(self.requirements) * self.several,
            "relaxed": self.relaxed,
        }

    def loss(self, partition: Partition) -> float:
        """Weighted NCP of the classes, as they are shown."""
        boxes = [(a, *partition.boxes(a.codes)) for a in self.table.attributes]
        return sum(a.weight * float(a.domain.expected_cost(low, high) @ partition.sizes) for a, low, high in boxes)


def ties_of(cut: str, ties: str) -> dict[str, Any]:
    """What a rule is made with in addition to what all are: the one that has ties, which of them it takes."""
    return {"ties": ties} if cut == "widest" else {}


def best_rule(search: RuleSearch) -> str:
    """The rule that `auto` takes. With targets, their kinds decide. Otherwise the candidate that loses least on a
    sample of rows spread evenly over the table is taken (the first one at a tie); where only a minimum size is
    required, the first candidate is taken without a trial.
    """
    kinds = {target.numeric for target in search.table.targets}
    if kinds:
        return "mixed" if len(kinds) == 2 else "lsd" if True in kinds else "infogain"
    if not search.beyond_size:
        return CANDIDATES[0]
    trial = search.rows[:: -(-len(search.rows) // TRIAL_ROWS)]
    lost = {cut: search.loss(search.grow(trial, cut, lambda rows: None)) for cut in CANDIDATES}
    return min(CANDIDATES, key=lost.__getitem__)


def allowed_by(judge: Judge) -> Allowed | None:
    """The check of every part of a cut; None where the minimum size is all there is to check."""
    if not judge.requirements:
        return None
    crowds = bool(judge.table.populations)

    def allowed(batch: splitting.Batch, part: Ints, parts: int) -> Bools:
        return judge.meets(part, parts, batch.unsettled if crowds else batch)

    return allowed
