"""The second opinion: privacy and risk measured from the text of a table, by code that shares nothing with the search.

Nothing is imported from the rooms that make a release, and nothing is known of hierarchies, codes or intervals: rows
are in one class when the texts of their quasi-identifiers are the same texts. `01234` is not `1234`, a missing value is
a value, and rows that are suppressed altogether are a class like any other. Every privacy model has its twin here,
written from its definition.

How ten million rows fit: one streaming pass keeps a number of 32 bits for each text, and one of 64 bits for all
quasi-identifiers of a row (see `table`). Where nearly every row is a class of its own, those that are alike are
measured once.
"""

from __future__ import annotations

from anonymize.claims import Result, alike_counted
from anonymize.verify.cells import CellTemplates
from anonymize.verify.codes import measure_codes
from anonymize.verify.differential import (
    DIFFERENTIAL,
    LOCAL,
    UNDRAWN,
    Spent,
    sampled_spent,
    smallest_group,
    with_differential,
)
from anonymize.verify.measuring import measure
from anonymize.verify.moved import MeasuredTreatment
from anonymize.verify.population import People, Shown
from anonymize.verify.table import CSV, SharedNumbers, text_of
from anonymize.verify.tighten import Ordering, OriginalRows
from anonymize.verify.treated import TREATMENT_TWINS, measure_treatment, with_changed
from anonymize.verify.twins import TWINS, TwinBound, weighs
from anonymize.verify.verdict import BY_ORDER, THRESHOLD, Check, Verdict, Wildcard, check_of, checks_of

__all__ = [
    "BY_ORDER",
    "CSV",
    "DIFFERENTIAL",
    "LOCAL",
    "THRESHOLD",
    "TREATMENT_TWINS",
    "TWINS",
    "UNDRAWN",
    "CellTemplates",
    "Check",
    "MeasuredTreatment",
    "Ordering",
    "OriginalRows",
    "People",
    "Result",
    "SharedNumbers",
    "Shown",
    "Spent",
    "TwinBound",
    "Verdict",
    "Wildcard",
    "alike_counted",
    "check_of",
    "checks_of",
    "measure",
    "measure_codes",
    "measure_treatment",
    "sampled_spent",
    "smallest_group",
    "text_of",
    "weighs",
    "with_changed",
    "with_differential",
]
