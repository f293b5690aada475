"""Perturb: the steps of the spec's `treatments`, and nothing else: no class is made.

What it does. Every row is released, and in it every column that is released at all; columns that no step of
`treatments` changes pass through as they are, quasi-identifiers among them. The steps say how they change values:
microaggregation, PRAM, rank swapping, record swapping, noise, shuffling, date shifting. Every other release command
makes the same steps beside its classes.

What it guarantees. Nothing of itself. What the spec requires of rows that read the same (`k`, `l`, models) is measured
in the written table as of any release: microaggregation of all quasi-identifiers meets `k`, and values that pass
through untouched do so only by chance. Where nothing is required, the verdict says that. What a step guarantees stands
in its own manual.

What is checked. The written table is read again, and each step measured against the input by code that shares nothing
with it: which values may not have changed, which sums and ranks are kept, how far values moved.

Recoding model. None: a cell is what its step makes of it, and the manifest beside the release says which.

Cost. One reading of the columns that are treated, and that of each step.

Reference. Hundepool, Domingo-Ferrer, Franconi, Giessing, Schulte Nordholt, Spicer, de Wolf: Statistical Disclosure
Control, 2012; Templ, Kowarik, Meindl: Statistical Disclosure Control for Micro-Data Using the R Package sdcMicro,
Journal of Statistical Software 67(4), 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

from anonymize.algorithms.base import Context, Needs
from anonymize.privacy import Requirement
from anonymize.table import Table
from anonymize.unclassed import Unchanged

ID = "perturb"
NEEDS = Needs(family="perturbation", guarantees=False, reusable=False, units=True)


@dataclass(frozen=True)
class Options:
    """It has none."""


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Unchanged:
    """The rows as they are."""
    return Unchanged()
