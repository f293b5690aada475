"""Top-down: splits groups of rows around the two rows farthest apart, then repairs groups that became too small.

What it does. All rows start as one group. A group of more than k rows is cut in two: a random row; the row whose box
with it has the greatest weighted normalized certainty penalty (NCP); the row farthest from that one; and so on for
`--rounds` scans, for as long as the penalty grows. The last pair are the seeds. The other rows join one of the two in
random order. When no group has more than k rows, smaller groups are brought to k: each either takes the missing rows
from a larger group or merges with the nearest group, whichever gives the lower total NCP. A group that reaches 2k rows
is split into as many groups of k as possible.

Which of the two a row joins. The paper says: the one whose NCP is lower after adding the row. This is ambiguous,
because NCP there denotes both the loss of a row and the sum over the rows of a group. With `--join sum` the sums over
both groups are compared; once both regions are wide, this only balances their sizes. With `--join row` a row joins the
group whose region costs the row itself less, which favours a region that is already wide. With `--join rise` it joins
the group whose sum increases least, which minimizes their joint loss. The paper reports that the method loses less than
Mondrian: `rise`, the default, is the reading under which this holds for every k tried. For figures of all three, see
docs/local-recoding.md.

What it guarantees. The same as `bottom-up`: every class meets every model of the spec, or nothing is released; the loss
need not be minimal. Class sizes, and the handling of classes that violate a model, are as in `bottom-up`.

Two steps go beyond the paper, as in `bottom-up`: `--start mondrian` first cuts the table into parts of about a thousand
rows, and the classes are refined afterwards unless `--no-refine` is given.

Recoding model. Local: equal rows may be released differently, and the regions of classes may overlap. A group whose
rows are all equal is not split around seeds, because it loses nothing.

What is random. The first row of every scan, and the order in which rows join, depend on `--seed`, by default 0.

Cost. Seeds and joining take O(n log n) penalties if cuts are even, and O(n^2) in the worst case, when each cut
separates a single value from all others. Adjusting compares small groups with all groups, at worst O((n / k)^2).

Reference. Xu, Wang, Pei, Wang, Shi, Fu: Utility-based anonymization using local recoding, KDD 2006, section 4.2.
"""

from __future__ import annotations

from anonymize.algorithms import clustering, deadline, remaining, starts
from anonymize.algorithms.base import LOCAL, Context, Needs, option
from anonymize.algorithms.clustering.methods import RISE, ROUNDS
from anonymize.algorithms.clustering.run import STARTS, Method
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.records import dataclass
from anonymize.table import Table

ID = "top-down"
NEEDS = Needs(LOCAL, uses=frozenset({"weights"}), units=True, reusable=False, random=True, parted=True)


@dataclass(frozen=True)
class Options(deadline.Refinable):
    """Options of the subcommand."""

    rounds: int = option(
        ROUNDS, "Scans for the two seeds of a cut; fewer where the penalty no longer grows.", minimum=1
    )
    join: str = option(
        RISE,
        "Which group a row joins: where NCP rises least, its sum is lower, or the row's is.",
        tuple(clustering.JOINS),
    )
    start: str = option("whole", "What is cut: the whole table, or Mondrian's parts.", STARTS)
    refine: bool = option(True, "Refine the classes once they are found.")


@remaining.within_levels
def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Regions:
    """The classes that the table is cut into."""

    def method(context: Context) -> Method:
        return starts.top_down_of(context, options.start == "mondrian", options.rounds, options.join)

    return starts.clustered(table, requirements, ID, method, options if options.refine else None, context)
