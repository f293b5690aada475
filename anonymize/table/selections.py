"""The selections of a workload on the leaves of the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.base import Domain
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import Caution
from anonymize.spec import Spec
from anonymize.spec.workload import Condition
from anonymize.table.columns import Attribute
from anonymize.table.model import Selection


def resolve(spec: Spec, attributes: Sequence[Attribute]) -> tuple[Selection, ...]:
    """Each selection of the spec as the leaves that it takes of each quasi-identifier that it names.

    A text selects the leaf of that name, or all leaves below the node of that name. A missing category is selected by
    its own text, a missing number never.
    """
    by_name = {attribute.name: (index, attribute.domain) for index, attribute in enumerate(attributes)}
    return tuple(
        Selection(
            {
                by_name[name][0]: leaves(by_name[name][1], condition, spec.input.compared)
                for name, condition in selection.items()
            }
        )
        for selection in spec.workload.selections
    )


def warnings(selections: Sequence[Selection]) -> list[Caution]:
    """A warning for each selection that no row of this table can meet."""
    return [
        Caution.of(
            f"selection {index + 1} of the workload selects nothing: no row has such a value in one of its columns",
            "correct it under `workload.selections`, or remove it",
        )
        for index, selection in enumerate(selections)
        if not all(taken.any() for taken in selection.leaves.values())
    ]


def leaves(domain: Domain, condition: Condition, compared: Callable[[str], str] = str) -> NDArray[np.bool_]:
    """(size,) whether the condition takes each leaf. `compared`: what a text of the condition is compared as."""
    if isinstance(domain, Taxonomy):
        return _below(domain, {compared(str(value)) for value in condition.in_ or ()})
    assert isinstance(domain, Numeric)
    taken = np.zeros(domain.size, np.bool_)
    if condition.in_ is not None:
        taken[: len(domain.values)] = np.isin(domain.values, [float(value) for value in condition.in_])
        return taken
    low = -np.inf if condition.from_ is None else condition.from_
    high = np.inf if condition.to is None else condition.to
    taken[: len(domain.values)] = (low <= domain.values) & (domain.values <= high)
    return taken


def _below(domain: Taxonomy, wanted: set[str]) -> NDArray[np.bool_]:
    """The leaves of these labels, and those below the nodes of these labels."""
    taken = np.zeros(domain.size, np.bool_)
    for node, label in enumerate(domain.labels):
        if label in wanted:
            taken[domain.start[node] : domain.stop[node]] = True
    return taken
