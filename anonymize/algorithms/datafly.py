"""Datafly: generalizes the attribute with the most distinct values, level by level, then suppresses what is left over.

What it does. As long as more rows than allowed are in classes that fail a requirement, the quasi-identifier with the
most distinct values is generalized by one level of its hierarchy in all rows (of several, the first in the spec; those
at their root are skipped). Then the rows of the classes that still fail are suppressed.

What it guarantees. Every class meets every model of the spec, and no more rows are suppressed than allowed, or nothing
is released. It does not guarantee a minimal generalization, let alone the least loss: it considers only the number of
values, not the effect of a step, and never goes back. If a model is not monotone, it may pass a safe node and end at
the top without one; then the message says that the search found none.

For the meaning of a node, the suppressed rows and `--mask-minimality`, see `incognito`.

Recoding model. Full-domain generalization with suppression of rows.

Cost. One check for each step, on the distinct rows of the previous one; at most the sum of the heights of the
hierarchies.

How many rows are allowed. By default the share `privacy.suppression`, which is 0 unless the spec says otherwise. The
paper instead allows k rows, as does `--outliers k`, whatever the spec's limit (without a k, the smallest allowed class
size).

Reference. Sweeney: Guaranteeing anonymity when sharing medical data, the Datafly system, AMIA 1997; Achieving
k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5), 2002.
"""

from __future__ import annotations

from dataclasses import replace

from anonymize.algorithms import base, feasibility, lattice, minimality
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.search import climbed
from anonymize.algorithms.minimality.descent import masked
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.records import dataclass
from anonymize.table import Table

ID = "datafly"
NEEDS = base.Needs.of_full_domain()


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    outliers: str = feasibility.outliers_option("be suppressed", share="them")
    mask_minimality: bool = minimality.mask_option()


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: base.Context) -> Levels:
    """The node at the end of the climb."""
    allowed = feasibility.allowed_rows(options.outliers, requirements, context)
    if options.mask_minimality:
        return masked(table, requirements, replace(context, suppression_limit=allowed), _safe)
    checker = Checker(table, requirements, allowed, context.progress, context.published)
    return checker.recoding(_safe(checker), {"allowed_rows": allowed})


def _safe(checker: Checker) -> lattice.Vector:
    """The first safe node on the way up. Raises InfeasibleError where there is none."""
    vector = climbed(checker)
    if vector is None:
        raise checker.infeasible()
    return vector
