"""What a mechanism makes of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from anonymize.errors import Caution
from anonymize.records import dataclass
from anonymize.spec import Privacy, QuasiIdentifier, Sensitive, Spec, Workload
from anonymize.spec.tabulation import Tabulation
from anonymize.table import Table
from anonymize.tabulating.cells import Floats
from anonymize.tabulating.written import ShownTable

Charging: TypeAlias = Callable[[float], None]
"""Called with the rho of a run before its first draw, when all that can fail has been tried; may raise."""


@dataclass(frozen=True)
class Tabulated:
    """The tables of a run. `details`: what the mechanism says of itself in the manifest; `private`: what only a private
    report has."""

    tables: tuple[ShownTable, ...]
    details: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Caution, ...] = ()


def numbers_of(table: Table, column: str | None) -> Floats:
    """(rows,) what each row counts in tables of a column, nan where it has no number; 1 of tables of rows."""
    if column is None:
        return np.ones(table.rows)
    named = next(each for each in table.sensitive if each.name == column)
    assert named.values is not None
    return named.values[named.codes]


def reading(spec: Spec, settings: Tabulation) -> Spec:
    """The spec of a reading: what tables group by is quasi-identifiers, what they sum is sensitive, and all else is
    left out, whatever the columns are in a release."""
    definitions = {**spec.sensitive, **spec.quasi_identifiers}
    groups: dict[str, QuasiIdentifier] = {}
    for name in settings.grouped_by:
        own = definitions.get(name)
        shared = {} if own is None else {key: getattr(own, key) for key in Sensitive.model_fields.keys() - {"missing"}}
        if own is None and settings.mechanism == "dp" and spec.domain_of(name).low is not None:
            shared = {"type": "numeric"}
        groups[name] = own if isinstance(own, QuasiIdentifier) else QuasiIdentifier.model_construct(**shared)
    sums: dict[str, Sensitive] = {}
    for name in settings.measured:
        own = definitions.get(name)
        shared = {} if own is None else {key: getattr(own, key) for key in ("decimal", "thousands", "unit_text")}
        sums[name] = Sensitive.model_construct(**shared, type="numeric")
    update = {
        "identifiers": (),
        "quasi_identifiers": groups,
        "sensitive": sums,
        "insensitive": (),
        "undecided": (),
        "others": "drop",
        "workload": Workload(),
        "privacy": Privacy(),
        "domains": {name: each for name, each in spec.domains.items() if name in groups or name in sums},
        "synthesize": None,
    }
    reading = spec.model_copy(update=update).located(spec.path, {})
    return reading.of_types(spec._typed)
