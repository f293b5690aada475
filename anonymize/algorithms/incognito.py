"""Incognito: the best of all full-domain generalizations, by any metric, with every node of the lattice accounted for.

What it does. A node of the lattice assigns each quasi-identifier one level of its hierarchy. A node is safe if no more
rows are in classes that fail a privacy model than may be suppressed; these are suppressed. The safe node with the least
score is released. The score is a metric of each attribute, combined by an aggregate.

By default the whole lattice is searched with predictive tagging: a check of one node also rules out nodes below it that
cannot be safe and nodes that cannot be better. With `--subsets` the lattices of all subsets of the quasi-identifiers
are searched as published, from single attributes up: a node is checked only if each of its parts was safe. Both find an
optimum, but possibly different ones of several nodes with the same score.

`--iterate` releases the rows that are safe at the best node, then searches again among the remaining rows, and so on:
every row is released at the most specific node at which its class is safe (local recoding). Every round releases a
share of the remaining rows; a smaller share means more rounds and less loss. Under models that may fail in a union of
classes that meet them, such as t-closeness and entropy l-diversity, there are two searches: one takes the best node of
the first path that has one; the other searches further in every round, which takes longer and is not better for every
table, until it has checked ten times as many nodes as the first, or 5,000. If rows may be suppressed, each search is
also made without suppression; and if classes need k rows, with k + 1. The release with the least weighted NCP is kept,
where a suppressed row loses everything. So it never loses more than with `suppression: 0`, or than the rounds at k + 1,
unless a time limit ended a search. Rounds are greedy and in general not monotone: a release with a smaller k or l, or a
larger t, may lose more than one with stricter requirements.

What a node stands for. A node represents one release: the classes of its levels, of which exactly those that fail are
suppressed. Suppressed rows are published as one class that shows nothing; they count in the whole table with which
models such as t-closeness compare, and their class has to meet the models like any other. If it does not, if the spec
has `suppressed_rows: drop`, or if a model refers to a population, they are dropped: the remaining classes are then
compared only with each other, and those that fail are dropped, too, until none does. For requirements on the table as a
whole (`risk: marketer` and `records_at_risk`, `sample-uniqueness`, `population-uniqueness`), as many of the smallest
classes as necessary are suppressed as well, published or dropped, whichever takes fewer rows; of classes of the same
size the first in the order of the hierarchies. The optimum is over these releases, one for each node. A release that
suppresses other or additional classes is not considered: if classes are compared with dropped rows, or rows are at risk
in classes of different sizes, such a release may be better.

What it guarantees. Every class meets every model of the spec, and no node within the suppression limit has a lower
score, unless the time limit or, in a lattice of more than 2 million nodes, the budget ended the search: then the report
says which (`stopped: time` or `work`), and by how much another node may be lower at most (`gap`). With `--iterate` the
rounds are greedy, and their joint result is not an optimum; no row is released at the root of every hierarchy unless
all are, because it would be a suppressed row.

Tagging. Nodes above a safe one are safe if no row may be suppressed and all models are monotone, or if every model
remains met when further rows join a class: k-anonymity, distinct l-diversity, squared error. For other models with
suppression, or with a `unit` in the spec, nodes are ruled out by the metric's lower bounds and by k-anonymity, if it is
required as well.

`--mask-minimality`. The node is searched as if classes only needed enough rows; then the path from the top towards it
ends at the first step that may disclose somebody's value, and rows that the node suppresses are left out. An attacker
who knows the method then infers nobody's value with probability above 1/l under frequency l-diversity, and is left with
at least l values for everybody under distinct l-diversity; other models about sensitive values cannot be combined with
it.

Recoding model. Full-domain; local with `--iterate`.

Cost. At worst a check of every node, which sorts the distinct rows of a node below it. Lattices of more than 2 million
nodes are searched best first after a descent from the top, until nothing better is left or the checked nodes have 8.6
billion cells of distinct rows; a `--time-limit` replaces this budget.

Reference. LeFevre, DeWitt, Ramakrishnan: Incognito: efficient full-domain k-anonymity, SIGMOD 2005. Kohlmayer, Prasser,
Eckert, Kemper, Kuhn: Flash, PASSAT 2012. Prasser, Kohlmayer, Kuhn: MIM 2016 (iterated local recoding).
"""

from __future__ import annotations

import json
from typing import Any

from anonymize.algorithms.base import Context, Needs, option
from anonymize.algorithms.deadline import Deadline
from anonymize.algorithms.lattice import AGGREGATES, Vector, rounds, search
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import DEFAULT_AGGREGATE, METRICS, Scorer, as_json
from anonymize.algorithms.minimality import descent, mask_option
from anonymize.errors import Problem, UsageError, refuse
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.records import dataclass
from anonymize.table import Table

