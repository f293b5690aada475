"""Synthesize: a table of invented rows under differential privacy.

What it does. Marginals, that is, counts of combinations of values of some columns, are measured with random noise; a
model that agrees with them as well as possible is fitted; and rows are drawn from the model. Nothing else of the input
is used. `synthesize` in the spec says which marginals are measured: those of single columns (`independent`), of the
pairs on a tree (`mst`), those that the model so far gets most wrong, round by round (`aim`, the default), or those of a
list (`fixed`). Every column that is released is synthesized, whatever its role; direct identifiers are left out.

What it guarantees. The `privacy.differential` of the spec: whatever an attacker knows, whether one individual was in
the table changes the probability of any output by at most a factor of e^epsilon, up to delta. An individual is a row,
or whoever the `unit` identifies; then at most `rows_per_unit` rows of each individual are counted, drawn at random.
Neighbouring tables differ by adding or removing one individual with `count: private`, and by replacing one with `count:
public`, where the table has as many rows as the input. Budgets add up: two tables of the same people spend both. Delta
should be well below 1 divided by the number of individuals; the command warns if it is not.

What it does not. It does not hide what is true of a group: that smokers fall ill more often can be read from the table,
whoever is in it. Rows are invented; none is a person, although one may equal a person's. `k`, `l` and other models are
about classes of people, and are refused.

The domain. Counts cover all values that a column may hold, as the spec declares them (`domains`, the leaves of a
hierarchy file, a `domain`, `bins`), not only those that occur. A column without a domain is refused, and a value
outside it is an error: nothing about the domain is learned from the table. Numbers are counted in bins, and drawn
uniformly within a bin; a missing value is a value of its own.

What is checked. The budget is added up again from the mechanisms that the manifest declares, by formulas of the check's
own; the measurements have to be of the declared domain, the model as close to them as their noise explains, and the
table within the domain.

Noise comes from the operating system: nobody can draw it again, reruns differ, and `--seed` is refused. The seed of the
sampler is drawn as well, and is public: with the manifest anybody can draw the same rows from the model.

Recoding model. None: rows are invented. The manifest next to the release records everything that the mechanism
released.

Cost. The table is read once and held in memory. `independent` and `mst` take little more than one pass; `aim` fits a
model after each marginal, about three for each column, and compares it with every candidate: some ten CPU seconds for
24,000 rows of 9 columns, two minutes and 1.1 GB for a million rows of 11. `--model-size` bounds the model: `mst` and
`aim` measure no marginal for which it leaves no room, and a column, or a list of marginals, that takes more by itself
is refused. Needs the extra `dp`.

Reference. McKenna, Mullins, Sheldon, Miklau: AIM: An Adaptive and Iterative Mechanism for Differentially Private
Synthetic Data, VLDB 2022; McKenna, Miklau, Sheldon: Winning the NIST Contest, Journal of Privacy and Confidentiality
11(3), 2021; Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy, NeurIPS 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from anonymize.algorithms.base import Context, Family, Needs, option
from anonymize.privacy import Requirement
from anonymize.recoding import SearchResult
from anonymize.records import dataclass
from anonymize.table import Table

ID = "synthesize"
NEEDS = Needs(
    Family("invention", identified=False),
    uses=frozenset({"workload", "level or bins"}),
    reusable=False,
    units=True,
    populations=False,
    domains=True,
    alone="the budget of differential privacy is spent, and noise drawn, by one process",
)


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    model_size: float = option(2.0, "Size of the fitted model, in MB, at most.", above=0.0, maximum=1000.0)


@dataclass(frozen=True)
class Synthesized(SearchResult):
    """Invented rows: a `frame` of texts, and the `block` of the manifest, which says all of how they were drawn."""

    KIND: ClassVar[str] = "synthetic"

    frame: pl.DataFrame
    block: Mapping[str, Any]

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block: what was measured, and not the counts."""
        measured = self.block["measurements"]
        return {
            "kind": self.KIND,
            "method": self.block["method"],
            "individual": self.block["individual"],
            "rows_per_unit": self.block["rows_per_unit"],
            "count": self.block["count"],
            "spent": dict(self.block["differential"]),
            "measured": [list(each["columns"]) for each in measured if len(each["columns"]) > 1],
            "selections": len(self.block["selections"]),
            "largest_clique": max(len(each["values"]) for each in self.block["model"]["cliques"]),
        }

    def meanings(self) -> dict[str, dict[str, str]]:
        """What the columns hold, as a codebook has it."""
        return {name: {name: "an invented value"} for name in self.frame.columns}


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Synthesized:
    """The rows, and how they were drawn. Raises UsageError for a plan that cannot be carried out, before anything is
    drawn."""
    from anonymize.dp.synthesis import DrawingPlan, synthesize

    assert context.spec is not None
    plan = DrawingPlan.of(context.spec, table, options.model_size)
    context.before_draw(plan.charge)
    made = synthesize(table, plan)
    return Synthesized(made.frame, made.block)
