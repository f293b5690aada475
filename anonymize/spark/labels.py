"""The targets of a workload on an engine, for searches that look at them: coded and counted as sensitive attributes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from anonymize.algorithms import ALGORITHMS, reads_workload
from anonymize.spec import Spec
from anonymize.spec.columns import Sensitive
from anonymize.table import Table, TargetColumn
from anonymize.table.read import as_target


def targets_of(spec: Spec, algorithm: str, options: Any) -> list[str]:
    """The targets that a search looks at."""
    return list(spec.targets()) if reads_workload(ALGORITHMS[algorithm], options) else []


def coded(spec: Spec, targets: Iterable[str]) -> Spec:
    """The spec of what is coded: its targets are sensitive attributes, unless they are quasi-identifiers."""
    kinds = spec.targets()
    own = {name: Sensitive(type=kinds[name]) for name in targets if name not in spec.quasi_identifiers}
    return spec.model_copy(update={"sensitive": {**own, **spec.sensitive}})


def with_targets(table: Table, targets: Iterable[str]) -> Table:
    """The table with its targets, each of which it has as a quasi-identifier or as a sensitive attribute."""
    known = {each.name: as_target(each) for each in table.attributes}
    for own in table.sensitive:
        known[own.name] = TargetColumn(own.name, own.codes, own.size, own.missing, own.values, own.texts)
    return replace(table, targets=tuple(known[name] for name in targets))
