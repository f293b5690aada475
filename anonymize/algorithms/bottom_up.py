"""Bottom-up: every row starts as a group of its own, and small groups merge with the nearest until none is small.

What it does. While groups of fewer than k rows exist, each of them in turn is merged with the group, of any size, that
makes the union of least weighted normalized certainty penalty (NCP), summed over the union's rows. A group that has
merged in a round waits for the next, so that a round at least doubles the smallest group. The paper leaves open whose
turn comes first: here it is the group whose best union has the least NCP at the round's start, ties going to the one
with the lowest first row. Between equal unions, the one of fewer rows is taken, then the one with the group of the
lowest first row. After each round a group of m >= 2k rows is cut into floor(m / k) groups of at least k: around two
rows that lie far apart, where the two sides lose least together.

Equal rows. They merge at no cost, so before the first round equal rows become one group, and groups of 2k and more are
cut.

What it guarantees. Every class meets every model of the spec, or nothing is released. Where the table as one class does
not, the rows of the most frequent sensitive values are suppressed within the spec's limit, if that mends it. Under
k-anonymity alone every class has k to 2k - 1 rows. Under other models, k is the least size they allow; then classes
that break one are merged with the class that mends them at least cost, of the 64 nearest, or else with the nearest. It
does not guarantee the least loss. Only refinement is random, by `--seed`, which is 0 if it is not given.

Two more steps go beyond the paper. With `--start mondrian` Mondrian cuts the table into parts of about a thousand rows,
and the method works inside each; so it does of itself where the table is too large to be searched whole. Then, unless
`--no-refine` is given, the classes are refined, or those of another method: `mondrian`, `top-down` and `bottom-up` are
all tried by a few passes on the table itself, and what then loses least is refined on (above 100,000 rows: these
classes or Mondrian's, whichever lose less as they are). For as many `--passes` as it pays, rows go to classes that they
cost less in, alone or together, and classes that lie near each other, across the borders of parts too, are grouped
anew; in turns with them, rows change places by chance. Tables below 2,000 rows are gone through two or three times with
other random numbers, and those of up to 10,000 once as `mondrian --refine` does it, so that no release loses more than
by that. What is lost never rises, every class still meets every model, and a class may have more than 2k rows then. A
`--time-limit` ends it earlier, with what was found by then. Up to 10,000 different rows `top-down` and `bottom-up` come
to much the same so, and `release` too.

Recoding model. Local: equal rows may be released differently, and regions of classes may overlap.

How far it reaches. Rows are merged within the whole table as long as its different rows have no more than 3 million
cells of quasi-identifiers (500,000 rows of 6, 15,000 rows of 200), and within Mondrian's parts beyond: to merge them
within the whole would take more than a quarter of an hour, and `--start whole` is refused there. The report says which,
as `merged_within` of its `recoding`.

Cost. At most ceil(log2 k) rounds, each of O(n^2) penalties at worst. Groups are laid in blocks of similar ones, and a
block that cannot hold one of the nearest is passed over: far fewer are looked at, and the result is the same.

Reference. Xu, Wang, Pei, Wang, Shi, Fu: Utility-based anonymization using local recoding, KDD 2006, section 4.1 and
figure 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from anonymize.algorithms.base import Context, Needs, option
from anonymize.algorithms.clustering import codes_of
from anonymize.algorithms.clustering.methods import equal_rows
from anonymize.algorithms.clustering.run import MONDRIAN, STARTS, WHOLE
from anonymize.algorithms.deadline import Refinable
from anonymize.algorithms.remaining import within_levels
from anonymize.algorithms.starts import bottom_up_of, clustered
from anonymize.errors import Problem, UsageError
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.table import Table

ID = "bottom-up"
NEEDS = Needs(family="local", uses=frozenset({"weights"}), units=True, reusable=False)

AUTO = "auto"
CHOICES = (AUTO, *STARTS)
COMPARED_CELLS = 3_000_000
"""Cells of quasi-identifiers of a table whose rows are compared with all others."""


@dataclass(frozen=True)
class Options(Refinable):
    """Options of the subcommand."""

    start: str = option(
        AUTO, "What rows are merged within: the whole table, Mondrian's parts, or what its size allows.", CHOICES
    )
    refine: bool = option(True, "Refine the classes once they are found.", random=frozenset({True}))


@within_levels
def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Regions:
    """The classes that rows are merged into. Raises UsageError where a table is to be searched whole that is too large
    for it."""
    within = is_within_parts(table, options.start)
    method = partial(bottom_up_of, within=within)
    made = clustered(table, requirements, ID, method, options if options.refine else None, context)
    return replace(made, merged_within=MONDRIAN if within else WHOLE)


def is_within_parts(table: Table, start: str, most: int = COMPARED_CELLS) -> bool:
    """Whether rows are merged within Mondrian's parts: also where rows that have more than so many cells would be
    compared with each other, unless they are to be, which is refused with a UsageError.

    Pairs of rows grow with the square of the rows; and the more attributes there are, the fewer blocks of groups are
    passed over unseen, so that time grows with about the square of the attributes, too.
    """
    attributes = len(table.attributes)
    if start == MONDRIAN or table.rows * attributes <= most:
        return start == MONDRIAN
    rows = equal_rows(codes_of(table.attributes)).count
    if rows * attributes > most and start != AUTO:
        message = f"{rows} different rows of {attributes} quasi-identifiers are too many to compare with each other"
        raise UsageError(Problem(message, hint=f"--start {AUTO} merges within parts of a thousand rows"))
    return rows * attributes > most
