"""K-Optimize: the least costly division of every attribute's values into intervals, with a proof or a bound.

What it does. The values of an attribute have one total order: numbers ascend, categories follow their hierarchy. A set
of splits between neighbours divides each attribute into intervals, the same for all rows. Classes that fail a
requirement are suppressed. Among all sets that suppress no more rows than the spec allows, the search looks for the one
with the least cost. It has several heuristics to find a good one: greedy specialization and generalization, the levels
of the hierarchies, the splits that Mondrian would make; a tabu search, which adds or leaves out one split a step; and,
where the size of a class alone decides, the best cut through one attribute while the others stay, which is a shortest
path: for one attribute after the other, and for the one of most splits while the others' are annealed. The
set-enumeration tree over splits, pruned by lower bounds on the cost and of useless values, goes on until no set can be
better.

In stages. Coarse values come before fine ones (the levels of the hierarchies, from the top down to `--level`), and for
each of them no suppression before as much as the spec allows. Each stage takes over the results of earlier ones. With
the same `--nodes`, or more, a release therefore costs no more than one of a coarser `--level`, one of a spec that
allows no suppression, or the initial sets of the search. This does not hold for `--work` or `--time-limit`, which the
stages share.

The cost. `--cost discernibility`: the size of a class for each row, the number of all rows for a suppressed one.
`--cost classification`: 1 for each row whose class label is not the most frequent one of its class, and for each
suppressed row; it needs targets under `workload`, of which several are summed. The cost is that of the classes as they
are found. Classes that read the same, such as those of a number that may or may not be missing, are one in the release,
and its report counts them as one. Costs are in rows, even if the spec has a `unit` and classes need enough individuals.

The bound. A row costs at least k in the published bound, or what its cell of the finest intervals has. Where the size
of a class alone decides (k-anonymity without a `unit`), three things are added. A class of n rows becomes at most n //
k classes that are kept, and two of these are parted by some split that leaves k rows on both sides. The intervals of
the attribute of most open splits are chosen for all classes at once, by a shortest path over what each interval costs
at least. And where no other attribute has open splits, that path is the best set itself, so that its splits are not
tried one by one.

When it stops. When the best set is proved to be optimal; or after `--nodes` of the tree, in rounds of up to 256;
`--work` million numbers read by the last stage; or `--time-limit` seconds, after the round that is under way. Then the
report's `recoding` block has the cost of the best set, the lower bound that is proved, the gap between them as a share
of the cost, and what `stopped` it (`nodes`, `work` or `time`); on a terminal, bound and cost are shown while the search
goes on. If interrupted, it leaves them on the terminal and writes nothing; use `--time-limit` to get the best set found
by a certain time. A search that ends by `--nodes` or `--work` gives the same result on every machine, with any number
of `--threads`; one that ends by `--time-limit` does not.

How far it reaches. That depends on k more than on the number of values: the larger the classes have to be, the fewer
sets are possible, fewer still where no row may be suppressed. Of 30,162 rows, with eight attributes and 156 splits, the
least discernibility is proved within 2,500 nodes for k of 250 and more, and within 10,000 for k of 100, with
suppression and without. With rows that all differ and a small k no proof is in reach, and the gap stays wide. It
depends on the order of siblings as well: the figures are of one order, and in another of the same hierarchies k = 500
took 3,677 nodes in place of 1,103 to 1,409, and k = 100 ended with a gap of 35 %. With models beyond k-anonymity only
the published bound is known, and a node takes longer.

Processes. A round divides the tree into independent tasks. In a long search, `--threads` processes share them, each
with a copy of the table's distinct rows.

The order of siblings. A hierarchy defines which nodes are siblings, but not their order; the order in which they are
listed determines which values an interval may contain, so a set is optimal only for that order. `--orders N` starts
with N orders: as listed, by their rows with the most frequent first, by their labels, and at random by fixed seeds.
Each gets the sets to begin with and the first steps of local search, which is most of the time of a short search; the
tree is searched in that of the least cost, the first of several. Release, cost, bound and `optimal` are of this one,
which the report names as `order`; a set is shown in its order. What is said of coarser levels and stricter specs holds
for one order.

`--level N` takes the nodes of that level of each hierarchy for the values, which makes the search smaller: no interval
ends within one. A hierarchy that is less high counts as a whole, numbers without one too.

What it guarantees. Every class meets every model of the spec, and no more rows are suppressed than allowed, or nothing
is released; `optimal: true` where no set of splits costs less. With models that a part of a class may meet though the
class does not (entropy, frequency and recursive l-diversity) less can be pruned: the proof holds, and takes longer. An
interval of categories that is not a node of the hierarchy reads as the set of its values.

Which classes are suppressed. If each class is judged separately, those that fail. If classes are compared with the
whole release and rows may be suppressed (t-closeness, beta-likeness, delta-disclosure), or the table has requirements
as a whole (`risk: marketer` and `records_at_risk`, `sample-uniqueness`, `population-uniqueness`), this depends on all
classes of a set. If at most six classes could be suppressed in addition to those that must be, every choice is tried;
otherwise only that of `incognito`. A set that might cost less with another choice lowers the proved bound: then
`optimal` is false although every set has been examined, and `not_proved` says so.

Recoding model. Single-dimensional recoding by a total order, with suppression of rows.

Cost. A node reads the cells that its splits still tell apart a few times for each attribute; the tree is exponential in
the number of splits. If the initial sets would take too long (splits times distinct rows times attributes above 268
million), it is refused at once.

Reference. Bayardo, Agrawal: Data privacy through optimal k-anonymization, ICDE 2005. There no limit is set on how many
rows are suppressed, and the tree is searched depth first; here the node of the lowest bound comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from anonymize.algorithms import deadline, feasibility, optimize, single
from anonymize.algorithms.base import SINGLE_DIMENSIONAL, Context, Needs, option
from anonymize.algorithms.optimize.costs import Classification, Cost, Discernibility
from anonymize.algorithms.optimize.halves import SplitJudge
from anonymize.algorithms.optimize.moves import SplitProblem
from anonymize.algorithms.optimize.stages import LISTED, LevelSplits, Stage, begin, mondrian_splits, orders
from anonymize.algorithms.optimize.tree import Explored, SubtreeTask, explore
from anonymize.errors import Problem, UsageError
from anonymize.parallel import Workers, workers
from anonymize.privacy import Requirement
from anonymize.recoding import SingleDimensional
from anonymize.records import dataclass
from anonymize.table import Table

ID = "k-optimize"
NEEDS = Needs(
    SINGLE_DIMENSIONAL,
    uses=frozenset({"workload"}),
    populations=False,
    units=True,
    counted=True,
)

NODES = 1000
"""Nodes of the tree that are looked at where no limit is given."""
START_CELLS = 1 << 28
"""Splits times cells (distinct rows x attributes) at most: the starts read all cells about once for each split."""
PROCESSES = 2000
"""Nodes after which a search is long enough for processes of its own to be worth their start."""

UNSETTLED = "the search ended before every set of splits was settled"
UNTRIED = "a set may cost less with other classes suppressed than those that were tried"


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    cost: str = option(
        "discernibility",
        "The cost to minimize.",
        ("discernibility", "classification"),
        workload=frozenset({"classification"}),
    )
    level: int = option(0, "Level of the hierarchies whose nodes are the values; 0: the values themselves.", minimum=0)
    orders: int = option(
        1, "Orders of siblings in the hierarchies that are tried; the best one is searched.", minimum=1, maximum=100
    )
    nodes: int = option(
        0,
        f"Stop after so many nodes of the tree, in whole rounds; 0: {NODES}, no limit with --work or --time-limit.",
        minimum=0,
    )
    work: int = option(0, "Stop after so many million numbers read; 0: no limit.", minimum=0)
    time_limit: float = option(
        0.0, "Stop after so many seconds; 0: no limit. The release may then differ from run to run.", minimum=0
    )


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> SingleDimensional:
    """The best set of splits that is found. Raises UsageError where there are too many splits."""
    _check(options, table)
    budget = Budget(options, context, table.rows)
    (order, listed), *others = orders(table, options.orders)
    best, tried = _begun(order, listed, requirements, options, context, budget), 1
    for order, ordered in others:
        if budget.timely():
            begun, tried = _begun(order, ordered, requirements, options, context, budget), tried + 1
            best = begun if begun.cost < best.cost else best
    with workers(context.threads, _problems, best.problem) as pool:
        best.search.go_on(pool)
    if best.search.final.best.mask is None:
        raise feasibility.no_generalization(table, requirements, best.problem.limit)
    return best.recoding({} if options.orders == 1 else {"order": best.order, "orders": tried})


@dataclass(frozen=True)
class OrderedSearch:
    """The search of sets of splits in one `order` of siblings."""

    order: str
    search: StagedSearch
    problem: SplitProblem
    distinct: single.DistinctRows

    @property
    def cost(self) -> float:
        """The cost of the best set of splits so far; infinite where there is none."""
        cost = self.search.final.best.cost
        return np.inf if cost is None else cost

    def recoding(self, tried: dict[str, Any]) -> SingleDimensional:
        """The recoding of the best set of splits. `tried`: what the report says of the orders."""
        final, splits = self.search.final, self.problem.splits
        assert final.best.mask is not None
        chosen = self.problem.full(final.best.mask, np.ones(splits.count, np.bool_))
        released = ~self.problem.suppressed(chosen)[0]
        stopped = {} if final.finished else {"stopped": self.search.budget.spent}
        account = _chosen(final, splits) | stopped | tried
        recoding = self.distinct.recoding(splits.cuts(final.best.mask), chosen.class_of, released, account)
        return recoding if self.order == LISTED else replace(recoding, ordered=self.distinct.table.attributes)


def _begun(
    order: str,
    table: Table,
    requirements: tuple[Requirement, ...],
    options: Options,
    context: Context,
    budget: Budget,
) -> OrderedSearch:
    """The search of a table as far as all stages have begun."""
    splits = optimize.Splits.of_table(table, options.level)
    problem, distinct = _problem(table, requirements, options, context, splits)
    check_splits(splits.count, len(distinct.counts), len(table.attributes))
    level_splits = LevelSplits.of(table, splits, options.level)
    search = StagedSearch(_stages(problem, level_splits), budget, context)
    ranks = {limit: mondrian_splits(table, requirements, splits, limit) for limit in {0, problem.limit}}

    def starts(stage: Stage, timely: Callable[[], bool]) -> None:
        levels = level_splits.within(stage.allset)
        begin(stage.problem, stage.allset, stage.best, ranks[stage.problem.limit], levels, timely)

    search.begin(starts)
    return OrderedSearch(order, search, problem, distinct)


def _check(options: Options, table: Table) -> None:
    if bounded := [attribute.name for attribute in table.attributes if attribute.bounded]:
        message = f"quasi_identifiers.{bounded[0]}.levels.max: {ID} chooses among all sets of intervals"
        raise UsageError(Problem(message, hint="bug and tds stay below a level; or leave max out"))
    if options.cost == "classification" and not table.targets:
        hint = "list what is to be predicted under workload: {targets: [...]}"
        raise UsageError(Problem(f"{ID} --cost classification needs a target, and the spec names none", hint=hint))


def check_splits(splits: int, rows: int, attributes: int, most: int = START_CELLS) -> None:
    """Raises UsageError where so many splits of that many distinct rows are too many to begin with."""
    if splits * rows * attributes > most:
        message = (
            f"the values of {attributes} quasi-identifiers leave {splits} splits between them, too many to be searched"
            f" in {rows} distinct rows"
        )
        hint = "a higher --level takes the nodes of a coarser level for the values; or name fewer quasi-identifiers"
        raise UsageError(Problem(message, hint=f"{hint}; mondrian cuts as many"))


def _problem(
    table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context, splits: optimize.Splits
) -> tuple[SplitProblem, single.DistinctRows]:
    """What is searched, and the distinct rows as all splits have them."""
    intervals = [
        np.searchsorted(places, attribute.codes, side="right")
        for attribute, places in zip(table.attributes, splits.places, strict=True)
    ]
    distinct = single.DistinctRows.of_table(
        table, requirements, intervals, [len(places) + 1 for places in splits.places]
    )
    cells = optimize.SplitCells.of(distinct, single.class_labels(ID, table) if options.cost == "classification" else ())
    judge = SplitJudge(requirements)
    cost: Cost = Discernibility(distinct.total, judge.minimum)
    if options.cost == "classification":
        cost = Classification(cells.first)
    return SplitProblem(splits, cells, judge, cost, context.suppression_limit, context.published), distinct


def _problems(problem: SplitProblem) -> dict[int, SplitProblem]:
    """By the limit: without suppression, and with what the spec allows."""
    return {problem.limit: problem, 0: replace(problem, limit=0)}


def _stages(problem: SplitProblem, level_splits: LevelSplits) -> list[Stage]:
    """Coarse values before fine ones, and for each no suppression first; the last is what was asked for."""
    problems = _problems(problem)
    stages: list[Stage] = []
    before: dict[int, Stage] = {}
    for allset in level_splits.stages:
        for limit in sorted(problems):
            below = [before[limit]] if limit in before else []
            below += [before[0]] if limit else []
            before[limit] = Stage(problems[limit], allset, below)
            stages.append(before[limit])
    return stages


class Budget:
    """How much may be looked at, and until when, in a table of so many `rows`. `spent`: the first of it to be spent,
    once it is."""

    def __init__(self, options: Options, context: Context, rows: int) -> None:
        self._work, self._seconds, self._start = options.work * 1_000_000, options.time_limit, monotonic()
        self._deadline = deadline.Deadline(options.time_limit)
        self._nodes = options.nodes or (0 if options.work or options.time_limit else NODES)
        self._context, self.rows, self._reported = context, rows, 0
        self.spent: str | None = None

    def timely(self) -> bool:
        """Whether there is time left."""
        return not self._deadline.passed

    def left(self, stage: Stage) -> bool:
        """Whether the search may go on; tells the progress how much of the budget is spent."""
        most = {"nodes": self._nodes, "work": self._work, deadline.TIME: self._seconds}
        used = {"nodes": stage.tree.nodes, "work": stage.best.work, deadline.TIME: monotonic() - self._start}
        share, name = max((used[name] / limit, name) for name, limit in most.items() if limit)
        self.tell(int(min(share, 1.0) * self.rows))
        late = self._deadline.passed
        self.spent = deadline.ended_by() if late else name if share >= 1 else None
        return self.spent is None

    def tell(self, rows: int) -> None:
        """Tells the progress that so many rows are as good as done."""
        if rows > self._reported:
            self._context.progress(rows - self._reported)
            self._reported = rows


@dataclass(frozen=True)
class StagedSearch:
    """All stages, in rounds. `final`: the one that was asked for."""

    stages: list[Stage]
    budget: Budget
    context: Context

    @property
    def final(self) -> Stage:
        """The last stage may have what any other has."""
        return self.stages[-1]

    def begin(self, starts: Callable[[Stage, Callable[[], bool]], None]) -> None:
        """What each stage begins with, as long as there is time; the last begins in any case."""
        for stage in self.stages:
            if self.budget.timely() or stage is self.final:
                stage.begin(starts, partial(self._timely, stage))

    def go_on(self, pool: Workers) -> None:
        """Rounds of all stages until the last one is done, or the budget is spent."""
        while not self.final.finished and self.budget.left(self.final):
            for stage in self.stages:
                stage.round(partial(self._explored, pool), partial(self._timely, stage))
        self.final.inherit()
        self.budget.tell(self.budget.rows)

    def _timely(self, stage: Stage) -> bool:
        costs = [each.best.cost for each in self.stages if each.best.cost is not None]
        if costs:
            self.context.bounding(min(self.final.tree.bound or 0, *costs), min(costs))
        return self.budget.timely()

    def _explored(self, pool: Workers, stage: Stage, tasks: list[SubtreeTask]) -> list[Explored]:
        """The tasks carried out: in processes of their own where the search is long."""
        work = partial(_task, stage.problem.limit)
        if sum(each.tree.nodes for each in self.stages) >= PROCESSES:
            return pool.map(work, tasks)
        return [
            result
            for task in tasks
            for result in (pool.map(work, [task], worth=False) if self._timely(stage) else [Explored.nothing(task)])
        ]


def _task(limit: int, problems: dict[int, SplitProblem], task: SubtreeTask) -> Explored:
    return explore(problems[limit], task)


def _chosen(stage: Stage, splits: optimize.Splits) -> dict[str, Any]:
    cost, bound = stage.best.cost or 0, stage.tree.bound or 0
    return {
        "splits": splits.count,
        "cost": cost,
        "lower_bound": bound,
        "gap": (cost - bound) / cost if cost else 0.0,
        "optimal": stage.tree.proved,
        **({} if stage.tree.proved else {"not_proved": UNSETTLED if not stage.finished else UNTRIED}),
        "nodes": stage.tree.nodes,
        "steps": stage.steps,
    }
