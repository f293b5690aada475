"""Populations under regions: how many people of each lie in the region around some rows, for methods that make regions.

Regions leave people between them, or overlap: who is under none is not told from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Integers, run_starts
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.privacy import MODELS, Crowd, Groups, Requirement, assess
from anonymize.table import Table


def crowds_of(table: Table, columns: Sequence[Codes], part: Integers, parts: int) -> dict[str, Crowd]:
    """How many people of each population are within the region around each of `parts` groups of rows; nobody, of a
    group without rows. `columns`: the codes (n,) of each quasi-identifier, `part` (n,) the group of each row."""
    if not table.populations:
        return {}
    order = np.argsort(part, kind="stable")
    found = run_starts(part[order])
    arranged = [codes[order] for codes in columns]
    low = [np.minimum.reduceat(codes, found).astype(np.int64) for codes in arranged]
    high = [np.maximum.reduceat(codes, found).astype(np.int64) for codes in arranged]
    crowds = {}
    for path, population in table.populations.items():
        matched = np.zeros(parts, np.int64)
        matched[part[order][found]] = population.within(low, high)
        crowds[path] = Crowd(matched, 0)
    return crowds


def refuse_gaps(requirements: Iterable[Requirement]) -> None:
    """Raises UsageError for a model that needs everybody of a population to be in some class."""
    if any(MODELS[each.model].needs_everybody(each.parameters) for each in requirements):
        hint = "set min to 0, or use full-domain generalization, such as incognito"
        raise UsageError(Problem("delta-presence with min above 0: regions leave people between them", hint=hint))


def check_region(table: Table, requirements: Iterable[Requirement], rows: NDArray[np.uint32]) -> None:
    """Raises InfeasibleError where the region around these rows has too few people of a population in it."""
    about = [requirement for requirement in requirements if requirement.population is not None]
    if not about or not len(rows):
        return
    one = np.zeros(len(rows), np.int64)
    columns = [attribute.codes[rows] for attribute in table.attributes]
    groups = Groups(np.array([len(rows)]), {}, crowds_of(table, columns, one, 1))
    failing = [found for found in (assess(groups, requirement) for requirement in about) if not found.satisfied]
    if failing:
        hint = "full-domain generalization, such as incognito, may show everything, and meets it"
        told = ", ".join(f"{name}={value:.6g}" for name, value in failing[0].achieved.items() if value is not None)
        message = f"{failing[0].requirement} is not met by the region around all {len(rows)} rows, which reaches {told}"
        raise InfeasibleError(Problem(message, hint=hint))
