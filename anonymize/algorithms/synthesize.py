"""Synthesize: a table of invented rows under differential privacy.

What it does. Counts of some columns (marginals) are measured with random noise, a model that agrees with them as well
as it can is fitted, and rows are drawn from the model. Nothing else of the input is used. `synthesize` in the spec says
which marginals: of single columns (`independent`), of a tree of pairs (`mst`), of those that the model gets most wrong,
round by round (`aim`, the default), or of a list (`fixed`). Every column that is released is synthesized, whatever its
role; direct identifiers are left out.

What it guarantees. `privacy.differential` of the spec: whatever anyone knows, whether one individual was in the table
changes the chance of any output by at most a factor of e^epsilon, but for delta. The individual is the row, or who the
`unit` says it is: then no more than `rows_per_unit` rows of each count, drawn at random. With `count: private` one
individual more or fewer makes the difference, with `count: public` one in the place of another, and the number of rows
is the input's. It adds up: two tables of the same people spend both of their budgets. Delta should be well below one in
as many individuals as there are; a warning says where it is not.

What it does not. It says nothing about what is true of groups: that smokers fall ill more often can be read from the
table, whoever is in it. Rows are invented; none is a person, one may equal a person's. What `k`, `l` and other models
require is of classes of people, and is refused.

The domain. Counts are over what there may be, as the spec declares it (`domains`, the leaves of a hierarchy file, a
`domain`, `bins`), and not over what there is. A column without a domain is refused, and a value outside it is an error:
nothing is learned from the table. Numbers are counted in bins, and drawn anywhere within one; missing is a value.

What is checked. What was spent is added up once more from the mechanisms that the manifest declares, by formulas of the
check's own; the measurements have to be of the declared domain, the model as near to them as their noise explains, and
the table within the domain.

Noise is the system's: nobody can draw it again, reruns differ, and `--seed` is refused. The seed of the sampler is
drawn as well, and public: whoever has the manifest can draw the same rows of the model.

Recoding model. None: rows are invented. The manifest beside the release has all that the mechanism put out.

Cost. The table is read once and held. `independent` and `mst` count little more than once; `aim` fits a model after
each marginal, about three for each column, and compares it with every marginal that there is: some ten CPU seconds for
24,000 rows of 9 columns, two minutes and 1.1 GB for a million rows of 11. `--model-size` bounds the model:
`mst` and `aim` join no columns for which there is no room, and columns that take more by themselves, or a list of
marginals that does, are refused. Needs the extra `dp`.

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
