"""Perturb: applies only the steps of the spec's `treatments`, without forming classes.

What it does. Every row is released. Columns that no step of `treatments` changes pass through unchanged, including
quasi-identifiers. The steps are microaggregation, local suppression, PRAM, rank swapping, record swapping, noise,
shuffling and date shifting. Every other release command applies the same steps in addition to forming classes.

What it guarantees. Nothing on its own. Requirements on classes (`k`, `l`, models) are measured in the written table as
for any release: microaggregation or local suppression of all quasi-identifiers meets `k`, and so do both together if
each treats a part of them, but values that pass through unchanged meet it only by chance. If nothing is required, the
verdict says so. What a step guarantees is in its own manual.

What is checked. The written table is read again, and each step is checked against the input by independent code: which
values may not have changed, which sums and ranks are preserved, how far values moved.

Recoding model. None: the manifest next to the release describes how each column was changed.

Cost. Reading the treated columns once, and the cost of each step.

Reference. Hundepool, Domingo-Ferrer, Franconi, Giessing, Schulte Nordholt, Spicer, de Wolf: Statistical Disclosure
Control, 2012; Templ, Kowarik, Meindl: Statistical Disclosure Control for Micro-Data Using the R Package sdcMicro,
Journal of Statistical Software 67(4), 2015.
"""

from __future__ import annotations

from typing import Any, ClassVar

from anonymize.algorithms.base import Context, Family, Needs
from anonymize.privacy import Requirement
from anonymize.recoding import SearchResult
from anonymize.records import dataclass
from anonymize.table import Table

ID = "perturb"
NEEDS = Needs(
    Family("perturbation", identified=False, treats_quasi=True),
    guarantees=False,
    reusable=False,
    units=True,
    alone="steps of `treatments` change whole columns in memory",
)


@dataclass(frozen=True)
class Options:
    """It has none."""


@dataclass(frozen=True)
class Unchanged(SearchResult):
    """Rows as they are, but for the columns that steps of the spec's `treatments` have changed."""

    KIND: ClassVar[str] = "unchanged"

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        return {"kind": self.KIND}


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Unchanged:
    """The rows as they are."""
    return Unchanged()
