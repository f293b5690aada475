"""Bottom-up: every row starts as a group of its own, and small groups merge with the nearest until none is small.

What it does. While groups of fewer than k rows exist, each of them in turn is merged with the group, of any size, that
makes the union of least weighted normalized certainty penalty (NCP), summed over the union's rows. A group that has
merged in a round waits for the next, so that a round at least doubles the smallest group. The paper does not specify
the order of groups: here, the group whose best union has the least NCP at the start of the round comes first, ties
going to the one with the lowest first row. Between equal unions, the one with fewer rows is chosen, then the one with
the group of the lowest first row. After each round a group of m >= 2k rows is split into floor(m / k) groups of at
least k, around two distant rows, where the two sides together lose least.

Equal rows. They merge at no cost, so before the first round equal rows become one group, and groups of 2k or more are
split.

What it guarantees. Every class meets every model of the spec, or nothing is released. If the table as one class does
not, rows with the most frequent sensitive values are suppressed within the spec's limit, if that helps. Under
k-anonymity alone every class has k to 2k - 1 rows. Under other models, k is the least size they allow; classes that
violate a model are then merged with the one of the 64 nearest classes that fixes them at the least cost, or else with
the nearest. It does not guarantee the least loss. Only refinement is random; it depends on `--seed`, by default 0.

Two steps go beyond the paper. With `--start mondrian`, Mondrian cuts the table into parts of about a thousand rows, and
the method works within each part; this is the default if the table is too large to be searched as a whole. Then, unless
`--no-refine` is given, the classes are refined: `mondrian`, `top-down` and `bottom-up` are all tried with a few passes
on the table itself, and the best result is refined further (above 100,000 rows: the better of these classes and
Mondrian's). For up to `--passes` passes, as long as it is worthwhile, rows move, alone or together, to classes where
they cost less, neighbouring classes (also of different parts) are regrouped, and rows are exchanged at random. Tables
below 2,000 rows are refined two or three times with different random numbers, and those of up to 10,000 also once as by
`mondrian --refine`, so that no release loses more than with that command. The loss never increases and every class
still meets every model, but a class may then have more than 2k rows. A `--time-limit` stops earlier, with the best
result so far. Up to 10,000 different rows, `top-down`, `bottom-up` and `release` then give similar results.

Recoding model. Local: equal rows may be released differently, and the regions of classes may overlap.

How far it reaches. Rows are merged within the whole table as long as its distinct rows have at most 3 million cells of
quasi-identifiers (500,000 rows of 6, 15,000 rows of 200), and within Mondrian's parts otherwise: merging in the whole
table would take more than a quarter of an hour, and `--start whole` is refused. The report says which, as
`merged_within` in its `recoding` block.

Cost. At most ceil(log2 k) rounds, each with at worst O(n^2) penalties. Groups are arranged in blocks of similar ones,
and blocks that cannot contain a nearest group are skipped, which does not change the result. Refinement takes most of
the time: on the example of 10,000 rows 48 of 51 CPU seconds, for a gcp of 20.5 % and not 27.9 %; `--no-refine` leaves
it out.

Reference. Xu, Wang, Pei, Wang, Shi, Fu: Utility-based anonymization using local recoding, KDD 2006, section 4.1 and
figure 4.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from anonymize.algorithms import base, clustering, deadline, remaining, starts
from anonymize.algorithms.clustering.methods import equal_rows
from anonymize.algorithms.clustering.run import MONDRIAN, STARTS, WHOLE
from anonymize.errors import Problem, UsageError
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.records import dataclass
from anonymize.table import Table

ID = "bottom-up"
NEEDS = base.Needs(base.LOCAL, uses=frozenset({"weights"}), units=True, reusable=False, parted=True)

AUTO = "auto"
CHOICES = (AUTO, *STARTS)
COMPARED_CELLS = 3_000_000
"""Cells of quasi-identifiers of a table whose rows are compared with all others."""


@dataclass(frozen=True)
class Options(deadline.Refinable):
    """Options of the subcommand."""

    start: str = base.option(
        AUTO, "Where rows are merged: within the whole table, within Mondrian's parts, or as its size allows.", CHOICES
    )
    refine: bool = base.option(True, "Refine the classes afterwards.", random=frozenset({True}))


@remaining.within_levels
def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: base.Context) -> Regions:
    """The classes that rows are merged into. Raises UsageError where a table is to be searched whole that is too large
    for it."""
    within = is_within_parts(table, options.start)
    method = partial(starts.bottom_up_of, within=within)
    made = starts.clustered(table, requirements, ID, method, options if options.refine else None, context)
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
    rows = equal_rows(clustering.codes_of(table.attributes)).count
    if rows * attributes > most and start != AUTO:
        message = f"{rows} different rows of {attributes} quasi-identifiers are too many to compare with each other"
        raise UsageError(Problem(message, hint=f"--start {AUTO} merges within parts of a thousand rows"))
    return rows * attributes > most
