"""What a mechanism makes of tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anonymize.errors import Caution
from anonymize.table import Table
from anonymize.tabulating.cells import Floats
from anonymize.tabulating.written import ShownTable


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
