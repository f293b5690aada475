"""Top-down: cuts groups of rows in two around the rows that lie farthest apart, then mends what became too small.

What it does. All rows start as one group. A group of more than k rows is cut in two: a random row; the row whose box
with it has the greatest weighted normalized certainty penalty (NCP); the row farthest from that one; and so on for
`--rounds` scans, for as long as the penalty grows. The last pair are the seeds. The other rows join one of the two in
random order. When no group has more than k rows, those of fewer are brought to k: each weighs taking the rows it lacks
from a larger group against merging with the nearest group, and takes the way of the lower total NCP. A group that
reaches 2k rows is cut into as many groups of k as it can make.

Which of the two a row joins. The paper says: the one whose NCP is lower once the row is in it. That can be read in
several ways, for NCP stands there for what a row loses and for the sum over the rows of a group. With `--join sum` the
sums over both groups are compared; as soon as both span much, that only keeps them even. With `--join row` a row joins
the group whose region costs the row itself less; it favours the region that has already grown large enough. With
`--join rise` it joins the one whose sum rises least, so that both lose least together. The paper reports that the
method loses less than Mondrian: `rise` is the reading under which that holds at every k that was tried, and the
default. Figures of all three: docs/local-recoding.md.

What it guarantees. What `bottom-up` does: every class meets every model of the spec, or nothing is released; what it
loses need not be the least. How many rows a class has, and what happens where one breaks a model, are as there.

Two more steps go beyond the paper, as in `bottom-up`: `--start mondrian` cuts the table into parts of about a thousand
rows first, and the classes are refined afterwards unless `--no-refine` is given.

Recoding model. Local: equal rows may be released differently, and regions of classes may overlap. A part of equal rows
only is not cut further around seeds: it loses nothing.

What is random. The first row of every scan, and the order in which rows join, from `--seed`; without one the seed is 0,
so that reruns are the same.

Cost. Seeds and joining take O(n log n) penalties where cuts are even, and O(n^2) at worst, which is a table where cuts
part one value of many from all others. Adjusting compares small groups with all groups, O((n / k)^2) at worst.

Reference. Xu, Wang, Pei, Wang, Shi, Fu: Utility-based anonymization using local recoding, KDD 2006, section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from anonymize.algorithms.base import Context, Needs, option
from anonymize.algorithms.clustering.bisect import JOINS
from anonymize.algorithms.clustering.methods import RISE, ROUNDS
from anonymize.algorithms.clustering.run import STARTS, Method
from anonymize.algorithms.deadline import Refinable
from anonymize.algorithms.remaining import within_levels
from anonymize.algorithms.starts import clustered, top_down_of
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.table import Table

ID = "top-down"
NEEDS = Needs(family="local", uses=frozenset({"weights"}), units=True, reusable=False, random=True)


@dataclass(frozen=True)
class Options(Refinable):
    """Options of the subcommand."""

    rounds: int = option(
        ROUNDS, "Scans for the two seeds of a cut; fewer where the penalty no longer grows.", minimum=1
    )
    join: str = option(
        RISE, "Which group a row joins: where NCP rises least, its sum is lower, or the row's is.", tuple(JOINS)
    )
    start: str = option("whole", "What is cut: the whole table, or Mondrian's parts.", STARTS)
    refine: bool = option(True, "Refine the classes once they are found.")


@within_levels
def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Regions:
    """The classes that the table is cut into."""

    def method(context: Context) -> Method:
        return top_down_of(context, options.start == "mondrian", options.rounds, options.join)

    return clustered(table, requirements, ID, method, options if options.refine else None, context)