ID = "incognito"
NEEDS = Needs.of_full_domain("weights", "weights: correlation", "rules")


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    metric: str = option("loss", "The metric by which nodes are compared.", METRICS)
    aggregate: str = option(
        "auto",
        "How the metric is aggregated over attributes; auto is the metric's default.",
        ("auto", *AGGREGATES),
        only_with={"metric": tuple(DEFAULT_AGGREGATE)},
    )
    gs_factor: float = option(
        0.5,
        "Weight of generalization against suppression in the metric; at 0 suppression is free, at 1 generalization.",
        minimum=0,
        maximum=1,
        only_with={"metric": ("loss", "ncp", "precision", "entropy", "c_avg", "publisher-payout")},
    )
    subsets: bool = option(False, "Search the lattices of all subsets of the quasi-identifiers, as published.")
    time_limit: float = search.time_limit_option()
    iterate: bool = option(
        False, "Release what is safe, then search again among the remaining rows.", local=frozenset({True})
    )
    round_share: float = option(
        0.01,
        "Share of the remaining rows that each round of --iterate releases.",
        above=0,
        maximum=1,
        only_with={"iterate": (True,)},
    )
    output_lattice: str = option(
        "",
        "File for the lattice as JSON; all nodes are checked for it.",
        file=True,
        alone="no other file is published with the rows",
    )
    mask_minimality: bool = mask_option()


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Levels:
    """The release of the best node, or of the rounds."""
    if options.mask_minimality:
        return _masked(table, requirements, options, context)
    checker = Checker(table, requirements, context.suppression_limit, context.progress, context.published)
    _check_options(options, checker)
    scorer = _scorer(checker, options)
    deadline = Deadline(options.time_limit)
    released = _iterated(scorer, options, context, deadline) if options.iterate else None
    if released is None:
        best = _best_node(scorer, options, deadline)
        released = checker.recoding(best.vector, _account(best, options))
    if options.output_lattice:
        context.files["output_lattice"].write_text(json.dumps(picture(scorer)) + "\n")
    return released


def _iterated(scorer: Scorer, options: Options, context: Context, deadline: Deadline) -> Levels | None:
    """The release of the rounds; None where they come to no end."""
    checker = scorer.checker
    searches = rounds.searches_of(checker.requirements, checker.growing, checker.suppression_limit)

    def scorer_of(requirements: tuple[Requirement, ...], limit: int) -> Scorer:
        progress = lambda rows: context.progress(rows // len(searches))  # noqa: E731
        return scorer.over(Checker(checker.table, requirements, limit, progress, context.published))

    return rounds.iterated(scorer_of, searches, options.round_share, deadline, context.suppressed)


def _best_node(scorer: Scorer, options: Options, deadline: Deadline) -> search.BestNode:
    checker = scorer.checker
    best = (
        search.Walk(scorer, deadline, search.safe_nodes(checker)).run()
        if options.subsets
        else search.find(scorer, deadline)
    )
    if best is None:
        raise checker.infeasible()
    return best


def _masked(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Levels:
    """The release under `--mask-minimality`. Raises UsageError for options whose nodes are chosen row by row, or whose
    file would tell what it hides."""
    for name in ("iterate", "output_lattice"):
        if getattr(options, name):
            raise UsageError(Problem(f"--mask-minimality and --{name.replace('_', '-')} exclude each other"))

    def best(checker: Checker) -> Vector:
        _check_options(options, checker)
        return _best_node(_scorer(checker, options), options, Deadline(options.time_limit)).vector

    return descent.masked(table, requirements, context, best)


def _scorer(checker: Checker, options: Options) -> Scorer:
    aggregate = None if options.aggregate == "auto" else options.aggregate
    return Scorer(checker, options.metric, aggregate, options.gs_factor)


def _account(best: search.BestNode, options: Options) -> dict[str, Any]:
    gap = {"gap": as_json([best.gap])} if options.time_limit or best.gap else {}
    ended = {} if best.stopped is None else {"stopped": best.stopped}
    return {"metric": options.metric, "score": as_json(best.score), **gap, **ended}


def _check_options(options: Options, checker: Checker) -> None:
    """Raises UsageError for options that this lattice is too large for."""
    whole = {"subsets": options.subsets, "iterate": options.iterate, "output-lattice": options.output_lattice}
    if checker.total > search.WALKED_NODES:
        text = f"the lattice has {search.count_of(checker.total)} nodes, and this is for {search.WALKED_NODES} at most"
        refuse({f"--{name}: {text}": chosen for name, chosen in whole.items()})


def picture(scorer: Scorer) -> dict[str, Any]:
    """What `--output-lattice` writes: the attributes with their heights, and all nodes from the bottom up."""
    checker = scorer.checker
    nodes = []
    for vector in checker.lattice:
        checked = checker.check(vector)
        nodes.append(
            {
                "levels": list(vector),
                "height": sum(vector),
                "safe": checked.safe,
                "suppressed_rows": checked.suppressed,
                "classes": checked.classes,
                "score": as_json(scorer.score(vector)),
            }
        )
    names = [attribute.name for attribute in checker.table.attributes]
    return {
        "attributes": [
            {"name": name, "height": height} for name, height in zip(names, checker.lattice.heights, strict=True)
        ],
        "metric": scorer.metric,
        "nodes": nodes,
    }
